"""The principal variation of a tree, and one other action at a time along it.

The first simulation completes the empty schedule greedily. All states on its way, the *principal
variation*, become nodes of the tree, with the policy's probabilities as priors. Each further
simulation leaves it at one state by another action, and goes on greedily from there: a whole
schedule, which differs from the first by what follows that one decision. Which actions are tried is
drawn without replacement in proportion to their priors: in the order of ``ln P + Gumbel noise``
(Kool et al. 2019), so that the probability of each is known. The draw is a function of the job's
seed, whoever makes it; an edge that has a child is claimed or done.

What changes the tree is for callers inside ``SharedTree.writing``.
"""

import numpy as np

from aerl_trainer.config.seeding import generator
from aerl_trainer.tree.records import SearchJob, TreeGroup
from aerl_trainer.tree.simulation import add_in_flight, add_node, back_up, close_batch
from aerl_trainer.tree.tree import (
    CAP,
    COMPLETE,
    COMPLETED,
    EVALUATING,
    EXHAUSTED,
    EXPANDED,
    N_EDGES,
    N_NODES,
    NEW,
    NO_EDGE,
    NO_NODE,
    OUTCOME,
    ROOT,
    RUNNING,
    SIMS_DONE,
    TERMINAL,
    TERMINAL_PATHS,
    TreeArrays,
)
from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.kernels.jit import borrowing, inlined
from dagsched_env.problem.instance import Instance

LEAST_CHANCE = 1e-12
"""Of an action that was tried: a divisor is not 0."""


def others(t: TreeArrays) -> Ints:
    """All edges that leave the principal variation, in the order of the tree."""
    count = int(t.counters[N_EDGES])
    on_it = t.edge_child[:count] == t.edge_parent[:count] + 1
    left: Ints = np.flatnonzero(~on_it & (t.edge_prior[:count] > 0.0))
    return left


def keys(t: TreeArrays, edges: Ints, seed: int) -> Floats:
    """``[edges]`` what orders the edges: the largest is tried first.

    Args:
        edges: of ``others``.
        seed: of the job.
    """
    noise = generator(seed, "variations").gumbel(size=edges.size)
    ordered: Floats = np.log(t.edge_prior[edges].astype(np.float64)) + noise
    return ordered


def agenda(t: TreeArrays, seed: int) -> Ints:
    """All edges that leave the principal variation, in the order in which they are tried.

    Args:
        t: a tree whose principal variation has been added.
        seed: of the job.
    """
    edges = others(t)
    ordered: Ints = edges[np.argsort(-keys(t, edges, seed), kind="stable")]
    return ordered


def actions_of(t: TreeArrays, instance: Instance) -> Ints:
    """``[n]`` actions of the principal variation, in the order of placement."""
    nodes = np.arange(1, instance.n_tasks + 1)
    actions: Ints = t.edge_action[t.parent_edge[nodes]].astype(np.int64)
    return actions


def group_of(job: SearchJob, t: TreeArrays) -> TreeGroup:
    """What the fast policy learns from a finished tree.

    Args:
        job: that was searched.
        t: its tree, to which nobody writes.
    """
    edges = others(t)
    order = keys(t, edges, job.seed)
    tried = t.edge_visits[edges] > 0
    # Tried are all of a larger key than the first of the rest: each had this chance, given those.
    threshold = -np.inf if tried.all() else float(order[~tried].max())
    chance = -np.expm1(-t.edge_prior[edges[tried]] * np.exp(-threshold))
    unit = job.instance.time_scale
    return TreeGroup(
        instance=job.instance,
        actions=actions_of(t, job.instance),
        makespan=float((1.0 - t.raw_value[ROOT]) * unit),
        depths=t.edge_parent[edges[tried]].astype(np.int64),
        others=t.edge_action[edges[tried]].astype(np.int64),
        inclusion=np.maximum(chance, LEAST_CHANCE),
        makespans=(1.0 - t.edge_best[edges[tried]]) * unit,
        step=job.step,
    )


@borrowing
def claim_root(t: TreeArrays, actor: int) -> bool:
    """Put the root in flight for an actor, unless another one has it or it is done."""
    if t.status[ROOT] != NEW or t.counters[OUTCOME] != RUNNING:
        return False
    t.status[ROOT] = EVALUATING
    t.journal_edge[actor, 0] = NO_EDGE
    t.journal_count[actor] = 1
    return True


@borrowing
def add_variation(
    t: TreeArrays,
    actor: int,
    listed: Ints,
    probabilities: Floats,
    counts: Ints,
    chosen: Ints,
    most: int,
    value: float,
) -> None:
    """Add the principal variation to a tree that holds nothing but the root, and back it up.

    Node d of the tree is its state with d placements.

    Args:
        actor: who has the root in flight.
        listed: ``[n, K]`` of ``write_variation``, as are the next three.
        probabilities: ``[n, K]``
        counts: ``[n]``
        chosen: ``[n]``
        most: actions that a node keeps, of the highest hand-made prior, and the chosen one.
        value: return of the schedule.
    """
    node, edge = ROOT, NO_EDGE
    for d in range(counts.shape[0]):
        first, kept = t.counters[N_EDGES], min(counts[d], most)
        t.counters[N_EDGES] += kept
        t.status[node] = EXPANDED
        t.raw_value[node] = value
        t.first_edge[node], t.n_edges[node], t.opened[node] = first, kept, kept
        t.dropped[node] = True  # the short list leaves legal actions out
        taken = min(chosen[d], kept - 1)
        for k in range(kept):
            e, source = first + k, chosen[d] if k == taken else k
            t.edge_parent[e] = node
            t.edge_action[e] = listed[d, source]
            t.edge_child[e] = NO_NODE
            t.edge_visits[e] = t.edge_in_flight[e] = 0
            t.edge_total[e], t.edge_best[e] = 0.0, -np.inf
            t.edge_prior[e] = probabilities[d, source]
        edge = first + taken
        add_node(t, node, edge)
        node = t.edge_child[edge]
    t.status[node] = TERMINAL
    t.raw_value[node] = value
    back_up(t, edge, value, value)
    _count_simulations(t, actor)


@borrowing
def claim(t: TreeArrays, actor: int, limit: int, order: Ints, budget: int) -> int:
    """Put the next edges in flight for an actor; returns how many.

    The search ends with the budget, when all edges are done, or when the tree is full.

    Args:
        actor: who claims; its journal is empty.
        limit: most edges to claim.
        order: of ``agenda``.
        budget: simulations of the search, those in flight among them.
    """
    _end_if_done(t, order.shape[0], budget)
    if t.counters[OUTCOME] != RUNNING:
        return 0
    left = budget - t.counters[SIMS_DONE]
    for a in range(t.journal_count.shape[0]):
        left -= t.journal_count[a]
    count = 0
    for i in range(order.shape[0]):
        if count >= min(limit, left):
            break
        edge = order[i]
        if t.edge_child[edge] == NO_NODE:
            if t.counters[N_NODES] == t.status.shape[0]:
                if count == 0 and not t.journal_count.any():
                    t.counters[OUTCOME] = CAP
                break
            add_node(t, t.edge_parent[edge], edge)
        child = t.edge_child[edge]
        if t.status[child] == NEW:
            t.status[child] = EVALUATING
            t.journal_edge[actor, count] = edge
            add_in_flight(t, edge, 1)
            count += 1
    t.journal_count[actor] = count
    return count


@borrowing
def back_up_claims(
    t: TreeArrays, actor: int, makespans: Floats, unit: float, edges: int, budget: int
) -> None:
    """Back up what an actor has completed.

    Args:
        actor: whose journal.
        makespans: ``[B]`` of the schedules, in the order of the journal (time).
        unit: CP_MIN of the problem (time).
        edges: how many leave the principal variation.
        budget: simulations of the search.
    """
    for b in range(t.journal_count[actor]):
        edge = t.journal_edge[actor, b]
        value = 1.0 - makespans[b] / unit
        child = t.edge_child[edge]
        t.status[child] = COMPLETED
        t.raw_value[child] = value
        add_in_flight(t, edge, -1)
        back_up(t, edge, value, value)
    _count_simulations(t, actor)
    _end_if_done(t, edges, budget)


@inlined
def _count_simulations(t: TreeArrays, actor: int) -> None:
    """Those of the journal: each is a complete trajectory."""
    count = t.journal_count[actor]
    t.counters[SIMS_DONE] += count
    t.counters[TERMINAL_PATHS] += count
    t.actor_simulations[actor] += count
    close_batch(t, actor)


@inlined
def _end_if_done(t: TreeArrays, edges: int, budget: int) -> None:
    if t.counters[OUTCOME] != RUNNING:
        return
    if t.counters[SIMS_DONE] >= budget:
        t.counters[OUTCOME] = COMPLETE
    elif t.counters[SIMS_DONE] > edges:  # one is the principal variation itself
        t.counters[OUTCOME] = EXHAUSTED
