"""BIL, best imaginary level.

Oh, Ha 1996, "A static scheduling heuristic for heterogeneous processors", Euro-Par, LNCS 1124.
"""

from dagsched_env.kernels.lists import selection
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def bil(instance: Instance, *, insertion: bool = False) -> Schedule:
    """Tasks and processors by imaginary makespan: the schedule length by the longest path alone.

    ``BIL(t, q) = comp(t, q) + max_s min(BIL(s, q), min_w BIL(s, w) + c̄(t, s))`` over successors s
    and w ≠ q, which is comp + OCT; the basic imaginary makespan is ``BIM = start + BIL``. With k
    ready tasks, the task with the highest k-th smallest BIM is next (its largest BIM where it has
    fewer than k). It is placed where ``BIM + comp·max(k / p − 1, 0)`` is least; ties: lowest index.

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
