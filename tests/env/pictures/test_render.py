"""Gantt charts: what is drawn, the files, the errors."""

import dataclasses
import json
import os
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from dagsched_env.online import Fifo, Outage, World, simulate
from dagsched_env.pictures import (
    gantt_figure,
    gantt_page,
    gantt_svg,
    rgb_array,
    save,
    save_gantt,
)
from dagsched_env.pictures.comparison import LEAST_SPAN, comparison_figure
from dagsched_env.problem.critical import critical_chain
from dagsched_env.problem.errors import DAGSchedError, MissingExtraError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import cpop, heft, olb

MAGIC = {".png": b"\x89PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}


def bars(schedule: Schedule, instance: Instance | None = None) -> list[tuple[float, ...]]:
    """(row, left, right) of every bar drawn."""
    (axes,) = gantt_figure(schedule, instance).axes
    (container,) = axes.containers
    return [
        (bar.get_y() + bar.get_height() / 2, bar.get_x(), bar.get_x() + bar.get_width())
        for bar in container
    ]


def texts(schedule: Schedule, instance: Instance | None = None) -> set[str]:
    (axes,) = gantt_figure(schedule, instance).axes
    titles = {axes.get_title(loc="left"), axes.get_title(loc="right")}
    ticks = {label.get_text() for label in axes.get_yticklabels()}
    return {text.get_text() for text in axes.texts} | titles | ticks


def test_bars_are_where_the_tasks_are(topcuoglu: Instance) -> None:
    schedule = heft(topcuoglu)
    expected = zip(schedule.processor, schedule.start, schedule.finish, strict=True)
    assert np.array(bars(schedule, topcuoglu)) == pytest.approx(np.array(list(expected)))


def test_text(topcuoglu: Instance) -> None:
    schedule = heft(topcuoglu)
    shown = texts(schedule, topcuoglu)
    assert {"Topcuoglu2002 · heft", "makespan 80 · SLR 1.951", "P0", "P1", "P2"} <= shown
    assert {str(task) for task in range(10)} <= shown
    anonymous = texts(dataclasses.replace(schedule, algorithm=None))
    assert {"", "makespan 80", "P2", "9"} <= anonymous


def test_labels_only_where_they_fit() -> None:
    """The label, else its ends, else the number at its end, else nothing."""
    names = ["align_ID0000000001", "x" * 200, "merge_ID0000000002"]
    instance = Instance([[10.0], [5.0], [1000.0]], [], [], task_names=names)
    shown = texts(Schedule([0, 0, 0], [0, 10, 15], [10, 15, 1015]), instance)
    assert {text for text in shown if text.startswith(("align", "xx", "merge"))} == {"merge_2"}
    half = Schedule([0, 0, 0], [0, 10, 15], [10, 15, 25])
    names = ["a" + "_b" * 99 + "_17", "b" * 99, "GEMM(2,1,0)"]
    short = Instance([[10.0], [5.0], [10.0]], [], [], task_names=names)
    shown = texts(half, short)
    assert "GEMM(2,1,0)" in shown
    (elided,) = [text for text in shown if text.startswith("a_b")]
    assert "…" in elided
    assert elided.endswith("_b_17")
    narrow = Instance([[1.0], [100.0], [1.0]], [], [], task_names=names)
    shown = texts(Schedule([0, 0, 0], [0, 1.5, 102], [1.5, 101.5, 103]), narrow)
    assert not {"17", "2,1,0", "GEMM(2,1,0)"} & shown


def test_kinds_have_colours_and_a_legend() -> None:
    names = [f"_prepare_{i}" for i in range(3)] + [f"$merge_{i}" for i in range(3)]
    instance = Instance(np.ones((6, 2)), [], [], task_names=names)
    schedule = heft(instance)
    figure = gantt_figure(schedule, instance)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["prepare", "merge"]
    bars = figure.axes[0].containers[0].patches
    colours = [bar.get_facecolor() for bar in bars]
    swatches = [patch.get_facecolor() for patch in legend.get_patches()]
    assert colours == [swatches[0]] * 3 + [swatches[1]] * 3
    assert figure.axes[0].get_xlabel().endswith("kind of task")
    numbered = Instance(np.ones((6, 2)), [], [])
    assert gantt_figure(schedule, numbered).legends == []


def test_several_schedules_have_one_scale_of_time_and_one_legend() -> None:
    names = ["a_1", "a_2", "b_1", "b_2"]
    comp = [[1.0, 9.0], [1.0, 9.0], [2.0, 9.0], [2.0, 9.0]]
    instance = Instance(comp, [], [], task_names=names, name="two kinds")
    best, worst = heft(instance), olb(instance)
    assert best.makespan < worst.makespan
    figure = gantt_figure([best, worst], instance)
    top, bottom = figure.axes
    assert top.get_xlim() == bottom.get_xlim()
    assert top.get_xlim()[1] >= worst.makespan
    left, right = (axes.get_window_extent().x0 for axes in figure.axes)
    assert left == right
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "two kinds · heft",
        "two kinds · olb",
    ]
    ends = [
        max(bar.get_x() + bar.get_width() for bar in axes.containers[0]) for axes in figure.axes
    ]
    assert ends == [best.makespan, worst.makespan]
    colours = [[bar.get_facecolor() for bar in axes.containers[0]] for axes in figure.axes]
    assert colours[0] == colours[1]
    assert len(figure.legends) == 1
    assert not top.get_xlabel()
    assert bottom.get_xlabel().endswith("kind of task")


def test_several_schedules_need_their_instance(topcuoglu: Instance, tmp_path: Path) -> None:
    schedules = [heft(topcuoglu), cpop(topcuoglu)]
    with pytest.raises(DAGSchedError, match="several schedules in one chart need their instance"):
        gantt_figure(schedules)
    with pytest.raises(DAGSchedError, match="no schedule to draw"):
        save([], tmp_path / "g.png", topcuoglu)
    with pytest.raises(DAGSchedError, match="no schedule to draw"):
        save([], tmp_path / "g.html", topcuoglu)
    with pytest.raises(DAGSchedError, match="draw it with its own instance"):
        gantt_figure([*schedules, Schedule([0], [0.0], [1.0])], topcuoglu)
    assert not os.listdir(tmp_path)


def test_partial_schedule(topcuoglu: Instance) -> None:
    whole = heft(topcuoglu)
    processor = whole.processor.copy()
    processor[[9, 8]] = -1  # their times are left in place and must not count
    partial = Schedule(processor, whole.start, whole.finish)
    assert len(bars(partial, topcuoglu)) == 8
    assert "8 of 10 tasks placed · makespan so far 62" in texts(partial, topcuoglu)
    empty = Schedule(np.full(10, -1), np.zeros(10), np.zeros(10))
    assert rgb_array(empty, topcuoglu).shape == rgb_array(whole, topcuoglu).shape


def test_every_processor_has_its_row(topcuoglu: Instance) -> None:
    on_first = Schedule(np.zeros(10), np.arange(10.0), np.arange(1.0, 11.0))
    assert {"P0", "P1", "P2"} <= texts(on_first, topcuoglu)
    assert "P1" not in texts(on_first)


def test_degenerate_schedules() -> None:
    free = Instance([[0.0, 0.0]], [], [])
    assert "makespan 0 · SLR 0.000" in texts(Schedule([1], [0.0], [0.0]), free)
    many = Schedule(np.arange(300), np.zeros(300), np.ones(300))
    assert len(bars(many)) == 300


def test_pixels(topcuoglu: Instance) -> None:
    pixels = rgb_array(heft(topcuoglu), topcuoglu)
    height, width, channels = pixels.shape
    assert (pixels.dtype, channels) == (np.uint8, 3)
    assert height % 2 == width % 2 == 0
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 50


@pytest.mark.parametrize("suffix", sorted(MAGIC))
def test_files(topcuoglu: Instance, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"gantt{suffix}"
    assert save_gantt(heft(topcuoglu), path, topcuoglu) == path
    assert path.read_bytes().startswith(MAGIC[suffix])
    assert os.listdir(tmp_path) == [path.name]
    if suffix == ".svg":
        assert ElementTree.parse(path).getroot().tag.endswith("svg")


def test_schedule_plots_itself(topcuoglu: Instance, tmp_path: Path) -> None:
    path = heft(topcuoglu).plot(str(tmp_path / "gantt.PNG"), topcuoglu)
    assert path.read_bytes().startswith(MAGIC[".png"])


def test_a_failed_write_leaves_the_old_file(
    topcuoglu: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "gantt.png"
    path.write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="disk full"):
        save_gantt(heft(topcuoglu), path, topcuoglu)
    assert os.listdir(tmp_path) == ["gantt.png"]
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize("name", ["gantt.bmp", "gantt"])
def test_unknown_suffix(topcuoglu: Instance, tmp_path: Path, name: str) -> None:
    with pytest.raises(DAGSchedError, match=r"not one of \.png, \.svg, \.pdf"):
        save_gantt(heft(topcuoglu), tmp_path / name, topcuoglu)
    assert not os.listdir(tmp_path)


def test_foreign_instance(topcuoglu: Instance) -> None:
    with pytest.raises(DAGSchedError, match="the schedule has 1 tasks on 1 processors"):
        gantt_figure(Schedule([0], [0.0], [1.0]), topcuoglu)
    with pytest.raises(DAGSchedError, match="on 4 processors"):
        gantt_figure(Schedule([3] * 10, [0.0] * 10, [1.0] * 10), topcuoglu)


def test_without_matplotlib(
    topcuoglu: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = heft(topcuoglu)
    for name in [module for module in sys.modules if module.startswith("matplotlib.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (rgb_array, gantt_figure, lambda s, i: save_gantt(s, tmp_path / "a.png", i)):
        with pytest.raises(MissingExtraError, match=r"pip install 'aerl-ds\[plot\]'"):
            draw(schedule, topcuoglu)


def embedded(page: str) -> dict:
    """The data inside an HTML page."""
    text = page.split('<script type="application/json" id="data">')[1].split("</script>")[0]
    return json.loads(text)


def test_page_holds_the_schedule(topcuoglu: Instance) -> None:
    schedule = heft(topcuoglu)
    data = embedded(gantt_page(schedule, topcuoglu))
    (shown,) = data["schedules"]
    assert shown["start"] == schedule.start.tolist()
    assert shown["finish"] == schedule.finish.tolist()
    assert shown["processor"] == schedule.processor.tolist()
    assert data["edges"] == topcuoglu.edges.tolist()
    assert data["tasks"] == list(topcuoglu.task_names)
    depth = np.array([0, 1, 1, 1, 1, 1, 2, 2, 2, 3])
    assert data["colour"] == np.rint(depth / 3 * (len(data["palette"]) - 1)).tolist()
    assert data["legend"] == []
    assert shown["figures"] == "makespan 80 · SLR 1.951"
    assert [link[0] for link in shown["chain"]] == [
        link.task for link in critical_chain(schedule, topcuoglu)
    ]


def test_page_holds_several_schedules_on_one_scale(topcuoglu: Instance) -> None:
    schedules = [heft(topcuoglu), olb(topcuoglu)]
    data = embedded(gantt_page(schedules, topcuoglu))
    assert [shown["finish"] for shown in data["schedules"]] == [
        s.finish.tolist() for s in schedules
    ]
    assert data["horizon"] == max(schedule.makespan for schedule in schedules) > 80


def test_page_needs_nothing_else_and_survives_any_name() -> None:
    name = '</script><script>alert("&")</script><!--'
    instance = Instance([[1.0]], [], [], task_names=[name], name="@DATA@")
    page = gantt_page(heft(instance), instance)
    assert page.count("</script>") == 2
    assert "http" not in page
    assert embedded(page)["tasks"] == [name]
    assert embedded(page)["schedules"][0]["title"] == "@DATA@ · heft"


def test_save_chooses_by_suffix(topcuoglu: Instance, tmp_path: Path) -> None:
    schedule = heft(topcuoglu)
    assert save(schedule, tmp_path / "g.html", topcuoglu).read_text().startswith("<!DOCTYPE html>")
    assert save(schedule, tmp_path / "g.svg", topcuoglu).read_bytes().startswith(MAGIC[".svg"])
    with pytest.raises(DAGSchedError, match="needs the instance"):
        save(schedule, tmp_path / "h.html")
    with pytest.raises(DAGSchedError, match="1 tasks"):
        save(Schedule([0], [0.0], [1.0]), tmp_path / "h.html", topcuoglu)
    assert not (tmp_path / "h.html").exists()


def test_runs_of_which_outputs_were_lost_can_be_shown(tmp_path: Path) -> None:
    """They are no schedules: a task may have begun from an output that was made twice."""
    world = World(
        Instance([[2.0, np.inf], [np.inf, 2.0], [5.0, np.inf]], [(0, 1)], [1.0]),
        outages=[Outage(0, 4.0, 5.0)],
        forgets=True,
    )
    run = simulate(world, Fifo())
    page = save(run.schedule, tmp_path / "g.html", world.instance).read_text()
    assert len(embedded(page)["schedules"]) == 1


def test_comparison_figure() -> None:
    figure = comparison_figure({"a": [1.1, 1.3], "b": [0.9, np.inf]}, "heft", "two")
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["b", "a"]
    means = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "D"]
    assert means == pytest.approx([0.9, 1.2])
    hostile = {"$x_{": [1.0], "_a\ud800\n": [1.2], "m" * 10**6: [1.3]}
    figure = comparison_figure(hostile, "$", "$\\frac{" + "t" * 10**6)
    figure.draw_without_rendering()
    assert figure.axes[0].get_yticklabels()[0].get_text() == "$x_{"
    with pytest.raises(DAGSchedError, match="no finite ratios"):
        comparison_figure({"a": [np.inf]}, "heft")


def test_ratios_that_hardly_differ_are_written_in_full_and_drawn_close() -> None:
    figure = comparison_figure({"a": [1.0, 1.00001], "b": [0.99999, 1.0]}, "heft")
    axes = figure.axes[0]
    least, most = axes.get_xlim()
    assert most - least == pytest.approx(LEAST_SPAN)
    figure.canvas.draw()
    assert axes.xaxis.get_offset_text().get_text() == ""


# -- the element of a page -----------------------------------------------------------------------


def test_svg_shows_every_task_where_it_is(topcuoglu: Instance) -> None:
    """One scale of time for all: the given horizon is at the right end of the lanes."""
    schedule = heft(topcuoglu)
    for horizon in (None, 160.0):
        svg = ElementTree.fromstring(gantt_svg(schedule, topcuoglu, horizon))
        boxes = svg.findall("rect")
        lanes = [box for box in boxes if box.find("title") is None]
        tasks = [box for box in boxes if box.find("title") is not None]
        left, width = (float(lanes[0].attrib[key]) for key in ("x", "width"))
        scale = width / (horizon or schedule.makespan)
        ends = [float(box.attrib["x"]) + float(box.attrib["width"]) for box in tasks]
        assert [float(box.attrib["x"]) for box in tasks] == pytest.approx(
            list(left + scale * schedule.start), abs=0.01
        )
        assert ends == pytest.approx(list(left + scale * schedule.finish), abs=0.01)
        rows = [float(lane.attrib["y"]) for lane in lanes]
        assert [rows.index(float(box.attrib["y"])) for box in tasks] == list(schedule.processor)
        assert {"P0", "P1", "P2", "0", "80"} <= {text.text for text in svg.findall("text")}


def test_svg_escapes_names_and_shortens_those_of_processors() -> None:
    instance = Instance(
        [[1.0, 1.0]], [], [], task_names=["a<b>&"], processor_names=["<" * 30, "plain"]
    )
    svg = ElementTree.fromstring(gantt_svg(heft(instance), instance))
    assert [title.text for title in svg.iter("title")] == ["a<b>&: 0 to 1"]
    labels = [text.text or "" for text in svg.findall("text")]
    assert "plain" in labels
    assert any(re.fullmatch("<+…<+", label) for label in labels)


def test_svg_of_many_processors_and_of_no_time() -> None:
    wide = Instance(np.ones((3, 200)), [], [])
    svg = ElementTree.fromstring(gantt_svg(heft(wide), wide))
    assert float(svg.attrib["viewBox"].split()[3]) < 400
    nothing = Instance([[0.0], [0.0]], [(0, 1)], [0.0])
    svg = ElementTree.fromstring(gantt_svg(heft(nothing), nothing))
    assert len(list(svg.iter("title"))) == 2
    with pytest.raises(DAGSchedError, match="draw it with its own instance"):
        gantt_svg(heft(nothing), wide)
