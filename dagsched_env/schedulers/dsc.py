"""DSC, dominant sequence clustering, and the mapping of its clusters.

Yang, Gerasoulis 1994, "DSC: scheduling parallel tasks on an unbounded number of processors", IEEE
TPDS 5(9), for any number of identical processors. Clusters are mapped to processors by guided load
balancing, and tasks are ordered by level, as in Wang, Sinnen 2018, "List-scheduling versus
cluster-scheduling", IEEE TPDS 29(8), also for identical processors.
"""

from dagsched_env.kernels.graph import ranks
from dagsched_env.kernels.lists import clustering, mapping
from dagsched_env.kernels.schedules import decoding
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


def dsc(instance: Instance, *, insertion: bool = False) -> Schedule:
    """Clusters at mean costs, each mapped to one eligible processor, then tasks by level.

    Clusters are mapped in the order of their first tasks by decreasing rank_u. Each goes to the
    processor with the least work, that of the cluster included, at the costs of that processor. If
    no processor can run a whole cluster, it goes to one that can run most of its tasks, and its
    other tasks are mapped like a cluster. The level of a task is the longest path to an exit at the
    costs of this assignment; ties: stored topological order. With resources work is still the sum
    of times, whatever share of the processor a task takes.

    Args:
        instance: the problem.
        insertion: use idle gaps; False (as published) appends only.
    """
    g = instance.arrays
    first_tasks = ranks.order_by_rank(instance.rank_u, g.topo_position)
    clusters = clustering.dominant_sequence_clusters(g)
    assignment = mapping.map_clusters(g, clusters, first_tasks, 0.0)
    order = ranks.order_by_rank(mapping.assigned_rank(g, assignment), g.topo_position)
    return Schedule.adopt(*decoding.decode(g, order, assignment, insertion), algorithm="dsc")
