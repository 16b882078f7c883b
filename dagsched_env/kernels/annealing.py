"""Metropolis moves at one temperature; at temperature 0 a descent that also crosses plateaus."""

import math

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.jit import kernel
from dagsched_env.kernels.neighbourhood import (
    Choices,
    Solution,
    estimate,
    last_before,
    makespan,
    move,
    surroundings,
)

__all__ = ["UNIFORMS_PER_MOVE", "metropolis"]

UNIFORMS_PER_MOVE = 4
"""Random numbers of a move: task, processor, position, acceptance. A task passed over takes one."""

STAY = 0.3
"""Share of the moves that keep the processor of the task."""

PASS_OVER = 0.98
"""How often a task that lies on no longest path is passed over: its move cannot help at once."""

SLACK = 1e-12
"""Relative rounding error of sums along a path."""


@kernel
def metropolis(
    g: InstanceArrays,
    c: Choices,
    s: Solution,
    temperature: float,
    limit: int,
    uniforms: Floats,
    best: Floats,
    best_order: Ints,
    best_processor: Ints,
) -> int:
    """Make at most ``limit`` moves, as far as the random ``uniforms`` in [0, 1) last.

    A move that may lengthen the schedule by d is made with probability exp(−d / temperature).
    Returns how many were evaluated. When a schedule is shorter than ``best[0]``, the three
    ``best`` arrays take over its makespan, order and processors.
    """
    n = g.comp.shape[0]
    length = makespan(g, s)
    evaluated, at = 0, 0
    while evaluated < limit and at + UNIFORMS_PER_MOVE <= uniforms.shape[0]:
        t, chance = _scaled(uniforms[at], n)
        at += 1
        path = s.finish[t] - g.comp[t, s.processor[t]] + s.rest[t]
        if path < length * (1.0 - SLACK) and chance < PASS_OVER:
            continue
        evaluated += 1
        q = _processor(c, t, s.processor[t], uniforms[at])
        ceiling = length * (1.0 + SLACK) - temperature * math.log(1.0 - uniforms[at + 2])
        first, last, arrival, onward = surroundings(g, s, t, q)
        target = first + _scaled(uniforms[at + 1], last - first + 1)[0]
        at += 3
        if arrival + g.comp[t, q] + onward > ceiling:
            continue
        previous = last_before(s, t, q, target)
        if estimate(g, s, t, q, previous, arrival, onward) > ceiling:
            continue
        move(g, s, t, q, target, previous)
        length = makespan(g, s)
        if length < best[0]:
            best[0] = length
            best_order[:] = s.order
            best_processor[:] = s.processor
    return evaluated


@kernel
def _scaled(uniform: float, n: int) -> tuple[int, float]:
    """One of ``n`` numbers, and what is left of the random number, again uniform in [0, 1)."""
    index = int(uniform * n)
    return index, uniform * n - index


@kernel
def _processor(c: Choices, t: int, current: int, uniform: float) -> int:
    """The current processor with probability ``STAY``, else one of the other eligible ones."""
    others = c.n_eligible[t] - 1
    if uniform < STAY or others == 0:
        return current
    q = c.eligible[t, int((uniform - STAY) / (1.0 - STAY) * others)]
    return q if q != current else c.eligible[t, others]  # type: ignore[no-any-return]
