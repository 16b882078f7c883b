"""Schedulers: published makespans and schedules, and validity on random problems."""

import numpy as np
import pytest
import references
from hypothesis import given
from hypothesis import strategies as st
from oracles import GRAPHS, TOPCUOGLU_HEFT, paper_instance
from strategies import instances

from dagsched_env.instance import Instance
from dagsched_env.schedulers import SCHEDULERS, eft_greedy, heft, random_order


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


@pytest.mark.parametrize("name", sorted(SCHEDULERS))
@given(instance=instances(), insertion=st.booleans())
def test_every_scheduler_is_valid(name: str, instance: Instance, insertion: bool) -> None:
    schedule = SCHEDULERS[name](instance, insertion=insertion)
    schedule.validate(instance)
    assert schedule.makespan >= instance.lower_bound * (1 - 1e-12)
    assert schedule.algorithm == name


@pytest.mark.parametrize("name", sorted(SCHEDULERS))
@pytest.mark.parametrize("graph", sorted(GRAPHS))
def test_no_scheduler_beats_the_proved_optimum(name: str, graph: str) -> None:
    schedule = SCHEDULERS[name](paper_instance(graph))
    assert schedule.makespan >= GRAPHS[graph]["makespan"]["optimum"] * (1 - 1e-12)


def test_random_order_follows_its_seed(topcuoglu: Instance) -> None:
    assert random_order(topcuoglu, seed=3) == random_order(topcuoglu, seed=3)
    assert random_order(topcuoglu, seed=3) != random_order(topcuoglu, seed=4)
    rng = np.random.default_rng(3)
    assert random_order(topcuoglu, seed=rng) == random_order(topcuoglu, seed=3)
    assert random_order(topcuoglu, seed=rng) != random_order(topcuoglu, seed=3)
