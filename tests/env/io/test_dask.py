"""Computations of Dask, recorded on a real cluster in this process."""

import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from dagsched_env import io
from dagsched_env.io.dask_recorder import _run
from dagsched_env.problem.errors import DAGSchedError, MissingExtraError
from dagsched_env.problem.run import Run

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore::Warning")  # of dask and its event loop


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    options = {"processes": False, "dashboard_address": "127.0.0.1:0"}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=2, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def work(*values: Any, seconds: float = 0.02) -> bytes:
    time.sleep(seconds)
    return b"x" * 100_000


def kinds_between(run: Run) -> set[tuple[str, str]]:
    kinds = run.workflow.kinds or ()
    return {(kinds[u], kinds[v]) for u, v in run.workflow.edges}


def test_a_computation_is_a_run(client: Any, tmp_path: Any) -> None:
    load = dask.delayed(work, pure=False)
    parts = [load(i, dask_key_name=f"load-{i}") for i in range(6)]
    with io.recorded(client) as recorder:
        dask.delayed(work)(*parts, dask_key_name="join-0").compute()
    run = recorder.run()
    assert sorted(run.workflow.tasks) == ["join-0", *(f"load-{i}" for i in range(6))]
    assert sorted(set(run.workflow.kinds or ())) == ["join", "load"]
    assert len(run.workflow.edges) == 6
    assert (run.workflow.data >= 100_000).all()
    assert run.machines.capacities["cores"].tolist() == [2, 2]
    assert run.ran.all()
    assert (run.workflow.runtimes >= 0.02).all()
    assert run.input_bytes is not None
    assert run.input_bytes[run.workflow.tasks.index("join-0")] == run.workflow.data.sum()
    assert 0 <= run.start.min() < run.finish.max() < 10
    for u, v in run.workflow.edges:
        assert run.finish[u] <= run.start[v] + 0.02
    io.save_run(run, tmp_path / "first.run.json")
    again = io.load(tmp_path / "first.run.json")
    assert (again.n_tasks, again.n_processors, again.n_resources) == (7, 2, 1)


def test_the_graph_is_the_one_that_ran(client: Any) -> None:
    """It is fused: there is no task for each operation of the program."""
    array = pytest.importorskip("dask.array")
    x = array.ones((400, 400), chunks=(200, 200))
    with io.recorded(client) as recorder:
        ((x + 1) * 2).sum().compute()
    run = recorder.run()
    assert len(run.workflow.tasks) < len(((x + 1) * 2).sum().__dask_graph__())
    assert run.ran.all()
    assert np.isfinite(run.instance().comp).all()


def test_transfers_are_measured(client: Any) -> None:
    one, two = client.scheduler_info()["workers"]
    with io.recorded(client) as recorder:
        first = client.submit(np.ones, 500_000, key="first-1", workers=[one])
        client.submit(np.sum, first, key="second-1", workers=[two]).result()
    run = recorder.run()
    assert run.machine[0] != run.machine[1]
    assert run.machines.bandwidths[0, 1] != 125e6
    assert not run.remarks


def test_results_that_were_there_are_left_out(client: Any) -> None:
    there = client.submit(work, key="there-1")
    distributed.wait(there)
    with io.recorded(client) as recorder:
        client.submit(work, there, key="after-1").result()
    run = recorder.run()
    assert run.workflow.tasks == ("after-1",)
    assert run.input_bytes is not None
    assert run.input_bytes[0] >= 100_000
    assert "the results of 1 tasks were there before: these are left out" in run.remarks


def test_the_last_attempt_counts(client: Any, tmp_path: Any) -> None:
    mark = tmp_path / "tried"

    def fails_once() -> None:
        if not mark.exists():
            mark.touch()
            raise OSError("the first time")
        time.sleep(0.05)

    with io.recorded(client) as recorder:
        client.submit(fails_once, key="flaky-1", retries=2).result()
    run = recorder.run()
    assert run.workflow.runtimes[0] >= 0.05
    assert run.start[0] > 0
    assert "1 tasks ran more than once, such as flaky-1: the last time counts" in run.remarks


def test_tasks_that_did_not_end_have_no_time(client: Any) -> None:
    def fails(_: Any) -> None:
        raise OSError("always")

    with io.recorded(client) as recorder:
        first = client.submit(work, key="fine-1")
        last = client.submit(fails, first, key="failed-1")
        distributed.wait(last)
    run = recorder.run()
    assert np.isnan(run.workflow.runtimes).tolist() == [
        name == "failed-1" for name in run.workflow.tasks
    ]
    assert "1 of 2 tasks had not ended: they have no time" in run.remarks
    assert run.executed().workflow.tasks == ("fine-1",)


def test_nothing_recorded_is_an_error(client: Any) -> None:
    still = pytest.raises(DAGSchedError, match="has not ended: call run")
    with io.recorded(client) as recorder, still:
        recorder.run()
    with pytest.raises(DAGSchedError, match="nothing was computed"):
        recorder.run()
    names = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.plugins))
    assert not [name for name in names if "dagsched" in str(name)]


def test_a_worker_that_is_lost_is_named() -> None:
    seen = {
        "began": 10.0,
        "tasks": {"a-1": ("a", []), "b-1": ("b", ["a-1", "old-1"])},
        "there": {"old-1": 7},
        "attempts": {"a-1": 2, "b-1": 1},
        "done": {"a-1": ("tcp://n1", 12.0, 13.0, 100), "b-1": ("tcp://n1", 13.5, 15.0, 1)},
        "workers": {"tcp://n0": ("n", 2), "tcp://n1": ("n", 4)},
        "lost": ["tcp://n0"],
    }
    run = _run(seen, [(1e6, 0.5), (1e6, 1.5)])
    assert run.machines.processor_names == ["n at tcp://n0", "n at tcp://n1"]
    assert run.machines.bandwidths[0, 1] == 1e6
    assert (run.start.tolist(), run.finish.tolist()) == ([2.0, 3.5], [3.0, 5.0])
    assert run.input_bytes is not None
    assert run.input_bytes.tolist() == [0.0, 107.0]
    assert len(run.remarks) == 3
    assert "1 workers left before the end" in run.remarks


def test_without_distributed_the_extra_is_named(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed.diagnostics.plugin", None)
    with pytest.raises(MissingExtraError, match=r"aerl-ds\[tools\]"), io.recorded(client):
        pass
