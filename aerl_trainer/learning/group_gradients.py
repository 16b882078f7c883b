"""The gradient of one rank group: drawn or taken from a tree, and ranked as a whole.

In any thread or process; a function of the policy and of the work alone.
"""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np

from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.tree.records import TreeGroup
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.instance import Instance

Reward = Callable[[Floats], Floats]
"""Turns the makespans ``[K]`` of a rank group into rewards ``[K]``."""


class GroupWork(NamedTuple):
    """One group that the policy draws itself."""

    instance: Instance
    seed: int


class GroupGradient(NamedTuple):
    """What a group adds to a gradient step."""

    gradient: Floats
    """``[N_WEIGHTS]``"""
    relative_spread: float
    """Standard deviation of the group's makespans over their mean."""
    schedules: int


Gradients = Callable[[FastPolicy, Sequence[GroupWork]], Sequence[GroupGradient]]
"""The gradients of groups, in their order."""


def grade_tree(policy: FastPolicy, tree: TreeGroup, reward: Reward) -> GroupGradient:
    """The gradient of what the tree says of single decisions on its principal variation.

    The rank rewards r judge all schedules of the tree, and the best known of the problem. At a
    state s of the principal variation an action a is worth A(s, a) = r(its schedule) - r(the
    principal variation), and the gradient is Σ_s Σ_a A(s, a) ∇π(a | s). The search has tried some
    of the a alone, each with a known probability, by which its term is divided (Horvitz, Thompson
    1952): with rewards that do not depend on the others the expected sum is that over all a.
    """
    makespans = np.append(tree.makespans, tree.makespan)
    known = [tree.known] if math.isfinite(tree.known) else []
    rewards = reward(np.append(makespans, known))[: len(makespans)]
    advantages = (rewards[:-1] - rewards[-1]) / tree.inclusion
    gradient = policy.grade(tree.instance, tree.actions, tree.depths, tree.others, advantages)
    return GroupGradient(
        gradient.astype(np.float64),
        _relative_spread(makespans),
        len(makespans),
    )


class GroupGrader:
    """Draws groups: Σ_k r_k ∇ log π_k / K over K schedules with rank rewards r.

    Args:
        schedules: K.
        reward: of a rank group.
    """

    def __init__(self, schedules: int, reward: Reward) -> None:
        self._schedules, self._reward = schedules, reward

    def __call__(self, policy: FastPolicy, work: GroupWork) -> GroupGradient:
        """Draw one group, and rank it as a whole."""
        rng = np.random.default_rng(work.seed)
        group = policy.sample(work.instance, self._schedules, rng, gradients=True)
        rewards = self._reward(group.makespans)
        return GroupGradient(
            rewards @ group.gradients / len(rewards),
            _relative_spread(group.makespans),
            len(rewards),
        )


class ThreadedGradients:
    """Draws groups in threads of this process; the result does not depend on their number.

    Args:
        grader: of one group.
        threads: at once.
    """

    def __init__(self, grader: GroupGrader, threads: int) -> None:
        self._grader, self._threads = grader, threads

    def __call__(self, policy: FastPolicy, work: Sequence[GroupWork]) -> list[GroupGradient]:
        with ThreadPoolExecutor(self._threads) as threads:
            return list(threads.map(partial(self._grader, policy), work))


def _relative_spread(makespans: Floats) -> float:
    mean = float(makespans.mean())
    return float(makespans.std()) / mean if mean > 0 else 0.0
