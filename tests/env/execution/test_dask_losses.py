"""Worker processes of Dask that are killed while they work."""

import functools

import numpy as np
import pytest

from dagsched_env.execution import Job, JobGraph, execute
from dagsched_env.execution.dask import machines
from dagsched_env.online import ListOrder
from dagsched_env.schedulers import heft
from helpers import actions

distributed = pytest.importorskip("distributed")


def graph_of_commands(log):
    """Some take ten times as long as expected; one kills the worker that runs it, once."""
    rng, jobs = np.random.default_rng(0), []
    for t in range(16):
        seconds = 0.02 if t % 5 else 0.2
        command = f"sleep {seconds}; echo t{t} >> {log}"
        if t == 7:
            command = (
                f"[ -e {log}.killed ] || {{ touch {log}.killed; kill -9 $PPID $$; }}; {command}"
            )
        after = [f"t{u}" for u in range(max(0, t - 6), t) if rng.random() < 0.3]
        jobs.append(Job(f"t{t}", command, after, seconds=0.02))
    return JobGraph(jobs)


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0"
    ) as cluster:
        yield cluster


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        client.wait_for_workers(2)  # the killed one is replaced
        yield client


def test_of_commands_each_is_done_once_though_a_worker_is_killed(client, tmp_path):
    log = tmp_path / "log"
    graph = graph_of_commands(log)
    instance = graph.instance(machines(client))
    run = execute(graph, instance, ListOrder(instance), on="dask", client=client).run
    assert (tmp_path / "log.killed").exists()
    lines = log.read_text().split()
    assert sorted(lines) == sorted(job.name for job in graph.jobs)
    assert all(lines.index(u) < lines.index(job.name) for job in graph.jobs for u in job.after)
    assert run.ran.all()


def test_functions_whose_results_were_lost_are_called_again(client, tmp_path):
    """In a plan that Dask has as a whole."""
    first = [
        Job(f"a{i}", functools.partial(actions.noted, str(tmp_path / f"a{i}"))) for i in range(4)
    ]
    names = [job.name for job in first]
    kills = functools.partial(actions.kills_its_process_at_first, str(tmp_path / "f"))
    graph = JobGraph(
        [*first, Job("kills", kills, names), Job("sum", actions.total, [*names, "kills"])]
    )
    instance = graph.instance(machines(client))
    done = execute(graph, instance, heft(instance), on="dask", client=client)
    assert done.results == {"sum": 4 + 4}
    calls = [len((tmp_path / name).read_text()) for name in names]
    assert sorted(calls) == [1, 1, 2, 2]
