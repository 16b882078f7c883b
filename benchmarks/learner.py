"""Speed of the learner: states per second of whole gradient steps, and where the time goes.

    python benchmarks/learner.py [--trajectories 64] [--steps 10] [--rounds 5]

Replay holds 90 jobs of 12 trajectories, on random graphs of 20 to 40 tasks. A step samples
trajectories, rebuilds all their states, runs the network of default size forward and backward, and
writes the new priorities. One thread; times are those of the processor, and of each the fastest
round counts. "written with torch" is the same network without its kernels.
"""

import argparse
import dataclasses
import time
from collections.abc import Callable
from contextlib import ExitStack
from unittest import mock

import numpy as np
import torch
from timing import best_in_turn

from aerl_trainer.config import Config
from aerl_trainer.learning.batches import TrainBatch
from aerl_trainer.learning.experiences import make_experiences
from aerl_trainer.learning.learner import Learner
from aerl_trainer.learning.losses import compute_losses
from aerl_trainer.nn import by_torch, rows
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.records import Experience, Trajectory
from dagsched_env.generators import TopcuogluGenerator

JOBS = 90


def draw_job(seed: int, config: Config) -> list[Experience]:
    """Trajectories that a policy has drawn; to rebuild them takes as long as those of a search."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(20, 41)), int(rng.choice([3, 4, 6]))
    instance = TopcuogluGenerator(n_tasks=n, n_processors=p, ccr=(0.5, 1.0, 2.0, 5.0))(rng)
    group = FastPolicy().sample(instance, config.search.min_trajectories, rng)
    trajectories = [
        Trajectory(
            actions=np.stack(np.divmod(actions, p), axis=1).astype(np.int32),
            candidates=(),
            policies=(),
            probabilities=np.ones(len(actions)),
            makespan=makespan,
        )
        for actions, makespan in zip(group.actions, group.makespans.tolist(), strict=True)
    ]
    return make_experiences(instance, trajectories, config)


class Measured:
    """A learner with a filled replay, and its parts one by one."""

    def __init__(self, trajectories: int, steps: int) -> None:
        config = Config()
        settings = dataclasses.replace(config.learner, batch_size=trajectories)
        self.config = dataclasses.replace(config, learner=settings)
        self.learner, self._steps = Learner(self.config), steps
        for seed in range(JOBS):
            self.learner.add(draw_job(seed, self.config))
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
            for name in rows.__all__:
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trajectories", type=int, default=64)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    measured = Measured(arguments.trajectories, arguments.steps)
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
    rates = best_in_turn(measures, arguments.rounds)
    print("                      states/s   µs/state")
    for name, rate in zip(actions, rates, strict=True):
        print(f"{name:20} {rate:9.0f} {1e6 / rate:10.1f}")


if __name__ == "__main__":
    main()
