"""What a shared tree is searched for, and what comes out of it; plain and immutable."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dagsched_env.problem.instance import Instance


@dataclass(frozen=True)
class SearchJob:
    """One problem for the actors to search together."""

    id: int
    """Number of the job in its run."""
    instance: Instance
    seed: int
    """Root of all randomness of its search."""
    policy: npt.NDArray[np.float32] | None = None
    """Weights of the fast policy, which guides the search; None = prior and rollouts by hand."""
    step: int = 0
    """Learner steps of that policy."""


@dataclass(frozen=True)
class SearchReport:
    """What happened on one finished tree."""

    job_id: int
    simulations: int
    simulations_by_actor: tuple[int, ...]
    """How the actors shared them; sums to ``simulations``."""
    interleaving: tuple[tuple[int, int], ...]
    """(actor, simulations) of the latest 1024 mini-batches, in the order of their backup."""
    terminal_paths: int
    nodes: int
    best_makespan: float
    optimal: bool
    """No schedule is shorter than ``best_makespan``, by more than 1e-9 of it: proved."""
    outcome: str
    """``"complete"``, ``"exhausted"`` (every kept action solved), ``"cap"`` (safety cap hit), or
    ``"running"`` (stopped by the caller)."""
    elapsed_s: float


@dataclass(frozen=True)
class Trajectory:
    """A complete action sequence sampled from a finished tree, replayed to its true makespan."""

    actions: npt.NDArray[np.int32]
    """``[n, 2]`` pairs (task, processor)."""
    candidates: tuple[npt.NDArray[np.int32], ...]
    """Per searched state from the root: the actions ``t * p + q`` that the search considered."""
    policies: tuple[npt.NDArray[np.float32], ...]
    """Per searched state: the visit distribution over its candidates."""
    makespan: float
    """True makespan from the deterministic simulator (time)."""


@dataclass(frozen=True)
class TreeGroup:
    """The schedules of one finished tree, as the fast policy learns from them.

    The first is the principal variation; each of the M others leaves it by one other action.
    """

    instance: Instance
    actions: npt.NDArray[np.int64]
    """``[n]`` actions ``t * p + q`` of the principal variation, in the order of placement."""
    makespan: float
    """Of the principal variation (time)."""
    depths: npt.NDArray[np.int64]
    """``[M]`` how many placements each of the others shares with it; never decreasing, < n."""
    others: npt.NDArray[np.int64]
    """``[M]`` the action that comes next."""
    inclusion: npt.NDArray[np.float64]
    """``[M]`` how probable it was that the search tried this action, in (0, 1]."""
    makespans: npt.NDArray[np.float64]
    """``[M]`` (time)."""
    step: int = 0
    """Learner steps of the policy that made it."""
    known: float = math.inf
    """The shortest makespan of earlier trees of this problem (time)."""
    place: tuple[int, int] | None = None
    """Slot and generation in the replay, where the problem has come from there."""
