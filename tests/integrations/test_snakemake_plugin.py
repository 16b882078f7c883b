"""The scheduler plugin of Snakemake: real runs of it, and decisions on jobs that are made up."""

import logging
import os
import random
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dagsched_env import io
from dagsched_env.history import History
from dagsched_env.online import Fifo, ListOrder, Replanning, World, simulate
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.run import Run, peak_use
from dagsched_env.solver import solve

pytest.importorskip("snakemake")

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "integrations" / "snakemake"

PIPELINE = """
rule all:
    input: "long.txt", expand("third/{i}.txt", i=range(3))
rule long:
    output: "long.txt"
    shell: "sleep 2.5; echo 1 > {output}"
rule first:
    output: "first/{i}.txt"
    shell: "sleep 0.3; echo 1 > {output}"
rule second:
    input: "first/{i}.txt"
    output: "second/{i}.txt"
    shell: "sleep 0.3; echo 1 > {output}"
rule third:
    input: "second/{i}.txt"
    output: "third/{i}.txt"
    shell: "sleep 0.3; echo 1 > {output}"
"""
"""By their number of steps the short chains come first; by their time the long job does."""


def snakemake(folder: Path, *arguments: str, first: Path | None = None) -> str:
    """What Snakemake says on stderr; ``first`` is imported from before all else."""
    path = [str(p) for p in (first, PLUGIN, ROOT) if p is not None]
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--nocolor", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stderr


def with_plugin(folder: Path, *arguments: str, **options: Path) -> str:
    history = ("--scheduler-dagsched-history", str(folder / "history.sqlite"))
    return snakemake(folder, "--scheduler", "dagsched", *history, *arguments, **options)


@pytest.fixture(scope="module", autouse=True)
def _compiled():
    """What the process of the dispatcher calls: it answers in time only if this is on disk."""
    one = Instance(
        np.ones((9, 1)),
        [(0, 8)],
        [0.0],
        demands=np.ones((9, 1)),
        capacities=[[2]],
        resource_names=["_cores"],
    )
    again = Replanning(lambda left, plan: solve(left, budget_s=0.1, start=plan).schedule, "always")
    for dispatcher in (Fifo(), ListOrder(one), again):
        simulate(World(one), dispatcher)


def order(run: Run) -> list[str]:
    assert run.workflow.kinds is not None
    return [run.workflow.kinds[t] for t in np.argsort(run.start, kind="stable")]


@pytest.mark.slow
def test_the_second_run_starts_the_longest_job_first(tmp_path):
    (tmp_path / "Snakefile").write_text(PIPELINE)
    with_plugin(tmp_path, "--cores", "2")
    assert order(io.read_run(tmp_path))[:2] == ["first", "first"]
    named = ("--scheduler-dagsched-dispatcher", "replan:solve")
    said = with_plugin(tmp_path, "--cores", "2", "--forceall", *named)
    assert "greedy choice" not in said
    again = io.read_run(tmp_path)
    assert "long" in order(again)[:2]
    assert again.ran.all()
    estimate = History(tmp_path / "history.sqlite").estimate("snakemake", "long")
    assert estimate is not None
    assert estimate.seconds == pytest.approx(2.5, abs=1)


LIMITED = """
rule all:
    input: expand("two/{i}.txt", i=range(8))
rule one:
    output: "one/{i}.txt"
    threads: lambda wildcards: 1 + int(wildcards.i) % 2
    resources: io=lambda wildcards: 1 + int(wildcards.i) % 3
    shell: "sleep 0.1; head -c 1200000 /dev/zero > {output}"
rule two:
    input: "one/{i}.txt"
    output: "two/{i}.txt"
    resources: mem_mb=lambda wildcards, input: int(input.size_mb)
    shell: "sleep 0.2; echo 1 > {output}"
"""


@pytest.mark.slow
def test_no_limit_is_exceeded(tmp_path):
    """Not even that of memory, of which rule two only knows what it needs when it is ready."""
    (tmp_path / "Snakefile").write_text(LIMITED)
    with_plugin(tmp_path, "--cores", "3", "--resources", "io=3", "mem_mb=2")
    run = io.read_run(tmp_path)
    assert run.ran.all()
    for resource, most in (("cores", 3), ("io", 3), ("memory", 2e6)):
        use = np.nan_to_num(run.workflow.recorded(resource))
        assert use.max() > 0
        assert peak_use(run.start, run.finish, use) <= most


@pytest.mark.slow
def test_a_failure_costs_the_plan_and_not_the_run(tmp_path):
    (tmp_path / "Snakefile").write_text(LIMITED)
    broken = tmp_path / "broken" / "dagsched_env"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise RuntimeError('injected')")
    said = with_plugin(tmp_path, "--cores", "2", first=broken.parent)
    lines = [line for line in said.splitlines() if "greedy choice" in line]
    assert lines == ["dagsched: the greedy choice of jobs is taken: RuntimeError: injected"]
    assert io.read_run(tmp_path).ran.all()


@pytest.mark.slow
def test_jobs_behind_a_checkpoint_are_planned_too(tmp_path):
    (tmp_path / "Snakefile").write_text(
        """
rule all:
    input: "all.txt", expand("other/{i}.txt", i=range(4))
rule other:
    output: "other/{i}.txt"
    shell: "sleep 0.2; echo 1 > {output}"
checkpoint parts:
    output: directory("parts")
    shell: "mkdir parts; for i in 1 2 3; do echo $i > parts/$i.txt; done"
rule double:
    input: "parts/{k}.txt"
    output: "double/{k}.txt"
    shell: "sleep 0.2; cat {input} {input} > {output}"
def doubled(wildcards):
    folder = checkpoints.parts.get().output[0]
    return expand("double/{k}.txt", k=glob_wildcards(folder + "/{k,[0-9]+}.txt").k)
rule all_of:
    input: doubled
    output: "all.txt"
    shell: "cat {input} > {output}"
"""
    )
    assert "greedy choice" not in with_plugin(tmp_path, "--cores", "1")
    assert len(io.read_run(tmp_path).workflow.tasks) == 9


# -- jobs that are made up ---------------------------------------------------------------------


class File(str):
    __slots__ = ()

    def is_flagged(self, flag: str) -> bool:
        return flag == "temp" and self.startswith("temp")


class Job:
    def __init__(self, kind, number, needs=(), cores=1, priority=0, **resources):
        self.rule = SimpleNamespace(name=kind)
        self.input = [File(f"{need.output[0]}") for need in needs]
        self.output = [File(f"{kind}-{number}")]
        self.needs, self.priority = needs, priority
        self.scheduler_resources = {"_cores": cores, "_nodes": 1, "_job_count": 1, **resources}


class Graph:
    def __init__(self, jobs):
        self.jobs, self.done = jobs, set()

    def needrun_jobs(self):
        return [job for job in self.jobs if job not in self.done]

    def job_dependencies(self, job):
        return job.needs

    def finished(self, job):
        return job in self.done


@pytest.fixture
def plugin(monkeypatch):
    monkeypatch.syspath_prepend(str(PLUGIN))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # of the process that plans
    import snakemake_scheduler_plugin_dagsched

    return snakemake_scheduler_plugin_dagsched


@pytest.fixture
def make(plugin, tmp_path, monkeypatch):
    """Makes a scheduler of a graph; its working folder is empty."""
    monkeypatch.chdir(tmp_path)

    def scheduler(graph, **options):
        settings = plugin.SchedulerSettings(history=tmp_path / "history.sqlite", **options)
        return plugin.Scheduler(graph, settings, logging.getLogger("test"))

    return scheduler


def free(**resources):
    return {"_cores": 2, "_nodes": sys.maxsize, "_job_count": sys.maxsize, **resources}


def select(scheduler, jobs, *, sizes=(), **resources):
    remaining = [j for j in scheduler.dag.jobs if j not in scheduler.dag.done]
    known = defaultdict(int, dict(sizes))
    return scheduler.select_jobs(set(jobs), remaining, free(**resources), known)


def test_the_tests_that_snakemake_has_for_plugins(plugin):
    from snakemake_interface_scheduler_plugins.tests import TestSchedulerBase

    class Standard(TestSchedulerBase):
        def get_scheduler_cls(self):
            return plugin.Scheduler

        def get_scheduler_settings(self):
            return plugin.SchedulerSettings()

    Standard().test_scheduler()


def test_without_history_longer_chains_come_first(make):
    roots = [Job("root", i) for i in range(4)]
    graph = Graph([*roots, Job("behind", 0, (roots[2],))])
    assert roots[2] in select(make(graph), roots)


def test_priority_comes_before_the_plan(make):
    roots = [Job("root", i, priority=int(i == 1)) for i in range(3)]
    graph = Graph([*roots, Job("behind", 0, (roots[2],))])
    assert select(make(graph), roots, _cores=1) == [roots[1]]


def test_what_was_measured_makes_the_plan(make, tmp_path):
    workflow = io.Platform([1.0], 1.0, processor_names=["here"], capacities={"cores": [1]})
    from dagsched_env.problem.workflow import Workflow

    tasks = Workflow(
        ("short: x", "long: x"), np.array([1.0, 50.0]), (), np.empty(0), kinds=("short", "long")
    )
    zeros = np.zeros(2)
    History(tmp_path / "history.sqlite").add(
        Run("snakemake", tasks, zeros, tasks.runtimes, np.zeros(2, dtype=np.int64), workflow)
    )
    short, long = [Job("short", i) for i in range(3)], Job("long", 0)
    behind = Job("short", 9, (short[0],))
    for dispatcher in (None, "plan:solve"):
        graph = Graph([*short, long, behind])
        assert long in select(make(graph, dispatcher=dispatcher), [*short, long])
    assert long not in select(make(graph, dispatcher="fifo"), [*short, long])


def test_a_group_counts_as_its_first_job(make):
    class Group(Job):
        def __init__(self, jobs):
            super().__init__("group", 0)
            self.jobs = frozenset(jobs)

        def __hash__(self):
            return hash(self.jobs)

    member, other = Job("member", 0), [Job("other", i) for i in range(2)]
    behind = Job("behind", 0, (member,))
    scheduler = make(Graph([member, behind, *other]))
    group = Group([member, behind])
    chosen = scheduler.select_jobs([*other, group], [member, behind, *other], free(_cores=1), {})
    assert chosen == [group]


@pytest.mark.parametrize(("seed", "dispatcher"), [(0, "fifo"), (1, "heft"), (2, "replan:heft")])
def test_a_whole_run_never_exceeds_what_is_free(make, seed, dispatcher, capsys):
    rng = random.Random(seed)
    jobs = []
    for i in range(40):
        needs = rng.sample(jobs, min(len(jobs), rng.randrange(3)))
        jobs.append(Job(f"kind{i % 4}", i, tuple(needs), rng.randint(1, 4), io=rng.randint(0, 3)))
    graph, running = Graph(jobs), []
    scheduler = make(graph, dispatcher=dispatcher)
    while len(graph.done) < len(jobs):
        left = free(_cores=4, io=3)
        for job in running:
            for name, amount in job.scheduler_resources.items():
                left[name] -= amount if name in ("_cores", "io") else 0
        ready = {
            j for j in jobs if j not in running and j not in graph.done and graph.done >= {*j.needs}
        }
        remaining = [j for j in jobs if j not in running and j not in graph.done]
        chosen = scheduler.select_jobs(ready, remaining, left, defaultdict(int)) if ready else []
        for name in ("_cores", "io"):
            assert sum(job.scheduler_resources[name] for job in chosen) <= left[name]
        running += chosen
        assert running
        graph.done.add(running.pop(rng.randrange(len(running))))
    assert not capsys.readouterr().err


def test_a_wide_job_waits_for_its_turn_if_the_dispatcher_says_so(make):
    """FIFO starts whatever fits; the list keeps the cores of the job with the longest chain."""
    for dispatcher, started in (("fifo", 1), ("heft", 0)):
        narrow, wide = [Job("narrow", i) for i in range(3)], Job("wide", 0, cores=2)
        behind = [Job("behind", i, before) for i, before in enumerate([(wide,)] * 2)]
        graph = Graph([narrow[0], wide, *narrow[1:], *behind])
        scheduler = make(graph, dispatcher=dispatcher)
        assert select(scheduler, [narrow[0]]) == [narrow[0]]
        graph.jobs = [job for job in graph.jobs if job is not narrow[0]]
        assert len(select(scheduler, [wide, *narrow[1:]], _cores=1)) == started


def test_a_dispatcher_that_there_is_not_is_named(make, capsys):
    jobs = [Job("job", i) for i in range(3)]
    assert len(select(make(Graph(jobs), dispatcher="hefd"), jobs)) == 2
    assert "no dispatcher 'hefd': did you mean 'heft'?" in capsys.readouterr().err


def test_an_error_is_said_once_and_left_to_snakemake(make, capsys):
    class Broken(Graph):
        def job_dependencies(self, job):
            raise KeyError("no such\njob")

    jobs = [Job("job", i) for i in range(4)]
    scheduler = make(Broken(jobs))
    assert select(scheduler, jobs) is None
    assert select(scheduler, jobs) is None
    said = capsys.readouterr().err
    assert said == r"dagsched: the greedy choice of jobs is taken: KeyError: 'no such\njob'" "\n"


@pytest.mark.parametrize("n", [10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_decisions_on_many_jobs_are_quick(make, n, capsys):
    """Printed, and limited only far above what was seen: machines are busy at times."""
    first = [Job("first", i) for i in range(n // 2)]
    second = [Job("second", i, (first[i],)) for i in range(n // 2)]
    graph = Graph([*first, *second])
    scheduler, remaining, ready = make(graph), graph.needrun_jobs(), set(first)
    taken = []
    for _ in range(5):
        began = time.perf_counter()
        chosen = scheduler.select_jobs(ready, remaining, free(), defaultdict(int))
        taken.append(time.perf_counter() - began)
        assert len(chosen) == 2
        ready -= set(chosen)
        remaining = [job for job in remaining if job not in chosen]
        graph.done |= set(chosen)
    with capsys.disabled():
        print(f"\n{n} jobs: first decision {taken[0]:.2f} s, then {max(taken[1:]):.3f} s at most")
    assert max(taken[1:]) < 5e-5 * n


def test_no_checkpoint_begins_while_a_failed_job_waits(make):
    """Snakemake forgets such a job when a checkpoint ends."""
    checkpoint, failed, other = Job("parts", 0, cores=2, priority=1), Job("a", 0), Job("b", 0)
    checkpoint.is_checkpoint, failed.attempt = True, 2
    jobs = [checkpoint, other, failed]
    scheduler = make(Graph(jobs))
    assert set(select(scheduler, jobs)) == {failed, other}
    alone = [checkpoint, failed]
    failed.scheduler_resources["_cores"] = 3  # it would wait for ever
    assert select(make(Graph(alone)), alone) == [checkpoint]
    failed.scheduler_resources["_cores"], failed.attempt = 1, 1
    assert select(make(Graph(alone)), alone) == [checkpoint]
