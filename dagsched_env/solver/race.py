"""A race of annealings: several settings get a little time each, the best ones get the rest.

No one temperature and no one kind of move is best everywhere. Heats show which of them pays for a
problem; the winner then begins again and again, each time from the best schedule.
"""

from typing import NamedTuple

import numpy as np

from dagsched_env.schedulers.anytime import MOVES, Budget, Incumbent, execution_order
from dagsched_env.schedulers.simulated_annealing import Chain, Cooling, MoveRules
from dagsched_env.solver.best import Best

__all__ = ["RULES", "race"]


class Entrant(NamedTuple):
    """Settings of an annealing."""

    rules: MoveRules
    cooling: Cooling


RULES = MoveRules(pair_share=0.2, cost_bias=4.0, best_place=True, load_weight=8.0)
"""What is best on average; chosen in benchmarks/SEARCH_NOTES.md."""
FAVOURITE = Entrant(RULES, Cooling(1.5, 0.3))
ENTRANTS = (
    FAVOURITE,
    Entrant(RULES._replace(load_weight=0.0), Cooling(5.0, 0.5)),  # trees with dear communication
    Entrant(MoveRules(0.3, 1.0, False, 0.0), Cooling(0.4, 0.04)),  # few alternatives, long paths
    Entrant(RULES, Cooling(3.0, 0.05)),
)
HEATS = ((4, 0.06), (2, 0.1))
"""How many run in each heat, and the share of the budget that each of them has."""
FINAL = 0.14
"""Share of the budget of each slice after the heats."""
MOVES_PER_TASK = 3000
"""A race that expects fewer moves leaves all to the favourite: its cooling would be too fast."""


def race(best: Best, rng: np.random.Generator, budget_s: float | None, moves: int | None) -> None:
    """Improve the best schedule until the solve is over or the moves are made.

    Several threads may run races for the same ``best``; each keeps to its own schedules.

    Args:
        best: begins with a schedule.
        rng: of this race; without a budget of seconds the result is a function of it.
        budget_s: of this race (s); None = no limit. The budget of ``best`` counts in any case.
        moves: of this race, ≥ 1; None = no limit. At least one of the limits must be set.
    """
    if best.over or budget_s == 0.0:
        return
    track = _Track(best, rng, Budget(budget_s, moves, MOVES))
    if track.expected_moves() < MOVES_PER_TASK * best.instance.n_tasks:
        track.run(FAVOURITE, 1.0)
        return
    results: dict[Entrant, float] = {}
    runners = list(ENTRANTS)
    for count, share in HEATS:
        runners = runners[:count]
        for entrant in runners:
            results[entrant] = min(results.get(entrant, np.inf), track.run(entrant, share))
        runners.sort(key=lambda entrant: results[entrant])
    while track.open:
        leader = min(results, key=lambda entrant: results[entrant])
        results[leader] = min(results[leader], track.run(leader, FINAL))


class _Track:
    """Where the entrants of one race run, one after the other."""

    def __init__(self, best: Best, rng: np.random.Generator, budget: Budget) -> None:
        self._best = best
        self._rng = rng
        self._budget = budget
        self._incumbent = Incumbent(
            best.instance,
            self._budget,
            algorithm="solve",
            insertion=True,
            trace=None,
            start=best.schedule,
            lists=False,
        )
        self._unit = self._incumbent.makespan / best.instance.n_tasks
        self._chains: dict[MoveRules, Chain] = {}

    @property
    def open(self) -> bool:
        """Neither the budget is used up nor is the solve over."""
        return self._budget.progress < 1.0 and not self._best.over

    def expected_moves(self) -> float:
        """In the whole race, as a first few of them tell."""
        chain = self._chain(FAVOURITE.rules)
        while self.open and self._budget.evaluations == 0:  # all tasks may be passed over
            self._advance(chain, FAVOURITE.cooling.start)
        return self._budget.evaluations / max(self._budget.progress, 1e-9)

    def run(self, entrant: Entrant, share: float) -> float:
        """Anneal from the best schedule of this race for a share of the budget.

        Returns:
            The shortest makespan on the way, decoded without insertion (time).
        """
        schedule, begin = self._incumbent.schedule, self._budget.progress
        chain = self._chain(entrant.rules)
        chain.restart(execution_order(self._best.instance, schedule), schedule.processor)
        while self.open and (done := (self._budget.progress - begin) / share) < 1.0:
            self._advance(chain, entrant.cooling.at(done))
        return chain.makespan

    def _chain(self, rules: MoveRules) -> Chain:
        if rules not in self._chains:
            self._chains[rules] = Chain(self._incumbent, self._rng, rules)
        return self._chains[rules]

    def _advance(self, chain: Chain, temperature: float) -> None:
        if chain.advance(self._unit * temperature):
            self._best.offer(self._incumbent.schedule, "annealing")
