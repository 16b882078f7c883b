"""Tabu searches that begin with mixtures of good schedules.

A few schedules are kept apart from each other. Between two of them lie orders that agree with both
where both agree; a tabu search from there often ends in a schedule that is better than either.

Source: Peng, Lü, Cheng 2015, "A tabu search/path relinking algorithm to solve the job shop
scheduling problem", Computers & Operations Research 53. Unlike there, a mixture is not reached by
steps: it is the order by the weighted mean of the two positions of each task, which keeps every
edge.
"""

from typing import NamedTuple

import numpy as np

from dagsched_env.kernels.arrays import Ints
from dagsched_env.kernels.graph import eligibility
from dagsched_env.kernels.moves import solution, tabu
from dagsched_env.schedulers.anytime import Incumbent, execution_order
from dagsched_env.schedulers.noisy_heft import draw_list

KEPT = 5
"""Schedules that are mixed."""
PATIENCE = 5000
"""Moves of a tabu search without an improvement."""
IN_VAIN = 30
"""Searches from mixtures after which others are kept, if none of them was."""
APART = 0.1
"""Least share of the tasks that have another one before them on their processor."""
MIDDLE = (0.3, 0.7)
"""Weights of the second schedule in a mixture."""
SHORT_TENURE = 10
"""Moves for which a move is forbidden, where processors have few tasks."""
MOVES_OF_OTHERS = 8
"""That an annealing makes in the time of one move."""
CHUNK_TASKS, LEAST_CHUNK, MOST_CHUNK = 60_000, 20, 500
"""Moves times tasks of a millisecond or two."""


class _Kept(NamedTuple):
    makespan: float
    order: Ints  # [n]
    processor: Ints  # [n]
    before: Ints  # [n] see ``Solution``


class Relinking:
    """An entrant of a race, see ``Entrant``.

    Args:
        incumbent: of the race; the first search begins with it.
        rng: of all choices.
    """

    name = "tabu"

    def __init__(self, incumbent: Incumbent, rng: np.random.Generator) -> None:
        instance = incumbent.instance
        n, p = instance.comp.shape
        self._incumbent = incumbent
        self._rng = rng
        self._eligibility = eligibility.eligibility(instance.arrays)
        self._tabu = tabu.tabu(n, p, int(rng.integers(1 << 62)))
        self._tenure = SHORT_TENURE + n // p**2
        self._chunk = min(max(CHUNK_TASKS // n, LEAST_CHUNK), MOST_CHUNK)
        self._kept: list[_Kept] = []
        self._in_vain = self._idle = 0
        self._best = np.empty(1)
        self._best_order = np.empty(n, dtype=np.int64)
        self._best_processor = np.empty(n, dtype=np.int64)
        self.restart()

    def restart(self) -> None:
        """A tabu search from the best schedule of the race."""
        schedule = self._incumbent.schedule
        self._start(execution_order(self._incumbent.instance, schedule), schedule.processor)

    def begin(self) -> None:
        """Go on."""

    def advance(self, done: float) -> float:
        """A chunk of moves, then perhaps the next start."""
        incumbent, before = self._incumbent, self._best[0]
        limit = incumbent.budget.grant(self._chunk)
        moves = tabu.tabu_search(
            incumbent.instance.arrays,
            self._eligibility,
            self._solution,
            self._tabu,
            self._tenure,
            limit,
            self._best,
            self._best_order,
            self._best_processor,
        )
        incumbent.budget.evaluations += MOVES_OF_OTHERS * max(moves, 1)
        self._idle = self._idle + moves if self._best[0] == before else 0
        if self._best[0] < incumbent.makespan:
            incumbent.offer(self._best_order, self._best_processor)
        if moves < limit or self._idle >= PATIENCE:
            self._keep()
            self._next()
        return min([float(self._best[0]), *(kept.makespan for kept in self._kept)])

    def end(self) -> None:
        """All has been offered."""

    def _start(self, order: Ints, processor: Ints) -> None:
        """A tabu search begins."""
        arrays = self._incumbent.instance.arrays
        self._solution = solution.solution(arrays, order, processor)
        self._best[0] = solution.makespan(arrays, self._solution)
        self._best_order[:], self._best_processor[:] = order, processor
        self._idle = 0

    def _keep(self) -> None:
        """Keep the schedule that was found if it is better than one like it, or than the worst."""
        arrays = self._incumbent.instance.arrays
        found = solution.solution(arrays, self._best_order, self._best_processor)
        new = _Kept(self._best[0], found.order, found.processor, found.before[: found.order.size])
        apart = [float(np.mean(new.before != kept.before)) for kept in self._kept]
        if apart and min(apart) < APART:
            rival = int(np.argmin(apart))
        elif len(self._kept) < KEPT:
            self._kept.append(new)
            return
        else:
            rival = max(range(KEPT), key=lambda k: self._kept[k].makespan)
        self._in_vain += 1
        if new.makespan < self._kept[rival].makespan:
            self._kept[rival] = new
            self._in_vain = 0

    def _next(self) -> None:
        """Begin with a mixture, or as long as too few are kept, with a list schedule."""
        instance, rng = self._incumbent.instance, self._rng
        if self._in_vain >= IN_VAIN:
            self._kept, self._in_vain = [], 0
        if len(self._kept) < KEPT:
            start = draw_list(instance, rng, insertion=True)
            self._start(execution_order(instance, start), start.processor)
            return
        first, second = rng.choice(KEPT, 2, replace=False)
        one, other = self._kept[first], self._kept[second]
        weight = rng.uniform(*MIDDLE)
        position = (1.0 - weight) * np.argsort(one.order) + weight * np.argsort(other.order)
        of_other = rng.random(instance.n_tasks) < weight
        self._start(
            np.argsort(position, kind="stable"),
            np.where(of_other, other.processor, one.processor),
        )
