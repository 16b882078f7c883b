"""REINFORCE on the attention model, as the settings of a run say."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from aerl_trainer.baselines.attention.policy import AttentionPolicy
from aerl_trainer.baselines.reinforce import (
    Baseline,
    GreedyRollout,
    Reinforce,
    SharedBaseline,
    StepReport,
)
from aerl_trainer.checkpoint import Checkpoint
from aerl_trainer.config import Config, seeding
from aerl_trainer.config.stored import stored
from dagsched_env.problem.instance import Instance

AT_ONCE = 64
"""Most problems in a batch of the greedy rollout's validation set."""


class AttentionLearner:
    """A policy, and the steps on it.

    Args:
        config: of the run; initial weights, problems and actions are functions of its seed.
        draw: draws a problem.
    """

    def __init__(self, config: Config, draw: Callable[[np.random.Generator], Instance]) -> None:
        self._config, self._draw = config, draw
        self._rng = seeding.generator(config.run.seed, "problems")
        self.policy = self._fresh_policy()
        optimizer = torch.optim.Adam(
            self.policy.parameters(), lr=config.reinforce.learning_rate, fused=True
        )
        self._reinforce: Reinforce[Sequence[Instance]] = Reinforce(
            self.policy,
            optimizer,
            self._baseline(),
            starts=config.reinforce.starts,
            seed=self._seed("actions"),
        )

    @property
    def steps(self) -> int:
        """Gradient steps so far."""
        return self._reinforce.steps

    def step(self, progress: float) -> StepReport:
        """One gradient step.

        Args:
            progress: share of the training that is over, in [0, 1]; the learning rate falls
                linearly with it.
        """
        config = self._config.reinforce
        for group in self._reinforce.optimizer.param_groups:
            group["lr"] = config.learning_rate * (1.0 - progress)
        problems = [self._draw(self._rng) for _ in range(config.problems)]
        report = self._reinforce.step(problems)
        if self.steps % config.epoch_steps == 0:
            self._reinforce.baseline.after_epoch(self.policy)
        return report

    def state(self) -> Checkpoint:
        """Everything that ``restore`` needs to go on exactly."""
        saved = self._reinforce.state()
        draws: dict[str, Any] = {"draws": seeding.state(self._rng)}
        return Checkpoint(saved.tensors, saved.arrays, {**saved.state, **draws})

    def restore(self, saved: Checkpoint) -> None:
        """The inverse of ``state``.

        Raises:
            DAGSchedError: something is missing, or of another kind.
        """
        rng = seeding.restore(stored(saved.state, "draws", dict))
        self._reinforce.restore(saved)
        self._rng = rng

    def _baseline(self) -> Baseline[Sequence[Instance]]:
        config = self._config.reinforce
        if config.baseline == "shared":
            return SharedBaseline()
        return GreedyRollout(self.policy, self._validation_set, test=config.test)

    def _validation_set(self, number: int) -> list[list[Instance]]:
        """Problems on which the greedy rollout's frozen copy is judged, in batches."""
        rng = seeding.generator(self._config.run.seed, "baseline", number)
        problems = [self._draw(rng) for _ in range(self._config.reinforce.baseline_problems)]
        return [problems[i : i + AT_ONCE] for i in range(0, len(problems), AT_ONCE)]

    def _fresh_policy(self) -> AttentionPolicy:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._seed("weights"))
            return AttentionPolicy(self._config.attention)

    def _seed(self, name: str) -> int:
        return int(seeding.generator(self._config.run.seed, name).integers(2**31))
