"""DSC, dominant sequence clustering, and the mapping of its clusters.

Yang, Gerasoulis 1994, "DSC: scheduling parallel tasks on an unbounded number of processors", IEEE
TPDS 5(9), for identical processors, as many as wanted. Clusters onto processors by guided load
balancing and tasks by level as in Wang, Sinnen 2018, "List-scheduling versus cluster-scheduling",
IEEE TPDS 29(8), for identical processors too.
"""

from dagsched_env.instance import Instance
from dagsched_env.kernels.graph import ranks
from dagsched_env.kernels.lists import clustering, mapping
from dagsched_env.kernels.schedules import decoding
from dagsched_env.schedule import Schedule

__all__ = ["dsc"]


def dsc(instance: Instance, *, insertion: bool = False) -> Schedule:
    """Clusters at mean costs, each mapped to one eligible processor, then tasks by level.

    Clusters are mapped in the order of their first tasks by decreasing rank_u, each to the
    processor where the work assigned so far and its own, at that processor's costs, are least.
    Where no processor can run a whole cluster, it goes to one that can run most of its tasks, and
    the rest is mapped like a cluster. The level of a task is the longest path to an exit at the
    costs of that assignment; ties: stored topological order.

    Args:
        instance: the problem.
        insertion: use idle gaps; False (as published) appends only.
    """
    g = instance.arrays
    first_tasks = ranks.order_by_rank(instance.rank_u, g.topo_position)
    clusters = clustering.dominant_sequence_clusters(g)
    assignment = mapping.map_clusters(g, clusters, first_tasks)
    order = ranks.order_by_rank(mapping.assigned_rank(g, assignment), g.topo_position)
    return Schedule.adopt(*decoding.decode(g, order, assignment, insertion), algorithm="dsc")
