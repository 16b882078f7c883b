"""The critical chain: by hand, and its two properties on random problems."""

import itertools

import pytest
from hypothesis import given

from dagsched_env.problem.critical import Link, critical_chain
from dagsched_env.problem.instance import Instance
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
