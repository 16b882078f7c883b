"""Several chains of annealing at the same time, one in each thread, from the same first schedule.

The kernels that make the moves release the GIL, so the threads run on as many cores. Unlike
processes they cost nothing to start. The chains do not exchange anything.
"""

import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

import numpy as np

from dagsched_env.instance import Instance
from dagsched_env.schedule import Schedule
from dagsched_env.schedulers.anytime import MOVES, Budget, Incumbent
from dagsched_env.schedulers.simulated_annealing.moves import MoveRules
from dagsched_env.schedulers.simulated_annealing.rounds import Cooling, run_rounds

__all__ = ["run_chains"]


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
    """The best schedule of several chains, each of which does ``run_rounds``.

    All chains end before their budget when one of them reaches a lower bound or fails, and when the
    caller is interrupted.

    Args:
        instance: the problem.
        start: the schedule with which all chains begin, unless HEFT or PEFT is better.
        rngs: one generator per chain, at least one; without ``budget_s`` the makespan is a function
            of them.
        rounds: the coolings, one after the other, of equal length; at least one.
        rules: how moves are drawn and judged.
        moves_per_task: a chain has all rounds if it expects at least so many moves per task, else
            the first round alone.
        budget_s: seconds, > 0; None = no limit.
        moves: of each chain, ≥ 1; None = no limit. At least one of the two limits must be set.

    Returns:
        The shortest schedule; of equal ones that of the first chain. It may be longer than
        ``start`` by rounding errors.
    """
    stop = threading.Event()

    def run(rng: np.random.Generator) -> Schedule:
        budget = Budget(budget_s, moves, MOVES)
        incumbent = Incumbent(
            instance, budget, algorithm="annealing", insertion=True, trace=None, start=start
        )
        run_rounds(incumbent, rng, rounds, rules, moves_per_task=moves_per_task, stop=stop)
        if incumbent.makespan <= instance.lower_bound:
            stop.set()
        return incumbent.schedule

    with ThreadPoolExecutor(len(rngs), thread_name_prefix="annealing") as threads:
        try:
            chains = [threads.submit(run, rng) for rng in rngs]
            wait(chains, return_when=FIRST_EXCEPTION)
        finally:
            stop.set()  # one chain has failed, or the caller is interrupted: the others end too
        return min((chain.result() for chain in chains), key=lambda made: made.makespan)
