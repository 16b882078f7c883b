"""Costs to go, from each (task, processor) to the end: the tables of PEFT, IPEFT and PPTS.

Sources: Arabnejad, Barbosa 2014, IEEE TPDS 25(3), eq. 5 (``oct_table``); Zhou et al. 2017,
Concurrency and Computation 29(5) (``critical_cost_table``, ``pessimistic_cost_table``); Djigal,
Feng, Lu 2019, ICPP workshops (``predict_cost_matrix``).
"""

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats, InstanceArrays
from dagsched_env.kernels.jit import kernel


@kernel
def oct_table(g: InstanceArrays) -> Floats:
    """Optimistic cost from each (task, processor) to the end of an exit task. Shape ``[n, p]``.

    ``OCT(t, q) = max_s min_w [OCT(s, w) + comp(s, w) + c̄(t, s)·(w ≠ q)]`` over successors s and
    their eligible processors w.
    """
    return critical_cost_table(g, np.ones(g.topo.size, dtype=np.bool_))


@kernel
def critical_cost_table(g: InstanceArrays, critical: npt.NDArray[np.bool_]) -> Floats:
    """CNCT: the OCT over the critical successors alone where a task has any. Shape ``[n, p]``.

    The minimum over w needs only w = q and the best w of all.
    """
    n, p = g.comp.shape
    table, through, least = np.zeros((n, p)), np.empty((n, p)), np.full(n, np.inf)
    for i in range(n - 1, -1, -1):
        t = g.topo[i]
        any_critical = False
        for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            any_critical |= critical[g.succ_task[e]]
        for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            s = g.succ_task[e]
            if any_critical and not critical[s]:
                continue
            elsewhere = least[s] + (g.mean_link[0] + g.succ_data[e] * g.mean_link[1])
            for q in range(p):
                cost = through[s, q] if through[s, q] < elsewhere else elsewhere
                table[t, q] = cost if cost > table[t, q] else table[t, q]
        for q in range(p):
            through[t, q] = table[t, q] + g.comp[t, q]
            least[t] = min(least[t], through[t, q])
    return table


@kernel
def pessimistic_cost_table(g: InstanceArrays) -> Floats:
    """PCT: as the OCT with the successors on their worst eligible processor. Shape ``[n, p]``.

    ``PCT(t, q) = max_s max_w [PCT(s, w) + comp(s, w) + c̄(t, s)·(w ≠ q)]``; the inner maximum needs
    only the two worst w.
    """
    n, p = g.comp.shape
    table = np.zeros((n, p), dtype=np.float64)
    for i in range(n - 1, -1, -1):
        t = g.topo[i]
        for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            s = g.succ_task[e]
            mean_comm = g.mean_link[0] + g.succ_data[e] * g.mean_link[1]
            worst, highest, second = -1, -np.inf, -np.inf
            for w in range(p):
                if g.comp[s, w] == np.inf:
                    continue
                value = table[s, w] + g.comp[s, w]
                if value > highest:
                    worst, highest, second = w, value, highest
                else:
                    second = max(second, value)
            for q in range(p):
                away = second if q == worst else highest
                stay = highest if q == worst else 0.0  # any other w = q is below `away`
                table[t, q] = max(table[t, q], max(stay, away + mean_comm))
    return table


@kernel
def predict_cost_matrix(g: InstanceArrays) -> Floats:
    """PCM of PPTS. Shape ``[n, p]``.

    ``PCM(t, q) = max_s min_w [PCM(s, w) + comp(s, w) + comp(t, w) + c̄(t, s)·(w ≠ q)]``, and
    ``comp(t, q)`` for an exit task. Where t is not eligible, its mean cost is used.
    """
    n, p = g.comp.shape
    table = np.zeros((n, p), dtype=np.float64)
    own, through = np.empty(p), np.empty(p)
    for i in range(n - 1, -1, -1):
        t = g.topo[i]
        for q in range(p):
            own[q] = g.comp[t, q] if g.comp[t, q] != np.inf else g.mean_comp[t]
            if g.succ_ptr[t] == g.succ_ptr[t + 1]:
                table[t, q] = own[q]
        for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            s = g.succ_task[e]
            mean_comm = g.mean_link[0] + g.succ_data[e] * g.mean_link[1]
            elsewhere = np.inf
            for w in range(p):
                through[w] = table[s, w] + g.comp[s, w] + own[w]
                elsewhere = min(elsewhere, through[w])
            for q in range(p):
                table[t, q] = max(table[t, q], min(through[q], elsewhere + mean_comm))
    return table


@kernel
def mean_over_eligible(g: InstanceArrays, table: Floats) -> Floats:
    """``[n]`` mean of each row of ``table[n, p]`` over the eligible processors of its task."""
    n, p = g.comp.shape
    means = np.zeros(n, dtype=np.float64)
    for t in range(n):
        count = 0
        for q in range(p):
            if g.comp[t, q] != np.inf:
                means[t] += table[t, q]
                count += 1
        means[t] /= count
    return means
