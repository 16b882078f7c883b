"""The list schedulers, as far as the time goes, those first that pay most for their time."""

import time
from collections.abc import Callable

from dagsched_env.schedulers import CONSTRUCTIVE
from dagsched_env.solver.best import Best

FIRST = ("heft", "peft")
"""They take about as long as each other. HEFT always has the time."""
NEXT = ("sufferage", "ppts", "etf", "min_min", "dls", "ipeft", "hcpt", "pets", "bil")
"""Each adds most to the schedules of those before it, for its time (docs/notes/search.md)."""
COSTS: dict[str, Callable[[int, int], float]] = {
    "min_min": lambda n, _: 2 + n / 400,
    "max_min": lambda n, _: 2 + n / 400,
    "sufferage": lambda n, _: 3 + n / 300,
    "duplex": lambda n, _: 4 + n / 200,
    "etf": lambda n, _: 3 + n / 80,
    "dls": lambda n, _: 3 + n / 80,
    "dsc": lambda n, _: 6 + n / 60,
    "bil": lambda n, p: 2 * p + n / 40,
    "lookahead_heft": lambda _, p: 8 * p,
}
"""Name → most time in list schedules, as ``Best.list_s`` tells, for n tasks and p processors, on
random graphs of up to 6000 tasks; it grows with the number of ready tasks, which is not known
before."""
OTHERS = 3.0
"""Most time of a scheduler that is not among them, in list schedules."""
USUAL = 0.5
"""Of that time, what is expected: on nine of ten graphs those that take long need less than 0.7."""
SHARE, LARGE_SHARE = 0.25, 0.75
"""Most of a time budget for all of them; a search makes more of the rest. On a large problem it
hardly makes anything."""
LARGE = 250
"""A problem is large for a budget of fewer list schedules."""


def run_list_schedulers(best: Best) -> None:
    """Offer the schedules of all constructive schedulers for which there is time.

    HEFT always has it, and PEFT where it would not exceed the budget. ``best.list_s`` is measured.
    """
    instance = best.instance
    n, p = instance.n_tasks, instance.n_processors
    begun_s, budget_s = best.elapsed_s, best.left_s
    rest = sorted(CONSTRUCTIVE.keys() - {*FIRST, *NEXT}, key=lambda name: (name in COSTS, name))
    for name in (*FIRST, *NEXT, *rest):
        expected = USUAL * (COSTS[name](n, p) if name in COSTS else OTHERS)
        share = SHARE if budget_s > LARGE * best.list_s else LARGE_SHARE
        if name in FIRST:
            fits = best.left_s >= best.list_s  # 0 before HEFT
        else:
            fits = best.elapsed_s - begun_s + expected * best.list_s <= share * budget_s
        if not fits:
            continue
        started = time.perf_counter()
        best.offer(CONSTRUCTIVE[name](instance), name)
        # The first one computes what the instance keeps for all.
        if name in FIRST:
            best.list_s = time.perf_counter() - started
        best.report()
        if best.over:
            break
