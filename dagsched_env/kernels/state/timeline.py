"""When and where a task fits on a processor: data arrival and insertion-based earliest start."""

from dagsched_env.kernels.arrays import InstanceArrays, Placements, StateArrays
from dagsched_env.kernels.graph.communication import communication
from dagsched_env.kernels.graph.release import first_start
from dagsched_env.kernels.graph.resources import has_resources
from dagsched_env.kernels.jit import borrowing, embedded


@embedded
def data_ready_time(g: InstanceArrays, s: StateArrays, task: int, q: int) -> float:
    """Time at which a task is released on a processor and all its inputs are there.

    Args:
        task: a task whose predecessors are all scheduled.
        q: a processor.
    """
    ready = first_start(g, task, q)
    for e in range(g.pred_ptr[task], g.pred_ptr[task + 1]):
        u = g.pred_task[e]
        arrival = s.finish[u] + communication(g, g.pred_data[e], s.processor[u], q)
        ready = max(ready, arrival)
    return ready


@embedded
def earliest_slot(
    g: InstanceArrays,
    s: StateArrays | Placements,
    task: int,
    q: int,
    ready: float,
    duration: float,
    insertion: bool,
) -> tuple[int, float]:
    """The earliest slot for a task on a processor (Topcuoglu et al. 2002, sec. 4.1.2).

    With resources it is the earliest time from which the task fits for all its duration.

    Args:
        task: which one.
        q: the processor.
        ready: when the inputs of the task are there (time).
        duration: of the task (time).
        insertion: use idle gaps between placed tasks; False: behind the last task, or with
            resources, not before the start of one that was placed earlier.

    Returns:
        Index among the busy intervals of the processor, and start time.
    """
    if has_resources(g):
        return earliest_fit(g, s, task, q, ready, duration, insertion)
    count = s.slot_count[q]
    if count == 0:
        return 0, ready
    last_finish = s.slot_finish[q, count - 1]
    if not insertion or ready >= last_finish:
        return count, max(ready, last_finish)
    first = _first_behind(s, q, ready)
    candidate = ready
    if first > 0:
        candidate = max(ready, s.slot_finish[q, first - 1])
    for i in range(first, count):
        if candidate + duration <= s.slot_start[q, i]:
            return i, candidate
        candidate = s.slot_finish[q, i]
    return count, candidate


@borrowing
def earliest_fit(
    g: InstanceArrays,
    s: StateArrays | Placements,
    task: int,
    q: int,
    ready: float,
    duration: float,
    insertion: bool,
) -> tuple[int, float]:
    """As ``earliest_slot``, with resources; the index is of the first interval that ends later."""
    begin = ready if insertion else max(ready, _latest_start(s, q))
    count = s.slot_count[q]
    if count == 0 or begin >= s.slot_finish[q, count - 1]:
        return count, begin
    first = _first_behind(s, q, begin)
    if begin + duration == begin:  # such a task needs nothing
        return first, begin
    i = first
    while i < count and s.slot_start[q, i] < begin + duration:
        if not _fits(g, s, task, q, i):
            begin, first = s.slot_finish[q, i], i + 1
        i += 1
    return first, begin


@borrowing
def _latest_start(s: StateArrays | Placements, q: int) -> float:
    """Of the tasks that are placed on a processor; 0 where there is none."""
    latest = 0.0
    for t in range(s.processor.shape[0]):
        if s.processor[t] == q:
            latest = max(latest, s.start[t])
    return latest


@embedded
def _first_behind(s: StateArrays | Placements, q: int, time: float) -> int:
    """The first busy interval that finishes after a time; there is one."""
    first, behind = 0, s.slot_count[q] - 1
    while first < behind:
        middle = (first + behind) // 2
        if s.slot_finish[q, middle] <= time:
            first = middle + 1
        else:
            behind = middle
    return first


@embedded
def _fits(g: InstanceArrays, s: StateArrays | Placements, task: int, q: int, i: int) -> bool:
    """Whether a task may run in a busy interval beside the tasks that are there."""
    for r in range(g.demand.shape[1]):
        if g.demand[task, r] > 0 and s.slot_load[q, i, r] + g.demand[task, r] > g.capacity[q, r]:
            return False
    return True


@embedded
def idle_before(
    g: InstanceArrays, s: StateArrays | Placements, q: int, index: int, start: float
) -> float:
    """How long nothing has run on a processor when a task starts in a slot (time).

    Args:
        index: of ``earliest_slot``.
        start: of ``earliest_slot`` (time).
    """
    if has_resources(g) and index < s.slot_count[q] and s.slot_start[q, index] < start:
        return 0.0
    return start - (s.slot_finish[q, index - 1] if index > 0 else 0.0)


@embedded
def share_taken(g: InstanceArrays, task: int, q: int) -> float:
    """The largest share of a capacity of a processor that a task takes; 1 without resources."""
    if not has_resources(g):
        return 1.0
    share = 0.0
    for r in range(g.demand.shape[1]):
        share = max(share, g.demand[task, r] / max(g.capacity[q, r], 1))
    return share


@embedded
def share_in_use(g: InstanceArrays, s: StateArrays, q: int, index: int, start: float) -> float:
    """The largest share of a capacity that others take at the start of a slot.

    Args:
        index: of ``earliest_slot``.
        start: of ``earliest_slot`` (time).
    """
    share = 0.0
    if has_resources(g) and index < s.slot_count[q] and s.slot_start[q, index] <= start:
        for r in range(g.capacity.shape[1]):
            share = max(share, s.slot_load[q, index, r] / max(g.capacity[q, r], 1))
    return share


@embedded
def occupy(
    g: InstanceArrays, s: StateArrays | Placements, task: int, q: int, index: int, start: float
) -> None:
    """Enter a task into the busy intervals of a processor, in the slot that was found.

    Args:
        s: the busy intervals change.
        index: of ``earliest_slot``.
        start: of ``earliest_slot`` (time).
    """
    finish = start + g.comp[task, q]
    if has_resources(g):
        _add_load(g, s, task, q, index, start, finish, 1)
        return
    for i in range(s.slot_count[q], index, -1):
        s.slot_start[q, i] = s.slot_start[q, i - 1]
        s.slot_finish[q, i] = s.slot_finish[q, i - 1]
    s.slot_start[q, index] = start
    s.slot_finish[q, index] = finish
    s.slot_count[q] += 1


@borrowing
def vacate(g: InstanceArrays, s: StateArrays | Placements, task: int, q: int, index: int) -> None:
    """Take a placed task out of the busy intervals; the inverse of ``occupy``.

    Args:
        s: the busy intervals change.
        index: of its busy interval; of no use where there are resources.
    """
    if has_resources(g):
        start, finish = s.start[task], s.finish[task]
        first = _first_behind(s, q, start) if s.slot_count[q] > 0 else 0
        _add_load(g, s, task, q, first, start, finish, -1)
        return
    s.slot_count[q] -= 1
    for i in range(index, s.slot_count[q]):
        s.slot_start[q, i] = s.slot_start[q, i + 1]
        s.slot_finish[q, i] = s.slot_finish[q, i + 1]


@borrowing
def _add_load(
    g: InstanceArrays,
    s: StateArrays | Placements,
    task: int,
    q: int,
    index: int,
    start: float,
    finish: float,
    sign: int,
) -> None:
    """Add the demand of a task, or its negative, to the profile between two times.

    Args:
        index: of the first interval that ends after ``start``.
        sign: 1 or -1.
    """
    needs = False
    for r in range(g.demand.shape[1]):
        needs |= g.demand[task, r] > 0
    if not needs or not start < finish:
        return
    if index < s.slot_count[q] and s.slot_start[q, index] < start:
        _split(s, q, index, start)
        index += 1
    time, i = start, index
    while time < finish:
        if i == s.slot_count[q] or s.slot_start[q, i] > time:  # idle from here on
            until = finish if i == s.slot_count[q] else min(finish, s.slot_start[q, i])
            _open(s, q, i, time, until)
        elif s.slot_finish[q, i] > finish:
            _split(s, q, i, finish)
        for r in range(g.demand.shape[1]):
            s.slot_load[q, i, r] += sign * g.demand[task, r]
        time = s.slot_finish[q, i]
        i += 1
    _tidy(s, q, index, i)


@embedded
def _open(s: StateArrays | Placements, q: int, index: int, start: float, finish: float) -> None:
    """A new interval before the one at ``index``, without load."""
    for i in range(s.slot_count[q], index, -1):
        _move(s, q, i - 1, i)
    s.slot_start[q, index] = start
    s.slot_finish[q, index] = finish
    for r in range(s.slot_load.shape[2]):
        s.slot_load[q, index, r] = 0
    s.slot_count[q] += 1


@embedded
def _split(s: StateArrays | Placements, q: int, index: int, time: float) -> None:
    """Cut an interval in two at a time within it."""
    _open(s, q, index, s.slot_start[q, index], time)
    s.slot_start[q, index + 1] = time
    for r in range(s.slot_load.shape[2]):
        s.slot_load[q, index, r] = s.slot_load[q, index + 1, r]


@embedded
def _move(s: StateArrays | Placements, q: int, source: int, target: int) -> None:
    s.slot_start[q, target] = s.slot_start[q, source]
    s.slot_finish[q, target] = s.slot_finish[q, source]
    for r in range(s.slot_load.shape[2]):
        s.slot_load[q, target, r] = s.slot_load[q, source, r]


@embedded
def _tidy(s: StateArrays | Placements, q: int, first: int, end: int) -> None:
    """Drop idle intervals from ``first`` to ``end``, and join equal ones that touch."""
    kept = first
    for i in range(first, s.slot_count[q]):
        if i <= end and _is_idle(s, q, i):
            continue
        if i <= end and kept > 0 and _continues(s, q, kept - 1, i):
            s.slot_finish[q, kept - 1] = s.slot_finish[q, i]
            continue
        if i > end and kept == i:  # nothing was dropped
            return
        if kept != i:
            _move(s, q, i, kept)
        kept += 1
    s.slot_count[q] = kept


@embedded
def _is_idle(s: StateArrays | Placements, q: int, i: int) -> bool:
    load = 0
    for r in range(s.slot_load.shape[2]):
        load += s.slot_load[q, i, r]
    return load == 0


@embedded
def _continues(s: StateArrays | Placements, q: int, i: int, j: int) -> bool:
    """Whether interval j begins where i ends, with the same load."""
    continues = s.slot_finish[q, i] == s.slot_start[q, j]
    for r in range(s.slot_load.shape[2]):
        continues &= s.slot_load[q, i, r] == s.slot_load[q, j, r]
    return continues  # type: ignore[no-any-return]
