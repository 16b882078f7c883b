"""List schedules that learn: ranks and costs to go of each come from those before it."""

import numpy as np

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph.communication import arrival_time, communication
from dagsched_env.kernels.graph.ranks import order_by_rank
from dagsched_env.kernels.graph.resources import has_resources
from dagsched_env.kernels.jit import kernel
from dagsched_env.kernels.lists.fixed_order import schedule_with_costs_to_go
from dagsched_env.kernels.lists.orders import ready_order


@kernel
def priced_list(
    g: InstanceArrays, rank: Floats, costs_to_go: Floats, load_price: float, insertion: bool
) -> tuple[Ints, Floats, Floats]:
    """A list schedule: the ready task of the highest rank, where all that it costs is least.

    That is its finish time + its cost to go + ``load_price`` times its duration. The price leaves
    the processors that are fast for one task to those tasks that need them more.

    Args:
        rank: ``[n]`` (time).
        costs_to_go: ``[n, p]`` (time), finite.
        load_price: of a unit of time on any processor, > 0.
        insertion: use idle gaps; False appends only.

    Returns:
        Processor, start and finish, ``[n]`` each.
    """
    order = ready_order(g, order_by_rank(rank, g.topo_position))
    extra = costs_to_go + load_price * g.comp
    return schedule_with_costs_to_go(g, order, extra, insertion)


@kernel
def learn_from(
    g: InstanceArrays,
    processor: Ints,
    rank: Floats,
    costs_to_go: Floats,
    rank_step: float,
    cost_step: float,
) -> None:
    """Move ranks and costs to go towards those that the placements of a schedule give.

    The cost to go of (t, q) is then the longest path behind t over edges of the graph, if t were on
    q and all tasks behind it stayed where they are; the rank of t is that path on its processor,
    its duration included. That processors are busy does not count.

    Args:
        processor: ``[n]`` of the schedule.
        rank: ``[n]`` (time); changed.
        costs_to_go: ``[n, p]`` (time), finite; changed.
        rank_step: share of the new ranks, in [0, 1].
        cost_step: share of the new costs to go, in [0, 1].
    """
    n, p = g.comp.shape
    level, to_go = np.empty(n), np.empty(p)
    # The transfer times to one processor in one row each.
    latency = np.ascontiguousarray(g.latency.T)
    inv_bandwidth = np.ascontiguousarray(g.inv_bandwidth.T)
    for i in range(n - 1, -1, -1):
        t = g.topo[i]
        to_go[:] = 0.0
        for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            v, data = g.succ_task[e], g.succ_data[e]
            r = processor[v]
            for q in range(p):
                path = level[v] + (latency[r, q] + data * inv_bandwidth[r, q])
                to_go[q] = max(to_go[q], path)
        level[t] = to_go[processor[t]] + g.comp[t, processor[t]]
        rank[t] += rank_step * (level[t] - rank[t])
        for q in range(p):
            costs_to_go[t, q] += cost_step * (to_go[q] - costs_to_go[t, q])


@kernel
def learn_urgency(
    g: InstanceArrays,
    processor: Ints,
    start: Floats,
    finish: Floats,
    urgency: Floats,
    step: float,
    slack: float,
    decay: float,
) -> None:
    """Make the tasks more urgent whose wait for their processor lengthens a schedule.

    Those that start as soon as the task before them on their processor ends, and lie on a path
    nearly as long as the makespan. Paths lead over edges and from each task to the next one on its
    processor. With resources: those that start later than their inputs arrive, and over edges
    alone. It is the blame of squeaky wheel optimisation (Joslin, Clements 1999, J. Artificial
    Intelligence Research 10).

    Args:
        processor: ``[n]`` of the schedule.
        start: ``[n]`` of the schedule (time).
        finish: ``[n]`` of the schedule (time).
        urgency: ``[n]`` (time); changed.
        step: what these tasks gain, as a share of the makespan.
        slack: by how much less than the makespan a path may be, as a share of it.
        decay: factor on the urgency of before, in [0, 1].
    """
    n, p = g.comp.shape
    makespan = finish.max()
    order = g.topo[np.argsort(start[g.topo], kind="mergesort")]
    level, next_level = np.empty(n), np.zeros(p)
    for i in range(n - 1, -1, -1):
        t = order[i]
        q = processor[t]
        behind = next_level[q]
        for e in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            v = g.succ_task[e]
            sent = communication(g, g.succ_data[e], q, processor[v])
            behind = max(behind, sent + level[v])
        level[t] = g.comp[t, q] + behind
        if not has_resources(g):
            next_level[q] = level[t]
    last_finish = np.full(p, -1.0)
    for t in order:
        q = processor[t]
        urgency[t] *= decay
        if has_resources(g):
            waits = start[t] > arrival_time(g, processor, finish, t, q)
        else:
            waits = start[t] == last_finish[q]
        if waits and start[t] + level[t] > (1.0 - slack) * makespan:
            urgency[t] += step * makespan
        last_finish[q] = finish[t]
