"""Chains of annealing side by side: one schedule to start from, as many threads as chains.

The moves are made by kernels that release the GIL, so that the threads run on as many cores, and
unlike processes they cost nothing to start. The chains know nothing of each other.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import NamedTuple

import numpy as np

from dagsched_env.instance import Instance
from dagsched_env.kernels.annealing import MoveRules
from dagsched_env.schedule import Schedule
from dagsched_env.schedulers.anytime import MOVES, Budget, Incumbent, execution_order
from dagsched_env.schedulers.walk import Walk

__all__ = ["Cooling", "run_chains"]


class Cooling(NamedTuple):
    """Temperatures in units of (makespan of the first schedule / n); geometric in between."""

    start: float
    end: float

    def at(self, progress: float) -> float:
        """Temperature after a share of the round, in [0, 1]."""
        return float(self.start * (self.end / self.start) ** progress)


def run_chains(
    instance: Instance,
    start: Schedule,
    rngs: Sequence[np.random.Generator],
    rounds: Sequence[Cooling],
    rules: MoveRules,
    *,
    moves_per_task: float,
    budget_s: float | None,
    moves: int | None,
) -> Schedule:
    """The best schedule of several chains that do what ``dagsched_env.schedulers.annealing`` does.

    A chain that expects to make many moves divides them into rounds, each of which heats the best
    schedule so far up again; the others have the first round alone. All end before their budget
    once one of them reaches a lower bound or fails, and when the caller is interrupted.

    Args:
        instance: the problem.
        start: where all chains begin, unless HEFT or PEFT is better.
        rngs: one generator a chain, ≥ 1; with ``moves`` alone the makespan is a function of them.
        rounds: one after the other, of equal length; at least one.
        rules: how moves are drawn and judged.
        moves_per_task: moves of a chain, divided by n, from which on it has more than one round.
        budget_s: seconds, > 0; None = no limit.
        moves: of each chain, ≥ 1; None = no limit. At least one of the two limits must be set.

    Returns:
        The shortest schedule; of equal ones that of the first chain. It may be longer than
        ``start`` by rounding errors.
    """
    over = threading.Event()

    def run(rng: np.random.Generator) -> Schedule:
        budget = Budget(budget_s, moves, MOVES)
        incumbent = Incumbent(
            instance, budget, algorithm="annealing", insertion=True, trace=None, start=start
        )
        walk = Walk(incumbent, rng, rules)
        unit = incumbent.makespan / instance.n_tasks
        walk.advance(unit * rounds[0].start)  # the first chunk tells how fast it goes
        while budget.progress == 0.0:  # all tasks that it drew were passed over
            walk.advance(unit * rounds[0].start)
        expected = budget.evaluations / budget.progress
        count = len(rounds) if expected >= moves_per_task * instance.n_tasks else 1
        current = 0
        while incumbent.running and not over.is_set():
            progress = budget.progress * count
            if current < int(progress) < count:
                current = int(progress)
                best = incumbent.schedule
                walk.restart(execution_order(instance, best), best.processor)
            walk.advance(unit * rounds[current].at(progress - current))
        if incumbent.makespan <= instance.lower_bound:
            over.set()
        return incumbent.schedule

    with ThreadPoolExecutor(len(rngs), thread_name_prefix="annealing") as threads:
        try:
            chains = [threads.submit(run, rng) for rng in rngs]
            wait(chains, return_when=FIRST_EXCEPTION)
        finally:
            over.set()  # for those that go on: one has failed, or here came Ctrl-C
        return min((chain.result() for chain in chains), key=lambda made: made.makespan)
