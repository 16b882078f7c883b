"""Tabu search: the best move on a longest path, unless it undoes a recent one.

A move within a block turns arcs between tasks on one processor; none of them may be turned back for
some iterations. A task that went to another processor may not return for as long. Moves that lead
to the shortest schedule so far are always allowed. Where all are forbidden, one is drawn.

Sources: Glover 1989, "Tabu search, part I", ORSA Journal on Computing 1(3); for blocks Zhang, Li,
Guan, Rao 2007 (``blocks``); for other processors Mastrolilli, Gambardella 2000 (``single``).
"""

from typing import NamedTuple

import numpy as np

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph.eligibility import Eligibility
from dagsched_env.kernels.jit import borrowing, embedded
from dagsched_env.kernels.moves.blocks import (
    CriticalPath,
    block_end,
    critical_path,
    drawn,
    judge,
    possible,
    survey,
    trace,
    turn,
)
from dagsched_env.kernels.moves.single import cheapest_place, estimate, move, surroundings, targets
from dagsched_env.kernels.moves.solution import Solution, makespan

MOST_ARCS = 1 << 20
"""Entries of the table of forbidden arcs at most. With more than 1024 tasks some arcs share one."""
DRAWN_FROM = 16
"""Where all moves are forbidden, one of so many is drawn."""
SLACK = 1e-12
"""Share of the makespan by which times that are equal may differ by rounding."""
TO_END, TO_BEGIN, FIRST_INSIDE, LAST_INSIDE = 0, 1, 2, 3


class Tabu(NamedTuple):
    """What is forbidden, and for how long."""

    path: CriticalPath
    arc_until: Ints  # [power of two] iteration up to which an arc may not be turned back
    place_until: Ints  # [n, p] and up to which a task may not go to a processor
    clock: Ints  # [1] iterations so far
    state: Ints  # [1] of the random numbers


def tabu(n: int, p: int, seed: int) -> Tabu:
    """Nothing is forbidden.

    Args:
        n: tasks.
        p: processors.
        seed: of the random numbers.
    """
    arcs = min(1 << (n * n - 1).bit_length(), MOST_ARCS)
    return Tabu(
        critical_path(n),
        np.zeros(arcs, dtype=np.int64),
        np.zeros((n, p), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.array([seed], dtype=np.int64),
    )


@borrowing
def tabu_search(
    g: InstanceArrays,
    e: Eligibility,
    s: Solution,
    w: Tabu,
    tenure: int,
    limit: int,
    best: Floats,
    best_order: Ints,
    best_processor: Ints,
) -> int:
    """Make moves until the limit is reached, or there is none.

    Whenever a schedule is shorter than ``best[0]``, its makespan, order and processors are copied
    into the three ``best`` arrays.

    Args:
        e: its eligible processors.
        s: the schedule; changed.
        w: what is forbidden; changed.
        tenure: a move is forbidden for so many iterations, up to half as many more, ≥ 1.
        limit: the number of moves.
        best: ``[1]`` the shortest makespan so far.
        best_order: ``[n]`` the order of that schedule.
        best_processor: ``[n]`` its processors.

    Returns:
        The number of moves.
    """
    n = g.comp.shape[0]
    length = makespan(g, s)
    for done in range(limit):
        w.clock[0] += 1
        size = trace(g, s, w.path, length, w.state)
        least, ties, i, j, forward = _best_in_blocks(g, s, w, size, length, best[0])
        t, q, previous = _best_elsewhere(g, e, s, w, size, least, ties, best[0])
        until = w.clock[0] + tenure + drawn(w.state, tenure // 2 + 1)
        if t >= 0:
            w.place_until[t, s.processor[t]] = until
            first, last, _, _ = surroundings(g, s, t, q)
            first, last = targets(s, t, previous, first, last)
            move(g, s, t, q, first + drawn(w.state, last - first + 1), previous)
        elif i >= 0:
            _forbid(w, i, j, forward, until)
            turn(g, s, w.path, i, j, forward)
        else:
            return done
        length = makespan(g, s)
        if length < best[0]:
            best[0] = length
            for k in range(n):
                best_order[k] = s.order[k]
                best_processor[k] = s.processor[k]
    return limit


@embedded
def _best_in_blocks(
    g: InstanceArrays, s: Solution, w: Tabu, size: int, length: float, best: float
) -> tuple[float, int, int, int, bool]:
    """The best move in a block of the path.

    Args:
        size: of the path.
        length: the makespan (time).
        best: the shortest makespan so far (time).

    Returns:
        What it is judged at (time), how many are judged so, and the move: see
        ``blocks.possible``. Where all are forbidden, one that is drawn, judged at inf; where there
        is none, its first place is -1.
    """
    c = w.path
    least, ties, seen = np.inf, 0, 0
    lot = 1 + drawn(w.state, DRAWN_FROM)
    i, j, forward = -1, -1, False
    begin = 0
    while begin < size:
        end = block_end(s, c, begin, size)
        if end > begin:
            survey(g, s, c, begin, end)
        for kind in range(4):
            for k in range(begin, end + 1):
                a, z, ahead = _places(kind, k, begin, end)
                if a >= z or not possible(s, c, a, z, ahead, SLACK * length):
                    continue
                seen += 1
                if ties == 0 and seen <= lot:
                    i, j, forward = a, z, ahead
                value = judge(s, c, a, z, ahead, least)
                if value > least or (value >= best and _forbidden(w, a, z, ahead)):
                    continue
                ties = 1 if value < least else ties + 1
                least = value
                if ties == 1 or drawn(w.state, ties) == 0:
                    i, j, forward = a, z, ahead
        begin = end + 1
    return least, ties, i, j, forward


@embedded
def _best_elsewhere(
    g: InstanceArrays,
    e: Eligibility,
    s: Solution,
    w: Tabu,
    size: int,
    least: float,
    ties: int,
    best: float,
) -> tuple[int, int, int]:
    """The best move of a task of the path to another processor.

    Args:
        e: the eligible processors.
        size: of the path.
        least: what the best move in a block is judged at (time).
        ties: how many of those are judged so.
        best: the shortest makespan so far (time).

    Returns:
        The task, its new processor and the node that it follows there; -1 where no move is at most
        as long as those in blocks.
    """
    t, q, previous = -1, -1, -1
    for k in range(size):
        u = w.path.task[k]
        for rank in range(e.n_eligible[u] if e.n_eligible[u] > 1 else 0):
            r = e.eligible[u, rank]
            if r == s.processor[u]:
                continue
            first, last, arrival, tail = surroundings(g, s, u, r)
            if arrival + g.comp[u, r] + tail > least:
                continue
            node = cheapest_place(g, s, u, r, first, last, arrival, tail)
            value = estimate(g, s, u, r, node, arrival, tail)
            if value > least or (value >= best and w.place_until[u, r] > w.clock[0]):
                continue
            ties = 1 if value < least else ties + 1
            least = value
            if ties == 1 or drawn(w.state, ties) == 0:
                t, q, previous = u, r, node
    return t, q, previous


@embedded
def _places(kind: int, k: int, begin: int, end: int) -> tuple[int, int, bool]:
    """The k-th move of a kind in a block: two places and the direction, see ``blocks.possible``.

    The first place is not before the last one where another kind has the move, too.
    """
    if kind == TO_END:
        return k, end, True
    if kind == TO_BEGIN:
        return begin, k if k > begin + 1 else begin, False
    if kind == FIRST_INSIDE:
        return begin, k if k < end else begin, True
    return k if begin < k < end - 1 else end, end, False


@embedded
def _forbidden(w: Tabu, i: int, j: int, forward: bool) -> bool:
    """Whether a move turns an arc back too early."""
    task, n, mask = w.path.task, w.place_until.shape[0], w.arc_until.shape[0] - 1
    if forward:
        for k in range(i + 1, j + 1):
            if w.arc_until[(task[k] * n + task[i]) & mask] > w.clock[0]:
                return True
    else:
        for k in range(i, j):
            if w.arc_until[(task[j] * n + task[k]) & mask] > w.clock[0]:
                return True
    return False


@embedded
def _forbid(w: Tabu, i: int, j: int, forward: bool, until: int) -> None:
    """Forbid to turn back the arcs that a move turns."""
    task, n, mask = w.path.task, w.place_until.shape[0], w.arc_until.shape[0] - 1
    if forward:
        for k in range(i + 1, j + 1):
            w.arc_until[(task[i] * n + task[k]) & mask] = until
    else:
        for k in range(i, j):
            w.arc_until[(task[k] * n + task[j]) & mask] = until
