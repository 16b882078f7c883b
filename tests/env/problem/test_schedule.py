"""Schedule: the validity check must refuse every kind of corruption, and the metrics."""

import dataclasses
import json
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagsched_env.problem.errors import DAGSchedError, FormatError, InvalidScheduleError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import heft, random_order
from helpers.references import violation
from helpers.strategies import instances


def changed(schedule: Schedule, task: int, **values: float) -> Schedule:
    """The schedule with entries of one task replaced."""
    arrays = {name: getattr(schedule, name).copy() for name in ("processor", "start", "finish")}
    for name, value in values.items():
        arrays[name][task] = value
    return dataclasses.replace(schedule, **arrays)


def moved(schedule: Schedule, task: int, shift: float) -> Schedule:
    """The schedule with one task shifted in time."""
    return changed(
        schedule, task, start=schedule.start[task] + shift, finish=schedule.finish[task] + shift
    )


def test_published_schedule_is_valid(topcuoglu: Instance) -> None:
    schedule = heft(topcuoglu)
    schedule.validate(topcuoglu)
    assert schedule.makespan == 80
    assert schedule.slr(topcuoglu) == pytest.approx(80 / 41)
    assert schedule.speedup(topcuoglu) == pytest.approx(127 / 80)  # P0 takes 127 for everything
    assert schedule.efficiency(topcuoglu) == pytest.approx(127 / 240)


def test_efficiency_with_resources_is_the_share_in_use() -> None:
    """First: 2 · 2 + 4 · 1 of 4 · 3; second: 2 · 3 + 4 · 5 of 4 · 40; the third has no limit."""
    instance = Instance(
        [[2.0, 2.0], [4.0, 4.0]],
        [],
        [],
        demands=[[2, 3, 9], [1, 5, 9]],
        capacities=[[1, 30, math.inf], [2, 10, 9]],
    )
    schedule = Schedule([1, 0], [0, 0], [2, 4])
    schedule.validate(instance)
    assert schedule.speedup(instance) == 1.5
    assert schedule.efficiency(instance) == pytest.approx(8 / 12)
    unlimited = Instance([[2.0]], [], [], demands=[[5]], capacities=[[math.inf]])
    assert Schedule([0], [0], [2]).efficiency(unlimited) == 0
    nothing = Instance([[0.0]], [], [], demands=[[5]], capacities=[[6]])
    assert Schedule([0], [0], [0]).efficiency(nothing) == 1


@pytest.mark.parametrize(
    ("task", "values", "message"),
    [
        (4, {"processor": 3}, r"task 4 is on processor 3, not in 0\.\.2"),
        (4, {"processor": -1}, r"task 4 is on processor -1"),
        (2, {"start": math.nan}, "task 2 runs from nan"),
        (2, {"finish": math.inf}, "task 2 runs from 9.0 to inf"),
        (9, {"finish": 79.0}, "task 9 takes 6.0 on processor 1, its cost there is 7.0"),
        (9, {"processor": 0}, "task 9 takes 7.0 on processor 0, its cost there is 21.0"),
        (0, {"start": -9.0, "finish": 0.0}, "task 0 runs from -9.0 to 0.0"),
        (2, {"start": 8.0, "finish": 27.0}, "tasks 0 and 2 overlap on processor 2"),
        (7, {"start": 56.0, "finish": 61.0}, r"task 7 starts at 56.0, before the data of task 5"),
        (9, {"start": 72.0, "finish": 79.0}, r"before the data of task 7 arrives at 73.0"),
    ],
)
def test_corruption_is_named(
    topcuoglu: Instance, task: int, values: dict[str, float], message: str
) -> None:
    with pytest.raises(InvalidScheduleError, match=message):
        changed(heft(topcuoglu), task, **values).validate(topcuoglu)


@pytest.mark.parametrize(
    ("processor", "start", "finish", "message"),
    [
        ([0, 2], [0, 4], [1, 5], r"task 1 ('view') is on processor 2, not in 0..1"),
        ([0, 0], [0, 4], [1, math.inf], "task 1 ('view') runs from 4.0 to inf"),
        ([0, 1], [0, 4], [1, 5], "task 1 ('view') may not run on processor 1 ('gpu')"),
        ([1, 0], [0, 9], [2, 10], "task 0 ('add') takes 2.0 on processor 1 ('gpu'), its cost"),
        ([0, 0], [0, 0.5], [1, 1.5], "tasks 0 ('add') and 1 ('view') overlap on processor 0: 0 f"),
        (
            [1, 0],
            [0, 2],
            [1, 3],
            "task 1 ('view') starts at 2.0, before the data of task 0 ('add') arrives at 4.0 (edge",
        ),
    ],
)
def test_violations_carry_names(processor: list, start: list, finish: list, message: str) -> None:
    names = {"task_names": ["add", "view"], "processor_names": ["P0", "gpu"]}
    instance = Instance([[1, 1], [1, math.inf]], [(0, 1)], [3], **names)
    with pytest.raises(InvalidScheduleError, match="^" + re.escape(message)):
        Schedule(processor, start, finish).validate(instance)


def test_wrong_number_of_tasks(topcuoglu: Instance) -> None:
    with pytest.raises(InvalidScheduleError, match="1 tasks, but the instance has 10"):
        Schedule([0], [0.0], [1.0]).validate(topcuoglu)


def test_ineligible_processor(gap_instance: Instance) -> None:
    schedule = Schedule([0, 1, 0], [0, 12, 2], [2, 17, 5])
    with pytest.raises(InvalidScheduleError, match="task 2 may not run on processor 0"):
        schedule.validate(gap_instance)


def test_a_task_hidden_inside_a_longer_one_overlaps() -> None:
    instance = Instance([[10.0], [1.0], [1.0]], [], [])
    with pytest.raises(InvalidScheduleError, match="tasks 1 and 0 overlap"):
        Schedule([0, 0, 0], [0, 2, 10], [10, 3, 11]).validate(instance)


def test_tasks_without_duration_may_touch() -> None:
    instance = Instance([[0.0], [4.0], [0.0]], [], [])
    Schedule([0, 0, 0], [0, 0, 4], [0, 4, 4]).validate(instance)
    Schedule([0, 0, 0], [1e-10, 0, 4 - 1e-10], [1e-10, 4, 4 - 1e-10]).validate(instance)
    with pytest.raises(InvalidScheduleError, match="overlap"):
        Schedule([0, 0, 0], [2, 0, 4], [2, 4, 4]).validate(instance)


def test_communication_takes_latency_and_bandwidth() -> None:
    links = {"latency": [[0, 3], [0, 0]], "inv_bandwidth": [[0, 2], [1, 0]]}
    instance = Instance([[1, 1], [1, 1]], [(0, 1)], [5], **links)
    Schedule([0, 1], [0, 14], [1, 15]).validate(instance)  # 1 + 3 + 2·5
    Schedule([1, 0], [0, 6], [1, 7]).validate(instance)  # 1 + 0 + 1·5
    Schedule([1, 1], [0, 1], [1, 2]).validate(instance)
    for bad in (Schedule([0, 1], [0, 13], [1, 14]), Schedule([1, 0], [0, 5], [1, 6])):
        with pytest.raises(InvalidScheduleError, match="edge 0"):
            bad.validate(instance)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_tolerance_is_relative(topcuoglu: Instance, unit: float) -> None:
    scaled = Instance(topcuoglu.comp * unit, topcuoglu.edges, topcuoglu.data * unit)
    schedule = heft(scaled)
    moved(schedule, 9, -1e-10 * 80 * unit).validate(scaled)
    with pytest.raises(InvalidScheduleError, match="before the data"):
        moved(schedule, 9, -1e-8 * 80 * unit).validate(scaled)


@given(instances(), st.integers(0, 2**32 - 1))
def test_it_agrees_with_brute_force_on_disturbed_schedules(instance: Instance, seed: int) -> None:
    rng = np.random.default_rng(seed)
    schedule = random_order(instance, seed=rng)
    assert violation(instance, schedule) <= 1e-10 * schedule.makespan
    schedule.validate(instance)
    task = int(rng.integers(instance.n_tasks))
    shift = rng.choice([-0.5, -0.1, 0.1, 0.5]) * schedule.makespan
    q = int(rng.integers(instance.n_processors))
    for disturbed in (
        moved(schedule, task, shift),
        changed(schedule, task, finish=schedule.finish[task] + shift),
        changed(schedule, task, processor=q),
    ):
        excess = violation(instance, disturbed)
        if excess > 1e-8 * disturbed.makespan:
            with pytest.raises(InvalidScheduleError):
                disturbed.validate(instance)
        elif excess <= 1e-10 * disturbed.makespan:
            disturbed.validate(instance)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (([0, 1], [0.0], [1.0]), "one entry per task"),
        (([[0]], [[0.0]], [[1.0]]), "one entry per task"),
        ((["x"], [0.0], [1.0]), "processor is not a list of numbers"),
        (([0.9], [0.0], [1.0]), "processor has a number that is not whole"),
        (([np.nan], [0.0], [1.0]), "processor has a number that is not whole"),
        (([0], [None, []], [1.0]), "start is not a list of numbers"),
    ],
)
def test_malformed_arrays(arrays: tuple, message: str) -> None:
    with pytest.raises(InvalidScheduleError, match=message):
        Schedule(*arrays)


def test_it_is_frozen(topcuoglu: Instance) -> None:
    schedule = heft(topcuoglu)
    with pytest.raises(ValueError, match="read-only"):
        schedule.start[0] = 1.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        schedule.algorithm = "mine"


def test_json_round_trip(topcuoglu: Instance) -> None:
    schedule = heft(topcuoglu)
    again = Schedule.from_json(schedule.to_json())
    assert again == schedule
    assert again.algorithm == "heft"
    assert json.loads(schedule.to_json())["makespan"] == 80
    assert again != moved(schedule, 9, 1.0)


def test_the_json_of_a_schedule_has_the_names_of_its_problem(topcuoglu: Instance) -> None:
    text = heft(topcuoglu).to_json(topcuoglu)
    record = json.loads(text)
    assert record["tasks"] == list(topcuoglu.task_names)
    assert record["processors"] == list(topcuoglu.processor_names)
    assert Schedule.from_json(text) == heft(topcuoglu)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("3", "no schedule"),
        ('{"format": "dagsched-schedule", "version": 0}', "version 0 is not 1"),
        ('{"format": "dagsched-schedule", "version": 1}', "key 'processor' is missing"),
    ],
)
def test_bad_json(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        Schedule.from_json(text)


def test_bad_numbers_in_json() -> None:
    text = json.dumps(
        {
            "format": "dagsched-schedule",
            "version": 1,
            "processor": [0],
            "start": ["soon"],
            "finish": [1],
        }
    )
    with pytest.raises(FormatError, match=r"start\[0\] is text, not a number"):
        Schedule.from_json(text)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("version", True, "version True is not 1"),
        ("makespan", "80", "key 'makespan' is text, not a number"),
        ("algorithm", 3, "algorithm is int, not text"),
        ("processor", {}, "key 'processor' is missing or no list"),
        ("processor", [0.5], r"processor\[0\] is a number, not a whole number"),
        ("processor", ["0"], r"processor\[0\] is text, not a whole number"),
        ("processor", [True], r"processor\[0\] is true or false, not a whole number"),
        ("processor", [2**64], "processor is not a list of numbers"),
        ("start", [None], r"start\[0\] is null, not a number"),
        ("start", [[0]], r"start\[0\] is a list, not a number"),
        ("finish", [{}], r"finish\[0\] is an object, not a number"),
        ("finish", [10**400], "finish is not a list of numbers"),
    ],
)
def test_values_of_a_wrong_type_in_json(key: str, value: object, message: str) -> None:
    record = json.loads(Schedule([0], [0.0], [1.0], algorithm="mine").to_json())
    with pytest.raises(DAGSchedError, match=message):
        Schedule.from_json(json.dumps(record | {key: value}))


def test_metrics_of_degenerate_problems() -> None:
    free = Instance([[0.0, 0.0]], [], [])
    schedule = Schedule([0], [0.0], [0.0])
    assert (schedule.slr(free), schedule.speedup(free), schedule.efficiency(free)) == (0, 1, 0.5)
    split = Instance([[2.0, math.inf], [math.inf, 3.0]], [], [])
    assert Schedule([0, 1], [0, 0], [2, 3]).speedup(split) == pytest.approx(5 / 3)
