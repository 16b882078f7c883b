"""Races: short heats for all entrants, the rest for the best, and all threads end together."""

import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dagsched_env import suites
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import heft
from dagsched_env.schedulers.anytime import Budget
from dagsched_env.schedulers.iterated_lists import ListSeries
from dagsched_env.solver import Best
from dagsched_env.solver import race as racing
from dagsched_env.solver.race import FEW, IN_VAIN, MORE_LISTS, MOVES_PER_LIST, race
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


class Turns(list[tuple[Any, float, float]]):
    """Entrant, share of the budget and result of each turn of a race, or of each part of one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, method: str = "run") -> None:
        run = getattr(racing._Track, method)

        def recording(track: Any, entrant: Any, share: float) -> float:
            result = run(track, entrant, share)
            self.append((entrant, share, result))
            return result

        monkeypatch.setattr(racing._Track, method, recording)

    def standing(self, end: int) -> dict[Any, tuple[float, float]]:
        """Entrant → its best result and its share of the budget, after so many turns."""
        reached: dict[Any, tuple[float, float]] = {}
        for entrant, share, result in self[:end]:
            before = reached.get(entrant, (np.inf, 0.0))
            reached[entrant] = min(before[0], result), before[1] + share
        return reached


def test_all_run_in_the_first_heat_and_the_better_half_in_the_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After the heats the turn is always his who has the best result; of equals, who ran least."""
    leaders = set()
    for seed in range(6):
        turns = Turns(monkeypatch, "turn")
        best = begin(problem(30, 4, seed))
        race(best, np.random.default_rng(seed), None, 20_000 * 30)
        entrants = [entrant for entrant, *_ in turns]
        assert [entrant.name for entrant in entrants[:6]] == [
            "genetic",
            "descents",
            *["annealing"] * 4,
        ]
        after = turns.standing(6)
        assert entrants[6:9] == sorted(entrants[:6], key=lambda entrant: after[entrant])[:3]
        assert len(turns) > 9
        for k in range(9, len(turns)):
            before = turns.standing(k)
            assert before[entrants[k]] == min(before.values())
            leaders.add(entrants.index(entrants[k]))
        assert best.schedule.makespan <= min(result for *_, result in turns) * (1 + 1e-12)
        monkeypatch.undo()
    assert len(leaders) > 1, "no entrant is best everywhere"


@pytest.mark.parametrize(
    ("per_task", "names"),
    [(FEW - 1, ["annealing"]), (FEW, ["descents", "annealing"])],
    ids=["hardly any", "too few for heats"],
)
def test_a_race_with_few_moves_has_no_heats(
    per_task: int, names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = Turns(monkeypatch)
    race(begin(problem(40, 4)), np.random.default_rng(0), None, per_task * 40)
    assert [entrant.name for entrant, *_ in turns] == names


def test_lists_that_learn_come_first_and_end_when_they_no_longer_pay(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance = problem(300, 8)
    best, made = begin(instance), list[Schedule]()
    following = ListSeries.next

    def recording(series: ListSeries) -> Schedule:
        made.append(following(series))
        return made[-1]

    monkeypatch.setattr(ListSeries, "next", recording)
    race(best, np.random.default_rng(0), None, 400 * 300)
    names = [finding.found_by for finding in best.trace]
    first = names.index("iterated_lists")
    assert set(names[1:first]) <= {"annealing"}, "a few moves tell how many there will be"
    assert set(names[first : first + names.count("iterated_lists")]) == {"iterated_lists"}
    assert names[-1] in ("descents", "annealing")
    shortest = min(range(len(made)), key=lambda k: made[k].makespan)
    assert len(made) == shortest + 1 + IN_VAIN
    in_time = begin(instance, budget_s=FOREVER_S, target=best.schedule.makespan * 0.99)
    in_time.list_s = FOREVER_S  # no further list would be ready within the budget
    made.clear()
    race(in_time, np.random.default_rng(0), FOREVER_S, 400 * 300)
    assert made == []


def test_on_a_large_problem_one_series_of_lists_follows_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = list[list[float]]()
    beginning, following = ListSeries.__init__, ListSeries.next

    def begins(series: ListSeries, *args: Any, **options: Any) -> None:
        made.append([])
        beginning(series, *args, **options)

    def follows(series: ListSeries) -> Schedule:
        schedule = following(series)
        made[-1].append(schedule.makespan)
        return schedule

    monkeypatch.setattr(ListSeries, "__init__", begins)
    monkeypatch.setattr(ListSeries, "next", follows)
    instance = problem(300, 8)
    race(begin(instance), np.random.default_rng(0), None, (FEW - 1) * 300)
    assert len(made) > 2
    for lengths in made[:-1]:
        assert len(lengths) == int(np.argmin(lengths)) + 1 + IN_VAIN
    lists = sum(len(lengths) for lengths in made)
    assert lists * MOVES_PER_LIST == pytest.approx(MORE_LISTS * (FEW - 1), rel=0.1)


def test_each_entrant_finds_shorter_schedules() -> None:
    """On the graphs where it was missing: communication is dear, or there are many equal tasks."""
    instance = suites.instance("structured", "gaussian-10-p16-ccr5")
    for place in range(6):
        best, rng = begin(instance), np.random.default_rng(place)
        track = racing._Track(best, rng, Budget(None, 60_000, 1), best.schedule)
        entrant = track.entrants()[place]
        start = track._incumbent.makespan
        result = track.run(entrant, 1.0)
        assert track._incumbent.makespan <= result * (1 + 1e-12) < start


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


def test_a_race_that_reaches_a_lower_bound_ends_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six tasks that HEFT spreads over two processors unevenly."""
    monkeypatch.setattr(racing, "LISTS", 0.0)
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


def test_a_tabu_search_follows_turns_that_shorten_the_best_schedule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts, following = Turns(monkeypatch), 0
    race(begin(problem(60, 4)), np.random.default_rng(0), None, 20_000 * 60)
    for (entrant, share, _), (follower, rest, result) in itertools.pairwise(parts):
        assert {entrant.name, follower.name} != {"tabu"}, "it follows another one"
        if follower.name == "tabu":
            assert rest == pytest.approx(share)
            assert result < min(made for *_, made in parts[: parts.index((entrant, share, _))])
            following += 1
    assert 0 < following < len(parts) / 2, "not all turns shorten it"
