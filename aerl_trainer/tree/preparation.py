"""The leaves of a mini-batch before they are evaluated: rebuilt, encoded, bounded and completed."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aerl_trainer.policy.context import PolicyContext
from aerl_trainer.policy.encoding.candidates import INSERTION
from aerl_trainer.policy.encoding.context import EncodingContext
from aerl_trainer.policy.encoding.states import Workspace, allocate_workspace, encode_state
from aerl_trainer.policy.prior import write_prior
from aerl_trainer.policy.rollout import roll_out
from aerl_trainer.policy.scoring import begin
from aerl_trainer.policy.weights import Weights
from aerl_trainer.policy.workspace import PolicyWorkspace
from aerl_trainer.tree.leaves import LeafBatch, pruning_bound
from aerl_trainer.tree.problem import SearchProblem
from aerl_trainer.tree.tree import NO_EDGE, TreeArrays
from dagsched_env.kernels.arrays import MAKESPAN, Floats, Ints, StateArrays, allocate_state
from dagsched_env.kernels.jit import borrowing
from dagsched_env.kernels.state.completion import complete
from dagsched_env.kernels.state.transitions import clear, copy_state, place, recompute_bounds

# Who gives the priors, and who completes the leaves
NOBODY = 0
CLASSIC = 1  # the hand-made prior; list scheduling with noise
POLICY = 2  # the fast policy


class Guide(NamedTuple):
    """Where the priors and the rollouts of a job come from."""

    context: PolicyContext
    workspace: PolicyWorkspace
    weights: Weights
    """Of the fast policy; zeros where the job has none."""
    prior: int
    """One of the above."""
    min_prior: float
    """As of ``encode_state``."""
    prior_temperature: float
    """By which the logits of the fast policy are divided, > 0."""
    rollout: int
    """One of the above: who completes the root, and each leaf that is not left to list scheduling;
    with NOBODY only terminal leaves have a schedule."""
    normals: Floats
    """Standard normals, for rollouts by list scheduling."""
    uniforms: Floats
    """Numbers in [0, 1) or ``GREEDY``, for rollouts by the fast policy."""


class LeafWorkspace(NamedTuple):
    """Work space of ``prepare_leaves`` for one size of problem, and the best schedule it finds."""

    encoding: Workspace
    path: Ints  # [n]
    best: StateArrays  # out: the shortest complete schedule of the mini-batch; makespan ∞: none


def allocate_leaves(n: int, p: int, k: int) -> LeafWorkspace:
    """Work space for problems of n tasks, p processors and k resources."""
    return LeafWorkspace(
        allocate_workspace(n, p, k), np.zeros(n, dtype=np.int64), allocate_state(n, p, k)
    )


@borrowing
def prepare_leaves(
    problem: SearchProblem,
    guide: Guide,
    t: TreeArrays,
    actor: int,
    w: LeafWorkspace,
    leaves: LeafBatch,
    offsets: npt.NDArray[np.int64],
    rollouts: Ints,
    features: bool,
) -> None:
    """Rebuild, encode, bound and complete the leaf of each entry of an actor's journal.

    Args:
        problem: what is searched.
        guide: gives priors and rollouts.
        actor: whose journal names the leaves.
        w: work space; its ``best`` is written.
        leaves: out: encoded states, pruning bounds and makespans of the rollouts.
        offsets: ``[leaves in the journal]`` where the random numbers of each rollout begin:
            ``n + n * p`` normals or ``n`` uniforms.
        rollouts: ``[leaves in the journal]`` who completes each: one of the above.
        features: as of ``encode_state``.
    """
    w.best.totals[MAKESPAN] = np.inf
    for b in range(offsets.shape[0]):
        _rebuild(problem.encoding, t, t.journal_edge[actor, b], w.encoding.state, w.path)
        _describe(problem, guide, w.encoding, leaves, b, features)
        _complete(problem, guide, w, leaves, b, offsets[b], rollouts[b])


@borrowing
def _rebuild(c: EncodingContext, t: TreeArrays, edge: int, s: StateArrays, path: Ints) -> None:
    """Make ``s`` the state behind the last edge of a path, by replaying it from the root."""
    p = c.g.comp.shape[1]
    length = 0
    while edge != NO_EDGE:
        path[length] = t.edge_action[edge]
        length += 1
        edge = t.parent_edge[t.edge_parent[edge]]
    clear(c.g, s)
    for i in range(length - 1, -1, -1):
        place(c.g, s, path[i] // p, path[i] % p, INSERTION, False)
    recompute_bounds(c.g, s)


@borrowing
def _describe(
    problem: SearchProblem, guide: Guide, w: Workspace, leaves: LeafBatch, b: int, features: bool
) -> None:
    """Encode ``w.state`` as leaf ``b``, with its prior and its pruning bound."""
    s = w.state
    prior = guide.prior != NOBODY
    encode_state(problem.encoding, w, s, leaves.states, b, guide.min_prior, prior, features)
    if leaves.states.terminal[b]:
        leaves.pruning_bound[b] = s.totals[MAKESPAN]
        return
    leaves.pruning_bound[b] = pruning_bound(
        problem.floor, problem.tail, problem.least_tail, s.processor, s.bound
    )
    if guide.prior == POLICY or guide.rollout == POLICY:
        begin(guide.context, guide.workspace, s)
    if guide.prior == POLICY:
        write_prior(
            guide.context,
            guide.workspace,
            s,
            guide.weights,
            guide.prior_temperature,
            leaves.states,
            b,
        )


@borrowing
def _complete(
    problem: SearchProblem,
    guide: Guide,
    w: LeafWorkspace,
    leaves: LeafBatch,
    b: int,
    first: int,
    rollout: int,
) -> None:
    """Complete the state of leaf ``b`` by a rollout, and keep its schedule if it is the best.

    The caches of the fast policy are those of the state; ``first`` is the offset of the leaf.
    """
    c, s, completion = problem.encoding, w.encoding.state, w.encoding.completion
    n, p = c.g.comp.shape
    copy_state(s, completion)
    if rollout == POLICY:
        makespan = roll_out(
            guide.context,
            guide.workspace,
            completion,
            guide.weights,
            guide.uniforms[first : first + n],
            guide.workspace.no_gradient,
        )
    elif rollout == CLASSIC:
        draws = guide.normals[first : first + n + n * p]
        makespan = complete(
            c.g, completion, c.rank_u, c.oct, problem.rollout_sigma, draws, INSERTION
        )
    else:
        makespan = s.totals[MAKESPAN] if leaves.states.terminal[b] else np.inf
    leaves.rollout_makespan[b] = makespan
    if makespan < w.best.totals[MAKESPAN]:
        copy_state(completion, w.best)
