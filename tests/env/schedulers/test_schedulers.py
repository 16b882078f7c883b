"""All schedulers: valid on any problem, never below a bound; HEFT and the plain ones in detail."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import (
    CONSTRUCTIVE,
    SCHEDULERS,
    SEARCHERS,
    eft_greedy,
    heft,
    random_order,
)
from helpers import references
from helpers.oracles import GRAPHS, TOPCUOGLU_HEFT, paper_instance
from helpers.strategies import instances

FEW: dict[str, dict[str, Any]] = {name: {"max_evaluations": 40} for name in SEARCHERS}
INF = math.inf


def run(name: str, instance: Instance, **options: Any) -> Schedule:
    """The scheduler of that name; searches are short."""
    return SCHEDULERS[name](instance, **FEW.get(name, {}), **options)


def assert_sound(schedule: Schedule, instance: Instance, name: str) -> None:
    schedule.validate(instance)
    assert schedule.makespan >= instance.lower_bound * (1 - 1e-12), name
    assert schedule.algorithm == name


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_heft_has_the_published_makespan(name: str) -> None:
    instance = paper_instance(name)
    schedule = heft(instance)
    schedule.validate(instance)
    assert schedule.makespan == pytest.approx(GRAPHS[name]["makespan"]["HEFT"], rel=1e-12)


def test_heft_has_the_published_schedule(topcuoglu: Instance) -> None:
    schedule = heft(topcuoglu)
    assert {
        task: (schedule.processor[task], schedule.start[task], schedule.finish[task])
        for task in range(10)
    } == TOPCUOGLU_HEFT


def test_heft_fills_a_gap(gap_instance: Instance) -> None:
    filled, appended = heft(gap_instance), heft(gap_instance, insertion=False)
    assert (filled.start.tolist(), filled.makespan) == ([0, 12, 0], 17)
    assert (appended.start.tolist(), appended.makespan) == ([0, 12, 17], 20)


@given(instances(), st.booleans())
def test_heft_is_the_algorithm_of_the_paper(instance: Instance, insertion: bool) -> None:
    schedule = heft(instance, insertion=insertion)
    reference = references.heft(instance, insertion=insertion)
    for task, (q, start, finish) in reference.placed.items():
        assert schedule.processor[task] == q
        assert schedule.start[task] == pytest.approx(start, rel=1e-12)
        assert schedule.finish[task] == pytest.approx(finish, rel=1e-12)


@given(instances(), st.booleans())
def test_eft_greedy_takes_the_topological_order(instance: Instance, insertion: bool) -> None:
    partial = references.Partial(instance, insertion=insertion)
    for task in instance.topological_order.tolist():
        partial.place_earliest(task)
    schedule = eft_greedy(instance, insertion=insertion)
    assert schedule.makespan == pytest.approx(partial.makespan(), rel=1e-12)
    assert [partial.placed[t][0] for t in range(instance.n_tasks)] == schedule.processor.tolist()


@given(instances(), st.booleans())
def test_every_scheduler_is_valid(instance: Instance, insertion: bool) -> None:
    for name in SCHEDULERS:
        assert_sound(run(name, instance, insertion=insertion), instance, name)


CORNERS = {
    "one task": Instance([[3, 2]], [], []),
    "one processor": Instance([[3], [2], [4]], [(2, 0), (0, 1)], [5, 5]),
    "no edges": Instance([[3, 2], [2, 4], [1, 1]], [], []),
    "two graphs": Instance([[3, 2], [2, 4], [1, 1], [5, 9]], [(0, 1), (2, 3)], [4, 4]),
    "two sources and sinks": Instance([[3, 2]] * 4, [(0, 2), (0, 3), (1, 2), (1, 3)], [1, 2, 3, 4]),
    "zero costs": Instance([[0, 0]] * 3, [(0, 1), (1, 2)], [1, 1]),
    "zero data": Instance([[3, 2], [2, 4], [1, 1]], [(0, 1), (0, 2)], [0, 0]),
    "job shop": Instance([[3, INF], [INF, 2], [INF, 2], [3, INF]], [(0, 1), (2, 3)], [0, 0]),
    "huge and tiny": Instance([[1e12, 1e-12], [1e-12, 1e12]], [(0, 1)], [1.0]),
    "slow link back": Instance(
        [[3, 2], [2, 4], [1, 1]],
        [(0, 1), (0, 2)],
        [2, 2],
        inv_bandwidth=[[0, 1], [9, 0]],
        latency=[[0, 0], [5, 0]],
    ),
}


@pytest.mark.parametrize("corner", CORNERS)
def test_every_scheduler_in_every_corner(corner: str) -> None:
    for name in SCHEDULERS:
        assert_sound(run(name, CORNERS[corner]), CORNERS[corner], name)


@pytest.mark.parametrize("name", SCHEDULERS)
def test_no_scheduler_beats_the_proved_optimum(name: str) -> None:
    for graph, published in GRAPHS.items():
        schedule = run(name, paper_instance(graph))
        assert schedule.makespan >= published["makespan"]["optimum"] * (1 - 1e-12), graph


@pytest.mark.parametrize("name", SCHEDULERS)
def test_every_scheduler_repeats_itself(name: str, topcuoglu: Instance) -> None:
    assert run(name, topcuoglu) == run(name, topcuoglu)


def test_the_names() -> None:
    assert not set(CONSTRUCTIVE) & set(SEARCHERS)
    assert set(SCHEDULERS) == {*CONSTRUCTIVE, *SEARCHERS, "random_order"}
    assert next(iter(CONSTRUCTIVE)) == "heft"  # wins among equals in the portfolio


def test_random_order_follows_its_seed(topcuoglu: Instance) -> None:
    assert random_order(topcuoglu, seed=3) == random_order(topcuoglu, seed=3)
    assert random_order(topcuoglu, seed=3) != random_order(topcuoglu, seed=4)
    rng = np.random.default_rng(3)
    assert random_order(topcuoglu, seed=rng) == random_order(topcuoglu, seed=3)
    assert random_order(topcuoglu, seed=rng) != random_order(topcuoglu, seed=3)
