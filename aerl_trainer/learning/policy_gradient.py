"""Trains the fast policy on rank groups: REINFORCE with the rank reward of AERL-DS as its weight.

For each instance K schedules are drawn by the policy itself. Their signed rank rewards r (see
``ranking``) weigh the gradients of their log-probabilities: Σ_k r_k ∇ log π_k / K, averaged over
the instances of a step. No scheduler from outside is in the signal.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from aerl_trainer.learning.ranking import rank_rewards
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.policy.weights import N_WEIGHTS
from dagsched_env.errors import DAGSchedError
from dagsched_env.instance import Instance

__all__ = ["PolicyGradient", "PolicyGradientReport"]

FIRST_DECAY, SECOND_DECAY, ADAM_EPSILON = 0.9, 0.999, 1e-8
"""Adam (Kingma, Ba 2015), algorithm 1."""


class PolicyGradientReport(NamedTuple):
    """One step."""

    step: int
    relative_spread: float
    """Standard deviation of the makespans of a group over their mean, mean over the groups."""
    gradient_norm: float


class PolicyGradient:
    """Adam on the weights of a fast policy, with an exponential moving average of them.

    Args:
        draw: draws an instance.
        rng: of the instances and of the schedules.
        policy: where training starts; by default the hand-made prior.
        instances: of a step, ≥ 1.
        schedules: K of an instance, ≥ 2.
        rank_temperature: τ of the rank rewards, > 0: a large one trains the single pass, a small
            one the best of many.
        learning_rate: > 0.
        average: share of the old average that a step keeps, in [0, 1).

    Raises:
        DAGSchedError: a number is out of its range.
    """

    def __init__(
        self,
        draw: Callable[[np.random.Generator], Instance],
        rng: np.random.Generator,
        *,
        policy: FastPolicy | None = None,
        instances: int = 16,
        schedules: int = 32,
        rank_temperature: float = 1.0,
        learning_rate: float = 0.01,
        average: float = 0.98,
    ) -> None:
        if instances < 1 or schedules < 2 or not learning_rate > 0 or not 0 <= average < 1:
            raise DAGSchedError(
                f"instances={instances}, schedules={schedules}, learning_rate={learning_rate}, "
                f"average={average}: they need to be >= 1, >= 2, > 0 and in [0, 1)"
            )
        self._draw, self._rng = draw, rng
        self._instances, self._schedules, self._tau = instances, schedules, rank_temperature
        self._rate, self._average = learning_rate, average
        self._policy = FastPolicy(None if policy is None else policy.weights)
        self._mean = self._policy.weights.copy()
        self._first = np.zeros(N_WEIGHTS)
        self._second = np.zeros(N_WEIGHTS)
        self.steps = 0

    @property
    def policy(self) -> FastPolicy:
        """The policy with the averaged weights; a copy."""
        return FastPolicy(self._mean)

    def step(self, progress: float = 0.0) -> PolicyGradientReport:
        """One gradient step.

        Args:
            progress: share of the training that is over, in [0, 1]; the learning rate falls
                linearly with it.
        """
        total, spread = np.zeros(N_WEIGHTS), 0.0
        for _ in range(self._instances):
            instance = self._draw(self._rng)
            group = self._policy.sample(instance, self._schedules, self._rng, gradients=True)
            rewards, _ = rank_rewards(group.makespans, temperature=self._tau)
            total += rewards @ group.gradients / self._schedules
            mean = float(group.makespans.mean())
            spread += float(group.makespans.std()) / mean if mean > 0 else 0.0
        self._ascend(total / self._instances, self._rate * (1.0 - progress))
        norm = float(np.linalg.norm(total)) / self._instances
        return PolicyGradientReport(self.steps, spread / self._instances, norm)

    def _ascend(self, gradient: np.ndarray, rate: float) -> None:
        self.steps += 1
        self._first = FIRST_DECAY * self._first + (1 - FIRST_DECAY) * gradient
        self._second = SECOND_DECAY * self._second + (1 - SECOND_DECAY) * gradient**2
        first = self._first / (1 - FIRST_DECAY**self.steps)
        second = self._second / (1 - SECOND_DECAY**self.steps)
        change = rate * first / (np.sqrt(second) + ADAM_EPSILON)
        self._policy.weights += change.astype(np.float32)
        self._mean = self._average * self._mean + (1 - self._average) * self._policy.weights
