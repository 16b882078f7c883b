"""A training run: search on the training programs, a supervised warm start, then PPO."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from aerl_trainer import checkpoint
from aerl_trainer.checkpoint import Checkpoint, CheckpointError
from aerl_trainer.config import seeding
from aerl_trainer.config.stored import stored
from aerl_trainer.run.reporting import MetricsLog, RunDirectory
from dagsched_env.io.atomic import write_text
from dagsched_env.problem.errors import DAGSchedError, FormatError, MissingExtraError
from llvm_phase import tokens
from llvm_phase.best_sequences import BestSequences
from llvm_phase.compiler import Compiler
from llvm_phase.passes import resolve
from llvm_phase.policy import STEP_FEATURES, PassPolicy
from llvm_phase.ppo import PPO
from llvm_phase.rollouts import replayed, sample
from llvm_phase.search import Found, Searcher
from llvm_phase.settings import Settings, as_plain
from llvm_phase.tasks import Task

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["Training", "learn_tokens"]

CHECKPOINT_SECONDS = 30.0
IMITATED = 4
"""Of each program, so many of the best sequences found are imitated."""
REPLAY_STEPS = 2
"""Steps of self-imitation after each update."""
HELD_OUT_SAMPLES = 4
"""Of each held-out program, for the curve; nothing is chosen by them."""
MAY_CHANGE = frozenset(("minutes", "run_dir", "workers"))
"""Settings that a resumed run may have otherwise: its time, its place and its processes."""

Say = Callable[[str], object]


def learn_tokens(run: RunDirectory, train: list[Task]) -> "Tokenizer":
    """The tokenizer of a run: read where it has one, else learned from the training programs.

    Raises:
        DAGSchedError: the file cannot be read.
        MissingExtraError: the package ``tokenizers`` is not installed.
    """
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise MissingExtraError("tokenizers", "llvm") from None
    path = run.path / "tokenizer.json"
    if not path.exists():
        write_text(path, tokens.train(task.initial.ir for task in train).to_str())
    try:
        return Tokenizer.from_str(path.read_text(encoding="utf-8"))
    except Exception as error:  # the parser raises Exception itself
        raise DAGSchedError(f"{path}: {error}") from None


class Training:
    """A run between its start and its end, of which checkpoints are kept.

    Time is that of processors: of this process and of LLVM, without what else the machine does.

    Args:
        settings: of the run.
        run: its directory.
        compiler: runs the passes.
        train: programs to learn from.
        test: programs that are only looked at, for the curve.
        say: told how it is going.
    """

    def __init__(
        self,
        settings: Settings,
        run: RunDirectory,
        compiler: Compiler,
        train: list[Task],
        test: list[Task],
        say: Say,
    ) -> None:
        self.settings, self.run, self.compiler = settings, run, compiler
        self.train, self.test = train, test
        self.passes = compiler.supported(resolve(settings.passes))
        self.interrupted = False
        """Set it to have the training end soon."""
        self.iteration = 0
        self.warm_steps = 0
        self.searchers = [Searcher(compiler, task, self.passes, settings.horizon) for task in train]
        self.rounds = 0
        tokenizer = learn_tokens(run, train)
        torch.manual_seed(settings.seed)  # of the first weights
        self.policy = PassPolicy(
            settings.policy,
            len(self.passes),
            settings.horizon,
            tokenizer.get_vocab_size(),
            settings.token_length,
        )
        every = [*train, *test]
        encoded = [tokens.encode(tokenizer, t.initial.ir, settings.token_length) for t in every]
        self.policy.set_programs(
            torch.from_numpy(np.stack(encoded)),
            torch.from_numpy(np.stack([task.initial.features for task in every])),
        )
        self.ppo = PPO(self.policy, settings.ppo)
        inputs = {
            "program": ((), np.int64),
            "features": ((settings.horizon, STEP_FEATURES), np.float32),
        }
        self.best = BestSequences(inputs, settings.horizon, capacity=256, slack=0.01)
        self._reward = settings.reward_function()
        self._say = say
        self._before = 0.0
        self._start = self._cpu()
        self._saved = self._said = self._start

    # -- time ------------------------------------------------------------------------------------

    def _cpu(self) -> float:
        return time.process_time() + self.compiler.counters.cpu_s

    @property
    def elapsed_s(self) -> float:
        """Processor time of the training, in seconds, with that before a resume."""
        return self._before + self._cpu() - self._start

    def _going(self, share: float) -> bool:
        return not self.interrupted and self.elapsed_s < 60.0 * self.settings.minutes * share

    # -- the phases ------------------------------------------------------------------------------

    def learn(self) -> None:
        """Run what is left of the phases; a checkpoint is written at the end."""
        if not checkpoint.exists(self.place):
            self.save()  # so that there is one to resume from, whenever a kill comes
        purge = self.iteration if self.iteration else None
        with MetricsLog(self.run.metrics_file, self.run.tensorboard, purge_step=purge) as log:
            self._search(log)
            self._warm_start(log)
            self._improve(log)
        self.save()

    def _search(self, log: MetricsLog) -> None:
        share = self.settings.search_share
        while self._going(share):
            for searcher in self.searchers:
                rng = seeding.generator(
                    self.settings.seed, "search", searcher.task.name, self.rounds
                )
                searcher.round(rng)
                if self.rounds and not self._going(share):
                    break
            self.rounds += 1
            values = [s.best[0].value for s in self.searchers if s.best]
            log.write("found", step=self.rounds, time_s=self.elapsed_s, best=_mean(values))
            self._tell(f"search   round {self.rounds:4d}   best found {_mean(values):.4f}")
            self._save_if_due()

    def _warm_start(self, log: MetricsLog) -> None:
        rows = [(i, found) for i, s in enumerate(self.searchers) for found in s.best[:IMITATED]]
        share = self.settings.search_share + self.settings.warm_share
        if not rows or self.iteration or not self._going(share):
            return
        taken = [i for i, _ in rows]
        rollout = replayed(
            self.policy,
            self.compiler,
            [self.train[i] for i in taken],
            taken,
            self.passes,
            [found.actions for _, found in rows],
            self._reward,
        )
        self.best.add([task.name for task in rollout.tasks], rollout.sequences)
        size = self.settings.ppo.batch_size
        while self._going(share):
            rng = seeding.generator(self.settings.seed, "warm", self.warm_steps)
            chosen = torch.from_numpy(rng.choice(len(rows), min(size, len(rows)), replace=False))
            report = self.ppo.imitate(rollout.sequences.take(chosen), torch.ones(len(chosen)))
            self.warm_steps += 1
            log.write(
                "warm",
                step=self.warm_steps,
                time_s=self.elapsed_s,
                loss=report.loss,
                accuracy=report.accuracy,
            )
            self._tell(f"imitate  step {self.warm_steps:5d}   accuracy {report.accuracy:.3f}")
            self._save_if_due()

    def _improve(self, log: MetricsLog) -> None:
        tasks = self.train * self.settings.samples
        programs = list(range(len(self.train))) * self.settings.samples
        while self._going(1.0):
            rng = seeding.generator(self.settings.seed, "ppo", self.iteration)
            draws = torch.Generator().manual_seed(int(rng.integers(2**62)))
            rollout = sample(
                self.policy, self.compiler, tasks, programs, self.passes, draws, self._reward
            )
            self.best.add([task.name for task in rollout.tasks], rollout.sequences)
            report = self.ppo.update(rollout.sequences, rng)
            for _ in range(REPLAY_STEPS if len(self.best) else 0):
                sequences, weights, batch = self.best.sample(self.settings.ppo.batch_size, rng)
                imitation = self.ppo.imitate(sequences, weights, only_gains=True)
                self.best.update(batch, imitation.gains)
            self.iteration += 1
            mean = float(rollout.values.mean())
            log.write(
                "train",
                step=self.iteration,
                time_s=self.elapsed_s,
                sampled=mean,
                best=_mean(list(self.best.best.values())),
                length=float(rollout.sequences.mask.sum(dim=1).float().mean()),
                **report._asdict(),
            )
            self._tell(
                f"PPO      update {self.iteration:4d}   sampled {mean:.4f}   "
                f"entropy {report.entropy:.2f}   kl {report.kl:.4f}"
            )
            if self._due:
                self._look(log)
            self._save_if_due()

    def _look(self, log: MetricsLog) -> None:
        """How the policy does on the held-out programs, for the curve."""
        draws = torch.Generator().manual_seed(self.iteration)
        tasks = self.test * HELD_OUT_SAMPLES
        first = len(self.train)
        programs = [*range(first, first + len(self.test))] * HELD_OUT_SAMPLES
        rollout = sample(self.policy, self.compiler, tasks, programs, self.passes, draws)
        value = float(rollout.values.mean())
        log.write("held_out", step=self.iteration, time_s=self.elapsed_s, sampled=value)

    def _tell(self, message: str) -> None:
        if self._cpu() > self._said + 10.0:
            self._said = self._cpu()
            counters = self.compiler.counters
            known = 1.0 - counters.runs / max(counters.steps, 1)
            minutes = f"{self.elapsed_s / 60:5.2f} / {self.settings.minutes:g} min"
            self._say(f"[{minutes}]  {message}   passes known {known:.0%}")

    # -- checkpoints -----------------------------------------------------------------------------

    @property
    def place(self) -> Path:
        """Of the checkpoint."""
        return self.run.checkpoints / "last"

    @property
    def _due(self) -> bool:
        return self._cpu() > self._saved + CHECKPOINT_SECONDS

    def _save_if_due(self) -> None:
        if self._due:
            self.save()

    def save(self) -> None:
        """Write a checkpoint.

        Raises:
            CheckpointError: the disk refuses.
        """
        found = {s.task.name: [[f.value, list(f.actions)] for f in s.best] for s in self.searchers}
        checkpoint.save(
            self.place,
            tensors=self.ppo.tensors(),
            arrays=self.best.replay.state_arrays(),
            state={
                "settings": as_plain(self.settings),
                "iteration": self.iteration,
                "rounds": self.rounds,
                "warm_steps": self.warm_steps,
                "elapsed_s": self.elapsed_s,
                "found": found,
                "best": self.best.state(),
            },
        )
        self._saved = self._cpu()

    def restore(self) -> None:
        """Go on from the checkpoint of the run, with the same settings but for ``MAY_CHANGE``.

        Raises:
            DAGSchedError: there is none, or it is damaged, or of other settings.
        """
        saved = checkpoint.load(self.place)
        try:
            before = stored(saved.state, "settings", dict)
        except FormatError as error:
            raise CheckpointError(f"{self.place}: {error}") from None
        self._check_settings(before)
        try:
            self._take(saved)
        except (TypeError, ValueError, KeyError) as error:
            raise CheckpointError(f"{self.place}: {json.dumps(str(error))}") from None

    def _check_settings(self, before: dict[str, Any]) -> None:
        now = json.loads(json.dumps(as_plain(self.settings)))  # as it comes back from a file
        for name in sorted((before.keys() | now.keys()) - MAY_CHANGE):
            if before.get(name) != now.get(name):
                raise DAGSchedError(
                    f"{self.run.path}: the run has {name} = {before.get(name)!r}, not "
                    f"{now.get(name)!r}: keep it, or choose another directory"
                )

    def _take(self, saved: Checkpoint) -> None:
        state = saved.state
        iteration, rounds = stored(state, "iteration", int), stored(state, "rounds", int)
        warm_steps = stored(state, "warm_steps", int)
        elapsed_s, found = stored(state, "elapsed_s", float), stored(state, "found", dict)
        self.best.restore(saved.arrays, stored(state, "best", dict))
        self.ppo.restore(saved)
        for searcher in self.searchers:
            for value, actions in stored(found, searcher.task.name, list):
                searcher.add(Found(float(value), tuple(int(action) for action in actions)))
        self.iteration, self.rounds, self.warm_steps = iteration, rounds, warm_steps
        self._before, self._start = elapsed_s, self._cpu()
        self._saved = self._said = self._start


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else 0.0
