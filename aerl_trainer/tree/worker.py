"""One actor's share of a search: gather leaves, evaluate them, back them up."""

import numpy as np

from aerl_trainer.config import SearchConfig
from aerl_trainer.config.seeding import generator
from aerl_trainer.policy.context import policy_context
from aerl_trainer.policy.encoding.evaluator import Evaluator
from aerl_trainer.policy.encoding.states import EncodedStates
from aerl_trainer.policy.rollout import GREEDY
from aerl_trainer.policy.weights import N_WEIGHTS
from aerl_trainer.policy.workspace import allocate_policy
from aerl_trainer.tree.answers import take_answers
from aerl_trainer.tree.leaves import leaves_around
from aerl_trainer.tree.prefix import depth_to_fix, fix_prefix
from aerl_trainer.tree.preparation import (
    CLASSIC,
    NOBODY,
    POLICY,
    Guide,
    allocate_leaves,
    prepare_leaves,
)
from aerl_trainer.tree.problem import search_problem
from aerl_trainer.tree.records import SearchJob
from aerl_trainer.tree.selection import Rules
from aerl_trainer.tree.shared_tree import BrokenTreeError, SharedTree
from aerl_trainer.tree.simulation import expand_and_back_up, gather
from aerl_trainer.tree.tree import NO_EDGE, TreeArrays
from dagsched_env.kernels.arrays import MAKESPAN, Floats, Ints
from dagsched_env.problem.errors import DAGSchedError

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
        explore: Dirichlet noise at the root, as in training.
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
        self._shape = _n, _p = job.instance.comp.shape
        self._workspace = allocate_leaves(*job.instance.shape)
        self._rng = generator(job.seed, "actor", actor)
        self._guide = _guide(job, config, self._rng, network)
        self._rules = _rules(config)
        self._explore = explore

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
            best = self._workspace.best
            with tree.writing(self._actor) as arrays:
                # First the schedule: a complete tree must hold what it has found.
                tree.improve_incumbent(
                    best.totals[MAKESPAN], best.processor, best.sequence, best.start, best.finish
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
        """Fill the mini-batch for the journalled paths, and the best schedule of the work space."""
        leaves, config = self._leaves, self._config
        offsets = self._rng.integers(NOISE_LENGTH, size=count)
        if self._guide.rollout == POLICY and self._begins_with_root:
            offsets[0] = NOISE_LENGTH + self._shape[0]
        prepare_leaves(
            self._problem,
            self._guide,
            self.tree.arrays,
            self._actor,
            self._workspace,
            leaves,
            offsets,
            self._rollouts(count),
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

    def _rollouts(self, count: int) -> Ints:
        """Who completes each leaf of the mini-batch, the root as the guide says."""
        rollouts = np.full(count, self._guide.rollout)
        share = self._config.policy_rollouts
        if self._guide.rollout == POLICY and share < 1.0:
            rollouts[self._rng.random(count) >= share] = CLASSIC
            if self._begins_with_root:
                rollouts[0] = POLICY
        return rollouts

    @property
    def _begins_with_root(self) -> bool:
        """Row 0 of the mini-batch is the root."""
        return bool(self.tree.arrays.journal_edge[self._actor, 0] == NO_EDGE)

    def _root_noise(self) -> Floats:
        """Dirichlet noise if row 0 is the root, the same for every actor; else nothing."""
        if not self._explore or not self._begins_with_root:
            return NO_NOISE
        k = int(self._leaves.states.n_candidates[0])
        rng = generator(self._job.seed, "root-noise")
        return rng.dirichlet(np.full(k, self._config.noise_concentration / k))


def _guide(job: SearchJob, config: SearchConfig, rng: np.random.Generator, network: bool) -> Guide:
    """The fast policy does nothing without one in the job; beside a network it gives no prior."""
    n, p = job.instance.comp.shape
    policy = CLASSIC if job.policy is None else POLICY
    priors = {"policy": CLASSIC if network else policy, "hand": CLASSIC, "none": NOBODY}
    rollout = {"policy": policy, "list": CLASSIC, "none": NOBODY}[config.rollout]
    normals, uniforms = rng.standard_normal(NOISE_LENGTH + n + n * p), np.full(n, GREEDY)
    if rollout == POLICY:
        uniforms = np.concatenate([rng.random(NOISE_LENGTH + n), uniforms])
    return Guide(
        context=policy_context(job.instance),
        workspace=allocate_policy(*job.instance.shape, config.max_children),
        weights=np.zeros(N_WEIGHTS, dtype=np.float32) if job.policy is None else job.policy,
        prior=priors[config.prior],
        min_prior=float(config.min_prior),
        prior_temperature=float(config.prior_temperature),
        rollout=rollout,
        normals=normals,
        uniforms=uniforms,
    )


def _rules(config: SearchConfig) -> Rules:
    return Rules(
        budget=config.budget,
        min_paths=config.min_trajectories,
        cap=int(config.budget * config.cap_factor),
        c_puct=float(config.c_puct),
        c_puct_base=float(config.c_puct_base),
        best_weight=float(config.best_weight),
        prune=config.prune,
    )
