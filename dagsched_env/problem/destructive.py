"""Destructive bounds: the latest end of a schedule that is shown to be impossible."""

import math

import numpy as np

from dagsched_env.kernels.graph.destructive import refutes
from dagsched_env.kernels.graph.windows import MOST, TAKEN, Windows
from dagsched_env.problem.bounds import heads, lower_bounds, tails
from dagsched_env.problem.instance import Instance

FIRST_STEP = 0.05
"""Of the horizon, as a share of it; each further one is twice as long."""
PRECISION = 1e-3
"""Share of the bound by which a horizon that is not refuted is above it at the end."""


def destructive_bound(instance, bound=None, *, most=math.inf, steps=2**40, probe=True, info=None):
    g = instance.arrays
    low = lower_bounds(instance).best if bound is None else bound
    if instance.n_resources or low <= 0:
        return low
    effort = np.array([0, steps])
    possible = _windows(instance)
    high = most
    for probing in (False, True) if probe else (False,):
        step = FIRST_STEP if not probing else 0.02
        if probing: high, possible = most, _windows(instance)
        while high > low * (1 + PRECISION) and effort[TAKEN] <= effort[MOST]:
            horizon = min(low * (1 + step), 0.5 * (low + high)) if high < math.inf else low * (1 + step)
            windows = Windows(*(a.copy() for a in possible))
            if refutes(g, instance.backwards, windows, horizon, effort, probing):
                low = horizon
                step *= 2
            else:
                high = horizon
                possible = windows
    if info is not None: info['steps'] = int(effort[TAKEN])
    return low


def _windows(instance: Instance) -> Windows:
    n, p = instance.comp.shape
    m = instance.n_edges
    sent = np.zeros((m, p)), np.zeros((m, p))
    due = np.ones(n, dtype=np.bool_), np.ones(n, dtype=np.bool_)
    return Windows(heads(instance), tails(instance), *sent, *due)
