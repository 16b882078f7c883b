"""From the trajectories of one finished tree to what the network learns from."""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from aerl_trainer.config import Config
from aerl_trainer.learning.rank_reward import rank_rewards, rank_weights
from aerl_trainer.learning.records import Experience
from aerl_trainer.tree.records import Trajectory
from dagsched_env.problem.instance import Instance


def make_experiences(
    instance: Instance, trajectories: Sequence[Trajectory], config: Config
) -> list[Experience]:
    """One experience per trajectory, rewarded by the rank of its makespan.

    The policy targets are the search's visit distribution where the search has been, and below it
    the actions that are consistent with the trajectory's own schedule. Along the best schedule the
    consistent actions are a target of every state. The loss weighs all by the trajectory's softmax
    weight, so that good siblings are imitated more than others.

    Args:
        trajectories: of its tree, siblings of each other; at least one.
    """
    makespans = np.array([trajectory.makespan for trajectory in trajectories])
    rewards = rank_rewards(makespans, temperature=config.learner.rank_temperature)
    weights = rank_weights(makespans, temperature=config.learner.rank_temperature)
    best = int(np.argmin(makespans))
    return [
        Experience(
            instance=instance,
            actions=trajectory.actions,
            visited=np.array([len(c) for c in trajectory.candidates], dtype=np.int32),
            candidates=np.fromiter(chain(*trajectory.candidates), dtype=np.int32),
            policy=np.fromiter(chain(*trajectory.policies), dtype=np.float32),
            imitated_from=0 if k == best else len(trajectory.policies),
            reward=float(rewards[k]),
            weight=float(weights[k]) * len(trajectories),
            makespan=trajectory.makespan,
        )
        for k, trajectory in enumerate(trajectories)
    ]
