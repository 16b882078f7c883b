"""Pictures of schedules whose tasks overlap: lanes, and the use of resources."""

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

pytest.importorskip("matplotlib")

from dagsched_env.pictures import gantt_figure, gantt_page, gantt_svg, rgb_array, save
from dagsched_env.pictures.notebook import instance_html
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms.altered import altered
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.simulator import State
from dagsched_env.schedulers import heft
from helpers.strategies import HOSTILE, instances


@pytest.fixture
def instance() -> Instance:
    """Two nodes of four cores; task 2 needs three of them, task 4 takes no time, task 5 no core."""
    return Instance(
        np.ones((6, 2)) * [[2.0], [4.0], [2.0], [4.0], [0.0], [3.0]],
        [],
        [],
        processor_names=["a", "b"],
        demands=[[1, 8], [1, 2], [3, 1], [4, 0], [1, 1], [0, 5]],
        capacities=[[4, 16], [4, np.inf]],
        resource_names=["cores", "memory"],
    )


@pytest.fixture
def schedule(instance: Instance) -> Schedule:
    schedule = Schedule([0, 0, 0, 1, 0, 1], [0, 0, 2, 0, 3, 1], [2, 4, 4, 4, 3, 4])
    schedule.validate(instance)
    return schedule


def boxes(schedule: Schedule, instance: Instance | None) -> list[tuple[float, ...]]:
    """(left, right, top, bottom) of every bar."""
    (axes,) = gantt_figure(schedule, instance).axes
    (container,) = axes.containers
    return [
        (bar.get_x(), bar.get_x() + bar.get_width(), bar.get_y(), bar.get_y() + bar.get_height())
        for bar in container
    ]


def overlapping(found: list[tuple[float, ...]]) -> int:
    """Number of pairs of rectangles that overlap by more than rounding and least sizes."""
    return sum(
        min(a[1], b[1]) - max(a[0], b[0]) > 0.02 and min(a[3], b[3]) - max(a[2], b[2]) > 1e-6
        for i, a in enumerate(found)
        for b in found[:i]
    )


def test_heights_are_demands(instance: Instance, schedule: Schedule) -> None:
    found = boxes(schedule, instance)
    heights = sorted(bottom - top for _, _, top, bottom in found)
    lane = heights[0]
    assert np.array(heights) / lane == pytest.approx([1, 1, 1, 1, 3, 4])
    assert overlapping(found[:-1]) == 0
    assert found[-1][0] == 3  # the one of no duration is drawn last, so it is seen
    (axes,) = gantt_figure(schedule, instance).axes
    ticks = [label.get_text() for label in axes.get_yticklabels()]
    assert ticks == ["a", "b", "memory ≤ 16", "memory, peak 5"]
    assert axes.get_xlabel().endswith("height: cores")
    assert "makespan 4" in axes.get_title(loc="right")


def test_a_task_without_lanes_beside_each_other_has_several_bars() -> None:
    instance = Instance(
        [[2.0], [3.0], [9.0], [4.0]], [], [], demands=[[1], [1], [1], [2]], capacities=[[3]]
    )
    schedule = Schedule([0, 0, 0, 0], [0, 0, 0, 3], [2, 3, 9, 7])
    found = boxes(schedule, instance)
    assert len(found) == 5
    assert overlapping(found) == 0
    assert len(rectangles(gantt_svg(schedule, instance))) == 5


def test_use_of_resources_is_a_curve(instance: Instance, schedule: Schedule) -> None:
    (axes,) = gantt_figure(schedule, instance).axes
    first, _ = (area.get_paths()[0].vertices for area in axes.collections)
    levels = first[:, 1].max() - first[:, 1]
    at = {time: levels[np.isclose(first[:, 0], time)].max() for time in (0.0, 2.0, 4.0)}
    assert at[0.0] / at[4.0] == pytest.approx(10 / 3)  # 8 + 2 of 16, then 2 + 1
    assert levels.max() == at[0.0]


def test_frames_of_an_episode_have_one_size(instance: Instance) -> None:
    state = State(instance)
    shapes = set()
    for task, processor in enumerate([0, 0, 0, 1, 0, 1]):
        arrays = state.arrays
        shapes.add(
            rgb_array(Schedule(arrays.processor, arrays.start, arrays.finish), instance).shape
        )
        state.apply(task, processor)
    assert len(shapes) == 1


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf", "html"])
def test_large_nodes_and_several_schedules(tmp_path: Path, suffix: str) -> None:
    rng = np.random.default_rng(1)
    demands = np.stack([rng.choice([1, 1, 2, 16], 300), rng.uniform(0, 9, 300).round(1)], axis=1)
    instance = Instance(np.ones((300, 4)), [], [], demands=demands, capacities=[[64, 256.0]] * 4)
    path = save([heft(instance), heft(instance)], tmp_path / f"a.{suffix}", instance)
    assert path.stat().st_size > 5000


def embedded(page: str) -> dict:
    return json.loads(
        page.split('<script type="application/json" id="data">')[1].split("</script>")[0]
    )


def test_page_holds_lanes_demands_and_use(instance: Instance, schedule: Schedule) -> None:
    data = embedded(gantt_page(schedule, instance))
    assert data["resources"] == ["cores", "memory"]
    assert data["demands"] == instance.demands.tolist()
    assert data["capacities"] == [[4, 16], [4, None]]
    assert data["horizon"] == 4  # as the schedule: work is no bound where tasks overlap
    (shown,) = data["schedules"]
    assert (shown["lanes"]["height"], shown["lanes"]["unit"]) == ([4, 5], "cores")
    taken = np.zeros(6, dtype=int)
    for task, _, width in shown["lanes"]["pieces"]:
        taken[task] += width
    assert taken.tolist() == [1, 1, 3, 4, 1, 1]
    assert shown["use"][0] == {"time": [0, 2, 4], "amount": [[2, 10], [4, 3], [0, 0]]}


def test_a_page_without_resources_is_as_before(topcuoglu: Instance) -> None:
    data = embedded(gantt_page(heft(topcuoglu), topcuoglu))
    assert not {"resources", "demands", "capacities"} & data.keys()
    assert not {"lanes", "use"} & data["schedules"][0].keys()


def rectangles(svg: str) -> list[tuple[float, ...]]:
    """(left, right, top, bottom) of every task of the element of a page."""
    found = []
    for box in ElementTree.fromstring(svg).findall("rect"):
        if box.find("title") is not None:
            x, y, width, height = (float(box.attrib[k]) for k in ("x", "y", "width", "height"))
            found.append((x, x + width, y, y + height))
    return found


def test_svg_shows_lanes_and_demands(instance: Instance, schedule: Schedule) -> None:
    svg = gantt_svg(schedule, instance)
    titles = [title.text for title in ElementTree.fromstring(svg).iter("title")]
    assert "0: 0 to 2, 1 cores, 8 memory" in titles
    assert "memory ≤ 16" in titles
    assert "memory, peak 5" in titles
    assert len(rectangles(svg)) == 6


def test_a_schedule_alone_shows_overlapping_tasks_apart(schedule: Schedule) -> None:
    for found in (boxes(schedule, None)[:-1], rectangles(gantt_svg(schedule))[:-1]):
        assert len(found) == 5
        assert overlapping(found) == 0
    assert "<svg" in schedule._repr_html_()


def test_a_notebook_shows_the_resources(instance: Instance) -> None:
    html = instance_html(instance)
    assert "cores (8 in all), memory (no limit)" in html
    named = altered(instance, resource_names=["<b>", "\x00"])
    ElementTree.fromstring(f"<div>{instance_html(named)}</div>")


@settings(max_examples=15, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(instances(max_tasks=8), st.data())
def test_any_schedule_with_resources_can_be_drawn(instance: Instance, data: st.DataObject) -> None:
    n, p = instance.n_tasks, instance.n_processors
    demands = data.draw(hnp.arrays(np.float64, (n, 2), elements=st.sampled_from([0, 0.5, 1, 3])))
    limits = st.sampled_from([3, 4, 1e9, np.inf])
    capacities = data.draw(hnp.arrays(np.float64, (p, 2), elements=limits))
    names = data.draw(st.lists(st.sampled_from(HOSTILE), min_size=2, max_size=2, unique=True))
    instance = altered(instance, demands=demands, capacities=capacities, resource_names=names)
    schedule = heft(instance)
    height, width, _ = rgb_array(schedule, instance).shape
    assert (width, height % 2) == (1000, 0)
    ElementTree.fromstring(gantt_svg(schedule, instance))
    ElementTree.fromstring(f"<div>{schedule._repr_html_()}{instance_html(instance)}</div>")
    assert embedded(gantt_page(schedule, instance))["demands"] == demands.tolist()
