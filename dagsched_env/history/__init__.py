"""Durations with a memory: what tasks took in any number of runs, in one SQLite file.

``History(path).add(run)`` keeps a measured run, ``History(path).estimate(tool, kind, task)`` says
what a task will probably take. Two processes may write at the same time.

In reading order:

- ``estimates``: a robust estimate from measurements of tasks;
- ``store``: the file: ``History``.
"""

from dagsched_env.history.estimates import Estimate, Estimates
from dagsched_env.history.store import History, default_path

__all__ = ["Estimate", "Estimates", "History", "default_path"]
