"""What a notebook shows of a problem, a schedule and a solution."""

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagsched_env.pictures.notebook import MAX_TASKS
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.simulator import State
from dagsched_env.schedulers import heft
from dagsched_env.solver import Finding, SolveResult
from helpers.strategies import HOSTILE

KNOWN = {
    "div",
    "table",
    "caption",
    "tbody",
    "tr",
    "th",
    "td",
    "svg",
    "rect",
    "title",
    "path",
    "text",
}


def parsed(html: str) -> ElementTree.Element:
    """The elements, which are well-formed and none but those of the package."""
    root = ElementTree.fromstring(f"<div>{html}</div>")
    assert {element.tag for element in root.iter()} <= KNOWN
    return root


def table(html: str) -> dict[str, str]:
    return {row.findtext("th", ""): row.findtext("td", "") for row in parsed(html).iter("tr")}


def caption(html: str) -> str:
    return parsed(html).findtext(".//caption", "")


def test_an_instance_shows_its_sizes_ccr_and_kinds() -> None:
    """CCR by hand: three edges of mean 2 take 2 · 3; the mean time is 3."""
    tasks = ["map_1", "map_2", "re<b>duce_3", "re<b>duce_4"]
    instance = Instance(
        [[2.0, 4.0]] * 4,
        [(0, 2), (1, 2), (0, 3)],
        [1.0, 2.0, 3.0],
        inv_bandwidth=np.full((2, 2), 3.0),
        task_names=tasks,
        name="<b>night</b>",
    )
    html = instance._repr_html_()
    assert caption(html) == "Instance <b>night</b>"
    assert table(html) == {
        "tasks": "4",
        "edges": "3",
        "processors": "2",
        "CCR": "2",
        "kinds of tasks": "map (2), re<b>duce (2)",
    }
    plain = Instance([[1.0]], [], [])
    assert caption(plain._repr_html_()) == "Instance"
    assert "kinds of tasks" not in table(plain._repr_html_())


def test_a_schedule_shows_its_makespan_and_a_chart(topcuoglu: Instance) -> None:
    schedule = replace(heft(topcuoglu), algorithm="<b>mine</b>")
    html = schedule._repr_html_()
    assert caption(html) == "Schedule by <b>mine</b>"
    assert table(html) == {"makespan": "80", "tasks": "10", "processors used": "3"}
    titles = [title.text or "" for title in parsed(html).iter("title")]
    assert titles == [f"{t}: {schedule.start[t]:g} to {schedule.finish[t]:g}" for t in range(10)]


def test_a_partial_an_empty_and_a_huge_schedule(topcuoglu: Instance) -> None:
    state = State(topcuoglu)
    state.apply(0, 2)
    html = Schedule(state.arrays.processor, state.arrays.start, state.arrays.finish)._repr_html_()
    assert table(html)["tasks"] == "1 of 10 placed"
    assert len(list(parsed(html).iter("title"))) == 1
    assert table(Schedule([], [], [])._repr_html_())["makespan"] == "0"
    n = MAX_TASKS + 1
    huge = Schedule(np.zeros(n), np.arange(n), np.arange(n) + 1.0)
    assert table(huge._repr_html_()) == {
        "makespan": str(n),
        "tasks": str(n),
        "processors used": "1",
    }
    assert "<svg" not in huge._repr_html_()


@pytest.mark.parametrize(("bound", "proof"), [(80.0, "optimal"), (60.0, "none")])
def test_a_solution_shows_its_bound_gap_proof_and_finder(
    topcuoglu: Instance, bound: float, proof: str
) -> None:
    schedule = heft(topcuoglu)
    result = SolveResult(schedule, bound, (Finding(0.1, 80.0, "<b>x</b>"),), 1.5, "budget")
    entries = table(result._repr_html_())
    assert (entries["lower bound"], entries["found by"]) == (f"{bound:g}", "<b>x</b>")
    assert entries["gap"] == f"{1 - bound / 80:.1%}"
    assert entries["proof"].startswith(proof)
    assert entries["ended"] == "budget, after 1.5 s"
    assert result._repr_html_().endswith(schedule._repr_html_())


@given(name=st.sampled_from(HOSTILE) | st.text(max_size=60))
def test_any_name_is_shown_as_text(name: str) -> None:
    instance = Instance([[1.0]], [], [], task_names=[name], processor_names=[name], name=name)
    parsed(instance._repr_html_())
    parsed(replace(heft(instance), algorithm=name)._repr_html_())


def test_problems_and_schedules_draw_themselves_without_importing_what_draws() -> None:
    """A fresh process: nobody else has loaded it."""
    code = """
import sys
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.instance import Instance
assert "dagsched_env.pictures" not in sys.modules
instance, schedule = Instance([[1.0]], [], []), Schedule([0], [0.0], [1.0])
print(instance._repr_html_()[:6], schedule._repr_html_()[:6])
"""
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert output.stdout == "<table <table\n"
