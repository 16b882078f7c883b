"""Commitment: the search goes on below a prefix of the best schedule that it has found.

A tree over n placements is never deep where n is large: its simulations end some twenty placements
below the root, however many there are. In the second half of the budget the first placements of the
incumbent are therefore taken as decided, group by group, and selection begins behind them. Each
tail keeps the prefix and draws only the rest anew; what it finds is the incumbent of which the next
group is decided. The complete schedule leads, not the tree's best path: that is known only as far
as the tree goes, and its last placements by few simulations.

Where the incumbent leaves the tree, the tree grows along it, one node at a time: the next
simulation of whichever actor evaluates the new node, and commits the one after it. Nothing is
copied and nothing forgotten: backups still reach the root, and a prefix below which nothing is left
to find is left again (``kernels.gather``).
"""

from aerl_trainer.search.kernels import add_node
from aerl_trainer.search.selection import is_finished
from aerl_trainer.search.tree import (
    BEST_MAKESPAN,
    EXPANDED,
    N_NODES,
    NO_EDGE,
    NO_NODE,
    ROOT,
    SIMS_DONE,
    TOP,
    WRITER,
    TreeArrays,
    cut_off,
)
from aerl_trainer.search.worker import SearchWorker
from dagsched_env.kernels.jit import borrowing

__all__ = ["commit_prefix", "committed_depth", "descend"]

FREE_SHARE = 0.5
"""Of the search, in which nothing is decided: see benchmarks/SEARCH_NOTES.md."""


def descend(worker: SearchWorker, spent: float) -> None:
    """Decide as many placements as the progress of the search asks for.

    Args:
        worker: any actor of the tree, between two of its mini-batches.
        spent: share used up of a limit other than the budget, in [0, 1].
    """
    tree, config = worker.tree, worker.config
    n, p = worker.task.instance.comp.shape
    progress = max(spent, tree.counter(SIMS_DONE) / config.budget)
    depth = committed_depth(progress, n, config.commit_every)
    if depth > tree.arrays.depth[tree.counter(TOP)]:
        with tree.lock:
            if tree.counter(WRITER) == 0:  # else its writer died, and paths may lead anywhere
                commit_prefix(tree.arrays, worker.actor, depth, p, config.prune)


def committed_depth(progress: float, n_tasks: int, commit_every: int) -> int:
    """Placements that are decided after this share of the search, in [0, 1]; see ``descend``.

    What follows ``FREE_SHARE`` is cut into as many equal parts as there are groups of
    ``commit_every`` placements; each group is decided at the end of its part, the last one never.
    """
    if commit_every == 0:
        return 0
    groups = -(-n_tasks // commit_every)
    decided = int(max(progress - FREE_SHARE, 0.0) / (1.0 - FREE_SHARE) * groups)
    return min(decided, groups - 1) * commit_every


@borrowing
def commit_prefix(t: TreeArrays, actor: int, depth: int, p: int, prune: bool) -> int:
    """Move the top of the tree along the incumbent, to at most ``depth`` placements.

    The caller holds the tree's lock. The top stops at the first node that has not been evaluated,
    and comes further at a later call; it also stops above a node below which nothing is left to
    find. If the incumbent has changed meanwhile, the top moves over to the new one.

    Args:
        t: the tree; ``WRITER`` is 0.
        actor: who is writing.
        depth: at most n - 1 placements.
        p: processors of the problem.
        prune: as in ``Rules``.

    Returns:
        The depth of the top.
    """
    t.counters[WRITER] = actor + 1
    cut = cut_off(t.scalars[BEST_MAKESPAN], prune)
    top = ROOT
    while t.depth[top] < depth and t.status[top] == EXPANDED:
        task = t.incumbent_sequence[t.depth[top]]
        child = _child_by(t, top, task * p + t.incumbent_processor[task])
        if child == NO_NODE or is_finished(t.status[child], t.lower_bound[child], cut):
            break
        top = child
    t.counters[TOP] = top
    t.counters[WRITER] = 0
    return t.depth[top]  # type: ignore[no-any-return]


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
