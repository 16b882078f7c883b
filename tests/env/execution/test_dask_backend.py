"""The same graphs on the workers of a Dask cluster."""

import asyncio
import functools
import threading
import time

import numpy as np
import psutil
import pytest

from dagsched_env import explain, io
from dagsched_env.execution import ExecutionError, Job, JobGraph, execute
from dagsched_env.execution.dask import jobs_of, machines
from dagsched_env.history import History
from dagsched_env.online import ListOrder
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import heft
from helpers import actions

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0"
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


def test_jobs_run_on_the_workers_of_the_plan(client, tmp_path):
    jobs = [Job(f"s{i}", functools.partial(actions.sleeps, 0.2), seconds=0.2) for i in range(4)]
    jobs.append(Job("shell", f"echo done > {tmp_path}/f", after=["s0"], seconds=0.1))
    jobs += [Job("a", actions.one), Job("b", functools.partial(actions.total, 5), after=["a"])]
    graph = JobGraph(jobs)
    instance = graph.instance(machines(client))
    assert instance.processor_names == tuple(sorted(client.scheduler_info()["workers"]))
    plan = heft(instance)
    done = execute(graph, instance, plan, on="dask", client=client)
    assert done.results["b"] == 6
    assert (tmp_path / "f").read_text() == "done\n"
    run = done.run
    assert run.machine.tolist() == plan.processor.tolist()
    assert run.machine.tolist() == plan.processor.tolist()
    assert (run.finish - run.start)[:4].min() >= 0.2
    assert (run.start >= 0).all()
    ran_on = {run.machine[i] for i in range(4)}
    assert len(ran_on) == 2


def test_failures_are_retried_and_named(client, tmp_path):
    action = functools.partial(actions.fails_at_first, str(tmp_path / "f"))
    graph = JobGraph([Job("a", action), Job("b", actions.fails, after=["a"])])
    instance = graph.instance(machines(client))
    for by in (ListOrder(instance), heft(instance)):
        (tmp_path / "f").unlink(missing_ok=True)
        with pytest.raises(ExecutionError, match="job 'b': ValueError: no such column") as caught:
            execute(graph, instance, by, on="dask", client=client, retries=1)
        (remark,) = caught.value.execution.run.remarks
        assert remark.endswith("jobs were begun more than once")
        assert caught.value.execution.run.ran.tolist() == [True, False]


def test_the_job_that_failed_is_named_not_those_behind_it(client):
    names = [f"t{i}" for i in range(6)]
    jobs = [Job("bad", actions.fails)]
    jobs += [
        Job(n, actions.total, after=[before])
        for before, n in zip(["bad", *names[:-1]], names, strict=True)
    ]
    graph = JobGraph(jobs)
    instance = graph.instance(machines(client))
    with pytest.raises(ExecutionError, match="job 'bad': ValueError: no such column"):
        execute(graph, instance, heft(instance), on="dask", client=client)


def test_the_workers_are_there_while_the_client_renews_what_it_knows(client):
    asked = threading.Event()

    async def renew():
        while not asked.is_set():
            await client._update_scheduler_info()

    renewing = asyncio.run_coroutine_threadsafe(renew(), client.loop.asyncio_loop)
    try:
        for _ in range(100):
            assert len(machines(client, bandwidth=1e9).processor_names) == 2
    finally:
        asked.set()
    renewing.result()


def test_the_cluster_has_to_be_there(client):
    with pytest.raises(DAGSchedError, match="client is no"):
        machines(None)
    with distributed.Client(client.scheduler.address, set_as_default=False) as closed:
        pass
    with pytest.raises(DAGSchedError, match="client is closed"):
        machines(closed)


def test_a_command_that_takes_too_long_is_ended_and_begun_again(client, tmp_path):
    file, pid = tmp_path / "tried", tmp_path / "pid"
    command = f"[ -e {file} ] || {{ touch {file}; sleep 77.75 & echo $! > {pid}; wait; }}"
    graph = JobGraph([Job("a", command, timeout_s=1.0)])
    instance = graph.instance(machines(client))
    for by in (ListOrder(instance), heft(instance)):
        file.unlink(missing_ok=True)
        run = execute(graph, instance, by, on="dask", client=client, retries=2).run
        assert run.remarks == ("1 jobs were begun more than once",)
        for _ in range(100):
            if not psutil.pid_exists(int(pid.read_text())):
                break
            time.sleep(0.1)
        else:
            raise AssertionError("the command of the first attempt runs on")


def test_a_result_that_cannot_be_read_fails_its_job(tmp_path):
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        graph = JobGraph([Job("a", actions.unreadable), Job("b", actions.one)])
        instance = graph.instance(machines(client))
        for by in (ListOrder(instance), heft(instance)):
            with pytest.raises(
                ExecutionError, match="job 'a': its result cannot be read"
            ) as caught:
                execute(graph, instance, by, on="dask", client=client)
            assert caught.value.execution.results == {"b": 1}


def test_a_dataframe_is_computed_by_a_plan(client):
    frames, pandas = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    frame = frames.from_pandas(pandas.DataFrame({"a": range(10), "b": [1, 2] * 5}), npartitions=3)
    for made in (frame.a.mean(), frame.groupby("b").a.sum(), frame.a.size):
        graph = jobs_of(made)
        instance = graph.instance(machines(client))
        done = execute(graph, instance, heft(instance), on="dask", client=client)
        (value,) = done.results.values()
        assert np.array_equal(value, made.compute(scheduler="sync"))


def test_what_is_no_whole_collection_is_refused(client):
    array = pytest.importorskip("dask.array")
    there = client.persist(array.ones(10, chunks=5))
    with pytest.raises(DAGSchedError, match="is on the cluster already"):
        jobs_of(there.sum())
    with pytest.raises(DAGSchedError, match="list is no Dask collection"):
        jobs_of([there])


def test_an_array_is_computed_by_a_plan(client):
    array = pytest.importorskip("dask.array")
    x = array.arange(4000, chunks=500).reshape(40, 100)
    total = (x @ x.T).sum()
    graph = jobs_of(total)
    instance = graph.instance(machines(client))
    done = execute(graph, instance, heft(instance), on="dask", client=client)
    (value,) = done.results.values()
    assert value == total.compute(scheduler="sync")
    assert {"sum-aggregate"} < set(done.run.kinds)
    with pytest.raises(DAGSchedError, match="chunks: add a step"):
        jobs_of(x)


def test_sizes_of_results_reach_the_next_plan(client, tmp_path):
    made = functools.partial(bytes, 2_000_000)
    jobs = [
        Job("make", made, kind="make"),
        Job("odd", actions.unsizable),
        Job("use", actions.sizes, after=["make", "odd"], seconds=0.1),
        Job("slice", actions.sizes, after=["make"], data={"make": 5}),
    ]
    graph = JobGraph(jobs)
    instance = graph.instance(machines(client, bandwidth=1e9))
    plan = Schedule([0, 0, 1, 1], [0.0, 1.0, 2.0, 2.1], [1.0, 2.0, 2.1, 3.1])
    for by in (plan, ListOrder(instance)):
        done = execute(graph, instance, by, on="dask", client=client)
        assert done.results["slice"] == (2_000_000,)
        assert done.run.workflow.data.tolist() == [2_000_000, 0, 5]
    io.save_run(done.run, tmp_path / "last.run.json")
    again = io.read_run(tmp_path / "last.run.json")
    assert explain.explain(again, budget_s=0.2).measured.data.tolist() == [2_000_000, 0, 5]

    history = History(tmp_path / "h.sqlite")
    history.add(done.run)
    assert graph.workflow(history).data.tolist() == [2_000_000, 0, 5]
    alike = JobGraph([Job("more", made, kind="make"), Job("other", len, after=["more"])])
    assert alike.workflow(history).data.tolist() == [2_000_000]
    assert alike.workflow().data.tolist() == [0]

    measured = machines(client)  # what went from worker to worker
    assert measured.bandwidths[0, 1] not in (125e6, float("inf"))
    assert machines(client, bandwidth=7.0).bandwidths[0, 1] == 7.0


def test_a_long_job_does_not_begin_before_a_late_one(client):
    """Both threads of a worker are free, two long jobs are ready, a short one a little later."""
    planned = {  # machine, start, seconds
        "a": (0, 0.0, 0.1),
        "d": (0, 0.0, 0.1),
        "b": (1, 0.0, 0.1),
        "c": (0, 0.1, 0.05),
        "long": (0, 0.1, 0.3),
        "longer": (0, 0.15, 0.4),
    }
    after = {"c": ["b"]}
    late = {"b": 0.2}
    graph = JobGraph(
        [
            Job(
                name,
                functools.partial(actions.sleeps, late.get(name, seconds)),
                after.get(name, ()),
                seconds=seconds,
            )
            for name, (_, _, seconds) in planned.items()
        ]
    )
    instance = graph.instance(machines(client))
    machine, start, seconds = np.array(list(planned.values())).T
    plan = Schedule(machine.astype(int), start, start + seconds)
    run = execute(graph, instance, plan, on="dask", client=client).run
    began = dict(zip(planned, run.start.tolist(), strict=True))
    assert began["long"] < began["c"] < began["longer"]


def test_a_plan_of_fewer_cores_than_a_worker_has_threads_is_kept(client):
    graph = JobGraph([Job(f"s{i}", functools.partial(actions.sleeps, 0.1)) for i in range(4)])
    for machines_of in (io.MachineOptions(nodes=1, cores=1), io.MachineOptions(nodes=1)):
        instance = graph.instance(machines_of)
        run = execute(graph, instance, heft(instance), on="dask", client=client).run
        order = run.start.argsort()
        assert (run.finish[order][:-1] <= run.start[order][1:]).all()
