"""Speed of the learner: states per second of whole gradient steps, and where the time goes.

    python benchmarks/learner.py [--trajectories 64] [--steps 10] [--rounds 5] [--before CHECKOUT]

Replay holds 90 jobs of 12 trajectories, on random graphs of 20 to 40 tasks. A step samples
trajectories, rebuilds all their states, runs the network of default size forward and backward, and
writes the new priorities. One thread; times are those of the processor, and of each the fastest
round counts. "written with torch" is the same network without its kernels.

With ``--before`` steps of this learner and of that in another checkout take turns in two processes,
as many as there are rounds, and the median ratio of neighbours is printed. The last learner from
single states is that of commit 9b013a4 (``git worktree add CHECKOUT 9b013a4``).
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

import numpy as np
import torch
from learner_steps import filled_learner
from timing import best_in_turn

from aerl_trainer.learning.batches import TrainBatch
from aerl_trainer.learning.losses import compute_losses
from aerl_trainer.learning.records import Experience
from aerl_trainer.network import by_torch, rows

ROOT = Path(__file__).resolve().parent.parent


class Measured:
    """A learner with a filled replay, and its parts one by one."""

    def __init__(self, trajectories: int, steps: int) -> None:
        self.learner, self._steps = filled_learner(trajectories), steps
        self.config = self.learner.config
        self._rng = np.random.default_rng(0)
        self.states = 0

    def step(self) -> None:
        """A whole gradient step."""
        self.learner.step()

    def build(self) -> TrainBatch:
        """Sample and rebuild."""
        sample = self.learner.replay.sample(self.config.learner.batch_size, self._rng, 0.4)
        return self.learner._builder.build(sample.experiences, sample.weights)

    def forward(self) -> torch.Tensor:
        """Sample, rebuild, network and loss."""
        batch = self.build()
        logits, prediction = self.learner.network(batch.graphs, batch.states)
        return compute_losses(logits, prediction, batch, self.config.learner).total

    def backward(self) -> None:
        """All but the step of the optimiser and the priorities."""
        self.forward().backward()  # type: ignore[no-untyped-call]

    def step_by_torch(self) -> None:
        """A whole step without the kernels of the network."""
        with ExitStack() as stack:
            for name in rows.OPERATIONS:
                stack.enter_context(mock.patch.object(rows, name, getattr(by_torch, name)))
            self.learner.step()

    def rate(self, action: Callable[[], object]) -> float:
        """States per second of processor time."""
        build, states = self.learner._builder.build, 0

        def count(experiences: tuple[Experience, ...], weights: np.ndarray) -> TrainBatch:
            nonlocal states
            states += sum(e.instance.n_tasks for e in experiences)
            return build(experiences, weights)

        with mock.patch.object(self.learner._builder, "build", count):
            started = time.process_time()
            for _ in range(self._steps):
                action()
            return states / (time.process_time() - started)


@contextmanager
def steps_of(checkout: Path) -> Iterator[Callable[[], float]]:
    """Single steps of the learner of a checkout, in a process of its own: µs per state."""
    paths = [str(checkout), os.environ.get("PYTHONPATH", "")]
    with subprocess.Popen(
        [sys.executable, str(ROOT / "benchmarks" / "learner_steps.py")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=checkout,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        source, sink = process.stdout, process.stdin
        if source.readline() != "ready\n":
            raise SystemExit(f"{checkout}: its learner does not run here; see above")

        def step() -> float:
            sink.write("\n")
            sink.flush()
            states, seconds = source.readline().split()
            return 1e6 * float(seconds) / int(states)

        yield step
        sink.close()


def compare(before: Path, rounds: int) -> None:
    """Print what a state costs there and here, and the ratio."""
    with steps_of(before) as old, steps_of(ROOT) as new:
        pairs = [(old(), new()) for _ in range(rounds)]
    print("            µs/state: median   fastest")
    for name, times in zip(("before", "now"), zip(*pairs, strict=True), strict=True):
        print(f"{name:20} {statistics.median(times):9.1f} {min(times):9.1f}")
    ratios = [there / here for there, here in pairs]
    print(f"before / now         {statistics.median(ratios):9.1f}")


def take_apart(trajectories: int, steps: int, rounds: int) -> None:
    """Print where the time of a step goes."""
    torch.set_num_threads(1)
    measured = Measured(trajectories, steps)
    actions = {
        "sample and rebuild": measured.build,
        "… and forward": measured.forward,
        "… and backward": measured.backward,
        "whole step": measured.step,
        "written with torch": measured.step_by_torch,
    }
    for action in actions.values():
        action()  # compiles and allocates
    measures = [lambda action=action: measured.rate(action) for action in actions.values()]
    rates = best_in_turn(measures, rounds)
    print("                      states/s   µs/state")
    for name, rate in zip(actions, rates, strict=True):
        print(f"{name:20} {rate:9.0f} {1e6 / rate:10.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trajectories", type=int, default=64)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--before", type=Path, metavar="CHECKOUT")
    arguments = parser.parse_args()
    if arguments.before:
        compare(arguments.before.resolve(), arguments.rounds)
    else:
        take_apart(arguments.trajectories, arguments.steps, arguments.rounds)


if __name__ == "__main__":
    main()
