"""Names of tasks and processors are any text: what charts make of them."""

import dataclasses
import json
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

pytest.importorskip("matplotlib")

from dagsched_env.comparison.compare import compare
from dagsched_env.comparison.page import comparison_page
from dagsched_env.pictures import gantt_legend, gantt_page, gantt_svg, rgb_array, save
from dagsched_env.pictures.colours import OF_KINDS, OF_OTHERS, colour_tasks, contrast, text_colour
from dagsched_env.pictures.comparison import save_comparison
from dagsched_env.pictures.labels import (
    MAX_LENGTH,
    elide,
    printable,
    short_labels,
    trailing_number,
)
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.kinds import MAX_KINDS
from dagsched_env.schedulers import heft
from helpers.strategies import HOSTILE

NAMES = st.lists(
    st.sampled_from(HOSTILE) | st.text(max_size=60), min_size=1, max_size=8, unique=True
)


def problem(tasks: list[str], processors: list[str], name: str = "") -> Instance:
    costs = np.ones((len(tasks), len(processors)))
    return Instance(costs, [], [], task_names=tasks, processor_names=processors, name=name)


def embedded(page: str) -> dict:
    text = page.split('<script type="application/json" id="data">')[1].split("</script>")[0]
    return json.loads(text)


# -- any name ------------------------------------------------------------------------------------


# Without shrinking, which would draw hundreds of charts.
@pytest.mark.slow
@settings(max_examples=8, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(tasks=NAMES, processors=NAMES, name=st.sampled_from(HOSTILE) | st.text(max_size=90))
def test_any_name_can_be_drawn(
    tmp_path_factory: pytest.TempPathFactory, tasks: list[str], processors: list[str], name: str
) -> None:
    instance = problem(tasks, processors, name)
    schedule = heft(instance)
    folder = tmp_path_factory.mktemp("charts")
    for suffix in ("png", "svg", "pdf"):
        assert save(schedule, folder / f"chart.{suffix}", instance).stat().st_size > 1000
    ElementTree.parse(folder / "chart.svg")
    schedulers = {label: [1.0, 2.0] for label in tasks}
    save_comparison(schedulers, tasks[0], folder / "comparison.svg", name)
    ElementTree.parse(folder / "comparison.svg")
    page = save(schedule, folder / "chart.html", instance).read_text(encoding="utf-8")
    assert embedded(page)["tasks"] == tasks
    assert embedded(page)["processors"] == processors
    assert page.count("</script>") == 2
    ElementTree.fromstring(gantt_svg(schedule, instance))
    ElementTree.fromstring(gantt_legend(instance))


class Elements(HTMLParser):
    """Tags of a page, and attributes that could run something."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}


def pages(tasks: list[str], processors: list[str], name: str) -> list[str]:
    """A Gantt chart and a comparison with these names wherever one can be given."""
    instance = problem(tasks, processors, name)
    schedule = dataclasses.replace(heft(instance), algorithm=name)
    comparison = compare([instance], {name: lambda _: schedule, f"{name}'": heft})
    facts = {"command": name}
    return [
        gantt_page([schedule, schedule], instance),
        comparison_page(comparison, [instance], name, title=name, facts=facts),
    ]


@given(tasks=NAMES, processors=NAMES, name=st.sampled_from(HOSTILE) | st.text(max_size=90))
def test_no_name_becomes_an_element_of_a_page(
    tasks: list[str], processors: list[str], name: str
) -> None:
    """The elements of a page are those that it has with harmless names."""
    numbers = [list(map(str, range(len(names)))) for names in (tasks, processors)]
    harmless = pages(*numbers, "harmless")
    for page, other in zip(pages(tasks, processors, name), harmless, strict=True):
        assert Elements(page).tags == Elements(other).tags
        assert Elements(page).attributes == Elements(other).attributes


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_of_kinds_too(name: str) -> None:
    tasks = [f"{name}kind_{i}" for i in range(3)] + [f"other_{i}" for i in range(3)]
    instance = problem(tasks, [name + "P"], name)
    assert colour_tasks(instance).legend
    rgb_array(heft(instance), instance)
    ElementTree.fromstring(gantt_legend(instance))


@pytest.mark.parametrize("letter", ["0", "a", "_", "(", "a_", "\n", "$"])
def test_giant_names_are_clipped_before_anything_else(tmp_path: Path, letter: str) -> None:
    """Work that grows with the square of the length would never end."""
    tasks = [letter * 1_000_000 + end for end in ("1", "2", "x")]
    instance = problem(tasks, [letter * 1_000_000, "P"], letter * 1_000_000)
    schedule = heft(instance)
    assert rgb_array(schedule, instance).shape[1] == 1000
    for suffix in ("svg", "pdf"):
        assert 1000 < save(schedule, tmp_path / f"a.{suffix}", instance).stat().st_size < 100_000
    page = embedded(gantt_page(schedule, instance))
    assert page["tasks"] == [elide(task, MAX_LENGTH) for task in tasks]
    assert max(map(len, page["taskLabels"])) <= 40
    assert len(set(page["taskLabels"])) == 3
    schedule = dataclasses.replace(schedule, algorithm=letter * 1_000_000)
    assert len(gantt_page(schedule, instance)) < 100_000
    assert len(gantt_svg(schedule, instance)) < 100_000
    giant = letter * 1_000_000
    comparison = compare([instance], {giant: heft, "heft": heft})
    assert len(comparison_page(comparison, [instance], giant, title=giant)) < 100_000


# -- labels --------------------------------------------------------------------------------------


@given(NAMES)
def test_labels_are_short_and_printable(names: list[str]) -> None:
    labels = short_labels(names, 16)
    assert len(labels) == len(names)
    assert all(len(label) <= 16 and label.isprintable() for label in labels)


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["mAdd_ID0000056", "mAdd_ID0000007"], ["mAdd_56", "mAdd_7"]),
        (["GEMM(2,1,0)", "POTRF(0)"], ["GEMM(2,1,0)", "POTRF(0)"]),
        (["J0.0", "J0.1"], ["J0.0", "J0.1"]),
        (["x_1.005", "x_0.5"], ["x_1.005", "x_0.5"]),
        (["a_01", "a_1"], ["a_01", "a_1"]),  # without the zero they would be equal
        (["pileup_pileup_ID0000032", "map_map_lane_ID01"], ["pileup_32", "map_lane_1"]),
        (
            ["NFCORE_SAREK.SAREK.FASTQC_12", "NFCORE_SAREK.SAREK.MULTIQC_35"],
            ["FASTQC_12", "MULTIQC_35"],
        ),
        (["stage_a_of_the_long_workflow", "stage_b_of_the_long_workflow"], ["a", "b"]),
        (["short", "short_1"], ["short", "short_1"]),
        # Numbers stay whole at both ends.
        (["a_long_workflow_p=0.1_x", "a_long_workflow_p=0.15_x"], ["0.1", "0.15"]),
        (["a_long_workflow-10.json", "a_long_workflow-100.json"], ["10", "100"]),
        (["a long workflow, 1,005 tasks", "a long workflow, 1,050 tasks"], ["1,005", "1,050"]),
        (["1.5-of-a-long-workflow", "2.5-of-a-long-workflow"], ["1.5", "2.5"]),
        (["a-long-workflow_1e-5", "a-long-workflow_1e-05"], ["1e-5", "1e-05"]),
        (["x" * 30], ["xxxxxxxxx…xxxxxxxxxx"]),
        (["GEMM(2,2,1)", "1.1", "1+1"], ["GEMM(2,2,1)", "1.1", "1+1"]),  # indices stay
        (["a" * 12 + c + "a" * 12 for c in "xyz"], [f"aaaaaaaa…{'a' * 8} #{i}" for i in range(3)]),
        (["a\nb\x00"], ["a b\N{REPLACEMENT CHARACTER}"]),
    ],
)
def test_labels_keep_what_distinguishes(names: list[str], labels: list[str]) -> None:
    assert list(short_labels(names, 20)) == labels


def test_ends_and_numbers_of_labels() -> None:
    assert elide("abcdefghij", 10) == "abcdefghij"
    assert elide("abcdefghij", 5) == "ab…ij"
    assert elide("abcdefghij", 1) == "…"
    assert [trailing_number(x) for x in ("mAdd_56", "GEMM(2,1,0)", "J3.1", "sink", "")] == [
        "56",
        "2,1,0",
        "3.1",
        "",
        "",
    ]
    assert printable("\ud800\t") == "\N{REPLACEMENT CHARACTER} "


# -- colours -------------------------------------------------------------------------------------


def test_text_on_every_colour_can_be_read(topcuoglu: Instance) -> None:
    for colour in (*OF_KINDS, OF_OTHERS, *colour_tasks(topcuoglu).palette):
        assert contrast(colour, text_colour(colour)) >= 4.5
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("extra", [0, 1, 2, 5])
def test_rare_kinds_share_a_colour(extra: int) -> None:
    """One kind more than colours has the colour of the others by itself."""
    kinds = [chr(ord("a") + k) for k in range(MAX_KINDS + extra)]
    names = [f"{kind}_{i}" for k, kind in enumerate(kinds) for i in range(40 - k)]
    colouring = colour_tasks(problem(names, ["P"]))
    expected = [*kinds[:MAX_KINDS], f"{extra} other kinds"] if extra > 1 else kinds
    assert list(colouring.legend) == expected
    assert len(colouring.palette) == len(set(colouring.palette)) == len(expected)
    of_kind = {name[0]: int(index) for name, index in zip(names, colouring.position, strict=True)}
    assert of_kind == {kind: min(k, MAX_KINDS) for k, kind in enumerate(kinds)}
