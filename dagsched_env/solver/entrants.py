"""What takes part in a race: annealings, descents from many starts, a genetic algorithm.

An entrant works in turns. It offers what it finds to the incumbent of the race, which counts its
work, too, in moves.
"""

import itertools
import math
from typing import NamedTuple, Protocol

import numpy as np

from dagsched_env.kernels.moves.metropolis import MoveRules
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.anytime import (
    DECODINGS,
    MOVES_PER_DECODING,
    Budget,
    Incumbent,
    execution_order,
)
from dagsched_env.schedulers.genetic import Evolution
from dagsched_env.schedulers.noisy_heft import draw_list
from dagsched_env.schedulers.simulated_annealing import Chain, Cooling
from dagsched_env.solver.chains import draw_chains

POPULATION = 200
PATIENCE = 20
"""Moves per task without an improvement after which a descent ends."""
CHAINS_DRAWN = 5
"""Of that many schedules with whole chains on one processor a descent begins with the shortest."""
UNLIMITED = 2**40


class Setting(NamedTuple):
    """Of an annealing."""

    rules: MoveRules
    cooling: Cooling


class Entrant(Protocol):
    """One way to search."""

    name: str
    """What a trace calls it."""

    def begin(self) -> None:
        """A turn begins."""

    def advance(self, done: float) -> float:
        """Work for about a millisecond.

        Args:
            done: share of the turn that is over, in [0, 1].

        Returns:
            The shortest makespan that the entrant has found (time).
        """

    def end(self) -> None:
        """The turn is over: offer what has not been offered."""


class Annealing:
    """Begins each turn with the best schedule of the race and cools once in it.

    Args:
        incumbent: of the race.
        rng: of its moves.
        setting: moves and temperatures.
        unit: of the temperatures (time).
    """

    name = "annealing"

    def __init__(
        self, incumbent: Incumbent, rng: np.random.Generator, setting: Setting, unit: float
    ) -> None:
        self._incumbent = incumbent
        self._cooling = setting.cooling
        self._unit = unit
        self._chain = Chain(incumbent, rng, setting.rules)
        self.end = self._chain.hand_over

    def begin(self) -> None:
        """Go back to the best schedule."""
        schedule = self._incumbent.schedule
        order = execution_order(self._incumbent.instance, schedule)
        self._chain.restart(order, schedule.processor)

    def advance(self, done: float) -> float:
        """A chunk of moves; the makespan is that of the turn."""
        self._chain.advance(self._unit * self._cooling.at(done))
        return self._chain.makespan


class Descents:
    """Descents that also cross plateaus, from many starts.

    The first one begins with the best schedule of the race, those after it in turn with one that
    keeps chains of tasks together and with a list schedule with noise on the ranks.

    Args:
        incumbent: of the race.
        rng: of the moves and of the noise.
        rules: how moves are drawn and judged.
    """

    name = "descents"

    def __init__(self, incumbent: Incumbent, rng: np.random.Generator, rules: MoveRules) -> None:
        self._incumbent = incumbent
        self._rng = rng
        self._chain = Chain(incumbent, rng, rules)
        self._shortest = math.inf
        self._starts = itertools.cycle((self._chains, self._list))
        self._improved_at = incumbent.budget.evaluations
        self.end = self._chain.hand_over

    def begin(self) -> None:
        """Go on."""

    def advance(self, done: float) -> float:
        """A chunk of moves, then perhaps the next start."""
        instance, budget = self._incumbent.instance, self._incumbent.budget
        if self._chain.advance(0.0):
            self._improved_at = budget.evaluations
        self._shortest = min(self._shortest, self._chain.makespan)
        if budget.evaluations - self._improved_at > PATIENCE * instance.n_tasks:
            start = next(self._starts)()
            self._chain.restart(execution_order(instance, start), start.processor)
            self._improved_at = budget.evaluations
        return self._shortest

    def _chains(self) -> Schedule:
        return draw_chains(self._incumbent.instance, self._rng, CHAINS_DRAWN)

    def _list(self) -> Schedule:
        return draw_list(self._incumbent.instance, self._rng, insertion=True)


class Genetic:
    """A population of its own: the best schedule of the race would soon rule it.

    With resources, where a child is justified, the best schedule joins it before each turn.

    Args:
        incumbent: of the race.
        rng: of all choices.
    """

    name = "genetic"

    def __init__(self, incumbent: Incumbent, rng: np.random.Generator) -> None:
        self._incumbent = incumbent
        budget = Budget(None, UNLIMITED, DECODINGS)
        self._own = Incumbent(
            incumbent.instance, budget, algorithm="genetic", insertion=True, trace=None
        )
        self._evolution = Evolution(self._own, rng, POPULATION)

    def begin(self) -> None:
        """Go on."""
        if self._own.instance.n_resources:
            self._evolution.join(self._incumbent.schedule)

    def advance(self, done: float) -> float:
        """A generation, or a part of it."""
        own, incumbent = self._own, self._incumbent
        before = own.budget.evaluations
        self._evolution.advance()
        decodings = own.budget.evaluations - before
        incumbent.budget.evaluations += decodings * MOVES_PER_DECODING
        if own.makespan < incumbent.makespan:
            order = execution_order(own.instance, own.schedule)
            incumbent.offer(order, own.schedule.processor)
        return own.makespan

    def end(self) -> None:
        """Everything has been offered."""
