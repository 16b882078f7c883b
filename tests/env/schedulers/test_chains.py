"""Chains of annealing: each is that of ``dagsched_env``, all at once, and they end together."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from aerl_trainer.seeding import generator
from dagsched_env.instance import Instance
from dagsched_env.kernels.moves.metropolis import MoveRules
from dagsched_env.schedule import Schedule
from dagsched_env.schedulers import annealing, heft
from dagsched_env.schedulers.simulated_annealing import Chain, Cooling, run_chains
from helpers.small_runs import problem

COOLING = Cooling(1.5, 0.3)
RULES = MoveRules(0.2, 4.0, True, 8.0)
PATIENCE_S = 60.0
FOREVER_S = 3600.0


def chains(
    instance: Instance,
    rngs: list[np.random.Generator],
    *,
    budget_s: float | None = None,
    moves: int | None = None,
    rounds: Sequence[Cooling] = (COOLING,),
    moves_per_task: float = 0.0,
) -> Schedule:
    start = heft(instance)
    return run_chains(
        instance,
        start,
        rngs,
        rounds,
        RULES,
        moves_per_task=moves_per_task,
        budget_s=budget_s,
        moves=moves,
    )


class Watched(np.random.Generator):
    """Calls ``before_draw`` each time that its chain asks for numbers."""

    def __init__(self, before_draw: Callable[[], Any], fill: float | None = None) -> None:
        super().__init__(np.random.PCG64(0))
        self.before_draw, self.fill = before_draw, fill

    def random(self, *arguments: Any, out: Any = None, **options: Any) -> Any:
        self.before_draw()
        if self.fill is not None:
            out[:] = self.fill
            return out
        return super().random(*arguments, out=out, **options)


@pytest.mark.parametrize("seed", range(5))
def test_a_chain_is_the_annealing_of_the_environment(seed: int) -> None:
    instance = problem(40, 4, seed)
    for moves in (1, 777, 20_000):
        expected = annealing(
            instance,
            max_evaluations=moves,
            seed=generator(seed, "chain"),
            start_temperature=COOLING.start,
            end_temperature=COOLING.end,
            **RULES._asdict(),
            start=heft(instance),
        )
        assert chains(instance, [generator(seed, "chain")], moves=moves) == expected


def test_a_chain_with_few_moves_has_the_first_round_alone() -> None:
    instance, rounds = problem(40, 4, 0), (COOLING, Cooling(0.8, 0.3))
    alone = chains(instance, [generator(0, "chain")], moves=4000)
    short = chains(
        instance, [generator(0, "chain")], moves=4000, rounds=rounds, moves_per_task=101.0
    )
    long = chains(
        instance, [generator(0, "chain")], moves=4000, rounds=rounds, moves_per_task=100.0
    )
    assert short == alone
    assert long != alone


def test_every_round_begins_with_the_best_schedule_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[tuple[float, float]] = []

    class Recorded(Chain):
        def restart(self, order: np.ndarray, processor: np.ndarray) -> None:
            super().restart(order, processor)
            begun.append((self.makespan, self._incumbent.makespan))

    monkeypatch.setattr("dagsched_env.schedulers.simulated_annealing.rounds.Chain", Recorded)
    rounds = 4 * (COOLING,)
    best = chains(problem(40, 4, 1), [generator(0, "chain")], moves=80_000, rounds=rounds)
    assert len(begun) == 4, "the first is that of the chain itself"
    makespans = [known for _, known in begun]
    assert makespans == sorted(makespans, reverse=True)
    assert makespans[0] > makespans[-1] >= best.makespan
    for made, known in begun:
        assert made == pytest.approx(known)  # decoded without insertion, which may differ a little


def test_the_shortest_schedule_wins_and_of_equal_ones_that_of_the_first_chain() -> None:
    winners = set()
    for seed in range(6):
        instance = problem(80, 4, seed)
        alone = [chains(instance, [generator(seed, i)], moves=3000) for i in range(4)]
        makespans = [schedule.makespan for schedule in alone]
        together = chains(instance, [generator(seed, i) for i in range(4)], moves=3000)
        assert together == alone[int(np.argmin(makespans))]
        winners.add(int(np.argmin(makespans)))
    assert len(winners) > 1
    equal = Instance([[1.0, 1.0]], [], [])
    first = chains(equal, [generator(0, 0)], moves=10)
    assert chains(equal, [generator(0, i) for i in range(3)], moves=10) == first


def test_all_chains_run_at_once() -> None:
    """Each draws its first numbers only when all the others have come to that point."""
    meeting = threading.Barrier(3)
    rngs: list[np.random.Generator] = [Watched(lambda: meeting.wait(PATIENCE_S)) for _ in range(3)]
    instance = problem(40, 4, 1)
    assert chains(instance, rngs, moves=1).makespan <= heft(instance).makespan


def test_a_chain_that_reaches_a_lower_bound_ends_all() -> None:
    """Six tasks that HEFT spreads over two processors unevenly."""
    costs = [2.0, 7.0, 5.0, 6.0, 4.0, 4.0]
    instance = Instance([[cost, cost] for cost in costs], [], [])
    assert heft(instance).makespan == 15.0
    stuck = Watched(lambda: None, fill=0.999)  # to and fro with the last task
    assert chains(instance, [stuck], moves=5000).makespan == 15.0
    rngs = [stuck, generator(0, "free")]
    assert chains(instance, rngs, budget_s=FOREVER_S).makespan == instance.lower_bound == 14.0


def test_a_first_chunk_without_a_move_is_no_obstacle() -> None:
    """All its draws fall on the task that lies on no longest path, and is passed over."""
    never = np.inf
    instance = Instance([[1.0, never], [never, 5.0]], [], [])
    drawn = []

    def before_draw() -> None:
        drawn.append(rng.fill)
        rng.fill = 0.0 if len(drawn) == 1 else None

    rng = Watched(before_draw)
    assert chains(instance, [rng], moves=10, rounds=2 * (COOLING,)).makespan == 5.0
    assert len(drawn) == 2


@pytest.mark.parametrize("failing", [0, 1])
def test_a_chain_that_fails_ends_all(failing: int) -> None:
    def fail() -> None:
        raise ArithmeticError("no more numbers")

    rngs = [generator(0, 0), generator(0, 1)]
    rngs[failing] = Watched(fail)
    with pytest.raises(ArithmeticError, match="no more numbers"):
        chains(problem(60, 4), rngs, budget_s=FOREVER_S)
    assert not [thread for thread in threading.enumerate() if "annealing" in thread.name]
