"""One actor's share of a search along the principal variation: claim, complete, back up."""

import numpy as np

from aerl_trainer.config import SearchConfig
from aerl_trainer.policy.context import policy_context
from aerl_trainer.policy.rollout import GREEDY, complete_variations, write_variation
from aerl_trainer.policy.workspace import allocate_policy
from aerl_trainer.tree.records import SearchJob
from aerl_trainer.tree.shared_tree import BrokenTreeError, SharedTree
from aerl_trainer.tree.tree import EXPANDED, ROOT
from aerl_trainer.tree.variation import (
    actions_of,
    add_variation,
    agenda,
    back_up_claims,
    claim,
    claim_root,
)
from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.problem.errors import DAGSchedError


class VariationWorker:
    """Runs simulations of one job on its tree, as actor number ``actor``.

    Args:
        actor: index into the tree's journal; one live worker per actor and tree.
        job: the problem, the seed, and the policy that completes schedules.
        tree: shared by all actors of the job.
        config: search settings.

    Raises:
        DAGSchedError: the job has no policy.
    """

    def __init__(self, actor: int, job: SearchJob, tree: SharedTree, config: SearchConfig) -> None:
        if job.policy is None:
            raise DAGSchedError("a search along the principal variation needs a policy")
        self.tree = tree
        self._actor, self._seed, self._policy = actor, job.seed, job.policy
        self._instance, self._context = job.instance, policy_context(job.instance)
        self._shape = job.instance.comp.shape
        self._workspace = allocate_policy(*job.instance.shape)
        self._budget = max(config.budget, config.min_trajectories)
        self._batch = min(config.batch_size, tree.arrays.journal_edge.shape[1])
        self._most = tree.arrays.edge_parent.size // job.instance.n_tasks
        self._greedy = np.full(job.instance.n_tasks, GREEDY)
        self._agenda: Ints | None = None
        self._actions: Ints = np.zeros(0, dtype=np.int64)

    def run_batch(self, _rollout_weight: float = 1.0) -> int:
        """One mini-batch of simulations, called as that of ``SearchWorker``; it weighs nothing.

        Returns:
            How many simulations were done; 0 when the tree is finished or broken, or others have
            all that is left in flight.
        """
        try:
            if self._agenda is None and not self._take_over():
                return self._begin()
            return self._go_on()
        except BrokenTreeError:
            return 0

    def _take_over(self) -> bool:
        """Learn the principal variation from the tree, if it is there."""
        t = self.tree.arrays
        with self.tree.writing(self._actor):  # its writer may be in the middle of it
            if t.status[ROOT] != EXPANDED:
                return False
        self._agenda = agenda(t, self._seed)
        self._actions = actions_of(t, self._instance)
        return True

    def _begin(self) -> int:
        """The first simulation, which is the principal variation."""
        (n, _), tree, w = self._shape, self.tree, self._workspace
        with tree.writing(self._actor) as arrays:
            if not claim_root(arrays, self._actor):
                return 0
        listed = np.empty((n, w.actions.size), dtype=np.int64)
        probabilities = np.empty(listed.shape)
        counts, chosen = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        makespan = write_variation(
            self._context, w, self._policy, listed, probabilities, counts, chosen
        )
        value = 1.0 - makespan / self._context.c.cp_min
        with tree.writing(self._actor) as arrays:
            self._offer(makespan)
            add_variation(
                arrays, self._actor, listed, probabilities, counts, chosen, self._most, value
            )
        return 1

    def _go_on(self) -> int:
        assert self._agenda is not None
        tree, order = self.tree, self._agenda
        with tree.writing(self._actor) as arrays:
            count = claim(arrays, self._actor, self._batch, order, self._budget)
            if count == 0:
                return 0
        edges = arrays.journal_edge[self._actor, :count]
        depths = arrays.edge_parent[edges].astype(np.int64)  # node d has d placements
        others = arrays.edge_action[edges].astype(np.int64)
        makespans = self._complete(depths, others)
        shortest = int(np.argmin(makespans))
        if improved := bool(makespans[shortest] < tree.best_makespan):
            self._complete(depths[shortest : shortest + 1], others[shortest : shortest + 1])
        with tree.writing(self._actor) as arrays:
            if improved:
                self._offer(makespans[shortest])
            back_up_claims(
                arrays,
                self._actor,
                makespans,
                self._context.c.cp_min,
                order.size,
                self._budget,
            )
        return count

    def _complete(self, depths: Ints, others: Ints) -> Floats:
        """Makespans of greedy completions; the work space holds the last schedule."""
        makespans = np.empty(depths.size)
        complete_variations(
            self._context,
            self._workspace,
            self._policy,
            self._actions,
            depths,
            others,
            self._greedy,
            makespans,
        )
        return makespans

    def _offer(self, makespan: float) -> None:
        """The schedule in the work space becomes the incumbent if it is shorter."""
        s = self._workspace.state
        self.tree.improve_incumbent(makespan, s.processor, s.sequence, s.start, s.finish)
