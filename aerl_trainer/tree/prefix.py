"""Fixing a prefix of the best schedule, so that the search goes on below it.

A tree over many tasks stays shallow: its paths end about twenty placements below the root, however
many simulations are made. In the second half of the budget the first placements of the
incumbent are therefore fixed, group by group, and selection begins behind them, at the search root.
Each rollout keeps the prefix and draws only the rest anew. The next group is taken from the
incumbent of that time. The prefix is that of the incumbent, not of the tree's best path: the path
is known only as deep as the tree is, and its last placements rest on few simulations.

Where the incumbent leaves the tree, the tree grows along it, one node at a time: the next
simulation of any actor evaluates the new node, and the search root moves on after it. Nothing is
copied or lost: backups still reach the root. Where nothing is left to find below a prefix, the
search root moves up again (``simulation.gather``).
"""

from aerl_trainer.tree.selection import is_finished
from aerl_trainer.tree.simulation import add_node
from aerl_trainer.tree.tree import (
    BEST_MAKESPAN,
    EXPANDED,
    N_NODES,
    NO_EDGE,
    NO_NODE,
    ROOT,
    SEARCH_ROOT,
    TreeArrays,
    cut_off,
)
from dagsched_env.kernels.jit import borrowing

FREE_SHARE = 0.5
"""Of the search, in which nothing is fixed: see docs/notes/search.md."""


def depth_to_fix(progress: float, n_tasks: int, fix_every: int) -> int:
    """Placements that are fixed after a share of the search.

    What follows ``FREE_SHARE`` is cut into as many equal parts as there are groups of
    ``fix_every`` placements; each group is fixed at the end of its part, the last one never.

    Args:
        progress: share of the search that is over, in [0, 1].
        n_tasks: n.
        fix_every: placements in a group; 0 = nothing is ever fixed.
    """
    if fix_every == 0:
        return 0
    groups = -(-n_tasks // fix_every)
    fixed = int(max(progress - FREE_SHARE, 0.0) / (1.0 - FREE_SHARE) * groups)
    return min(fixed, groups - 1) * fix_every


@borrowing
def fix_prefix(t: TreeArrays, depth: int, p: int, prune: bool) -> None:
    """Move the search root along the incumbent; for callers inside ``SharedTree.writing``.

    It stops at the first node that has not been evaluated, and moves on at a later call; it also
    stops above a node below which nothing is left to find. If the incumbent has changed meanwhile,
    it moves over to the new one.

    Args:
        depth: placements to fix at most, up to n - 1.
        p: processors of the problem.
        prune: as in ``Rules``.
    """
    cut = cut_off(t.scalars[BEST_MAKESPAN], prune)
    start = ROOT
    while t.depth[start] < depth and t.status[start] == EXPANDED:
        task = t.incumbent_sequence[t.depth[start]]
        child = _child_by(t, start, task * p + t.incumbent_processor[task])
        if child == NO_NODE or is_finished(t.status[child], t.pruning_bound[child], cut):
            break
        start = child
    t.counters[SEARCH_ROOT] = start


@borrowing
def _child_by(t: TreeArrays, node: int, action: int) -> int:
    """The child of an expanded node by a legal action; NO_NODE where there is no room for it."""
    edge = _edge_by(t, node, action)
    if edge == NO_EDGE:
        return NO_NODE
    if t.edge_child[edge] == NO_NODE and t.counters[N_NODES] < t.status.shape[0]:
        t.opened[node] = max(t.opened[node], edge - t.first_edge[node] + 1)
        add_node(t, node, edge)
    return t.edge_child[edge]  # type: ignore[no-any-return]


@borrowing
def _edge_by(t: TreeArrays, node: int, action: int) -> int:
    """The edge of a legal action; NO_EDGE where it has none and every edge has been visited.

    If the action was dropped it takes the place of the least likely unvisited one: legal actions
    are missing before and after, and ``dropped`` says so already.
    """
    replaced = NO_EDGE
    for e in range(t.first_edge[node], t.first_edge[node] + t.n_edges[node]):
        if t.edge_action[e] == action:
            return e
        if t.edge_child[e] == NO_NODE and t.edge_visits[e] + t.edge_in_flight[e] == 0:
            replaced = e
    if replaced != NO_EDGE:
        t.edge_action[replaced] = action
    return replaced
