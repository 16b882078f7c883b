"""A chain of annealing, taken through one or more rounds of cooling."""

import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dagsched_env.schedulers.anytime import Incumbent, execution_order
from dagsched_env.schedulers.simulated_annealing.chain import Chain
from dagsched_env.schedulers.simulated_annealing.moves import MoveRules

__all__ = ["Cooling", "run_rounds"]


class Cooling(NamedTuple):
    """Temperatures of a round, in units of (makespan of the first schedule / n).

    The temperature falls geometrically from ``start`` to ``end``.
    """

    start: float
    end: float

    def at(self, progress: float) -> float:
        """Temperature after a share of the round, in [0, 1]."""
        return float(self.start * (self.end / self.start) ** progress)


def run_rounds(
    incumbent: Incumbent,
    rng: np.random.Generator,
    rounds: Sequence[Cooling],
    rules: MoveRules,
    *,
    moves_per_task: float = 0.0,
    stop: threading.Event | None = None,
) -> None:
    """Improve the incumbent by one chain until its budget ends or it reaches a lower bound.

    Every round but the first begins with the incumbent. A chain that expects to make only a few
    moves has the first round alone.

    Args:
        incumbent: the first schedule, the budget, and the best schedule in the end.
        rng: the generator of the moves.
        rounds: the coolings, one after the other; each has the same share of the budget.
        rules: how moves are drawn and judged.
        moves_per_task: a chain has all rounds if it expects at least so many moves per task.
        stop: set by another thread to end the chain early.
    """
    budget = incumbent.budget
    n = incumbent.instance.n_tasks
    chain = Chain(incumbent, rng, rules)
    unit = incumbent.makespan / n

    def running() -> bool:
        return incumbent.running and (stop is None or not stop.is_set())

    count = len(rounds)
    if count > 1:  # the first chunk tells how fast the moves are made
        chain.advance(unit * rounds[0].start)
        while budget.progress == 0.0:  # all tasks that it drew were passed over
            chain.advance(unit * rounds[0].start)
        expected = budget.evaluations / budget.progress
        count = count if expected >= moves_per_task * n else 1
    current = 0
    while running():
        progress = budget.progress * count
        if current < int(progress) < count:
            current = int(progress)
            best = incumbent.schedule
            chain.restart(execution_order(incumbent.instance, best), best.processor)
        chain.advance(unit * rounds[current].at(progress - current))
