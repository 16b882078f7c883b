"""Lanes of tasks that overlap, and the use of resources over time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dagsched_env.problem.instance import Instance
from dagsched_env.problem.lanes import Pieces, pack, place_in_lanes, resource_use
from dagsched_env.problem.platforms.altered import altered
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import heft
from helpers.strategies import instances


@st.composite
def intervals(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Starts, finishes and widths that may or may not fit in the lanes."""
    n = draw(st.integers(1, 24))
    start = draw(hnp.arrays(np.float64, n, elements=st.integers(0, 12).map(float)))
    duration = draw(hnp.arrays(np.float64, n, elements=st.integers(0, 6).map(float)))
    width = draw(hnp.arrays(np.int64, n, elements=st.integers(1, 5)))
    return start, start + duration, width, draw(st.integers(1, 12))


def cells(start: np.ndarray, finish: np.ndarray, pieces: Pieces) -> list[tuple[int, int]]:
    """(lane, time) of everything that is occupied, at whole times."""
    return [
        (lane, time)
        for t, first, count in zip(*map(np.ndarray.tolist, pieces), strict=True)
        for lane in range(first, first + count)
        for time in range(int(start[t]), int(finish[t]))
    ]


@given(intervals())
def test_no_two_tasks_share_a_lane_at_the_same_time(
    drawn: tuple[np.ndarray, np.ndarray, np.ndarray, int],
) -> None:
    start, finish, width, lanes = drawn
    pieces = pack(start, finish, width, lanes)
    occupied = cells(start, finish, pieces)
    assert len(occupied) == len(set(occupied))
    taken = np.bincount(pieces.task, pieces.width, minlength=len(start))
    assert np.array_equal(taken, np.where(finish > start, width, 1))
    assert (pieces.first >= 0).all()
    load = [width[(start <= time) & (time < finish)].sum() for time in range(20)]
    if max(load) <= lanes:
        assert (pieces.first + pieces.width <= lanes).all()
    if (width == 1).all():
        assert len(pieces.task) == len(start)
        assert len({lane for lane, _ in occupied}) == max(load)


def test_tasks_stay_whole_where_they_can() -> None:
    """The third fills the gap of the first; for the fifth two gaps are needed."""
    start, finish = np.array([0.0, 0, 2, 0, 3]), np.array([2.0, 9, 9, 3, 4])
    pieces = pack(start, finish, np.array([2, 1, 2, 1, 1]), 4)
    assert dict(zip(pieces.task.tolist(), pieces.first.tolist(), strict=True))[2] == 0
    width = np.array([2, 2, 2, 2, 4])
    pieces = pack(np.array([0.0, 0, 0, 0, 1]), np.array([1.0, 2, 1, 2, 2]), width, 8)
    assert (pieces.task == 4).sum() == 1  # those that end together stood together


def test_tasks_beyond_the_lanes_stay_apart() -> None:
    pieces = pack(np.zeros(3), np.ones(3), np.array([3, 2, 2]), 4)
    assert sorted(zip(pieces.first.tolist(), pieces.width.tolist(), strict=True)) == [
        (0, 3),
        (4, 2),
        (6, 2),
    ]


def test_no_tasks() -> None:
    assert [column.size for column in pack(np.zeros(0), np.zeros(0), np.zeros(0, int), 3)] == [
        0
    ] * 3


def with_cores(capacity: float, *demands: float) -> Instance:
    return Instance(
        np.ones((len(demands), 2)),
        [],
        [],
        demands=np.array([demands]).T,
        capacities=[[capacity]] * 2,
        resource_names=["cores"],
    )


def test_lanes_are_units_of_the_first_resource() -> None:
    """Half a core is a lane; a task without demand has a lane of its own below."""
    instance = with_cores(2, 0.5, 1.5, 1, 0)
    schedule = Schedule([0, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1])
    lanes = place_in_lanes(schedule, instance)
    assert lanes is not None
    assert (lanes.height.tolist(), lanes.inside.tolist()) == ([5, 4], [4, 4])
    assert lanes.unit == "cores"
    placed = zip(*map(np.ndarray.tolist, lanes.pieces), strict=True)
    assert sorted(placed) == [(0, 3, 1), (1, 0, 3), (2, 0, 2), (3, 4, 1)]


@pytest.mark.parametrize("capacity", [np.inf, 1e6])
def test_otherwise_each_task_has_a_lane(capacity: float) -> None:
    instance = with_cores(capacity, 3, 999_999, 1, 5000)
    schedule = Schedule([0, 0, 1, 0], [0, 0, 0, 1], [1, 1, 1, 2])
    lanes = place_in_lanes(schedule, instance)
    assert lanes is not None
    assert (lanes.height.tolist(), lanes.unit) == ([2, 1], None)
    assert (lanes.pieces.width == 1).all()
    by_demand = place_in_lanes(schedule, with_cores(8, 1, 2, 3, 4), by_demand=False)
    assert by_demand is not None
    assert by_demand.height.tolist() == [2, 1]


def test_without_resources_there_are_no_lanes(topcuoglu: Instance) -> None:
    assert place_in_lanes(heft(topcuoglu), topcuoglu) is None
    assert place_in_lanes(heft(topcuoglu)) is None
    lanes = place_in_lanes(Schedule([0, 0, -1], [0, 1, 0], [2, 3, 9]))
    assert lanes is not None
    assert lanes.height.tolist() == [2]
    assert sorted(lanes.pieces.task.tolist()) == [0, 1]


@given(instances(), st.data())
def test_lanes_of_any_schedule(instance: Instance, data: st.DataObject) -> None:
    n, p = instance.n_tasks, instance.n_processors
    demands = data.draw(hnp.arrays(np.int64, (n, 2), elements=st.integers(0, 3)))
    capacities = data.draw(hnp.arrays(np.int64, (p, 2), elements=st.integers(3, 8)))
    instance = altered(instance, demands=demands, capacities=capacities)
    schedule = heft(instance)
    lanes = place_in_lanes(schedule, instance)
    assert lanes is not None
    assert set(lanes.pieces.task.tolist()) == set(range(n))
    ends = lanes.pieces.first + lanes.pieces.width
    assert (ends <= lanes.height[schedule.processor[lanes.pieces.task]]).all()
    if (demands[:, 0] > 0).all():
        assert (lanes.height <= np.maximum(capacities[:, 0], 1)).all()
    slack = 1e-9 * schedule.makespan
    for q, use in enumerate(resource_use(schedule, instance)):
        assert use.time[0] == 0
        assert (np.diff(use.time) > 0).all()
        assert (use.amount <= capacities[q]).all()
        assert (use.amount >= 0).all()
        assert (use.amount[-1] == 0).all()
        work = np.diff(use.time) @ use.amount[:-1]
        here = schedule.processor == q
        expected = (schedule.finish - schedule.start)[here] @ demands[here]
        assert work == pytest.approx(expected, abs=1e3 * slack)


def test_use_by_hand_in_decimal_numbers() -> None:
    instance = with_cores(1, 0.1, 0.2, 0.3)
    schedule = Schedule([0, 0, 0], [0, 0.5, 0.5], [1, 1.5, 1.5])
    first, second = resource_use(schedule, instance)
    assert first.time.tolist() == [0, 0.5, 1, 1.5]
    assert first.amount[:, 0].tolist() == [0.1, 0.6, 0.5, 0]
    assert (second.time.tolist(), second.amount.tolist()) == ([0], [[0]])
