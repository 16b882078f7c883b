"""The same graphs on the nodes of a Ray cluster."""

import functools
from pathlib import Path

import pytest

from dagsched_env.execution import ExecutionError, Job, JobGraph, execute
from dagsched_env.online import ListOrder
from dagsched_env.problem.errors import DAGSchedError
from helpers import actions

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.slow


def test_jobs_run_on_the_nodes(tmp_path):
    from dagsched_env.execution.ray import machines

    with pytest.raises(DAGSchedError, match="Ray is not connected"):
        machines()
    where = {"env_vars": {"PYTHONPATH": str(Path(actions.__file__).parents[1])}}
    ray.init(
        runtime_env=where,
        num_cpus=2,
        _node_ip_address="127.0.0.1",
        include_dashboard=False,
        log_to_driver=False,
    )
    try:
        action = functools.partial(actions.fails_at_first, str(tmp_path / "f"))
        graph = JobGraph(
            [
                Job("a", actions.one),
                Job("b", functools.partial(actions.total, 5), after=["a"]),
                Job("again", action),
                Job("shell", f"echo done > {tmp_path}/g", after=["again"]),
            ]
        )
        instance = graph.instance(machines())
        done = execute(graph, instance, ListOrder(instance), on="ray", retries=1)
        assert done.results == {"b": 6, "shell": None}
        assert (tmp_path / "g").read_text() == "done\n"
        assert done.run.remarks == ("1 jobs were begun more than once",)
        assert (done.run.start >= 0).all()
        amounts = dict(zip(done.run.workflow.edges, done.run.workflow.data, strict=True))
        assert 0 < amounts[0, 1] < 1000
        bad = JobGraph([Job("bad", actions.fails)])
        with pytest.raises(ExecutionError, match="job 'bad': ValueError: no such column"):
            execute(bad, bad.instance(machines()), ListOrder(bad.instance(machines())), on="ray")
    finally:
        ray.shutdown()
