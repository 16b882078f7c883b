"""The report of a run: well formed, self-contained, escaped, complete."""

import dataclasses
import html
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as example_settings
from hypothesis import strategies as st

from aerl_trainer import config as settings
from aerl_trainer.config import Config, SearchConfig
from aerl_trainer.run.records import EvaluationRow, Example
from aerl_trainer.run.reporting import (
    MetricsLog,
    RunDirectory,
    Section,
    learning_curve,
    write_report,
)
from dagsched_env.problem.instance import Instance
from dagsched_env.schedulers import cpop, fastest_node, heft
from helpers.strategies import HOSTILE

EVIL = "<script>alert('&amp;')</script>"
VOID = {"meta", "img"}


class Page(HTMLParser):
    """What a page holds; fails where tags do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.text: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {key for key, _ in attrs}
        self.links += [value or "" for key, value in attrs if "src" in key or "href" in key]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert "svg" in self.open, f"<{tag}/> outside of a picture"
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


@pytest.fixture
def directory(tmp_path: Path) -> RunDirectory:
    """A run that has ended, with a name that is no HTML."""
    run = RunDirectory(tmp_path / "<b>&run")
    run.make_folders()
    run.record(settings.to_dict(Config()))
    with MetricsLog(run.metrics_file) as log:
        log.write("validation", step=0, time_s=0.0, slr_vs_heft=1.0)
    learning_curve(run.metrics_file, run.learning_curve)
    return run


def section(
    name: str = EVIL,
    tasks: Sequence[str] = (EVIL, "b", "c"),
    processors: Sequence[str] = ("P0", "P1"),
    makers: Sequence[str] = ("HEFT", "policy, one pass", "trained search"),
    title: str = EVIL,
) -> Section:
    costs = [[2.0, 3.0], [4.0, 1.0], [3.0, 3.0]]
    instance = Instance(
        costs,
        [(0, 1), (0, 2)],
        [1.0, 1.0],
        name=name,
        task_names=tasks,
        processor_names=processors,
    )
    makers = dict(zip(makers, (heft, cpop, fastest_node), strict=True))
    schedules = {name: maker(instance) for name, maker in makers.items()}
    rows = [
        EvaluationRow("heft", None, 1.0, 0.0, 1.08, 0.01, 0, 40, 0, 0.0712),
        EvaluationRow("best_single", title, 0.98, 0.01, 1.06, 0.01, 30, 1, 9, 0.1),
    ]
    examples = [Example(f"{what} gain", instance, schedules) for what in ("largest", "smallest")]
    return Section(f"test {title}", rows, examples)


def test_page_is_well_formed_and_needs_nothing_else(directory: RunDirectory) -> None:
    assert write_report(directory, Config(), 120, [section(), section()]) == directory.report
    text = directory.report.read_text(encoding="utf-8")
    page = Page(text)
    assert all(link.startswith("data:image/png;base64,") for link in page.links)
    assert len(page.links) == 1
    assert {"link", "iframe", "b"}.isdisjoint(page.tags)
    assert page.tags.count("script") == 1
    assert page.tags.count("svg") == 12
    assert page.tags.count("table") == 2
    for fetching in ("http:", "https:", "url(", "@import"):
        assert fetching not in text
    assert [path.name for path in directory.path.glob(".*")] == []


def test_all_text_is_escaped(directory: RunDirectory) -> None:
    config = dataclasses.replace(Config(), search=SearchConfig(budget=41))
    write_report(directory, config, 120, [section()])
    text = directory.report.read_text(encoding="utf-8")
    assert EVIL not in text
    assert text.count(html.escape(EVIL)) == 1 + 1 + 2 + 6  # heading, row, examples, tasks
    words = " ".join(Page(text).text)
    assert words.count("<b>&run") >= 2
    assert f"test {EVIL}" in words


KINDS = ["a_1", "a_2", "b_3"]
ANY_TEXT = st.sampled_from(HOSTILE) | st.text(max_size=60)


@example_settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=ANY_TEXT,
    tasks=st.lists(ANY_TEXT, min_size=3, max_size=3, unique=True),
    processors=st.lists(ANY_TEXT, min_size=2, max_size=2, unique=True),
    makers=st.lists(ANY_TEXT, min_size=3, max_size=3, unique=True),
    other=ANY_TEXT,
)
def test_no_name_becomes_an_element_of_the_page(
    directory: RunDirectory,
    name: str,
    tasks: list[str],
    processors: list[str],
    makers: list[str],
    other: str,
) -> None:
    """Its elements are those that it has with harmless names, with kinds of tasks or without."""
    pages = []
    for sections in (
        [section(name, tasks, processors, makers, other)],
        [section("harmless", names, title="harmless") for names in (["0", "1", "2"], KINDS)],
    ):
        directory.note("command", [sections[0].title])
        write_report(directory, Config(), 120, sections)
        pages.append(Page(directory.report.read_text(encoding="utf-8")))
    page, harmless = pages
    assert set(page.tags) <= set(harmless.tags)
    assert page.attributes <= harmless.attributes
    assert page.links == harmless.links
    assert page.tags.count("script") == 1


@pytest.mark.parametrize("letter", ["0", "a_", "<", "\n"])
def test_giant_names_are_clipped(directory: RunDirectory, letter: str) -> None:
    giant = letter * 1_000_000
    shown = section(giant, [giant + end for end in "12x"], [giant, "P"])
    write_report(directory, Config(), 120, [shown])
    Page(text := directory.report.read_text(encoding="utf-8"))
    assert len(text) < 500_000


def test_page_shows_figures_and_makespans(directory: RunDirectory) -> None:
    shown = section()
    write_report(directory, Config(), 120, [shown])
    text = directory.report.read_text(encoding="utf-8")
    assert "steps 120 · started 2" in text
    row = "<td>1.0000 ±0.000</td><td>1.0800 ±0.010</td><td>0/40/0</td><td>0.0712</td>"
    assert row in text
    assert text.count('<tr class="best">') == 1
    first, *_, last = (s.makespan for s in shown.examples[0].schedules.values())
    assert f"HEFT: makespan {first:g}<" in text
    assert f"trained search: makespan {last:g}, {last / first:.4f} of HEFT<" in text


def test_settings_that_differ_come_first(directory: RunDirectory) -> None:
    write_report(directory, Config(), 0, [])
    text = directory.report.read_text(encoding="utf-8")
    assert "All settings have their defaults." in text
    assert "<table" not in text
    config = dataclasses.replace(Config(), search=SearchConfig(budget=41))
    write_report(directory, config, 0, [])
    text = directory.report.read_text(encoding="utf-8")
    before, folded = text.split("<details>")
    assert f"<td>search.budget</td><td>41</td><td>{SearchConfig().budget}</td>" in before
    assert before.count("<td>") == 3
    assert "budget = 41\n" in folded


def test_a_run_of_an_older_version_has_a_report(directory: RunDirectory) -> None:
    directory.system_file.write_text("{}", encoding="utf-8")
    write_report(directory, Config(), 7, [])
    assert "steps 7</p>" in directory.report.read_text(encoding="utf-8")
