"""A race: several ways to search get a little time each, what pays gets the rest.

No one way is best everywhere. Heats show which of them pays for a problem; the winner goes on. The
genetic algorithm and the descents run first, because they search far from the best schedule; the
annealings begin with it. Before all that come list schedules that learn from each other: they cost
little, and on large problems they find more than anything else in the same time. Where CP-SAT may
prove an optimum it has turns, too. A turn that has shortened the best schedule is followed by a
tabu search on critical paths from there. In job shops such searches have all the time of the heats
and the final.
"""

import math
from functools import cached_property

import numpy as np

from dagsched_env.kernels.moves.metropolis import MoveRules
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.anytime import MOVES, Budget, Incumbent, execution_order
from dagsched_env.schedulers.iterated_lists import ListSeries
from dagsched_env.schedulers.simulated_annealing import Cooling
from dagsched_env.solver.best import Best
from dagsched_env.solver.entrants import Annealing, Descents, Entrant, Genetic, Setting
from dagsched_env.solver.proof import CpSatTurns
from dagsched_env.solver.relinking import Relinking
from dagsched_env.solver.shapes import is_shop

RULES = MoveRules(
    pair_share=0.2, cluster_share=0.1, cost_bias=4.0, best_place=True, load_weight=8.0
)
"""What is best on average; chosen in docs/notes/search.md."""
PLAIN = MoveRules(
    pair_share=0.2, cluster_share=0.1, cost_bias=1.0, best_place=False, load_weight=0.0
)
FAVOURITE = Setting(RULES, Cooling(1.5, 0.3))
ANNEALINGS = (
    FAVOURITE,
    Setting(RULES._replace(load_weight=0.0), Cooling(5.0, 0.5)),  # trees with dear communication
    Setting(PLAIN._replace(pair_share=0.3), Cooling(0.4, 0.04)),  # few alternatives, long paths
    Setting(RULES, Cooling(3.0, 0.05)),
)
LISTS, MORE_LISTS = 0.2, 0.4
"""Most of the budget for list schedules that learn from each other, and where there is no time for
descents."""
COOL = Setting(RULES, Cooling(0.4, 0.04))
"""The only annealing with resources, where each move is decoded and rules hardly count."""
IN_VAIN = 30
"""How many follow the shortest one of a series at its end."""
IN_VAIN_SHARING = 300
"""The same with resources."""
SERIES_COST = 1.5
"""Time of one of them, in list schedules."""
MOVES_PER_LIST = 0.5
"""Times tasks: moves that take about as long as one of them."""
HEATS = ((6, 0.05), (3, 0.08))
"""How many run in each heat, and the share of the budget that each of them has."""
FINAL = 0.14
"""Least share of the budget of a turn after the heats."""
FINAL_MOVES = 4000
"""Least moves per task in a turn after the heats."""
FOLLOWED = 0.5
"""Share of a turn that the tabu search after it has."""
INTERRUPTION = 0.1
"""CP-SAT interrupts a turn for so much of its time at most."""
SET_UP = 2.0
"""Time that a race takes to begin, in list schedules: it makes tables of all tasks and
processors."""
ALONE = Setting(RULES, Cooling(1.0, 0.1))
OPENING = 0.2
"""Share of the descents, where there is no time for heats."""
FEW, MANY = 300, 1000
"""Moves per task. A race that expects less has no heats: ``ALONE`` begins with what the descents
have found, or where even for these there are too few, with the shortest list schedule."""


def race(
    best: Best,
    rng: np.random.Generator,
    budget_s: float | None,
    moves: int | None,
    start: Schedule | None = None,
    turns: CpSatTurns | None = None,
) -> None:
    """Improve the best schedule until the solve is over or the moves are made.

    Several threads may run races for the same ``best``; each keeps to its own schedules.

    Args:
        best: begins with a schedule.
        rng: of this race; without a budget of seconds the result is a function of it.
        budget_s: of this race (s); None = no limit. The budget of ``best`` counts in any case.
        moves: of this race, ≥ 1; None = no limit. At least one of the limits must be set.
        start: the schedule to begin with; None = the best one.
        turns: those of CP-SAT, before the race and in it; None = it has none.
    """
    if turns:
        start = turns.begin() or start
        budget_s = None if budget_s is None else min(budget_s, best.left_s)
    if best.over or best.left_s < SET_UP * best.list_s:
        return
    budget = Budget(budget_s, moves, MOVES)
    track = _Track(best, rng, budget, start or best.schedule, turns)
    if is_shop(best.instance):
        track.iterate_lists(LISTS, again=False)
        track.run(track.tabu(), 1.0)
        return
    alone = track.annealing(COOL if best.instance.n_resources else ALONE)
    per_task = track.expected_moves(alone) / best.instance.n_tasks
    if per_task < FEW:
        track.iterate_lists(MORE_LISTS, again=True)
        track.run(alone, 1.0)
        return
    track.iterate_lists(LISTS, again=False)
    if per_task < MANY:
        track.run(track.descents(), OPENING)
        track.run(alone, 1.0)
        return
    runners = track.entrants()
    results = dict.fromkeys(runners, math.inf)
    used = dict.fromkeys(runners, 0.0)

    def rank(entrant: Entrant) -> tuple[float, float]:
        return results[entrant], used[entrant]

    def run(entrant: Entrant, share: float) -> None:
        results[entrant] = min(results[entrant], track.turn(entrant, share))
        used[entrant] += share

    for count, share in HEATS:
        for entrant in runners[:count]:
            run(entrant, share)
        runners.sort(key=rank)
    while track.open:
        run(min(runners, key=rank), max(FINAL, FINAL_MOVES / per_task))


class _Track:
    """Where the entrants of one race run, one after the other."""

    def __init__(
        self,
        best: Best,
        rng: np.random.Generator,
        budget: Budget,
        start: Schedule,
        turns: CpSatTurns | None = None,
    ) -> None:
        self._best = best
        self._rng = rng
        self._budget = budget
        self._turns = turns
        self._incumbent = Incumbent(
            best.instance,
            self._budget,
            algorithm="solve",
            insertion=True,
            trace=None,
            start=start,
            lists=False,
        )
        self._patience = IN_VAIN_SHARING if best.instance.n_resources else IN_VAIN
        waiting = best.instance.first_start
        self._unit = (self._incumbent.makespan - waiting) / best.instance.n_tasks

    @property
    def open(self) -> bool:
        """Neither the budget is used up nor is the solve over."""
        return self._budget.progress < 1.0 and not self._best.over

    def annealing(self, setting: Setting) -> Annealing:
        """An entrant."""
        return Annealing(self._incumbent, self._rng, setting, self._unit)

    def descents(self) -> Descents:
        """An entrant."""
        return Descents(self._incumbent, self._rng, PLAIN)

    def tabu(self) -> Relinking:
        """An entrant, where processors are not shared."""
        return Relinking(self._incumbent, self._rng)

    def entrants(self) -> list[Entrant]:
        """All of them, in the order of the first heat."""
        if self._best.instance.n_resources:
            return [
                Genetic(self._incumbent, self._rng),
                self.descents(),
                self.annealing(COOL),
            ]
        return [
            Genetic(self._incumbent, self._rng),
            self.descents(),
            *map(self.annealing, ANNEALINGS),
        ]

    def expected_moves(self, entrant: Entrant) -> float:
        """In the whole race, as a first few of an annealing tell."""
        while self.open and self._budget.evaluations == 0:  # all tasks may be passed over
            entrant.advance(0.0)
        entrant.end()
        self._offer(entrant.name)
        return self._budget.evaluations / max(self._budget.progress, 1e-9)

    def iterate_lists(self, share: float, *, again: bool) -> None:
        """A series of list schedules, until too many follow the shortest one.

        Args:
            share: most of the budget.
            again: then begin another series, with other draws, until the share is used up.
        """
        instance, budget = self._best.instance, self._budget
        series = ListSeries(instance, self._rng, insertion=True)
        end, shortest, in_vain = budget.progress + share, math.inf, 0
        while (
            self.open
            and budget.progress < end
            and self._best.left_s > SERIES_COST * self._best.list_s
        ):
            if in_vain == self._patience:
                if not again:
                    break
                series = ListSeries(instance, self._rng, insertion=True)
                shortest, in_vain = math.inf, 0
            schedule = series.next()
            budget.evaluations += math.ceil(MOVES_PER_LIST * instance.n_tasks)
            in_vain = 0 if schedule.makespan < shortest else in_vain + 1
            shortest = min(shortest, schedule.makespan)
            self.take(schedule)
            self._offer("iterated_lists")

    def take(self, schedule: Schedule) -> None:
        """Go on from a schedule if it is the shortest of the race."""
        if schedule.makespan < self._incumbent.makespan:
            order = execution_order(self._best.instance, schedule)
            self._incumbent.offer(order, schedule.processor)

    def turn(self, entrant: Entrant, share: float) -> float:
        """A turn of an entrant. If it shortens the best schedule, a tabu search from there has the
        second half; there is none where processors are shared.

        Returns:
            The result, see ``Entrant.advance`` (time).
        """
        if self._best.instance.n_resources:
            return self.run(entrant, share)
        before = self._incumbent.makespan
        result = self.run(entrant, (1.0 - FOLLOWED) * share)
        if self._incumbent.makespan == before or not self.open:
            return result
        self._follower.restart()
        return self.run(self._follower, FOLLOWED * share)

    @cached_property
    def _follower(self) -> Relinking:
        return self.tabu()

    def run(self, entrant: Entrant, share: float) -> float:
        """Let an entrant search for a share of the budget.

        Returns:
            Its result, see ``Entrant.advance`` (time).
        """
        self._give_turn(math.inf)
        begin, result = self._budget.progress, math.inf
        share = min(share, 1.0 - begin)
        entrant.begin()
        while self.open and (done := (self._budget.progress - begin) / share) < 1.0:
            result = entrant.advance(done)
            self._offer(entrant.name)
            self._give_turn(INTERRUPTION * share * self._budget.seconds)
        entrant.end()
        self._offer(entrant.name)
        return result

    def _give_turn(self, most_s: float) -> None:
        """Let CP-SAT have a turn if one is due that takes this time at most (s)."""
        if self._turns and self.open and (found := self._turns.between(most_s)):
            self.take(found)

    def _offer(self, name: str) -> None:
        if self._incumbent.makespan < self._best.schedule.makespan:
            self._best.offer(self._incumbent.schedule, name)
