"""A chain of moves from the incumbent, made in chunks between two looks at the clock."""

import numpy as np

from dagsched_env.kernels.arrays import Ints
from dagsched_env.kernels.graph import eligibility
from dagsched_env.kernels.moves import clusters, metropolis, pairs, solution
from dagsched_env.kernels.moves.metropolis import MoveRules
from dagsched_env.schedulers.anytime import Incumbent, execution_order
from dagsched_env.schedulers.simulated_annealing.moves import SINGLE_TASKS

MOST_UNIFORMS = 16_384
FEWEST_UNIFORMS = 1024
UNIFORMS_TIMES_TASKS = 3_000_000
"""Chunks are so small that each takes about a millisecond at most; for each a kernel is called."""
MOVES_PER_OFFER = 0.5
"""Times tasks: least moves between two offers. An offer decodes a schedule, which takes as long as
some tenth as many moves."""


class Chain:
    """Metropolis moves that begin with the incumbent and improve it.

    It is offered better schedules every now and then; after the last chunk ``hand_over`` offers
    the last one.

    Args:
        incumbent: the best schedule so far; the moves are counted in its budget.
        rng: the generator of the moves.
        rules: how moves are drawn and judged.
    """

    def __init__(
        self,
        incumbent: Incumbent,
        rng: np.random.Generator,
        rules: MoveRules = SINGLE_TASKS,
    ) -> None:
        arrays = incumbent.instance.arrays
        n = incumbent.instance.n_tasks
        self._incumbent = incumbent
        self._rng = rng
        self._rules = rules
        size = UNIFORMS_TIMES_TASKS // n
        self._uniforms = np.empty(min(max(size, FEWEST_UNIFORMS), MOST_UNIFORMS))
        self._eligibility = eligibility.eligibility(arrays)
        self._places = pairs.pair_places(n)
        self._cluster = clusters.cluster(*incumbent.instance.comp.shape)
        self._best = np.empty(1)
        self._best_order = np.empty(n, dtype=np.int64)
        self._best_processor = np.empty(n, dtype=np.int64)
        self._unoffered = False
        self._offered_at = 0
        schedule = incumbent.schedule
        self.restart(execution_order(incumbent.instance, schedule), schedule.processor)

    @property
    def makespan(self) -> float:
        """The least makespan since the last restart, decoded without insertion (time)."""
        return float(self._best[0])

    def restart(self, order: Ints, processor: Ints) -> None:
        """Hand over, and continue from a topological ``order[n]`` on ``processor[n]``."""
        self.hand_over()
        arrays = self._incumbent.instance.arrays
        self._solution = solution.solution(arrays, order, processor)
        self._best[0] = solution.makespan(arrays, self._solution)

    def advance(self, temperature: float) -> bool:
        """Make a chunk of moves at a temperature (time).

        Returns whether they led to the best schedule since the last restart.
        """
        before = self.makespan
        self._rng.random(out=self._uniforms)
        budget = self._incumbent.budget
        budget.evaluations += metropolis.metropolis(
            self._incumbent.instance.arrays,
            self._eligibility,
            self._solution,
            self._places,
            self._cluster,
            self._rules,
            temperature,
            budget.grant(self._uniforms.shape[0]),
            self._uniforms,
            self._best,
            self._best_order,
            self._best_processor,
        )
        improved = self.makespan < before
        self._unoffered |= improved
        if budget.evaluations - self._offered_at >= MOVES_PER_OFFER * self._best_order.shape[0]:
            self.hand_over()
        return improved

    def hand_over(self) -> None:
        """Offer the best schedule since the last restart to the incumbent, unless it has it."""
        if self._unoffered:
            self._unoffered = False
            self._offered_at = self._incumbent.budget.evaluations
            self._incumbent.offer(self._best_order, self._best_processor)
