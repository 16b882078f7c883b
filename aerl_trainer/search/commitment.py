"""Commitment: the search goes on below a prefix of the best schedule that its tree has found.

A tree over n placements is never deep where n is large: its simulations end a few placements below
the root, however many there are. Once a part of the budget is spent, the first placements of the
best path are therefore taken as decided and selection begins behind them. Nothing is copied: the
subtree goes on with all that is known of it, backups still reach the root, and a subtree in which
nothing is left to find is left again (``kernels.gather``).
"""

import numpy as np

from aerl_trainer.config import SearchConfig
from aerl_trainer.search.selection import is_finished
from aerl_trainer.search.tree import (
    BEST_MAKESPAN,
    EXPANDED,
    NO_EDGE,
    NO_NODE,
    SIMS_DONE,
    TOP,
    WRITER,
    SharedTree,
    TreeArrays,
    cut_off,
)
from dagsched_env.kernels.jit import kernel

__all__ = ["commit", "commit_prefix", "committed_depth"]


def commit(tree: SharedTree, n_tasks: int, config: SearchConfig, spent: float) -> None:
    """Decide as many placements as the progress of the search asks for.

    Args:
        tree: any actor may call this between two of its mini-batches.
        n_tasks: placements of a complete schedule.
        config: the budget, and ``commit_every``, the number of placements decided at a time.
        spent: share used up of a limit other than the budget, in [0, 1].
    """
    progress = max(spent, tree.counter(SIMS_DONE) / config.budget)
    depth = committed_depth(progress, n_tasks, config.commit_every)
    if depth > tree.arrays.depth[tree.counter(TOP)]:
        with tree.lock:
            if tree.counter(WRITER) == 0:  # else its writer died, and paths may lead anywhere
                commit_prefix(tree.arrays, depth, config.prune)


def committed_depth(progress: float, n_tasks: int, commit_every: int) -> int:
    """Placements that are decided after this share of the search, in [0, 1]; see ``commit``.

    The search is cut into as many equal parts as there are groups of ``commit_every`` placements;
    each group is decided at the end of its part, the last one never.
    """
    if commit_every == 0:
        return 0
    groups = -(-n_tasks // commit_every)
    return min(int(progress * groups), groups - 1) * commit_every


@kernel
def commit_prefix(t: TreeArrays, depth: int, prune: bool) -> int:
    """Move the top of the tree down its best path, to at most ``depth`` placements.

    The caller holds the tree's lock. The top stops where the path leaves the expanded nodes, and
    comes further at a later call. Returns its depth.
    """
    cut = cut_off(t.scalars[BEST_MAKESPAN]) if prune else np.inf
    top = t.counters[TOP]
    while t.depth[top] < depth:
        child = _best_child(t, top, cut)
        if child == NO_NODE or t.status[child] != EXPANDED:
            break
        top = child
    t.counters[TOP] = top
    return t.depth[top]  # type: ignore[no-any-return]


@kernel
def _best_child(t: TreeArrays, node: int, cut: float) -> int:
    """The unfinished child with the best complete schedule below it; NO_NODE if there is none."""
    best = NO_EDGE
    for e in range(t.first_edge[node], t.first_edge[node] + t.n_edges[node]):
        child = t.edge_child[e]
        if child == NO_NODE or is_finished(t.status[child], t.lower_bound[child], cut):
            continue
        if best == NO_EDGE or t.edge_best[e] > t.edge_best[best]:
            best = e
    return NO_NODE if best == NO_EDGE else t.edge_child[best]
