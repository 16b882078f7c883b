"""Graphs of real commands and functions: order, places, limits, failures, and what is measured."""

import functools
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from dagsched_env import explain, io
from dagsched_env.execution import ExecutionError, ExecutionInterrupted, Job, JobGraph, execute
from dagsched_env.history import History
from dagsched_env.online import Fifo, ListOrder, Replanning
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import heft
from helpers import actions

FOUR = io.MachineOptions(nodes=1, cores=4)
SEEDS = st.integers(0, 2**32 - 1)


def test_functions_get_the_results_of_those_before_them():
    graph = JobGraph(
        [
            Job("a", actions.one),
            Job("b", functools.partial(actions.total, 5), after=["a"]),
            Job("c", actions.total, after=["b", "a"]),
        ]
    )
    instance = graph.instance(FOUR)
    done = execute(graph, instance, ListOrder(instance))
    assert done.results == {"c": 7}
    done.run.schedule().validate(done.run.instance())


def test_the_memory_of_a_command_is_its_own():
    """Linux counts that of the process which begins it, too: known is what is beyond it."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    large = [sys.executable, "-c", f"b'1' * {peak + 100_000_000}"]
    graph = JobGraph([Job("true", "true", memory=1e6), Job("large", large, after=["true"])])
    run = execute(graph, graph.instance(FOUR), Fifo()).run
    said, measured = run.workflow.recorded("memory").tolist()
    assert said == 1e6
    assert peak + 100_000_000 < measured < peak + 300_000_000


def test_commands_run_side_by_side_in_the_order_of_the_plan(tmp_path):
    log = tmp_path / "log"
    jobs = [Job(f"t{i}", f"echo t{i} >> {log}; sleep 0.2", seconds=0.2) for i in range(4)]
    jobs.append(Job("wide", ["sh", "-c", f"echo wide >> {log}"], cores=4, seconds=0.1))
    graph = JobGraph(jobs)
    instance = graph.instance(FOUR)
    plan = Schedule([0] * 5, [0.1, 0.1, 0.1, 0.1, 0.0], [0.3, 0.3, 0.3, 0.3, 0.1])
    seen = []
    run = execute(graph, instance, plan, progress=lambda *x: seen.append(x)).run
    assert log.read_text().split()[0] == "wide"
    assert seen[-1] == (5, 5)
    starts = run.start[:4]
    assert starts.max() < run.finish[:4].min()  # at the same time
    assert run.start[4] < starts.min()
    assert np.isnan(run.workflow.recorded("memory")).all()  # less than this process has
    found = explain.explain(run, budget_s=0.2)
    assert found.plan.makespan <= run.makespan


def test_what_was_measured_makes_the_next_plan(tmp_path):
    history = History(tmp_path / "h.sqlite")
    graph = JobGraph([Job("slow", "sleep 0.3", kind="s"), Job("quick", "true", kind="q")])
    assert graph.instance(FOUR).comp[:, 0].tolist() == [1.0, 1.0]
    assert "2 of 2 jobs: duration unknown" in graph.instance(FOUR).assumptions[0]
    instance = graph.instance(FOUR)
    history.add(execute(graph, instance, Fifo()).run)
    again = graph.instance(FOUR, history)
    assert 0.3 <= again.comp[0, 0] < 1.0
    assert again.comp[1, 0] < 0.3
    assert not [text for text in again.assumptions if "unknown" in text]


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ("exit 3", "job 'bad': exit code 3"),
        (["no-such-program-here"], "cannot be started: .*no-such-program-here"),
        (actions.fails, "ValueError: no such column"),
        (actions.dies, "its process has ended with code 7"),
        (actions.made_of_lambda, "its result cannot be sent"),
    ],
)
def test_a_failure_names_the_job_and_keeps_what_was_done(action, message):
    graph = JobGraph(
        [
            Job("good", actions.one),
            Job("bad", action, after=["good"]),
            Job("next", "true", after=["bad"]),
        ]
    )
    instance = graph.instance(FOUR)
    with pytest.raises(ExecutionError, match=message) as caught:
        execute(graph, instance, heft(instance))
    assert caught.value.execution.run.ran.tolist() == [True, False, False]


def test_results_of_functions_have_a_size_those_of_commands_have_none():
    graph = JobGraph(
        [
            Job("a", functools.partial(bytes, 100_000)),
            Job("b", actions.sizes, after=["a"]),
            Job("c", "true"),
            Job("d", actions.sizes, after=["b", "c"], data={"b": 3}),
        ]
    )
    run = execute(graph, graph.instance(FOUR), Fifo()).run
    amounts = dict(zip(run.workflow.edges, run.workflow.data.tolist(), strict=True))
    assert 100_000 <= amounts[0, 1] < 100_200
    assert (amounts[1, 3], amounts[2, 3]) == (3, 0)


def test_functions_that_cannot_be_sent_are_named():
    graph = JobGraph([Job("a", lambda: 0)])
    instance = graph.instance(FOUR)
    with pytest.raises(ExecutionError, match=r"job 'a': cannot be started.*top level"):
        execute(graph, instance, Fifo())


def test_a_job_is_begun_again(tmp_path):
    action = functools.partial(actions.fails_at_first, str(tmp_path / "f"))
    graph = JobGraph([Job("a", action)])
    instance = graph.instance(FOUR)
    done = execute(graph, instance, Fifo(), retries=1)
    assert done.results == {"a": "tried"}
    assert done.run.remarks == ("1 jobs were begun more than once",)


@pytest.mark.parametrize("kind", ["list", "replanning"])
def test_with_delays_and_a_killed_process_each_task_is_done_once(kind, tmp_path):
    """Some take ten times as long as expected, and the process of one is killed as it works."""
    rng, log, jobs = np.random.default_rng(0), tmp_path / "log", []
    for t in range(24):
        seconds = 0.02 if t % 5 else 0.2
        command = f"sleep {seconds}; echo t{t} >> {log}"
        if t == 7:
            command = (
                f"[ -e {tmp_path}/killed ] || {{ touch {tmp_path}/killed; kill -9 $$; }}; {command}"
            )
        after = [f"t{u}" for u in range(max(0, t - 6), t) if rng.random() < 0.3]
        jobs.append(Job(f"t{t}", command, after, seconds=0.02))
    graph = JobGraph(jobs)
    instance = graph.instance(FOUR)
    by = ListOrder(instance) if kind == "list" else Replanning(lambda left, _: heft(left), "always")
    run = execute(graph, instance, by, retries=1).run
    lines = log.read_text().split()
    assert sorted(lines) == sorted(job.name for job in jobs)
    assert all(lines.index(u) < lines.index(job.name) for job in jobs for u in job.after)
    assert run.ran.all()
    assert run.remarks == ("1 jobs were begun more than once",)


@pytest.mark.parametrize("action", ["sleep 60", functools.partial(actions.sleeps, 60.0)])
def test_what_takes_too_long_is_ended(action):
    graph = JobGraph([Job("a", action, timeout_s=0.3), Job("b", "true")])
    instance = graph.instance(FOUR)
    began = time.monotonic()
    with pytest.raises(ExecutionError, match=r"job 'a': it took longer than 0.3 s"):
        execute(graph, instance, Fifo())
    assert time.monotonic() - began < 10


def test_a_worker_that_has_died_as_it_waited_is_replaced(tmp_path):
    file = tmp_path / "pid"
    graph = JobGraph(
        [
            Job("a", functools.partial(actions.writes_its_pid, str(file))),
            Job("kill", f"kill -9 $(cat {file}); sleep 0.2", after=["a"]),
            Job("b", actions.sizes, after=["kill"]),
        ]
    )
    instance = graph.instance(FOUR)
    assert execute(graph, instance, Fifo()).results == {"b": ()}


def test_what_cannot_be_begun_or_read_is_named():
    for action, message in [
        (actions.unreadable, "its result cannot be read: TypeError"),
        ("echo \0", "cannot be started: embedded null byte"),
    ]:
        graph = JobGraph([Job("a", action)])
        instance = graph.instance(FOUR)
        with pytest.raises(ExecutionError, match=f"job 'a': {message}"):
            execute(graph, instance, Fifo())


def test_what_a_command_took_does_not_depend_on_the_dispatcher():
    class Slow(Fifo):
        def starts(self, situation):
            yield from super().starts(situation)
            time.sleep(1.0)

    graph = JobGraph([Job("a", "sleep 0.1"), Job("b", "sleep 0.1")])
    instance = graph.instance(FOUR)
    run = execute(graph, instance, Slow()).run
    assert (run.finish - run.start < 0.9).all()


def test_ctrl_c_keeps_what_was_measured():
    graph = JobGraph(
        [Job("a", actions.one), Job("b", "sleep 60", after=["a"]), Job("c", actions.one)]
    )
    instance = graph.instance(FOUR)

    def interrupt(done: int, _: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(ExecutionInterrupted) as caught:
        execute(graph, instance, Fifo(), progress=interrupt)
    assert caught.value.execution.results == {"c": 1}
    assert caught.value.execution.run.ran.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("trap", "signals"),
    [
        ("", [signal.SIGINT]),
        ("", [signal.SIGTERM]),
        ("", [signal.SIGHUP]),
        ("trap '' TERM;", [signal.SIGINT, signal.SIGINT]),
    ],
)
def test_no_process_is_left_behind(trap, signals, tmp_path):
    script = f"""
import signal
from dagsched_env import io
from dagsched_env.execution import Job, JobGraph, execute
from dagsched_env.online import Fifo
jobs = [
    Job(str(k), "{trap} sleep 77.25 & echo $! > {tmp_path}/" + str(k) + "; wait; sleep 77.25")
    for k in range(3)
]
graph = JobGraph(jobs)
instance = graph.instance(io.MachineOptions(nodes=1, cores=4))
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # it is ignored below nohup
print("ready", flush=True)
execute(graph, instance, Fifo())
"""
    program = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    assert program.stdout.readline() == "ready\n"
    files = [tmp_path / str(k) for k in range(3)]
    wait_until(lambda: all(file.exists() and file.read_text().strip() for file in files))
    for number in signals:
        os.kill(program.pid, number)
        time.sleep(0.5)
    program.communicate(timeout=20)
    expected = 1 if signals[0] == signal.SIGINT else 128 + signals[0]
    assert program.returncode in (expected, -signals[0])
    wait_until(lambda: not any(alive(int(file.read_text())) for file in files))


def wait_until(happened) -> None:
    for _ in range(200):
        if happened():
            return
        time.sleep(0.1)
    raise AssertionError("it has not happened in 20 s")


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("jobs", "message"),
    [
        ([], "there is no job"),
        ([Job("a", "true"), Job("a", "true")], "two jobs are called 'a'"),
        ([Job("a", "true", after=["b"])], "'a' is after 'b', which is no job"),
        ([Job("a", "true", after=["b"]), Job("b", "true", after=["a"])], "→"),
        ([Job("b", "true"), Job("a", "true", data={"b": 5})], "'a' has data of 'b'"),
    ],
)
def test_graphs_that_cannot_be_run_are_refused(jobs, message):
    with pytest.raises(DAGSchedError, match=message):
        JobGraph(jobs)
    with pytest.raises(DAGSchedError, match=r"write after=\['b'\]"):
        Job("a", "true", after="b")
    with pytest.raises(DAGSchedError, match="'a': seconds is -1"):
        Job("a", "true", seconds=-1)
    with pytest.raises(DAGSchedError, match="'a': input_bytes is -5"):
        Job("a", "true", input_bytes=-5)
    with pytest.raises(DAGSchedError, match="'a': cores is '2'"):
        Job("a", "true", cores="2")
    for action in ([], None, 3):
        with pytest.raises(DAGSchedError, match=r"'a': action is .*: give a command or a function"):
            Job("a", action)


@pytest.mark.parametrize("retries", [-1, 1.5, "2"])
def test_retries_are_a_whole_number(retries):
    graph = JobGraph([Job("a", "true")])
    instance = graph.instance(FOUR)
    with pytest.raises(DAGSchedError, match=r"retries is .*: give a whole number >= 0"):
        execute(graph, instance, Fifo(), retries=retries)


def test_a_run_says_which_jobs_were_begun_again():
    graph = JobGraph([Job("a", "true"), Job("b", "exit 1", after=["a"])])
    instance = graph.instance(FOUR)
    for retries, remarks in ((0, ()), (1, ("1 jobs were begun more than once",))):
        with pytest.raises(ExecutionError) as caught:
            execute(graph, instance, Fifo(), retries=retries)
        assert caught.value.execution.run.remarks == remarks


def test_a_dispatcher_that_breaks_the_rules_is_named():
    graph = JobGraph([Job("a", "true"), Job("b", "true", after=["a"])])
    instance = graph.instance(FOUR)

    class Hasty:
        def starts(self, situation):
            yield 1, 0

    class Idle:
        def starts(self, situation):
            return iter(())

    with pytest.raises(DAGSchedError, match=r"starts 'b' .* not ready"):
        execute(graph, instance, Hasty())
    with pytest.raises(DAGSchedError, match="does not start 'a'"):
        execute(graph, instance, Idle())
    assert not multiprocessing.active_children()
