"""One actor's share of a search: gather leaves, evaluate them, back them up."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aerl_trainer.config import SearchConfig
from aerl_trainer.encoding.candidates import INSERTION
from aerl_trainer.encoding.context import EncodingContext
from aerl_trainer.encoding.evaluator import Evaluator
from aerl_trainer.encoding.states import (
    EncodedStates,
    Workspace,
    allocate_workspace,
    encode_state,
)
from aerl_trainer.policy.context import (
    SHORT_LIST,
    PolicyContext,
    PolicyWorkspace,
    allocate_policy,
    policy_context,
)
from aerl_trainer.policy.prior import write_prior
from aerl_trainer.policy.rollout import GREEDY, roll_out
from aerl_trainer.policy.scoring import begin
from aerl_trainer.policy.weights import N_WEIGHTS, Weights
from aerl_trainer.records import SearchJob
from aerl_trainer.search.answers import take_answers
from aerl_trainer.search.leaves import LeafBatch, leaves_around, pruning_bound
from aerl_trainer.search.prefix import depth_to_fix, fix_prefix
from aerl_trainer.search.problem import SearchProblem, search_problem
from aerl_trainer.search.selection import Rules
from aerl_trainer.search.shared_tree import BrokenTreeError, SharedTree
from aerl_trainer.search.simulation import expand_and_back_up, gather
from aerl_trainer.search.tree import NO_EDGE, TreeArrays
from aerl_trainer.seeding import generator
from dagsched_env.errors import DAGSchedError
from dagsched_env.kernels.arrays import Floats, Ints, StateArrays, allocate_state
from dagsched_env.kernels.jit import borrowing
from dagsched_env.kernels.state.completion import complete
from dagsched_env.kernels.state.transitions import clear, copy_state, place, recompute_bounds

__all__ = ["SearchWorker", "state_after"]

NOISE_LENGTH = 1 << 14
"""Standard normals drawn once per job; each rollout reads a stretch of them at a random offset."""
NO_NOISE: Floats = np.zeros(0)
"""At the root."""


class SearchWorker:
    """Runs simulations of one job on its tree, as actor number ``actor``.

    Args:
        actor: index into the tree's journal; one live worker per actor and tree.
        job: the problem and the seed of its randomness.
        tree: shared by all actors of the job.
        states: the batch to work in; its first dimension bounds the mini-batch.
        evaluator: the network, or ``PriorEvaluator``.
        config: search settings.
        explore: root noise, as in training: Dirichlet's with PUCT, Gumbel's with halving.
        network: False skips the network's inputs (for ``PriorEvaluator``).
    """

    def __init__(
        self,
        actor: int,
        job: SearchJob,
        tree: SharedTree,
        states: EncodedStates,
        evaluator: Evaluator,
        config: SearchConfig,
        *,
        explore: bool,
        network: bool = True,
    ) -> None:
        self.tree = tree
        self._actor, self._job, self._config, self._network = actor, job, config, network
        self._evaluator = evaluator
        self._leaves = leaves_around(states)
        self._problem = search_problem(job.instance)
        self._shape = n, p = job.instance.comp.shape
        self._workspace = allocate_workspace(n, p)
        self._path = np.zeros(n, dtype=np.int64)
        self._guide = _guide_of(job, config, network)
        self._best_complete = allocate_state(n, p)
        self._rng = generator(job.seed, "actor", actor)
        self._noise = self._rng.standard_normal(NOISE_LENGTH + n + n * p)
        self._uniforms = NO_NOISE
        if self._guide.rollout:
            draws = self._rng.random(NOISE_LENGTH + n)
            self._uniforms = np.concatenate([draws, np.full(n, GREEDY)])
        self._rules = _rules(config, job.seed, explore)
        self._noisy_root = explore and config.root_selection == "puct"

    def run_batch(self, rollout_weight: float, spent: float = 0.0) -> int:
        """One mini-batch of simulations, and the step of the search root that follows it.

        Args:
            rollout_weight: λ, share of the rollout in a leaf's value.
            spent: share used up of a limit other than the budget, such as time, in [0, 1].

        Returns:
            How many simulations were done; 0 when the tree is finished or broken, or every leaf
            that the search wants is in flight with another actor.

        Raises:
            DAGSchedError: the network answers with numbers that are not finite.
        """
        config, tree = self._config, self.tree
        limit = min(config.batch_size, self._leaves.value.shape[0])
        try:
            with tree.writing(self._actor) as arrays:
                count = gather(arrays, self._actor, limit, self._rules)
                if count == 0:
                    self._move_search_root(arrays, spent)
                    return 0
            self._evaluate(count, rollout_weight)
            best = self._best_complete
            with tree.writing(self._actor) as arrays:
                # First the schedule: a complete tree must hold what it has found.
                tree.improve_incumbent(
                    best.totals[0], best.processor, best.sequence, best.start, best.finish
                )
                expand_and_back_up(arrays, self._actor, self._leaves, self._rules)
                self._move_search_root(arrays, spent)
        except BrokenTreeError:
            return 0
        return count

    def _move_search_root(self, arrays: TreeArrays, spent: float) -> None:
        """Fix as many placements as the progress of the search asks for."""
        n, p = self._shape
        progress = max(spent, self.tree.simulations / self._config.budget)
        depth = depth_to_fix(progress, n, self._config.fix_every)
        if depth > self.tree.fixed_depth:
            fix_prefix(arrays, depth, p, self._config.prune)

    def _evaluate(self, count: int, rollout_weight: float) -> None:
        """Fill the mini-batch for the journalled paths, and ``_best_complete`` from its best."""
        leaves, config = self._leaves, self._config
        offsets = self._rng.integers(NOISE_LENGTH, size=count)
        if self._guide.rollout and self._begins_with_root:
            offsets[0] = NOISE_LENGTH + self._shape[0]
        prepare_leaves(
            self._problem,
            self._guide,
            self.tree.arrays,
            self._actor,
            count,
            self._workspace,
            self._path,
            self._best_complete,
            leaves,
            self._noise,
            self._uniforms,
            offsets,
            config.min_prior,
            config.prior != "none",
            config.rollout != "none",
            # Without a network v is the list completion, which is encoded with the features.
            self._network or rollout_weight < 1.0 or config.backup == "value",
        )
        self._evaluator.evaluate(self._job.instance, leaves.states, count)
        finite = take_answers(
            self._problem.encoding,
            leaves,
            count,
            self._root_noise(),
            config.noise_fraction,
            rollout_weight,
            config.backup == "value",
            config.value_target == "rank",
        )
        if not finite:
            raise DAGSchedError(
                "the network answers with numbers that are not finite: train it with a lower "
                "learner.learning_rate"
            )

    @property
    def _begins_with_root(self) -> bool:
        """Row 0 of the mini-batch is the root."""
        return bool(self.tree.arrays.journal_edge[self._actor, 0] == NO_EDGE)

    def _root_noise(self) -> Floats:
        """Dirichlet noise if row 0 is the root, the same for every actor; else nothing."""
        if not self._noisy_root or not self._begins_with_root:
            return NO_NOISE
        k = int(self._leaves.states.n_candidates[0])
        rng = generator(self._job.seed, "root-noise")
        return rng.dirichlet(np.full(k, self._config.noise_concentration / k))


class Guide(NamedTuple):
    """What the fast policy does in a search."""

    context: PolicyContext
    workspace: PolicyWorkspace
    weights: Weights
    prior: bool
    """It gives the prior."""
    prior_temperature: float
    rollout: bool
    """It draws the rollouts; that of the root is its greedy schedule."""


def _guide_of(job: SearchJob, config: SearchConfig, network: bool) -> Guide:
    """Without a policy in the job it does nothing; a network has its own prior."""
    guided, (n, p) = job.policy is not None, job.instance.comp.shape
    return Guide(
        policy_context(job.instance),
        allocate_policy(n, p, max(config.max_children, SHORT_LIST)),
        np.zeros(N_WEIGHTS, dtype=np.float32) if job.policy is None else job.policy,
        prior=guided and not network and config.prior == "policy",
        prior_temperature=config.prior_temperature,
        rollout=guided and config.rollout == "policy",
    )


def _rules(config: SearchConfig, seed: int, explore: bool) -> Rules:
    gumbel = np.zeros(config.max_children)
    if explore:
        gumbel = generator(seed, "root-gumbel").gumbel(size=config.max_children)
    return Rules(
        budget=config.budget,
        min_paths=config.min_trajectories,
        cap=int(config.budget * config.cap_factor),
        c_puct=float(config.c_puct),
        c_puct_base=float(config.c_puct_base),
        best_weight=float(config.best_weight),
        prune=config.prune,
        considered=config.considered_actions if config.root_selection == "gumbel" else 0,
        gumbel=gumbel,
    )


@borrowing
def state_after(c: EncodingContext, t: TreeArrays, edge: int, s: StateArrays, path: Ints) -> None:
    """Make ``s`` the state behind the last edge of a path, by replaying it.

    Args:
        c: the problem.
        t: the tree.
        edge: the last edge; ``NO_EDGE`` = the root.
        s: out.
        path: ``[n]`` work space.
    """
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
def prepare_leaves(
    problem: SearchProblem,
    guide: Guide,
    t: TreeArrays,
    actor: int,
    count: int,
    w: Workspace,
    path: Ints,
    best_complete: StateArrays,
    leaves: LeafBatch,
    noise: Floats,
    uniforms: Floats,
    offsets: npt.NDArray[np.int64],
    min_prior: float,
    prior: bool,
    rollouts: bool,
    features: bool,
) -> None:
    """Rebuild each leaf's state, encode it, bound it, and complete it by a rollout.

    Args:
        problem: what is searched.
        guide: the fast policy, and what it does.
        t: the tree.
        actor: whose journal names the leaves.
        count: leaves in the journal.
        w: work space.
        path: ``[n]`` work space.
        best_complete: out: the shortest complete schedule of the mini-batch; makespan ∞: none.
        leaves: out: encoded states, pruning bounds and makespans of the rollouts.
        noise: standard normals, for rollouts by list scheduling.
        uniforms: numbers in [0, 1), for rollouts by the policy.
        offsets: ``[count]`` where the numbers of each rollout begin: ``n + n * p`` normals or ``n``
            others.
        min_prior: as of ``encode_state``.
        prior: as of ``encode_state``.
        rollouts: False leaves leaves that are not terminal without a schedule.
        features: as of ``encode_state``.
    """
    c = problem.encoding
    n, p = c.g.comp.shape
    best_complete.totals[0] = np.inf
    for b in range(count):
        s = w.state
        state_after(c, t, t.journal_edge[actor, b], s, path)
        encode_state(c, w, s, leaves.states, b, min_prior, prior, features)
        live = not leaves.states.terminal[b]
        if live and (guide.prior or guide.rollout):
            begin(guide.context, guide.workspace, s)
        if live and guide.prior:
            write_prior(
                guide.context,
                guide.workspace,
                s,
                guide.weights,
                guide.prior_temperature,
                leaves.states,
                b,
            )
        if leaves.states.terminal[b]:
            leaves.pruning_bound[b] = s.totals[0]
        else:
            leaves.pruning_bound[b] = pruning_bound(
                problem.floor, problem.tail, problem.least_tail, s.processor, s.bound
            )
        if live and not rollouts:
            leaves.rollout_makespan[b] = np.inf
            continue
        copy_state(s, w.completion)
        first = offsets[b]
        if not live:
            makespan = s.totals[0]
        elif guide.rollout:
            makespan = roll_out(
                guide.context,
                guide.workspace,
                w.completion,
                guide.weights,
                uniforms[first : first + n],
                guide.workspace.no_gradient,
            )
        else:
            draws = noise[first : first + n + n * p]
            makespan = complete(
                c.g, w.completion, c.rank_u, c.oct, problem.rollout_sigma, draws, INSERTION
            )
        leaves.rollout_makespan[b] = makespan
        if makespan < best_complete.totals[0]:
            copy_state(w.completion, best_complete)
