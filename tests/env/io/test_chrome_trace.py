"""Traces of schedules whose tasks overlap: rows, counters, arrows."""

import itertools
import json
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dagsched_env.io import chrome_trace
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms.altered import altered
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import heft
from helpers.strategies import instances


def events_of(instance: Instance, schedule: Schedule) -> list[dict[str, Any]]:
    return json.loads(chrome_trace.dump(instance, schedule))["traceEvents"]


def test_overlapping_tasks_have_rows_and_resources_counters() -> None:
    """0 and 1 overlap on A; 2 follows 0 in its row; 3 is on B and waits for data of 1."""
    instance = Instance(
        np.ones((4, 2)) * [[2.0], [3.0], [1.0], [1.0]],
        [(1, 3)],
        [1.0],
        processor_names=["A", "B"],
        name="night",
        demands=[[1, 0.1], [2, 0.2], [1, 4], [3, 0]],
        capacities=[[4, np.inf], [4, np.inf]],
        resource_names=["cores", "task"],
    )
    schedule = Schedule([0, 0, 0, 1], [0, 0, 2, 4], [2, 3, 3, 5], algorithm="mine")
    schedule.validate(instance)
    events = events_of(instance, schedule)
    processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    rows = {e["args"]["name"]: e["tid"] for e in events if e["name"] == "thread_name"}
    assert processes == {1: "A", 2: "B"}
    assert list(rows) == ["A #1", "A #2", "B #1"]
    slices = {e["name"]: e for e in events if e["ph"] == "X"}
    assert slices["0"]["tid"] == slices["2"]["tid"] != slices["1"]["tid"]
    assert (slices["3"]["pid"], slices["3"]["tid"]) == (2, rows["B #1"])
    assert slices["2"]["args"] == {"task": 2, "start": 2.0, "demands": {"cores": 1, "task": 4}}
    counted = [
        (e["name"], e["ts"] / 1e6, e["args"]["used"])
        for e in events
        if e["ph"] == "C" and e["pid"] == 1
    ]
    assert counted == [
        ("cores", 0, 3), ("cores", 2, 3), ("cores", 3, 0),
        ("task", 0, 0.3), ("task", 2, 4.2), ("task", 3, 0),
    ]  # fmt: skip
    arrow = {e["ph"]: (e["pid"], e["tid"], e["ts"]) for e in events if e["ph"] in "sf"}
    assert arrow == {"s": (1, slices["1"]["tid"], 3e6), "f": (2, rows["B #1"], 4e6)}
    other = json.loads(chrome_trace.dump(instance, schedule))["otherData"]
    assert other.pop("machines")["processors"][0]["name"] == "A"
    assert other == {
        "algorithm": "mine",
        "makespan": 5.0,
        "instance": "night",
        "edges": [[1, 3, 1.0]],
    }


@given(instances(), st.data())
def test_no_row_has_slices_that_overlap(instance: Instance, data: st.DataObject) -> None:
    n, p = instance.n_tasks, instance.n_processors
    demands = data.draw(hnp.arrays(np.int64, (n, 1), elements=st.integers(0, 2)))
    instance = altered(instance, demands=demands, capacities=np.full((p, 1), 4))
    schedule = heft(instance)
    slack = 1e-6 + 1e-8 * 1e6 * schedule.makespan
    slices = [e for e in events_of(instance, schedule) if e["ph"] == "X" and e["dur"] > slack]
    slices.sort(key=lambda e: (e["tid"], e["ts"]))
    for before, after in itertools.pairwise(slices):
        if before["tid"] == after["tid"]:
            assert before["pid"] == after["pid"]
            assert after["ts"] >= before["ts"] + before["dur"] - slack
