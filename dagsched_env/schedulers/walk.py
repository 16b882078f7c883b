"""A chain of moves through the neighbourhood of a schedule, chunk by chunk."""

import numpy as np

from dagsched_env.kernels import annealing, neighbourhood, pairs
from dagsched_env.kernels.annealing import MoveRules
from dagsched_env.kernels.arrays import Ints
from dagsched_env.schedulers.anytime import Incumbent, execution_order

__all__ = ["SINGLE_TASKS", "Walk"]

SINGLE_TASKS = MoveRules(pair_share=0.0, cost_bias=1.0, best_place=False, load_weight=0.0)
"""One task to any other processor: the textbook neighbourhood."""

MOST_UNIFORMS = 16_384
FEWEST_UNIFORMS = 256
UNIFORMS_TIMES_TASKS = 3_000_000
"""A chunk takes about a millisecond: a move costs O(n) at worst."""


class Walk:
    """Metropolis moves from the incumbent; improves the incumbent as it goes.

    Args:
        incumbent: the best schedule so far; its budget is charged.
        rng: where the moves are drawn from.
        rules: how they are drawn and judged.
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
        self._choices = neighbourhood.Choices(*neighbourhood.choices(arrays))
        self._slots = pairs.Slots(*pairs.slots(n))
        self._best = np.empty(1)
        self._best_order = np.empty(n, dtype=np.int64)
        self._best_processor = np.empty(n, dtype=np.int64)
        schedule = incumbent.schedule
        self.restart(execution_order(incumbent.instance, schedule), schedule.processor)

    @property
    def makespan(self) -> float:
        """The least since the last restart, decoded without insertion (time)."""
        return float(self._best[0])

    def restart(self, order: Ints, processor: Ints) -> None:
        """Go on from a topological ``order[n]`` on ``processor[n]``."""
        arrays = self._incumbent.instance.arrays
        self._solution = neighbourhood.Solution(*neighbourhood.solution(arrays, order, processor))
        self._best[0] = neighbourhood.makespan(arrays, self._solution)

    def advance(self, temperature: float) -> bool:
        """Make a chunk of moves; True if they led to the best schedule since the last restart."""
        before = self.makespan
        self._rng.random(out=self._uniforms)
        budget = self._incumbent.budget
        budget.evaluations += annealing.metropolis(
            self._incumbent.instance.arrays,
            self._choices,
            self._solution,
            self._slots,
            self._rules,
            temperature,
            budget.grant(self._uniforms.shape[0]),
            self._uniforms,
            self._best,
            self._best_order,
            self._best_processor,
        )
        if self.makespan == before:
            return False
        self._incumbent.offer(self._best_order, self._best_processor)
        return True
