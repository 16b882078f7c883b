"""What bounds a measured run: chains, bounds, plans on other machines, text, JSON and the page."""

import dataclasses
import itertools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagsched_env import explain, io
from dagsched_env.cli import main
from dagsched_env.explain.chains import longest_chains, measured_chain
from dagsched_env.explain.whatif import alternatives, replayed
from dagsched_env.problem.bounds import lower_bounds
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms import Platform
from dagsched_env.problem.run import Run
from dagsched_env.problem.workflow import Workflow
from dagsched_env.schedulers import CONSTRUCTIVE
from helpers.strategies import instances, sharing_instances

FORK = [(0, i) for i in range(1, 7)] + [(i, 7) for i in range(1, 7)]
SEEDS = st.integers(0, 2**32 - 1)


def late_chain() -> Run:
    """Three cores; the long chain a → b → c was started late, and the tool is slow by 0.5 s."""
    names = ("x", "y", "a", "b", "c")
    start = np.array([0.0, 0.0, 4.5, 7.0, 9.5])
    seconds = np.array([4.0, 3.0, 2.0, 2.0, 2.0])
    workflow = Workflow(
        names,
        seconds,
        ((2, 3), (3, 4)),
        np.array([1e6, 1e6]),
        name="late",
        kinds=("x", "x", "a", "b", "c"),
        demands=np.array([[2.0], [1.0], [1.0], [1.0], [1.0]]),
        resource_names=("cores",),
    )
    where = np.zeros(5, dtype=np.int64)
    node = Platform([1.0], 1e8, processor_names=["node"], capacities={"cores": [3]})
    return Run("make", workflow, start, start + seconds, where, node)


def test_the_chain_of_a_run_is_followed_through_machine_and_data():
    run = late_chain()
    steps = measured_chain(run, run.instance())
    assert [(step.task, step.waits_for) for step in steps] == [
        (1, "nothing"),
        (2, "machine"),
        (3, "data"),
        (4, "data"),
    ]
    assert [step.gap for step in steps] == [0.0, 1.5, 0.5, 0.5]


def test_a_task_with_room_did_not_wait_for_the_machine():
    """c ends just before b starts, but there was room for b beside it, as for a beside x."""
    start, finish = np.array([0.0, 1.0, 10.0, 10.05]), np.array([9.0, 10.0, 10.02, 20.0])
    workflow = Workflow(
        ("x", "a", "c", "b"),
        finish - start,
        ((1, 3),),
        np.zeros(1),
        demands=np.ones((4, 1)),
        resource_names=("cores",),
    )
    node = Platform([1.0], 1e8, capacities={"cores": [64]})
    run = Run("make", workflow, start, finish, np.zeros(4, dtype=np.int64), node)
    steps = measured_chain(run, run.instance())
    assert [(step.task, step.waits_for) for step in steps] == [(1, "nothing"), (3, "data")]
    assert steps[1].gap == pytest.approx(0.05)


@given(instances(), st.integers(1, 4), SEEDS)
def test_longest_chains_are_those_of_all_paths(instance, most, seed):
    seconds = np.random.default_rng(seed).integers(0, 9, instance.n_tasks).astype(float)
    after = {t: [v for u, v in instance.edges.tolist() if u == t] for t in range(instance.n_tasks)}

    def paths(t):
        yield from ([t, *rest] for v in after[t] for rest in paths(v))
        if not after[t]:
            yield [t]

    begins = set(range(instance.n_tasks)) - {v for _, v in instance.edges.tolist()}
    every = list(itertools.islice((p for t in begins for p in paths(t)), 5000))
    if len(every) == 5000:
        return
    longest = max(seconds[p].sum() for p in every)
    seen: set[int] = set()
    for chain in longest_chains(instance, seconds, most):
        assert list(chain.tasks) in every
        new = [p for p in every if not seen.issuperset(p)]
        assert chain.seconds == seconds[list(chain.tasks)].sum()
        assert chain.seconds == max(seconds[p].sum() for p in new)
        assert chain.slack == longest - chain.seconds
        seen.update(chain.tasks)


@given(st.one_of(instances(), sharing_instances()), st.sampled_from(sorted(CONSTRUCTIVE)))
def test_a_plan_stays_valid_on_each_alternative(instance, name):
    plan = CONSTRUCTIVE[name](instance)
    for _, other in alternatives(instance, halved=0):
        again = replayed(plan, instance, other)
        again.validate(other)
        assert other.n_tasks == instance.n_tasks


def test_the_explanation_of_a_run():
    found = explain.explain(late_chain(), budget_s=0.5)
    assert found.run.makespan == 11.5
    assert found.overhead == 2.5
    assert found.plan.makespan == 7.0  # the chain and x at once, then y
    assert found.lower_bound == 7.0
    assert found.idle == pytest.approx([1 - (8 + 3 + 6) / (3 * 11.5)])
    cases = {case.title: case for case in found.what_if}
    assert cases["twice the cores"].makespan == 6.0
    assert cases["x in half its time"].makespan == 6.0
    more = next(case for title, case in cases.items() if title.startswith("one more machine"))
    assert more.makespan == 6.0
    assert all(case.lower_bound <= case.makespan * (1 + 1e-9) for case in found.what_if)
    assert found.bounded_by == "a search that proved it"  # the chain takes 6
    chain = dataclasses.replace(found, lower_bound=6.0)
    assert chain.bounded_by == "the longest chain of tasks"


def three_on(cores: int, seconds: float = 5.0, **more) -> Run:
    """Three tasks on one node, one after the other; ``more`` is of the workflow."""
    durations = np.full(3, seconds)
    workflow = Workflow(
        ("a", "b", "c"),
        durations,
        **{"edges": (), "data": np.zeros(0)} | more,
        demands=np.ones((3, 1)),
        resource_names=("cores",),
    )
    node = Platform([1.0], 1.0, processor_names=["node"], capacities={"cores": [cores]})
    start = np.arange(3) * seconds
    return Run("make", workflow, start, start + durations, np.zeros(3, dtype=np.int64), node)


def test_what_sets_the_lower_bound_does_set_it():
    crowded = explain.explain(three_on(2), budget_s=0.3)
    assert crowded.lower_bound == 10.0  # of three tasks two run on one core
    assert crowded.bounded_by == "how many tasks can run at the same time"
    by_work = explain.explain(three_on(1), budget_s=0.3)
    assert (by_work.lower_bound, by_work.bounded_by) == (15.0, "the cores of all machines together")
    proved = dataclasses.replace(by_work, lower_bound=16.0)
    assert proved.bounded_by == "a search that proved it"
    apart = Instance([[2.0, np.inf], [np.inf, 3.0]], [(0, 1)], [4.0])
    moved = dataclasses.replace(
        by_work, instance=apart, bounds=lower_bounds(apart), lower_bound=9.0
    )
    assert moved.bounded_by == "the longest chain of tasks with its transfers"
    between = Instance([[1.0, 1.0]] + [[2.0, 2.0]] * 6 + [[1.0, 1.0]], FORK, [0.0] * 12)
    middle = dataclasses.replace(
        by_work, instance=between, bounds=lower_bounds(between), lower_bound=8.0
    )
    assert middle.bounded_by == "the work of all tasks together, with what comes before and after"


def test_machines_that_are_too_small_are_refused():
    with pytest.raises(DAGSchedError, match="'x'"):
        explain.explain(late_chain(), io.MachineOptions(nodes=2, cores=1), budget_s=0.3)
    found = explain.explain(late_chain(), io.MachineOptions(nodes=2, cores=2), budget_s=0.3)
    assert found.plan.makespan == 6.0
    assert len(found.idle) == 1  # of the machine of the run


def test_a_run_that_shared_what_it_did_not_have_is_drawn(tmp_path):
    run = late_chain()
    tight = Run(
        "make",
        run.workflow,
        np.zeros(5),
        run.workflow.runtimes,
        run.machine,
        run.machines,
    )
    found = explain.explain(tight, budget_s=0.3)
    page = explain.save_page(found, tmp_path / "e.html").read_text()
    charts = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert [chart["title"] for chart in charts] == ["recorded", "planned"]
    assert charts[0]["horizon"] == charts[1]["horizon"]
    assert charts[0]["capacities"] == [[6.0]]
    assert charts[1]["capacities"] == [[3.0]]


def test_the_commands_read_explain_and_remember(tmp_path, capsys):
    source, out, database = tmp_path / "late.run.json", tmp_path / "again.run.json", tmp_path / "h"
    io.save_run(late_chain(), source)
    before = source.read_bytes()
    assert main(["import", str(source), "--out", str(out), "--history", str(database)]) == 0
    assert out.read_bytes() == before
    json_file, page = tmp_path / "e.json", tmp_path / "e.html"
    argv = ["explain", str(out), "--time-limit", "0.3"]
    assert main([*argv, "--json", str(json_file), "--html", str(page)]) == 0
    assert source.read_bytes() == out.read_bytes() == before
    text = capsys.readouterr().out
    assert "measured     11.5 s, of which 2.5 s between tasks" in text
    assert "planned      7 s, 0.609 of measured" in text
    record = json.loads(json_file.read_text())
    assert [step["task"] for step in record["waited_for"]] == ["y", "a", "b", "c"]
    assert record["longest_chains"][0] == {"seconds": 6.0, "slack": 0.0, "tasks": ["a", "b", "c"]}
    assert record["what_if"][0]["planned"] == 7.0
    assert main(["history", "--add", str(source), "--history", str(database)]) == 0
    assert "this run is there already" in capsys.readouterr().out
    table = tmp_path / "h.csv"
    assert main(["history", "--history", str(database)]) == 0
    assert "make  x" in capsys.readouterr().out
    assert main(["history", "--history", str(database), "--export", str(table)]) == 0
    assert len(table.read_text().splitlines()) == 6
    assert main(["history", "--history", str(database), "--forget", "make:"]) == 2
    assert "names no kind: write make alone" in capsys.readouterr().err
    assert main(["history", "--history", str(database), "--forget", "make:x"]) == 0
    assert main(["history", "--history", str(database), "--forget", "make:x"]) == 2
    assert "nothing is known of 'make:x'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "taken"),
    [
        (["--cores", "4"], "--nodes 1 --bandwidth 1Gbit/s"),
        (["--bandwidth", "1GB/s"], "--nodes 1 --cores 2"),
        (["--nodes", "2", "--cores", "2"], "--bandwidth 1Gbit/s"),
    ],
)
def test_other_machines_are_those_of_the_run_but_for_what_is_said(options, taken, tmp_path, capsys):
    workflow = Workflow(
        ("a", "b"),
        np.array([2.0, 3.0]),
        ((0, 1),),
        np.array([1e6]),
        says_data=True,
        says_units=True,
        demands=np.ones((2, 1)),
        resource_names=("cores",),
    )
    node = Platform([1.0], 125e6, capacities={"cores": [2]})
    run = Run("make", workflow, np.array([0.0, 2.0]), np.array([2.0, 5.0]), np.zeros(2, int), node)
    io.save_run(run, tmp_path / "x.run.json")
    assert main(["explain", str(tmp_path / "x.run.json"), "--time-limit", "0.2", *options]) == 0
    output = capsys.readouterr()
    assert output.err == f"dagsched: not given, and taken to be {taken}\n"
    assert "planned      5 s" in output.out


def test_a_problem_without_times_of_start_is_refused(capsys):
    assert main(["explain", "montage"]) == 2
    assert "no measured run" in capsys.readouterr().err
