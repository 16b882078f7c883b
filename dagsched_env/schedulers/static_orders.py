"""List schedulers that fix the order of the tasks, then place each where it finishes first.

HEFT, which does so too, has a module of its own.

- MCP, modified critical path: Wu, Gajski 1990, "Hypertool: a programming aid for message-passing
  systems", IEEE TPDS 1(3); the lists as in Kwok, Ahmad 1996, "Dynamic critical-path scheduling",
  IEEE TPDS 7(5), sec. 3.
- HLFET, highest level first with estimated times: Adam, Chandy, Dickson 1974, "A comparison of list
  schedules for parallel processing systems", Communications of the ACM 17(12).
- HCPT, heterogeneous critical parent trees: Hagras, Janeček 2003, "A simple scheduling heuristic
  for heterogeneous computing environments", International Symposium on Parallel and Distributed
  Computing (ISPDC).
- PETS, performance effective task scheduling: Ilavarasan, Thambidurai 2007, "Low complexity
  performance effective task scheduling algorithm for heterogeneous computing environments", Journal
  of Computer Sciences 3(2), after Ilavarasan, Thambidurai, Mahilmannan 2005, ISPDC.
"""

import numpy as np

from dagsched_env.kernels.graph import ranks
from dagsched_env.kernels.graph.csr import depths
from dagsched_env.kernels.lists import fixed_order, orders
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def mcp(instance: Instance, *, insertion: bool = True) -> Schedule:
    """Tasks by their lists of latest start times, each where it finishes first.

    The list of a task holds its latest start time by the critical path (ALAP, at mean costs), then
    those of its children in decreasing order. The lists are sorted lexicographically. The paper has
    identical processors and takes the one on which the task starts first; on identical processors
    it also finishes first there.

    Args:
        instance: the problem.
        insertion: use idle gaps (the published policy); False appends only.
    """
    g = instance.arrays
    # The latest start time is the makespan of the critical path − rank_u.
    latest = orders.rank_levels(instance.rank_u).tolist()
    pointers, children = g.succ_ptr.tolist(), g.succ_task.tolist()
    position = g.topo_position.tolist()

    def key(task: int) -> tuple[int, list[int], int]:
        following = [latest[s] for s in children[pointers[task] : pointers[task + 1]]]
        return latest[task], sorted(following, reverse=True), position[task]

    by_list = np.array(sorted(range(instance.n_tasks), key=key), dtype=np.int64)
    order = orders.ready_order(g, by_list)
    return Schedule.adopt(*fixed_order.schedule_in_order(g, order, insertion), algorithm="mcp")


def hlfet(instance: Instance, *, insertion: bool = False) -> Schedule:
    """Tasks by decreasing static level, each on the processor of its earliest finish time.

    The static level is the longest path to an exit at mean costs, without communication. The paper
    has identical processors and takes the one on which the task starts first; on identical
    processors it also finishes first there.

    Args:
        instance: the problem.
        insertion: use idle gaps; False appends only (as published).
    """
    g = instance.arrays
    level = ranks.upward_rank(g, g.mean_comp, False)
    order = ranks.order_by_rank(level, g.topo_position)
    return Schedule.adopt(*fixed_order.schedule_in_order(g, order, insertion), algorithm="hlfet")


def hcpt(instance: Instance, *, insertion: bool = True) -> Schedule:
    """Critical tasks by latest start, each after its unlisted ancestors; earliest finish time.

    Of several unlisted parents the one with the least latest start time is listed first (the paper
    leaves the choice open). Several exits are treated as the parents of one task of cost 0.

    Args:
        instance: the problem.
        insertion: use idle gaps; False appends only.
    """
    g = instance.arrays
    by_latest_start = ranks.order_by_rank(instance.rank_u, g.topo_position)
    critical = orders.rank_levels(instance.rank_u + instance.rank_d) == 0
    order = orders.critical_parent_order(g, by_latest_start, critical)
    return Schedule.adopt(*fixed_order.schedule_in_order(g, order, insertion), algorithm="hcpt")


def pets(instance: Instance, *, insertion: bool = True, rounded: bool = True) -> Schedule:
    """Level by level from the sources, tasks by rank, each where it finishes first.

    The rank of a task is its mean cost, plus the mean communication to all its successors, plus the
    highest rank of a predecessor. Ties: lower mean cost.

    Args:
        instance: the problem.
        insertion: use idle gaps (the published policy); False appends only.
        rounded: round ranks to whole numbers (as published); False is better where times are small
            against 1.
    """
    g = instance.arrays
    by_rank = orders.rank_levels(orders.pets_rank(g, rounded))
    by_cost = orders.rank_levels(-g.mean_comp)
    depth = depths(g.pred_ptr, g.pred_task, g.topo)
    order = np.lexsort((g.topo_position, by_cost, by_rank, depth))
    return Schedule.adopt(*fixed_order.schedule_in_order(g, order, insertion), algorithm="pets")
