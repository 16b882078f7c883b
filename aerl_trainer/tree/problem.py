"""What a search knows of its problem before it starts; each process computes its own copy."""

from typing import NamedTuple

from aerl_trainer.policy.encoding.context import EncodingContext, encoding_context
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.bounds import bounds_from, heads, tails
from dagsched_env.problem.instance import Instance

ROLLOUT_SIGMA = 0.1
"""Relative noise of task priorities in a rollout, up to REFERENCE_SIZE tasks."""
REFERENCE_SIZE = 30
SIGMA_DECAY = 1.3
"""Longer schedules take less noise per decision: σ falls with n to this power."""


class SearchProblem(NamedTuple):
    """Constant during a search."""

    encoding: EncodingContext
    rollout_sigma: float
    floor: float
    """Lower bound on the makespan of every schedule (time)."""
    tail: Floats
    """[n, p] lower bound on the time between the finish of task t on q and the end of any schedule;
    inf where t may not run on q."""
    least_tail: Floats
    """[n] the least over the processors."""


def search_problem(instance: Instance) -> SearchProblem:
    """Encoding, bounds and noise level of an instance."""
    tail = tails(instance)
    shrink = min(1.0, (REFERENCE_SIZE / instance.n_tasks) ** SIGMA_DECAY)
    return SearchProblem(
        encoding=encoding_context(instance),
        rollout_sigma=ROLLOUT_SIGMA * shrink,
        floor=bounds_from(instance, heads(instance), tail).best,
        tail=tail,
        least_tail=tail.min(axis=1),
    )
