"""What the learners learn from, and what they say of a step; plain and immutable."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dagsched_env.problem.instance import Instance


@dataclass(frozen=True)
class Experience:
    """One trajectory with the targets of its n states: what is stored, sampled and learned from."""

    instance: Instance
    """Shared by all experiences of one job."""
    actions: npt.NDArray[np.int32]
    """``[n, 2]`` pairs (task, processor); state d is the one after the first d of them."""
    visited: npt.NDArray[np.int32]
    """``[s]`` how many actions the search has visited in each of the first s states, its searched
    part; 0 ≤ s ≤ n."""
    candidates: npt.NDArray[np.int32]
    """``[sum of visited]`` these actions, ``t * p + q``, state by state."""
    policy: npt.NDArray[np.float32]
    """``[sum of visited]`` the visit distribution over them."""
    imitated_from: int
    """From this state on the actions that are consistent with the schedule are a target: 0 for the
    best of the siblings, s for the others."""
    reward: float
    """Value-weighted softmax rank reward of the trajectory among its siblings."""
    weight: float
    """K times its softmax weight: the elite emphasis, mean 1 over the siblings."""
    makespan: float


@dataclass(frozen=True)
class PolicyReport:
    """One gradient step on the fast policy."""

    step: int
    groups: int
    """Rank groups of the step, each of one problem."""
    trees: int
    """Groups of shared trees: all, or none where the policy draws schedules itself."""
    replayed: int
    """Trees among them whose problems have come from the replay."""
    schedules: int
    """Of all groups."""
    staleness: float
    """Steps between the policy that grew a tree and the one that learns from it, mean."""
    relative_spread: float
    """Standard deviation of the makespans of a group over their mean, mean over the groups."""
    gradient_norm: float


@dataclass(frozen=True)
class TrainReport:
    """One step of the network."""

    step: int
    loss: float
    policy_loss: float
    value_loss: float
    entropy: float
    gradient_norm: float
    value_correlation: float
    """Rank correlation of the value head with its target over the states of the batch."""
