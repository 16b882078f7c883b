"""The gradient of one rank group: drawn, graded and ranked as a whole, in any thread or process."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np

from aerl_trainer.config import PolicyConfig
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.tree.records import TreeGroup
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.instance import Instance


class GroupWork(NamedTuple):
    """One group to be graded."""

    instance: Instance
    tree: TreeGroup | None
    """Trajectories of a shared tree that belong to the group."""
    seed: int
    """Of the schedules that the policy draws."""


class GroupGradient(NamedTuple):
    """What a group adds to a gradient step."""

    gradient: Floats
    """``[N_WEIGHTS]``"""
    relative_spread: float
    """Standard deviation of the group's makespans over their mean."""
    schedules: int


Gradients = Callable[[FastPolicy, Sequence[GroupWork]], Sequence[GroupGradient]]
"""The gradients of groups, in their order."""


class GroupGrader:
    """A function of the policy and of the work alone.

    Args:
        config: sizes of a group.
        reward: turns the makespans ``[K]`` of a rank group into rewards ``[K]``.
        rollouts: the policy draws schedules itself; False grades those of trees alone.
    """

    def __init__(
        self, config: PolicyConfig, reward: Callable[[Floats], Floats], *, rollouts: bool
    ) -> None:
        self._config, self._reward, self._rollouts = config, reward, rollouts

    def __call__(self, policy: FastPolicy, work: GroupWork) -> GroupGradient:
        """Draw and grade one group, and rank it as a whole."""
        instance, tree, seed = work
        makespans, gradients = [], []
        if self._rollouts:
            rng = np.random.default_rng(seed)
            group = policy.sample(instance, self._config.schedules, rng, gradients=True)
            makespans.append(group.makespans)
            gradients.append(group.gradients)
        if tree is not None:
            clip = self._config.ratio_clip
            makespans.append(tree.makespans)
            gradients.append(policy.grade(instance, tree.actions, tree.probabilities, clip=clip))
        all_makespans = np.concatenate(makespans)
        rewards = self._reward(all_makespans)
        mean = float(all_makespans.mean())
        return GroupGradient(
            rewards @ np.concatenate(gradients) / len(rewards),
            float(all_makespans.std()) / mean if mean > 0 else 0.0,
            len(rewards),
        )


class ThreadedGradients:
    """Grades groups in threads of this process; the result does not depend on their number.

    Args:
        grader: of one group.
        threads: at once.
    """

    def __init__(self, grader: GroupGrader, threads: int) -> None:
        self._grader, self._threads = grader, threads

    def __call__(self, policy: FastPolicy, work: Sequence[GroupWork]) -> list[GroupGradient]:
        with ThreadPoolExecutor(self._threads) as threads:
            return list(threads.map(partial(self._grader, policy), work))
