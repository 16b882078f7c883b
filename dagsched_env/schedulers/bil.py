"""BIL, best imaginary level.

Oh, Ha 1996, "A static scheduling heuristic for heterogeneous processors", Euro-Par, LNCS 1124.
"""

from dagsched_env.instance import Instance
from dagsched_env.kernels.lists import selection
from dagsched_env.schedule import Schedule

__all__ = ["bil"]


def bil(instance: Instance, *, insertion: bool = False) -> Schedule:
    """Tasks and processors by the makespan that the rest of the longest path alone would give.

    ``BIL(t, q) = comp(t, q) + max_s min(BIL(s, q), min_w BIL(s, w) + c̄(t, s))`` over successors s
    and w ≠ q, which is comp + OCT; the basic imaginary makespan is ``BIM = start + BIL``. With k
    ready tasks, that of the highest k-th smallest BIM is next (the largest BIM where there are
    fewer than k), and it goes where ``BIM + comp·max(k / p − 1, 0)`` is least; ties: lowest index.

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
