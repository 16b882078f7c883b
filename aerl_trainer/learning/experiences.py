"""From the trajectories of one finished tree to training data."""

from collections.abc import Sequence

import numpy as np

from aerl_trainer.config import Config
from aerl_trainer.learning.ranking import rank_rewards
from aerl_trainer.records import Experience, Trajectory, TreeGroup
from dagsched_env.instance import Instance

__all__ = ["group_of", "make_experiences"]


def group_of(instance: Instance, trajectories: Sequence[Trajectory]) -> TreeGroup:
    """What the fast policy learns from."""
    pairs = np.array([trajectory.actions for trajectory in trajectories], dtype=np.int64)
    return TreeGroup(
        instance=instance,
        actions=pairs[..., 0] * instance.n_processors + pairs[..., 1],
        probabilities=np.array([trajectory.probabilities for trajectory in trajectories]),
        makespans=np.array([trajectory.makespan for trajectory in trajectories]),
    )


def make_experiences(
    instance: Instance, trajectories: Sequence[Trajectory], config: Config
) -> list[Experience]:
    """One experience per state of every trajectory, rewarded by the rank of its makespan.

    The policy target is the search's visit distribution where the search has been, and the
    action of the trajectory below; either way the loss weighs it by the trajectory's softmax
    weight, so that only good siblings are imitated.

    Args:
        instance: the problem.
        trajectories: of its tree, siblings of each other; at least one.
        config: of the run.
    """
    makespans = np.array([trajectory.makespan for trajectory in trajectories])
    rewards, weights = rank_rewards(makespans, temperature=config.learner.rank_temperature)
    experiences = []
    for trajectory, reward, weight in zip(trajectories, rewards, weights, strict=True):
        elite = float(weight) * len(trajectories)
        experiences += [
            _experience(instance, trajectory, depth, float(reward), elite)
            for depth in range(instance.n_tasks)
        ]
    return experiences


def _experience(
    instance: Instance, trajectory: Trajectory, depth: int, reward: float, weight: float
) -> Experience:
    if depth < len(trajectory.policies):
        candidates, policy = trajectory.candidates[depth], trajectory.policies[depth]
    else:
        task, processor = trajectory.actions[depth]
        candidates = np.array([task * instance.n_processors + processor], dtype=np.int32)
        policy = np.ones(1, dtype=np.float32)
    return Experience(
        instance=instance,
        actions=trajectory.actions,
        depth=depth,
        candidates=candidates,
        policy=policy,
        reward=reward,
        weight=weight,
        makespan=trajectory.makespan,
    )
