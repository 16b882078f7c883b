"""MaskablePPO of sb3-contrib on ``DAGSched-v0``, and its row in the table of the trainer.

Proximal policy optimisation (Schulman et al. 2017, arXiv:1707.06347) with invalid actions masked
out (Huang, Ontañón 2022, arXiv:2006.14171). It trains on graphs from the family of the suite
``"heldout"`` (n = 30, p = 4) and schedules greedily, one rollout an instance, without search.

A dense network on the padded observation learns slowly and knows one size of problem, so the policy
is that of ``pair_policy``, which starts from random weights: it is given what HEFT computes, not
what HEFT decides. It can schedule the larger traces of ``"workflows_small"`` too, though it has
seen no such graph in training.
"""

import contextlib
import dataclasses
import json
import shlex
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from types import FrameType
from typing import Any

import gymnasium
import numpy as np
import torch
import tyro
from rich.console import Console
from sb3_contrib import MaskablePPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from aerl_trainer.baselines.pair_policy import PairObservation, PairPolicy
from dagsched_env import suites
from dagsched_env.comparison.compare import Row, compare, format_table, summarise
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.io.atomic import write_bytes, write_text
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import best_of_portfolio, heft

TRAINING = TopcuogluGenerator(
    n_tasks=30, n_processors=4, ccr=suites.HELDOUT_CCR, beta=suites.HELDOUT_BETA
)
PADDING = {"max_tasks": 64, "max_processors": 4, "max_edges": 192}
"""Holds the training graphs and every instance of the suites."""

SUITES = ("heldout", "workflows_small")
"""What the model is judged on."""
ENVS = 16
PPO: dict[str, Any] = {
    "n_steps": 240,
    "batch_size": 960,
    "n_epochs": 6,
    "learning_rate": 1e-3,
    "gamma": 1.0,
    "gae_lambda": 0.9,
    "ent_coef": 0.002,
}
"""``gamma`` is 1 because the undiscounted return is the objective; ``n_steps`` is 8 episodes."""

EPISODE_KEYS = ("slr", "vs_heft")
LINE_INTERVAL_S = 10.0
UNLIMITED = 2**40
EXIT_ERROR, EXIT_INTERRUPTED = 2, 130


class Watch(BaseCallback):
    """Ends the training in time, or when asked to, and says how it is going.

    Args:
        seconds: duration of the training.
        console: where to print.
    """

    def __init__(self, seconds: float, console: Console) -> None:
        super().__init__()
        self._seconds, self._console = seconds, console
        self._start = self._next_line = 0.0
        self.interrupted = False

    def interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        """Handler of signals: stop after the next step."""
        self.interrupted = True

    def _on_training_start(self) -> None:
        self._start = time.monotonic()
        self._next_line = self._start + LINE_INTERVAL_S

    def _on_step(self) -> bool:
        now = time.monotonic()
        going = not self.interrupted and now < self._start + self._seconds
        if now >= self._next_line or not going:
            self._print_line(now - self._start)
            self._next_line = now + LINE_INTERVAL_S
        return going

    def _on_rollout_end(self) -> None:
        for name in EPISODE_KEYS:
            self.logger.record(f"rollout/{name}_mean", self._mean(name))

    def _print_line(self, elapsed: float) -> None:
        self._console.print(
            f"[{elapsed:4.0f} / {self._seconds:.0f} s]  timesteps {self.num_timesteps:,}  "
            f"steps/s {self.num_timesteps / max(elapsed, 1e-9):,.0f}  "
            f"mean episode SLR {self._mean('slr'):.3f}  vs heft {self._mean('vs_heft'):.4f}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )

    def _mean(self, name: str) -> float:
        """Over the latest episodes of training; NaN before the first has ended."""
        episodes = self.model.ep_info_buffer or ()
        return sum(e[name] for e in episodes) / len(episodes) if episodes else float("nan")


def make_env(**options: Any) -> PairObservation:
    """The environment to train and to schedule in, padded by ``PADDING``.

    Args:
        options: of ``DAGSchedEnv``, over the defaults here.
    """
    return PairObservation(
        gymnasium.make("DAGSched-v0", **{"instances": TRAINING, **PADDING, **options})
    )


def train(
    minutes: float, run_dir: Path, *, seed: int = 0, console: Console | None = None
) -> MaskablePPO:
    """Train until the time is over, or SIGINT or SIGTERM comes; then save ``model.zip``.

    To be called from the main thread, which alone may listen to signals. The copies of the
    environment take turns in this process: a step is so short that sending its observation from
    another one (``SubprocVecEnv``) takes longer, and halves the steps per second.

    Args:
        minutes: > 0.
        run_dir: gets ``model.zip`` (read it with ``MaskablePPO.load``) and ``tb/``.
        seed: of networks, environments and actions.
        console: where to print progress; by default standard output.

    Raises:
        DAGSchedError: ``minutes`` is not positive.
        OSError: the directory cannot be written.
    """
    if not minutes > 0:
        raise DAGSchedError(f"minutes is {minutes}: it must be positive")
    run_dir.mkdir(parents=True, exist_ok=True)
    envs = DummyVecEnv([lambda: Monitor(make_env(), info_keywords=EPISODE_KEYS)] * ENVS)
    model = MaskablePPO(
        PairPolicy, envs, **PPO, seed=seed, device="cpu", tensorboard_log=str(run_dir / "tb")
    )
    watch = Watch(60.0 * minutes, console or Console(markup=False))
    with _signals_to(watch.interrupt):
        model.learn(UNLIMITED, callback=watch, tb_log_name="maskable_ppo")
    archive = BytesIO()
    model.save(archive)
    write_bytes(run_dir / "model.zip", archive.getvalue())
    return model


def scheduler(model: MaskablePPO) -> Callable[[Instance], Schedule]:
    """A scheduler that takes the most probable legal action in every state.

    It raises DAGSchedError for instances larger than ``PADDING``.
    """
    env = make_env()

    def schedule(instance: Instance) -> Schedule:
        observation, info = env.reset(options={"instance": instance})
        while "schedule" not in info:
            action, _ = model.predict(
                observation, deterministic=True, action_masks=info["action_mask"]
            )
            observation, _, _, _, info = env.step(np.int64(action))
        result: Schedule = info["schedule"]
        return dataclasses.replace(result, algorithm="maskable_ppo")

    return schedule


def evaluate(model: MaskablePPO, suite: str) -> list[Row]:
    """Rows ``heft``, ``best scheduler`` and ``maskable_ppo``; every schedule is validated."""
    instances = suites.load(suite)
    contestants: dict[str, Callable[[Instance], Schedule]] = {
        "heft": heft,
        "best scheduler": best_of_portfolio,
        "maskable_ppo": scheduler(model),
    }
    return summarise(compare(instances, contestants).makespans, instances)


def run(minutes: float = 3.0, run_dir: Path = Path("runs/baseline"), seed: int = 0) -> None:
    """Train MaskablePPO, then compare it with classic schedulers on problems it has not seen.

    Args:
        minutes: training time.
        run_dir: gets model.zip, results.json and tb/.
        seed: of all randomness.
    """
    # The networks are so small that a second thread mostly waits for the first.
    torch.set_num_threads(1)
    console = Console(markup=False)
    model = train(minutes, run_dir, seed=seed, console=console)
    results = {}
    for suite in SUITES:
        rows = evaluate(model, suite)
        instances = rows[0].wins + rows[0].ties + rows[0].losses
        console.print(f"{suite}: {instances} instances, greedy, no search", style="bold")
        console.print(format_table(rows), markup=False, highlight=False)
        results[suite] = [dataclasses.asdict(row) for row in rows]
    write_text(run_dir / "results.json", json.dumps(results, indent=2) + "\n")
    console.print(f"model  {run_dir / 'model.zip'}", highlight=False, soft_wrap=True)
    curves = f"tensorboard --logdir {shlex.quote(str(run_dir / 'tb'))}"
    console.print(f"curves  {curves}", highlight=False, soft_wrap=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns 0, or 2 after a one-line error on stderr, or 130 (Ctrl-C)."""
    try:
        tyro.cli(run, prog="python -m aerl_trainer.baselines.maskable_ppo", args=argv)
    except (DAGSchedError, OSError) as error:
        print(f"maskable_ppo: error: {' '.join(str(error).split())}", file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return 0


@contextlib.contextmanager
def _signals_to(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


if __name__ == "__main__":
    sys.exit(main())
