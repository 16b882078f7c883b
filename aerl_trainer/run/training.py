"""A training run: learners, job lifecycle, validator and curriculum at work together."""

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
import torch

from aerl_trainer import checkpoint
from aerl_trainer import config as settings
from aerl_trainer.checkpoint import Checkpoint, CheckpointError, take
from aerl_trainer.checkpoint.run_checkpoints import (
    NO_BEST,
    Generations,
    better,
    read_best,
    to_go_on,
)
from aerl_trainer.config import Config, ConfigError, seeding
from aerl_trainer.config.stored import share, stored
from aerl_trainer.learning.network_learner import NetworkLearner, make_network
from aerl_trainer.learning.packing import TREE, pack_groups, unpack_groups
from aerl_trainer.learning.policy_learner import PolicyLearner
from aerl_trainer.learning.problem_replay import ProblemReplay
from aerl_trainer.learning.rank_reward import rank_rewards
from aerl_trainer.memory.heap import free_memory_returned
from aerl_trainer.network.evaluator import TorchEvaluator
from aerl_trainer.network.network import require_status
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.run.curriculum import Curriculum
from aerl_trainer.run.interruption import Stop, stop_on_signals
from aerl_trainer.run.lifecycle import JobLifecycle, LifecycleThread
from aerl_trainer.run.observers import RunObserver, open_log
from aerl_trainer.run.problems import Problems
from aerl_trainer.run.records import TrainingResult
from aerl_trainer.run.reporting import RunDirectory
from aerl_trainer.run.validator import Validator
from aerl_trainer.runtime.harvest import LocalJobs
from aerl_trainer.runtime.pool import LockstepPool, PoolStats, no_pool
from aerl_trainer.runtime.process_pool import ProcessPool
from aerl_trainer.tree.records import SearchReport
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.sources import Draw

if TYPE_CHECKING:
    from aerl_trainer.run.attention_run import AttentionRun

PUBLISHED_AT_START = 1
REPLAY, WAITING = "replay_", "waiting_"
"""Begin the names of a checkpoint's arrays: of the replay of trees, of trees that wait."""


def train(
    config: Config,
    directory: RunDirectory,
    *,
    resume: bool = False,
    functions: Mapping[str, Draw] | None = None,
) -> TrainingResult:
    """Train until the time or the steps are used up, or SIGINT, SIGTERM or SIGHUP comes.

    However it ends, the last act is a checkpoint from which ``resume`` goes on exactly. With one
    actor and the inline backend all parts take turns in this process, and the run is a function of
    its settings.

    Args:
        config: all settings.
        directory: where everything is written; no other process may train there meanwhile.
        resume: go on from the directory's last checkpoint; where it is damaged, from the previous
            or the best one; a run that has none yet begins again. Where it fails, no file of the
            run has changed.
        functions: see ``Problems``.

    Raises:
        DAGSchedError: the directory holds a run and ``resume`` is False, or the reverse; another
            process has it; no checkpoint can be read; or a SPEC cannot be resolved.
    """
    if resume and not directory.holds_run:
        raise DAGSchedError(f"{directory.path} holds no run to resume")
    generations = checkpoint.generations(directory.checkpoints)
    problems = Problems(
        config.curriculum.levels,
        seed=config.run.seed,
        count=config.validator.instances,
        functions=functions,
    )
    with contextlib.ExitStack() as stack:
        stack.enter_context(directory.hold())
        directory.make_folders(resume=resume)
        # The actors keep all cores busy: threads of torch would wait for each other.
        stack.callback(torch.set_num_threads, torch.get_num_threads())
        torch.set_num_threads(1)
        run = _kind_of_run(config)(config, directory, problems)
        messages: list[str] = []
        if resume and any(map(checkpoint.exists, generations)):
            checkpoint.read_first(generations, run.restore, messages.append)
        elif resume:
            messages.append("no checkpoint has been written yet: the run begins again")
            run.begin_again()
        run.open(stack, messages)
        stack.enter_context(free_memory_returned())
        stop = stack.enter_context(stop_on_signals())
        run.loop(stop)
        run.save("last")
        return TrainingResult(
            run.steps,
            run.jobs,
            stop.requested,
            tuple(problems.test),
            problems.test_is_new,
        )


def _kind_of_run(config: Config) -> "type[_Run] | type[AttentionRun]":
    if config.run.algorithm != "reinforce":
        return _Run
    from aerl_trainer.run.attention_run import AttentionRun

    return AttentionRun


class _Run:
    """The parts of a run: first those that checkpoints hold, then, with ``open``, the others."""

    observer: RunObserver

    def __init__(self, config: Config, directory: RunDirectory, problems: Problems) -> None:
        self.config, self.directory, self.problems = config, directory, problems
        self.curriculum = Curriculum(config.curriculum, problems)
        self.validator = Validator(config, self.curriculum)
        self.best = NO_BEST
        self.generations = Generations(directory.checkpoints)
        self.gradient = PolicyLearner(
            self.curriculum.make_instance,
            seeding.generator(config.run.seed, "policy"),
            config.policy,
            reward=partial(rank_rewards, temperature=config.learner.rank_temperature),
            replay=ProblemReplay(config.replay) if config.variations else None,
            threads=1 if config.has_jobs else config.run.actors,
        )
        self.policy = FastPolicy()
        """The last one that has passed the paired test."""
        self.learner = NetworkLearner(config) if config.learner.network else None
        self._judge = None if self.learner is None else TorchEvaluator(make_network(config))
        self.lifecycle = JobLifecycle(config, self.curriculum, self.learner, self.gradient.replay)
        self._publish()
        self._earlier_s: float | None = None
        self._thread: LifecycleThread | None = None

    def open(self, stack: contextlib.ExitStack, messages: Sequence[str]) -> None:
        """Start processes and records; the run is about to begin, or to go on.

        Args:
            stack: closes all of them.
            messages: to show first.
        """
        config, directory = self.config, self.directory
        stats = self._open_pool(stack)
        log = None
        if self._earlier_s is not None:  # before the settings: a resume that fails changes nothing
            log = stack.enter_context(open_log(directory, self.steps))
        directory.record(settings.to_dict(config))
        observer = RunObserver(config, directory, stats, log)
        self.observer = stack.enter_context(observer)
        for message in filter(None, [*messages, self.problems.summary]):
            self.observer.say(message)
        if self._earlier_s is not None:
            self.observer.resume(self.steps, self._earlier_s, self.curriculum.level, self.lifecycle)
        if config.has_jobs and not _in_lockstep(config):
            self._thread = LifecycleThread(self.lifecycle, self._observe_search)
            stack.callback(self._thread.stop)

    def _open_pool(self, stack: contextlib.ExitStack) -> Callable[[], PoolStats]:
        """Start what searches, if anything does, and what helps with gradients; gives its stats."""
        config = self.config
        if config.ray.address:
            from aerl_trainer.runtime.cluster.ray_run import ClusterGradients, node_workers

            largest = _largest(self.problems) if config.has_jobs else None
            fleet, jobs = stack.enter_context(node_workers(config, largest))
            if not config.variations:
                self.gradient.compute_with(partial(ClusterGradients, fleet))
            self.lifecycle.search_with(jobs)
            return jobs.stats
        if not config.has_jobs:
            return no_pool
        pool = _make_pool(config, self.directory, self.problems)
        stack.callback(pool.close)
        self.lifecycle.search_with(pool)
        return pool.stats

    @property
    def steps(self) -> int:
        """Of the fast policy; with a network, each is one of the network too."""
        return self.gradient.steps

    @property
    def jobs(self) -> int:
        """Finished trees."""
        return self.lifecycle.finished

    def loop(self, stop: Stop) -> None:
        """Alternate steps with waiting for experience; validate and save on the way."""
        config = self.config
        self._guide()
        if self.steps == 0:
            self._validate()
        if self._thread is not None:
            self._thread.start()
        started, duration = time.monotonic(), 60.0 * config.run.minutes
        while not stop.requested and (spent := time.monotonic() - started) < duration:
            if 0 < config.run.max_steps <= self.steps:
                break
            if self._thread is not None:
                self._thread.check()
            if not self._may_step():
                self._wait_for_experience()
                continue
            steps = config.policy.decay_steps or config.run.max_steps
            self._step(min(1.0, self.steps / steps if steps else spent / duration))
        else:
            if not stop.requested:
                self._validate(at_end=True)  # the last steps are the smallest, and the best
        if self._thread is not None:
            self._thread.stop()  # the job in its hands belongs to this run
        self.observer.ended()

    def save(self, name: str) -> None:
        """Write the checkpoint ``name``; see ``Generations``."""
        with self.lifecycle.at_rest():
            saved = self._state()
        self.generations.save(name, saved)

    def _state(self) -> Checkpoint:
        """Everything that ``restore`` needs to go on exactly."""
        arrays, record = self.gradient.state()
        waiting, counters = self.lifecycle.state()
        replay = self.gradient.replay
        network = Checkpoint({}, {}, {}) if self.learner is None else self.learner.state()
        held = self.lifecycle.published
        return Checkpoint(
            tensors={
                "policy": {"weights": torch.from_numpy(self.policy.weights)},
                "policy_gradient": _tensors(arrays),
                **({} if held is None else {"published": _tensors({"weights": held})}),
                **network.tensors,
            },
            arrays={
                **network.arrays,
                **({} if replay is None else _prefixed(replay.state_arrays(), REPLAY)),
                **(_prefixed(pack_groups(waiting), WAITING)),
            },
            state={
                "config": settings.to_dict(self.config),
                "rollout_weight": 1.0 if self.learner is None else self.learner.rollout_weight,
                "policy_gradient": record,
                "problems": self.problems.fingerprint,
                "curriculum": self.curriculum.state_dict(),
                "lifecycle": counters,
                "time_s": self.observer.elapsed_s,
                "best": self.best,
                **network.state,
            },
        )

    def begin_again(self) -> None:
        """Forget what a run has recorded that ended before its first checkpoint."""
        self._earlier_s = 0.0

    def restore(self, source: Path) -> None:
        """Continue from a checkpoint; where it fails, another one may be restored.

        Raises:
            CheckpointError: it is damaged.
            DAGSchedError: the run cannot go on from it with these settings or problems.
        """
        saved, before = to_go_on(source, self.config, self.problems.fingerprint)
        self._check_network(source, saved, before)
        try:
            self._restore(saved)
        except DAGSchedError as error:
            raise CheckpointError(f"{source}: not the checkpoint of a run: {error}") from None
        self.generations.restored(source)

    def _check_network(self, source: Path, saved: Checkpoint, before: Config) -> None:
        """Raise DAGSchedError unless replay and network can go on with the present settings."""
        config = self.config
        kept = ("capacity", "kind", "alpha")
        if config.variations and before.variations:
            for name in kept:
                was, now = (getattr(c.replay, name) for c in (before, config))
                if was != now:
                    raise ConfigError(f"{source}: its replay.{name} is {was}, and cannot change")
        if self.learner is None:
            return
        if not before.learner.network:
            raise ConfigError(
                f"{source}: the run has trained no network: set learner.network = false"
            )
        require_status(source, saved.tensors.get("model", ()))
        if before.network != config.network:
            raise ConfigError(f"{source}: its network is of another size than [network] asks for")
        if before.replay.capacity != config.replay.capacity:
            raise ConfigError(
                f"{source}: its replay.capacity is {before.replay.capacity}, and cannot change"
            )

    def _restore(self, saved: Checkpoint) -> None:
        state = saved.state
        share(state, "rollout_weight")  # is computed here, and read by what uses the policy
        self.policy = FastPolicy(
            take(saved, "policy", _tensors({"weights": self.policy.weights}))["weights"].numpy()
        )
        arrays, _ = self.gradient.state()
        found = take(saved, "policy_gradient", _tensors(arrays))
        self.gradient.restore(
            {name: tensor.numpy() for name, tensor in found.items()},
            stored(state, "policy_gradient", dict),
        )
        self.curriculum.load_state_dict(stored(state, "curriculum", dict))
        if self.learner is not None:
            self.learner.restore(saved)
            self._publish()
            if "published" in saved.tensors:  # version 3 had none
                held = take(saved, "published", _tensors({"weights": self.learner.weights()}))
                self.lifecycle.publish(held["weights"].numpy(), self.steps + PUBLISHED_AT_START)
        waiting = _unprefixed(saved.arrays, WAITING)  # runs of before hold other trees, or none
        groups = unpack_groups(waiting) if f"{TREE}step" in waiting else []
        self.lifecycle.restore(groups, stored(state, "lifecycle", dict))
        replay = _unprefixed(saved.arrays, REPLAY)
        if self.gradient.replay is not None and replay:
            self.gradient.replay.load_state_arrays(replay)
        self._earlier_s = stored(state, "time_s", float)
        self.best = read_best(stored(state, "best", dict))

    def _step(self, progress: float) -> None:
        """One step of the fast policy, and of the network if there is one."""
        config = self.config
        trees = self.lifecycle.take_groups(config.policy.instances)
        self.observer.improved(self.gradient.step(progress, trees), self.gradient.replay)
        self._guide()
        if self.learner is not None:
            self.observer.trained(self.learner.step())
            if self.steps % config.learner.publish_interval == 0:
                self._publish()
        if self.steps % config.validator.interval == 0:
            self._validate()
        if self.steps % config.learner.checkpoint_interval == 0:
            self.save("last")

    def _may_step(self) -> bool:
        """There is enough experience, and the learners are not ahead of the replay ratio."""
        config = self.config
        if not config.has_jobs:
            return True
        if self.learner is None:
            return self.lifecycle.waiting_groups >= config.policy.instances
        ahead = self.steps >= config.learner.steps_per_job * self.lifecycle.finished
        return self.learner.ready and not ahead

    def _wait_for_experience(self) -> None:
        if self._thread is not None:
            self._thread.wait_for_progress(timeout=0.2)
            self.observer.tick(self.steps, self.lifecycle.finished)
        elif report := self.lifecycle.advance(timeout=0.0):
            self._observe_search(report)

    def _observe_search(self, report: SearchReport) -> None:
        self.observer.searched(report, self.steps, self.lifecycle)

    def _guide(self) -> None:
        """Trees that the policy learns from grow along what it would do now."""
        learning = self.config.variations
        self.lifecycle.guide(self.gradient.present if learning else self.policy, self.steps)

    def _publish(self) -> None:
        if self.learner is not None:
            self.lifecycle.publish(self.learner.weights(), self.steps + PUBLISHED_AT_START)

    def _validate(self, *, at_end: bool = False) -> None:
        """Put better weights to use; judge them; promote the curriculum; keep the best."""
        level, candidate = self.curriculum.level, self.gradient.policy
        accepted = self.steps > 0 and self.validator.accepts(
            candidate, self.policy, level=level, step=self.steps, at_end=at_end
        )
        if accepted:
            self.policy = candidate
            self._guide()
        if self._judge is not None and self.learner is not None:
            self._judge.load(self.learner.weights(), self.steps + PUBLISHED_AT_START)
        report = self.validator.evaluate(
            self.policy,
            self._judge,
            level=level,
            step=self.steps,
            rollout_weight=1.0 if self.learner is None else self.learner.rollout_weight,
            accepted=accepted,
        )
        judged = report.slr_vs_heft
        if self.config.validator.judged == "search":
            assert report.guided_vs_heft is not None
            judged = report.guided_vs_heft
        promoted = self.curriculum.observe(judged)
        self.observer.validated(report, promoted, self.curriculum.level)
        record = {"level": level, "slr_vs_heft": judged}
        if better(record, self.best) and self.steps > 0:
            self.best = record
            self.save("best")


def _tensors(arrays: Mapping[str, npt.NDArray[Any]]) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def _prefixed(arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> dict[str, npt.NDArray[Any]]:
    return {prefix + name: array for name, array in arrays.items()}


def _unprefixed(arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> dict[str, npt.NDArray[Any]]:
    whole = {name: array for name, array in arrays.items() if name.startswith(prefix)}
    return {name.removeprefix(prefix): array for name, array in whole.items()}


def _in_lockstep(config: Config) -> bool:
    """One actor takes turns with the learner, in this process."""
    alone = config.run.actors == 1 and not config.ray.address
    return alone and config.inference.backend == "inline"


def _make_pool(config: Config, directory: RunDirectory, problems: Problems) -> LocalJobs:
    if _in_lockstep(config):
        return LocalJobs(config, LockstepPool(config))
    backend = config.inference.backend
    pool = ProcessPool(
        config,
        _largest(problems),
        backend=backend if config.learner.network else "prior",
        explore=True,
        log_dir=directory.logs,
    )
    return LocalJobs(config, pool)


def _largest(problems: Problems) -> int:
    """Most tasks of a problem."""
    if problems.max_tasks is None:
        raise DAGSchedError(
            "a function that draws problems does not state their largest number of tasks: set its "
            "attribute max_tasks"
        )
    return problems.max_tasks
