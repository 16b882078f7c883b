"""The page of a comparison: what is on it, read as a browser would; whatever the names are."""

import dataclasses
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from dagsched_env.comparison import page as module
from dagsched_env.comparison.compare import Comparison, compare, summarise
from dagsched_env.comparison.page import comparison_page
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import cpop, fastest_node, heft
from dagsched_env.suites import load

EVIL = "</script><script>alert('&amp;')</script>\ud800\n<!--"
VOID = {"meta"}
SCHEDULERS = {"heft": heft, "cpop": cpop, EVIL: fastest_node}


class Page(HTMLParser):
    """Tables, embedded data and buttons of a page; fails where tags do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.tables: list[list[list[str]]] = []
        self.values: list[list[list[str | None]]] = []
        self.best: list[list[str]] = []
        self.buttons: list[tuple[int, int]] = []
        self.data: dict[str, dict] = {}
        self.facts: list[str] = []
        self._script: str | None = None
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        assert not {"src", "href"} & attributes.keys()
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
            self.best.append([])
        if tag == "tr":
            self.tables[-1].append([])
        if tag in ("td", "th"):
            self.tables[-1][-1].append("")
            if attributes.get("class") == "best":
                self.best[-1].append(f"{len(self.tables[-1]) - 1},{len(self.tables[-1][-1]) - 1}")
        if "data-instance" in attributes:
            place = (attributes["data-instance"], attributes["data-scheduler"])
            self.buttons.append((int(place[0] or ""), int(place[1] or "")))
        if tag == "script" and attributes.get("type") == "application/json":
            self._script = attributes["id"]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert "svg" in self.open
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self._script = None

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self.data[self._script] = json.loads(data)
        elif {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data
        elif self.open[-1:] == ["dd"]:
            self.facts.append(data)


@pytest.fixture(scope="module")
def instances() -> list[Instance]:
    hostile = Instance(
        [[2.0, 3.0], [4.0, 1.0]],
        [(0, 1)],
        [1.0],
        name=EVIL,
        task_names=[EVIL, ""],
        processor_names=["", EVIL],
    )
    return [*load("paper")[:3], hostile]


@pytest.fixture(scope="module")
def comparison(instances: list[Instance]) -> Comparison:
    return compare(instances, SCHEDULERS)


def test_charts_are_those_that_were_measured(
    instances: list[Instance], comparison: Comparison
) -> None:
    page = Page(comparison_page(comparison, instances))
    assert set(page.data) == {f"instance-{i}" for i in range(4)}
    assert page.buttons == [(i, j) for i in range(4) for j in range(3)]
    for i, instance in enumerate(instances):
        data = page.data[f"instance-{i}"]
        assert data["tasks"] == list(instance.task_names)
        assert data["processors"] == list(instance.processor_names)
        assert data["edges"] == instance.edges.tolist()
        for j, name in enumerate(SCHEDULERS):
            shown = data["schedules"][str(j)]
            drawn = Schedule(shown["processor"], shown["start"], shown["finish"])
            assert drawn == comparison.schedules[name][i]
            assert shown["makespan"] == comparison.makespans[name][i]
            assert shown["scheduler"][:12] == name[:12]


def test_tables_have_the_figures(instances: list[Instance], comparison: Comparison) -> None:
    page = Page(comparison_page(comparison, instances))
    summary, ratios = page.tables
    rows = {row.name: row for row in summarise(comparison.makespans, instances)}
    columns = zip(*comparison.makespans.values(), strict=True)
    best = [min(column) for column in columns]
    assert summary[0][:4] == ["scheduler", "vs best", "vs heft", "mean SLR"]
    means = [float(line[1]) for line in summary[1:]]
    assert means == sorted(means)
    for name, row in rows.items():
        (line,) = [line for line in summary[1:] if line[0][:4] == name[:4]]
        ratio = np.mean(np.array(comparison.makespans[name]) / best)
        assert line[1:4] == [f"{ratio:.4f}", f"{row.ratio_to_reference:.4f}", f"{row.mean_slr:.3f}"]
        assert line[4:7] == [str(row.wins), str(row.ties), str(row.losses)]
    assert [line[:3] for line in ratios[1:4]] == [
        [instance.name, str(instance.n_tasks), str(instance.n_processors)]
        for instance in instances[:3]
    ]
    for i, line in enumerate(ratios[1:]):
        expected = [makespans[i] / best[i] for makespans in comparison.makespans.values()]
        assert line[4:] == [f"{ratio:.4f}" for ratio in expected]
        marked = [f"{i + 1},{4 + j}" for j, ratio in enumerate(expected) if ratio == 1.0]
        assert [cell for cell in page.best[1] if cell.startswith(f"{i + 1},")] == marked


def test_page_needs_nothing_else_and_shows_any_name(
    instances: list[Instance], comparison: Comparison
) -> None:
    text = comparison_page(comparison, instances, title=EVIL, facts={"problems": EVIL})
    text.encode()  # no lone surrogate is left
    page = Page(text)
    assert page.tags.count("script") == 1 + len(instances)
    for fetching in ("http:", "https:", "url(", "@import", "alert('"):
        assert fetching not in re.sub(r"<script type=.*?</script>", "", text)
    assert page.facts[0].startswith("</script><script>alert('&amp;')")
    assert page.tags.count("dialog") == page.tags.count("canvas") == 1
    assert all("button" in page.tags for _ in page.tables)


def test_best_known_makespans_have_no_charts(
    instances: list[Instance], comparison: Comparison
) -> None:
    known = [0.5 * makespan for makespan in comparison.makespans["heft"]]
    more = dataclasses.replace(comparison, makespans={"best known": known, **comparison.makespans})
    page = Page(comparison_page(more, instances, "best known"))
    assert {j for _, j in page.buttons} == {1, 2, 3}
    assert page.tables[0][1][:3] == ["best known", "1.0000", "1.0000"]
    assert page.data["instance-0"]["schedules"].keys() == {"1", "2", "3"}
    assert page.tables[1][1][4:6] == ["1.0000", "2.0000"]


def test_large_comparisons_keep_the_charts_that_fit(
    instances: list[Instance], comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = [instance.n_edges + 3 * instance.n_tasks for instance in instances]
    monkeypatch.setattr(module, "MAX_CHART_SIZE", sizes[0] + sizes[3])
    text = comparison_page(comparison, instances)
    page = Page(text)
    assert set(page.data) == {"instance-0", "instance-3"}
    assert {i for i, _ in page.buttons} == {0, 3}
    assert f"charts of 2 of 4 instances: at most {sizes[0] + sizes[3]} tasks" in text
    monkeypatch.setattr(module, "MAX_CHART_SIZE", 3)
    page = Page(comparison_page(comparison, instances))
    assert page.data == {}
    assert "dialog" not in page.tags
    without = dataclasses.replace(comparison, schedules={}, seconds={})
    assert "The page holds no charts." in comparison_page(without, instances)


def test_instances_without_time_and_without_names() -> None:
    """Infinite ratios are numbers for the script; charts of makespan 0 can be drawn."""
    free = [Instance([[0.0, 1.0]], [], [])] * 2
    slow = lambda instance: Schedule([1], [0.0], [1.0])  # noqa: E731
    text = comparison_page(compare(free, {"heft": heft, "slow": slow}), free)
    page = Page(text)
    assert [line[0] for line in page.tables[1][1:]] == ["instance 0", "instance 1"]
    assert page.tables[1][1][4:] == ["1.0000", "inf"]
    assert 'data-value="Infinity"' in text


def test_reference_must_be_there(instances: list[Instance], comparison: Comparison) -> None:
    with pytest.raises(DAGSchedError, match="no makespans of the reference 'peft'"):
        comparison_page(comparison, instances, "peft")
