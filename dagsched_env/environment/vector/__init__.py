"""The vector form of ``DAGSched-v0``: many environments, one kernel call per step.

In reading order:

- ``packed``: problems in arrays with a leading axis, each with its first observation;
- ``states``: the partial schedules of all environments as one struct of arrays;
- ``episodes``: the problem that each environment gets next;
- ``seeded``: what it shares with the vector form of runs: a generator for each environment;
- ``env``: ``DAGSchedVectorEnv``: all copies in one kernel call per step.
"""

from dagsched_env.environment.vector.env import DAGSchedVectorEnv

__all__ = ["DAGSchedVectorEnv"]
