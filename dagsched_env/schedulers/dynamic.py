"""Schedulers that judge all pairs of a ready task and a processor anew at each step.

- DLS, dynamic level scheduling: Sih, Lee 1993, "A compile-time scheduling heuristic for
  interconnection-constrained heterogeneous processor architectures", IEEE TPDS 4(2), the dynamic
  level DL₂.
- ETF, earliest task first: Hwang, Chow, Anger, Lee 1989, "Scheduling precedence graphs in systems
  with interprocessor communication times", SIAM J. Computing 18(2), for identical processors.
- BIL, best imaginary level: Oh, Ha 1996, "A static scheduling heuristic for heterogeneous
  processors", Euro-Par, LNCS 1124.
"""

from typing import Literal

import numpy as np

from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.kernels.graph import ranks
from dagsched_env.kernels.lists import orders, selection
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.heft import costs_of


def dls(
    instance: Instance,
    *,
    insertion: bool = False,
    average: Literal["mean", "median"] = "mean",
) -> Schedule:
    """The ready task and processor of the highest dynamic level; ties: lowest indices.

    The level is SL(t) − start(t, q) + Δ(t, q). The static level SL is the longest path to an exit
    at average costs without communication; Δ is the average cost minus the cost on q. This equals
    SL(t) + average(t) − finish(t, q), so each task prefers the processor where it finishes first.

    Args:
        instance: the problem.
        insertion: use idle gaps; False (as published) appends only.
        average: of the costs of a task on its eligible processors: their mean, as in later
            comparisons, or their median, as published.

    Raises:
        DAGSchedError: no such ``average``.
    """
    if average not in ("mean", "median"):
        raise DAGSchedError(f"unknown average {average!r}: choose mean or median")
    costs = costs_of(instance, average)
    priority = ranks.upward_rank(instance.arrays, costs, False) + costs
    return by_selection(instance, selection.LEAST_FINISH, insertion, "dls", priority=priority)


def etf(instance: Instance, *, insertion: bool = False) -> Schedule:
    """The ready task that can start first is next.

    Ties: the highest static level (longest path to an exit at mean costs, without communication),
    then the lowest index. On unrelated processors a task that can start equally early on several
    processors is placed on the one that runs it fastest.

    Args:
        instance: the problem.
        insertion: use idle gaps; False (as published) appends only.
    """
    g = instance.arrays
    levels = orders.rank_levels(ranks.upward_rank(g, g.mean_comp, False))
    precedence = np.empty(instance.n_tasks, dtype=np.int64)
    precedence[np.argsort(levels, kind="stable")] = np.arange(instance.n_tasks)
    return by_selection(instance, selection.LEAST_START, insertion, "etf", precedence=precedence)


def bil(instance: Instance, *, insertion: bool = False) -> Schedule:
    """Tasks and processors by imaginary makespan: the schedule length by the longest path alone.

    ``BIL(t, q) = comp(t, q) + max_s min(BIL(s, q), min_w BIL(s, w) + c̄(t, s))`` over successors s
    and w ≠ q, which is comp + OCT; the basic imaginary makespan is ``BIM = start + BIL``. With k
    ready tasks, the task with the highest k-th smallest BIM is next (its largest BIM where it has
    fewer than k). It is placed where ``BIM + comp·max(k / p − 1, 0)`` is least; ties: lowest index.
    With resources p is still the number of processors, not of tasks that fit side by side.

    Args:
        instance: the problem.
        insertion: use idle gaps; False (as published) appends only.
    """
    return Schedule.adopt(
        *selection.schedule_by_imaginary_makespan(
            instance.arrays, instance.comp + instance.oct, insertion
        ),
        algorithm="bil",
    )


def by_selection(
    instance: Instance,
    rule: int,
    insertion: bool,
    name: str,
    *,
    priority: Floats | None = None,
    precedence: Ints | None = None,
) -> Schedule:
    """What ``kernels.lists.selection`` makes of these arguments.

    By default all priorities are 0, and of equally urgent tasks the lowest index goes first.
    """
    made = selection.schedule_by_selection(
        instance.arrays,
        rule,
        np.zeros(instance.n_tasks) if priority is None else priority,
        np.arange(instance.n_tasks) if precedence is None else precedence,
        insertion,
    )
    return Schedule.adopt(*made, algorithm=name)
