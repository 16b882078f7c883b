"""One actor's share of a search: gather leaves, evaluate them, commit."""

import numpy as np
import numpy.typing as npt

from aerl_trainer.config import SearchConfig
from aerl_trainer.records import Task
from aerl_trainer.search.answers import take_answers
from aerl_trainer.search.context import SearchContext, make_context
from aerl_trainer.search.features import INSERTION
from aerl_trainer.search.kernels import commit, gather
from aerl_trainer.search.leaves import (
    Evaluator,
    LeafArrays,
    Scratch,
    allocate_scratch,
    write_state,
)
from aerl_trainer.search.selection import Rules
from aerl_trainer.search.tree import BEST_MAKESPAN, NO_EDGE, WRITER, SharedTree, TreeArrays
from aerl_trainer.seeding import generator
from dagsched_env.errors import DAGSchedError
from dagsched_env.kernels.arrays import Floats, StateArrays
from dagsched_env.kernels.jit import borrowing
from dagsched_env.kernels.state.completion import complete
from dagsched_env.kernels.state.transitions import copy_state, place, recompute_bounds, reset

__all__ = ["SearchWorker", "state_after"]

NOISE_POOL = 1 << 14
"""Standard normals drawn once per task; each tail reads a stretch of them at a random offset."""
SILENCE: Floats = np.zeros(0)
"""No noise at the root."""


class SearchWorker:
    """Runs simulations of one task on its tree, as actor number ``actor``.

    Args:
        actor: index into the tree's journal; one live worker per actor and tree.
        task: the problem and the seed of its randomness.
        tree: shared by all actors of the task.
        leaves: the batch to work in; its first dimension bounds the mini-batch.
        evaluator: the network, or ``PriorEvaluator``.
        config: search settings.
        explore: root noise, as in training: Dirichlet's with PUCT, Gumbel's with halving.
        network: False skips the network's inputs (for ``PriorEvaluator``).
    """

    def __init__(
        self,
        actor: int,
        task: Task,
        tree: SharedTree,
        leaves: LeafArrays,
        evaluator: Evaluator,
        config: SearchConfig,
        *,
        explore: bool,
        network: bool = True,
    ) -> None:
        self.actor, self.task, self.tree, self.leaves = actor, task, tree, leaves
        self.config, self.network = config, network
        self._evaluator = evaluator
        self._context = make_context(task.instance)
        n, p = task.instance.comp.shape
        self._scratch = allocate_scratch(n, p)
        self._best = allocate_scratch(n, p).tail
        self._rng = generator(task.seed, "actor", actor)
        self._noise = self._rng.standard_normal(NOISE_POOL + n + n * p)
        self._rules = _rules(config, task.seed, explore)
        self._noisy_root = explore and config.root_selection == "puct"
        self.model_version = 0

    def run_batch(self, tail_weight: float) -> int:
        """One mini-batch of simulations.

        Args:
            tail_weight: λ, share of the randomised tail in a leaf's value.

        Returns:
            How many simulations were done; 0 when the tree is finished or every leaf that the
            search wants is in flight with another actor.

        Raises:
            DAGSchedError: the network answers with numbers that are not finite.
        """
        config, tree = self.config, self.tree
        with tree.lock:
            limit = min(config.batch_size, self.leaves.terminal.shape[0])
            count = gather(tree.arrays, self.actor, limit, self._rules)
        if count == 0:
            return 0
        best_makespan = self._evaluate(count, tail_weight)
        with tree.lock:
            # First the schedule: a tree must not be complete before it holds what it has found.
            better = best_makespan < tree.arrays.scalars[BEST_MAKESPAN]
            if better and tree.counter(WRITER) == 0:
                _store_incumbent(tree.arrays, self.actor, self._best)
            commit(tree.arrays, self.actor, self.leaves, self._rules)
        return count

    def _evaluate(self, count: int, tail_weight: float) -> float:
        """Fill ``leaves`` for the journalled paths; returns the best makespan among their tails."""
        leaves, config = self.leaves, self.config
        offsets = self._rng.integers(NOISE_POOL, size=count)
        best_makespan = prepare_leaves(
            self._context,
            self.tree.arrays,
            self.actor,
            count,
            self._scratch,
            self._best,
            leaves,
            self._noise,
            offsets,
            config.min_prior,
            # The inputs of the network hold the deterministic tail, on which v builds without it.
            self.network or tail_weight < 1.0 or config.backup == "value",
        )
        self.model_version = self._evaluator.evaluate(self.task.instance, leaves, count)
        finite = take_answers(
            self._context,
            leaves,
            count,
            self._root_noise(),
            config.noise_fraction,
            tail_weight,
            config.backup == "value",
            config.value_target == "rank",
        )
        if not finite:
            raise DAGSchedError(
                "the network answers with numbers that are not finite: train it with a lower "
                "learner.learning_rate"
            )
        return float(best_makespan)

    def _root_noise(self) -> Floats:
        """Dirichlet noise if row 0 is the root, the same for every actor; else nothing."""
        if not self._noisy_root or self.tree.arrays.journal_edge[self.actor, 0] != NO_EDGE:
            return SILENCE
        k = int(self.leaves.n_candidates[0])
        rng = generator(self.task.seed, "root-noise")
        return rng.dirichlet(np.full(k, self.config.noise_concentration / k))


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
def state_after(
    c: SearchContext, t: TreeArrays, edge: int, s: StateArrays, path: npt.NDArray[np.int64]
) -> None:
    """Make ``s`` the state behind the last ``edge`` of a path (-1 = root), by replaying it."""
    p = c.g.comp.shape[1]
    length = 0
    while edge != NO_EDGE:
        path[length] = t.edge_action[edge]
        length += 1
        edge = t.parent_edge[t.edge_parent[edge]]
    reset(c.g, s)
    for i in range(length - 1, -1, -1):
        place(c.g, s, path[i] // p, path[i] % p, INSERTION, False)
    recompute_bounds(c.g, s)


@borrowing
def prepare_leaves(
    c: SearchContext,
    t: TreeArrays,
    actor: int,
    count: int,
    w: Scratch,
    best: StateArrays,
    leaves: LeafArrays,
    noise: npt.NDArray[np.float64],
    offsets: npt.NDArray[np.int64],
    min_prior: float,
    features: bool,
) -> float:
    """Rebuild each leaf's state, list its candidates, and complete it by a randomised tail.

    Sets ``leaves.best`` to the return of that complete schedule, and copies the best schedule of
    the batch into ``best``; returns its makespan.
    """
    n, p = c.g.comp.shape
    least = np.inf
    for b in range(count):
        state_after(c, t, t.journal_edge[actor, b], w.state, w.path)
        write_state(c, w, w.state, leaves, b, min_prior, features)
        copy_state(w.state, w.tail)
        draws = noise[offsets[b] : offsets[b] + n + n * p]
        makespan = complete(c.g, w.tail, c.rank_u, c.oct, c.tail_sigma, draws, INSERTION)
        leaves.best[b] = makespan
        if makespan < least:
            least = makespan
            copy_state(w.tail, best)
    return least


def _store_incumbent(t: TreeArrays, actor: int, s: StateArrays) -> None:
    t.counters[WRITER] = actor + 1  # a death in here would leave half a schedule
    n = s.processor.shape[0]
    t.scalars[BEST_MAKESPAN] = s.totals[0]
    t.incumbent_processor[:n] = s.processor
    t.incumbent_sequence[:n] = s.sequence
    t.incumbent_start[:n] = s.start
    t.incumbent_finish[:n] = s.finish
    t.counters[WRITER] = 0
