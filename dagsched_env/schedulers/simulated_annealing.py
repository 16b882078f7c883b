"""Simulated annealing on order × assignment, with one chain that cools once.

Source: Kirkpatrick, Gelatt, Vecchi 1983, Science 220(4598). The moves are those of
``kernels.moves``.
"""

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.kernels.graph import eligibility
from dagsched_env.kernels.lists.placements import allocate_placements
from dagsched_env.kernels.moves import clusters, decoded, metropolis, pairs, solution
from dagsched_env.kernels.moves.metropolis import MoveRules
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.anytime import (
    MOVES,
    MOVES_PER_DECODING,
    Budget,
    Improvement,
    Incumbent,
    check_positive,
    execution_order,
    generator,
)

SINGLE_TASKS = MoveRules(
    pair_share=0.0, cluster_share=0.0, cost_bias=1.0, best_place=False, load_weight=0.0
)
"""One task to any other processor: the textbook neighbourhood."""

MOST_UNIFORMS = 16_384
FEWEST_UNIFORMS = 1024
UNIFORMS_TIMES_TASKS = 3_000_000
"""Chunks are so small that each takes about a millisecond at most; for each a kernel is called."""
MOVES_PER_OFFER = 0.5
"""Times tasks: least moves between two offers. An offer decodes a schedule, which takes as long as
some tenth as many moves."""


class Cooling(NamedTuple):
    """How the temperature falls, in units of (makespan of the first schedule / n).

    The temperature falls geometrically from ``start`` to ``end``.
    """

    start: float
    end: float

    def at(self, progress: float) -> float:
        """Temperature after a share of the time, in [0, 1]."""
        return float(self.start * (self.end / self.start) ** progress)


class Chain:
    """Metropolis moves that begin with the incumbent and improve it.

    It is offered better schedules every now and then; after the last chunk ``hand_over`` offers
    the last one. With resources a move is judged by decoding the schedule: ``_ByDecoding``.

    Args:
        incumbent: the best schedule so far; the moves are counted in its budget.
        rng: the generator of the moves.
        rules: how moves are drawn and judged.
    """

    def __init__(
        self,
        incumbent: Incumbent,
        rng: np.random.Generator,
        rules: MoveRules = SINGLE_TASKS,
    ) -> None:
        instance = incumbent.instance
        n = instance.n_tasks
        self._incumbent = incumbent
        self._rng = rng
        size = UNIFORMS_TIMES_TASKS // n
        self._uniforms = np.empty(min(max(size, FEWEST_UNIFORMS), MOST_UNIFORMS))
        self._best = np.empty(1)
        self._best_order = np.empty(n, dtype=np.int64)
        self._best_processor = np.empty(n, dtype=np.int64)
        by = _ByDecoding if instance.n_resources else _ByPaths
        self._moves: _Moves = by(
            instance, rules, self._best, self._best_order, self._best_processor
        )
        self._unoffered = False
        self._offered_at = 0
        schedule = incumbent.schedule
        self.restart(execution_order(instance, schedule), schedule.processor)

    @property
    def makespan(self) -> float:
        """The least makespan since the last restart (time); without resources, of a decoding
        without insertion."""
        return float(self._best[0])

    def restart(self, order: Ints, processor: Ints) -> None:
        """Hand over, and continue from a topological ``order[n]`` on ``processor[n]``."""
        self.hand_over()
        self._best[0] = self._moves.begin(order, processor)

    def advance(self, temperature: float) -> bool:
        """Make a chunk of moves at a temperature (time).

        Returns whether they led to the best schedule since the last restart.
        """
        before = self.makespan
        self._rng.random(out=self._uniforms)
        budget = self._incumbent.budget
        limit = budget.grant(self._uniforms.shape[0])
        budget.evaluations += self._moves.make(temperature, limit, self._uniforms)
        improved = self.makespan < before
        self._unoffered |= improved
        if budget.evaluations - self._offered_at >= MOVES_PER_OFFER * self._best_order.shape[0]:
            self.hand_over()
        return improved

    def hand_over(self) -> None:
        """Offer the best schedule since the last restart to the incumbent, unless it has it."""
        if self._unoffered:
            self._unoffered = False
            self._offered_at = self._incumbent.budget.evaluations
            self._incumbent.offer(self._best_order, self._best_processor)


class _Moves(Protocol):
    """A complete schedule and moves in it, which record the best one in the arrays given."""

    def __init__(
        self,
        instance: Instance,
        rules: MoveRules,
        best: Floats,
        best_order: Ints,
        best_processor: Ints,
    ) -> None: ...

    def begin(self, order: Ints, processor: Ints) -> float:
        """Set the schedule; its makespan (time)."""

    def make(self, temperature: float, limit: int, uniforms: Floats) -> int:
        """Make up to ``limit`` moves; what they count in a budget."""


class _ByPaths:
    """Moves judged by heads and tails: ``kernels.moves.metropolis``."""

    def __init__(self, instance: Instance, rules: MoveRules, *best: Any) -> None:
        self._arrays = instance.arrays
        self._eligibility = eligibility.eligibility(instance.arrays)
        self._places = pairs.pair_places(instance.n_tasks)
        self._cluster = clusters.cluster(*instance.comp.shape)
        self._rules = rules
        self._best = best

    def begin(self, order: Ints, processor: Ints) -> float:
        """As of ``_Moves``."""
        self._solution = solution.solution(self._arrays, order, processor)
        return float(solution.makespan(self._arrays, self._solution))

    def make(self, temperature: float, limit: int, uniforms: Floats) -> int:
        """As of ``_Moves``."""
        return metropolis.metropolis(
            self._arrays,
            self._eligibility,
            self._solution,
            self._places,
            self._cluster,
            self._rules,
            temperature,
            limit,
            uniforms,
            *self._best,
        )


class _ByDecoding:
    """Moves judged by decoding: ``kernels.moves.decoded``; of the rules only ``cost_bias`` counts.

    A decoding counts as the moves by paths that take about as long.
    """

    def __init__(self, instance: Instance, rules: MoveRules, *best: Any) -> None:
        g = instance.arrays
        self._arrays = g
        self._eligibility = eligibility.eligibility(g)
        self._cost_bias = rules.cost_bias
        self._best = best
        n = instance.n_tasks
        self._state = decoded.Decoded(
            np.empty(n, dtype=np.int64),
            np.empty(n, dtype=np.int64),
            np.empty(1),
            decoded.least_behind(g),
            np.empty(n, dtype=np.int64),
            allocate_placements(*instance.shape),
        )

    def begin(self, order: Ints, processor: Ints) -> float:
        """As of ``_Moves``."""
        state = self._state
        state.order[:] = state.trial_order[:] = order
        state.processor[:] = processor
        state.makespan[0] = decoded.decode_below(self._arrays, state, math.inf)
        return float(state.makespan[0])

    def make(self, temperature: float, limit: int, uniforms: Floats) -> int:
        """As of ``_Moves``."""
        decodings = decoded.metropolis_by_decoding(
            self._arrays,
            self._eligibility,
            self._state,
            self._cost_bias,
            temperature,
            max(limit // MOVES_PER_DECODING, 1),
            uniforms,
            *self._best,
        )
        return MOVES_PER_DECODING * decodings


def annealing(
    instance: Instance,
    *,
    budget_s: float | None = None,
    max_evaluations: int | None = None,
    seed: int | np.random.Generator = 0,
    insertion: bool = True,
    start_temperature: float = 1.0,
    end_temperature: float = 0.3,
    pair_share: float = 0.0,
    cluster_share: float = 0.0,
    cost_bias: float = 1.0,
    best_place: bool = False,
    load_weight: float = 0.0,
    start: Schedule | None = None,
    trace: list[Improvement] | None = None,
) -> Schedule:
    """Simulated annealing on order × assignment; by default with random moves of one task.

    A move puts a task at another place of the order, between its predecessors and its successors,
    and in most cases on another processor. Moves that lengthen the schedule become less and less
    likely, because the temperature falls geometrically over the budget; by the clock if there is a
    ``budget_s``. The search ends early when a schedule reaches a lower bound. With resources a move
    is judged by decoding with insertion, which counts as ten moves, and of the settings of moves
    only ``cost_bias`` has a meaning.

    By default moves are drawn and judged as in the textbook. These settings find shorter schedules
    in the same time: a ``cost_bias`` of 4 on unrelated processors, a ``pair_share`` of 0.2 and a
    ``cluster_share`` of 0.1 where communication matters, ``best_place`` and a ``load_weight`` of 8
    with many tasks.

    Args:
        instance: the problem.
        budget_s: wall time in seconds, > 0, all included.
        max_evaluations: moves evaluated, ≥ 1; with the same ``seed`` and without ``budget_s`` the
            result is always the same. With neither limit: 200 000.
        seed: a seed or a generator to draw from.
        insertion: the best order is decoded with insertion into idle gaps; False appends only. The
            search itself appends, which suffices to reach every schedule in which no task can start
            earlier.
        start_temperature: in units of (makespan of the first schedule / n), > 0; the time before
            anything can start does not count.
        end_temperature: in the same units, > 0 and at most ``start_temperature``.
        pair_share: share of the moves that take a predecessor or a successor of the task along to
            the same processor, in [0, 1].
        cluster_share: share of the moves that take a cluster along: up to all tasks on the same
            processor that edges join to the task; in [0, 1 - ``pair_share``].
        cost_bias: ≥ 1; of the m other processors a move goes to that of rank ``m * u ** cost_bias``
            by the cost of the task, u uniform in [0, 1).
        best_place: a task that moves alone to another processor takes the best place there, not a
            random one.
        load_weight: ≥ 0; weight of the mean load of the processors beside the makespan, times the
            16th power of their mean utilisation. It leads to shorter schedules where the
            processors are rarely idle.
        start: a schedule to begin with, if it is shorter than HEFT's and PEFT's.
        trace: a list to which every improvement is appended.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """
    budget = Budget(budget_s, max_evaluations, MOVES)
    rng = generator(seed)
    check_positive("start_temperature", start_temperature)
    check_positive("end_temperature", end_temperature)
    if end_temperature > start_temperature:
        raise DAGSchedError(
            f"end_temperature is {end_temperature!r}: it may not exceed start_temperature, "
            f"{start_temperature!r}"
        )
    rules = _checked_rules(pair_share, cluster_share, cost_bias, best_place, load_weight)
    incumbent = Incumbent(
        instance, budget, algorithm="annealing", insertion=insertion, trace=trace, start=start
    )
    chain = Chain(incumbent, rng, rules)
    cooling = Cooling(start_temperature, end_temperature)
    unit = (incumbent.makespan - instance.first_start) / instance.n_tasks
    while incumbent.running:
        chain.advance(unit * cooling.at(budget.progress))
    chain.hand_over()
    return incumbent.schedule


def _checked_rules(
    pair_share: float, cluster_share: float, cost_bias: float, best_place: bool, load_weight: float
) -> MoveRules:
    """The rules with these settings of ``annealing``, whose errors are raised here."""
    for name, share in (("pair_share", pair_share), ("cluster_share", cluster_share)):
        if isinstance(share, bool | str) or not 0 <= share <= 1:
            raise DAGSchedError(f"{name} is {share!r}: give a number in [0, 1]")
    if pair_share + cluster_share > 1:
        raise DAGSchedError(
            f"pair_share + cluster_share is {pair_share + cluster_share!r}: it may not exceed 1"
        )
    check_positive("cost_bias", cost_bias)
    if cost_bias < 1:
        raise DAGSchedError(f"cost_bias is {cost_bias!r}: give a number >= 1")
    if not isinstance(best_place, bool):
        raise DAGSchedError(f"best_place is {best_place!r}: give True or False")
    if isinstance(load_weight, bool | str) or not 0 <= load_weight < math.inf:
        raise DAGSchedError(f"load_weight is {load_weight!r}: give a number >= 0, finite")
    return MoveRules(
        float(pair_share), float(cluster_share), float(cost_bias), best_place, float(load_weight)
    )
