"""Races: short heats for all settings, the rest for the best, and all threads end together."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dagsched_env.instance import Instance
from dagsched_env.schedulers import heft
from dagsched_env.solver import Best
from dagsched_env.solver import race as racing
from dagsched_env.solver.race import ENTRANTS, FAVOURITE, MOVES_PER_TASK, race
from dagsched_env.solver.threads import race_in_threads
from helpers.small_runs import problem

PATIENCE_S = 60.0
FOREVER_S = 3600.0


def begin(instance: Instance, **limits: Any) -> Best:
    best = Best(instance, **limits)
    best.offer(heft(instance), "heft")
    return best


class Watched(np.random.Generator):
    """Calls ``before_draw`` each time that its race asks for numbers."""

    def __init__(self, before_draw: Callable[[], Any], fill: float | None = None) -> None:
        super().__init__(np.random.PCG64(0))
        self.before_draw, self.fill = before_draw, fill

    def random(self, *arguments: Any, out: Any = None, **options: Any) -> Any:
        self.before_draw()
        if self.fill is not None:
            out[:] = self.fill
            return out
        return super().random(*arguments, out=out, **options)


class Slices(list[tuple[Any, float, float]]):
    """Entrant, share of the budget and result of each slice of a race."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        run = racing._Track.run

        def recording(track: Any, entrant: Any, share: float) -> float:
            result = run(track, entrant, share)
            self.append((entrant, share, result))
            return result

        monkeypatch.setattr(racing._Track, "run", recording)


def test_all_run_in_the_first_heat_and_the_better_half_in_the_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leaders = set()
    for seed in range(6):
        slices = Slices(monkeypatch)
        best = begin(problem(40, 4, seed))
        race(best, np.random.default_rng(seed), None, 2 * MOVES_PER_TASK * 40)
        entrants, results = [entrant for entrant, _, _ in slices], [made for *_, made in slices]
        assert entrants[:4] == list(ENTRANTS)
        ranked = sorted(range(4), key=lambda i: results[i])
        assert entrants[4:6] == [ENTRANTS[i] for i in ranked[:2]]
        assert len(entrants) > 6
        for k in range(6, len(entrants)):  # each time who has the best result by then
            lowest = min(results[:k])
            assert entrants[k] in {
                e for e, r in zip(entrants[:k], results, strict=False) if r == lowest
            }
            leaders.add(ENTRANTS.index(entrants[k]))
        assert best.schedule.makespan <= min(results) * (1 + 1e-12)
        monkeypatch.undo()
    assert len(leaders) > 1, "no entrant is best everywhere"


def test_a_race_with_few_moves_belongs_to_the_favourite(monkeypatch: pytest.MonkeyPatch) -> None:
    slices = Slices(monkeypatch)
    race(begin(problem(40, 4)), np.random.default_rng(0), None, MOVES_PER_TASK * 40 - 1)
    assert [entrant for entrant, *_ in slices] == [FAVOURITE]


def test_a_race_is_the_same_again_and_depends_on_its_generator() -> None:
    instance = problem(60, 4, 1)
    made = []
    for seed in (0, 0, 1):
        best = begin(instance)
        race(best, np.random.default_rng(seed), None, 5000)
        made.append(best.schedule)
        best.schedule.validate(instance)
    assert made[0] == made[1]
    assert made[0] != made[2]


def test_all_races_run_at_once_and_the_shortest_schedule_wins() -> None:
    """Each draws its first numbers only when all the others have come to that point."""
    instance = problem(80, 4, 1)
    alone = []
    for _ in range(3):
        best = begin(instance)
        race(best, Watched(lambda: None), None, 3000)
        alone.append(best.schedule.makespan)
    meeting, met = threading.Barrier(3), threading.local()

    def meet() -> None:
        if not getattr(met, "done", False):
            met.done = meeting.wait(PATIENCE_S) >= 0

    together = begin(instance)
    race_in_threads(together, [Watched(meet) for _ in range(3)], None, 3000)
    assert together.schedule.makespan == min(alone)


def test_a_race_that_reaches_a_lower_bound_ends_all() -> None:
    """Six tasks that HEFT spreads over two processors unevenly."""
    costs = [2.0, 7.0, 5.0, 6.0, 4.0, 4.0]
    instance = Instance([[cost, cost] for cost in costs], [], [])
    best = begin(instance)
    assert best.schedule.makespan == 15.0
    stuck = Watched(lambda: None, fill=0.999)  # to and fro with the last task
    race(best, stuck, None, 5000)
    assert best.schedule.makespan == 15.0
    race_in_threads(best, [stuck, np.random.default_rng(0)], FOREVER_S, None)
    assert best.schedule.makespan == instance.lower_bound == 14.0
    assert best.over == "optimal"


def test_a_first_chunk_without_a_move_is_no_obstacle() -> None:
    """All its draws fall on the task that lies on no longest path, and is passed over."""
    never = np.inf
    best = begin(Instance([[1.0, never], [never, 5.0]], [], []))
    best._lower_bound = 0.0
    drawn = []

    def before_draw() -> None:
        drawn.append(rng.fill)
        rng.fill = 0.0 if len(drawn) < 3 else None

    rng = Watched(before_draw)
    race(best, rng, None, 10)
    assert best.schedule.makespan == 5.0
    assert len(drawn) >= 3


@pytest.mark.parametrize("failing", [0, 1])
def test_a_race_that_fails_ends_all(failing: int) -> None:
    def fail() -> None:
        raise ArithmeticError("no more numbers")

    rngs: list[np.random.Generator] = [np.random.default_rng(i) for i in range(2)]
    rngs[failing] = Watched(fail)
    with pytest.raises(ArithmeticError, match="no more numbers"):
        race_in_threads(begin(problem(60, 4)), rngs, FOREVER_S, None)
    assert not [thread for thread in threading.enumerate() if "race" in thread.name]
