"""Races side by side, one in each thread.

The kernels that make the moves release the GIL, so the threads run on as many cores. Unlike
processes they cost nothing to start. The races do not exchange schedules; the first one goes on
from what CP-SAT finds.
"""

from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

import numpy as np

from dagsched_env.solver.best import REPORT_EVERY_S, Best
from dagsched_env.solver.proof import CpSatTurns
from dagsched_env.solver.race import race


def race_in_threads(
    best: Best,
    rngs: Sequence[np.random.Generator],
    budget_s: float | None,
    moves: int | None,
    turns: CpSatTurns | None = None,
) -> None:
    """Improve the best schedule by several races until the solve is over or all moves are made.

    The calling thread only reports; where it is interrupted, all races end.

    Args:
        best: begins with a schedule.
        rngs: one generator per race, at least one.
        budget_s: of the races (s); None = no limit.
        moves: of each race, ≥ 1; None = no limit.
        turns: those of CP-SAT, before and in the first race; None = it has none.
    """
    start = best.schedule  # before a race improves it
    with ThreadPoolExecutor(len(rngs), thread_name_prefix="race") as threads:
        try:
            racing = [
                threads.submit(race, best, rng, budget_s, moves, start, None if i else turns)
                for i, rng in enumerate(rngs)
            ]
            while wait(racing, REPORT_EVERY_S, FIRST_EXCEPTION).not_done and not any(
                run.done() and run.exception() for run in racing
            ):
                best.report()
            for run in racing:
                if run.done():
                    run.result()
        except BaseException:
            best.stop("interrupt")
            raise
    best.report()
