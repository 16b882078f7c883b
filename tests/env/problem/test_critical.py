"""The critical chain: by hand, and its two properties on random problems."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dagsched_env.problem.critical import Link, critical_chain
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms.altered import altered
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import heft
from helpers.strategies import instances


def test_chain_by_hand() -> None:
    # 0 on P0 until 2; its data reaches 1 on P1 at 5; 2 follows 1 on P1; 3 is early and idle.
    instance = Instance([[2, 9], [9, 1], [9, 4], [1, 1]], [(0, 1)], [3])
    schedule = Schedule([0, 1, 1, 0], [0, 5, 6, 2], [2, 6, 10, 3])
    assert critical_chain(schedule, instance) == [
        Link(0, "nothing"),
        Link(1, "data"),
        Link(2, "processor"),
    ]


def test_idle_start_begins_a_chain() -> None:
    instance = Instance([[2.0], [3.0]], [], [])
    assert critical_chain(Schedule([0, 0], [0, 4], [2, 7]), instance) == [Link(1, "nothing")]


def test_tasks_of_no_duration_do_not_loop() -> None:
    instance = Instance([[1.0], [0.0], [0.0]], [], [])
    chain = critical_chain(Schedule([0, 0, 0], [0, 1, 1], [1, 1, 1]), instance)
    assert chain[0] == Link(0, "nothing")
    assert len({link.task for link in chain}) == len(chain)


@given(instances())
def test_chain_explains_the_makespan(instance: Instance) -> None:
    """In a schedule without needless waiting the chain reaches from time 0 to the makespan."""
    schedule = heft(instance, insertion=False)
    chain = critical_chain(schedule, instance)
    slack = 1e-8 * schedule.makespan
    assert schedule.start[chain[0].task] <= slack
    assert schedule.finish[chain[-1].task] == schedule.makespan
    for before, link in itertools.pairwise(chain):
        same = schedule.processor[before.task] == schedule.processor[link.task]
        wait = schedule.start[link.task] - schedule.finish[before.task]
        assert wait >= -slack
        if link.waits_for == "processor" or same:
            assert wait == pytest.approx(0, abs=slack)
            assert same


def test_a_task_waits_for_one_that_used_what_it_lacked() -> None:
    """0, 1 and 2 end together: 3 cores lack, 0 had none; memory, which 1 had, would suffice."""
    instance = Instance(
        [[4.0], [4.0], [4.0], [2.0], [3.0]],
        [],
        [],
        demands=[[0, 2], [1, 6], [3, 1], [3, 1], [1, 0]],
        capacities=[[4, 9]],
        resource_names=["cores", "memory"],
    )
    schedule = Schedule([0] * 5, [0, 0, 0, 4, 4], [4, 4, 4, 6, 7])
    schedule.validate(instance)
    assert critical_chain(schedule, instance) == [Link(1, "nothing"), Link(4, "processor")]
    without = altered(instance, demands=[[0, 2], [0, 6], [3, 1], [3, 1], [2, 0]])
    assert critical_chain(schedule, without) == [Link(2, "nothing"), Link(4, "processor")]
    enough = altered(instance, capacities=[[5, 9]])
    assert critical_chain(schedule, enough) == [Link(4, "nothing")]


def test_a_task_of_no_duration_waits_for_no_resource() -> None:
    instance = Instance([[1.0], [0.0]], [], [], demands=[[1], [1]], capacities=[[1]])
    chain = critical_chain(Schedule([0, 0], [0, 1], [1, 1]), instance)
    assert chain == [Link(0, "nothing")]
    assert critical_chain(Schedule([0, 0], [0, 2], [1, 2]), instance) == [Link(1, "nothing")]


@given(instances(), st.data())
def test_chain_explains_the_makespan_with_resources(
    instance: Instance, data: st.DataObject
) -> None:
    """HEFT starts every task as early as data and resources allow."""
    n, p = instance.n_tasks, instance.n_processors
    demands = data.draw(hnp.arrays(np.int64, (n, 2), elements=st.integers(0, 3)))
    resourceful = altered(instance, demands=demands, capacities=np.full((p, 2), 4))
    schedule = heft(resourceful)
    chain = critical_chain(schedule, resourceful)
    slack = 1e-8 * schedule.makespan
    assert schedule.start[chain[0].task] <= slack
    for before, link in itertools.pairwise(chain):
        assert schedule.start[link.task] >= schedule.finish[before.task] - slack
        if link.waits_for == "processor":
            assert schedule.processor[before.task] == schedule.processor[link.task]
            assert schedule.start[link.task] == pytest.approx(
                schedule.finish[before.task], abs=slack
            )
            assert (demands[before.task] * demands[link.task]).any()
