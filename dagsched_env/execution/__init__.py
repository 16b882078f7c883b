"""Runs a graph of jobs for real: a dispatcher says what starts now and where.

    graph = JobGraph([Job("a", "make data"), Job("b", "sort data", after=["a"], cores=2)])
    instance = graph.instance(io.MachineOptions(nodes=1, cores=4))
    run = execute(graph, instance, solve(instance, budget_s=1).schedule).run

``run`` is measured: ``io.save_run`` keeps it, ``explain`` says what bounds it, and ``History``
makes the next plan better. A job is a command of a shell, or a function, which is called with the
results of the jobs before it. Dispatchers are those of ``dagsched_env.online``.

In reading order:

- ``jobs``: ``Job`` and ``JobGraph``;
- ``worker``: what runs in another process;
- ``groups``: how a job ends with all that it has started;
- ``processes``: jobs as processes of this machine;
- ``remote``: what runs on the workers of a cluster;
- ``threads``: which job of a plan follows which on a thread;
- ``dask_reports``: what the workers of a Dask cluster tell of jobs that have ended;
- ``dask``: jobs on the workers of a Dask cluster;
- ``ray``: jobs on the nodes of a Ray cluster;
- ``engine``: ``execute``.
"""

from dagsched_env.execution.engine import (
    Execution,
    ExecutionError,
    ExecutionInterrupted,
    execute,
)
from dagsched_env.execution.jobs import Job, JobGraph

__all__ = [
    "Execution",
    "ExecutionError",
    "ExecutionInterrupted",
    "Job",
    "JobGraph",
    "execute",
]
