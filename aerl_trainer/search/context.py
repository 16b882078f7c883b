"""What a search knows of its problem before it starts; each process computes its own copy."""

from typing import NamedTuple

import numpy as np

from dagsched_env.bounds import lower_bounds, tails
from dagsched_env.instance import Instance
from dagsched_env.kernels.arrays import Floats, InstanceArrays

__all__ = ["SearchContext", "make_context"]

TAIL_SIGMA = 0.1
"""Relative noise of task priorities in a randomised tail, up to REFERENCE_SIZE tasks."""
REFERENCE_SIZE = 30
SIGMA_DECAY = 1.3
"""Longer schedules bear less noise per decision: σ falls with n to this power."""


class SearchContext(NamedTuple):
    """Constant during a search."""

    g: InstanceArrays
    rank_u: Floats  # [n]
    oct: Floats  # [n, p]
    cp_min: float
    """Unit of all returns (1 where CP_MIN is 0)."""
    rank_scale: float
    """Unit of the network's features: the largest rank_u, so the mean critical path."""
    tail_sigma: float
    floor: float
    """No schedule is shorter (time)."""
    after: Floats
    """[n, p] least time between the finish of task t on q and the end of any schedule; inf where t
    may not run on q."""
    least_after: Floats
    """[n] the same wherever t runs."""


def make_context(instance: Instance) -> SearchContext:
    """Static ranks, tables and scales of an instance."""
    after = tails(instance)
    shrink = min(1.0, (REFERENCE_SIZE / instance.n_tasks) ** SIGMA_DECAY)
    return SearchContext(
        g=instance.arrays,
        rank_u=instance.rank_u,
        oct=instance.oct,
        cp_min=float(instance.time_scale),
        rank_scale=float(np.max(instance.rank_u)) or 1.0,
        tail_sigma=TAIL_SIGMA * shrink,
        floor=lower_bounds(instance).best,
        after=after,
        least_after=after.min(axis=1),
    )
