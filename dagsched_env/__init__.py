"""Static scheduling of task DAGs with communication costs on unrelated processors.

Importing this package registers the Gymnasium environment ``DAGSched-v0``::

    import gymnasium
    import dagsched_env

    env = gymnasium.make("DAGSched-v0", instances=dagsched_env.Instance(comp, edges, data))

``Instance`` is a problem, ``Schedule`` a solution, ``State`` a partial schedule to step by hand,
``SCHEDULERS`` the classic algorithms; ``dagsched_env.io`` reads files, ``dagsched_env.generators``
draws random problems.
"""

import gymnasium

from dagsched_env.env import DAGSchedEnv
from dagsched_env.errors import (
    DAGSchedError,
    FormatError,
    IllegalActionError,
    InvalidInstanceError,
    InvalidScheduleError,
    MissingExtraError,
)
from dagsched_env.instance import Instance
from dagsched_env.rewards import REWARDS
from dagsched_env.schedule import Schedule
from dagsched_env.schedulers import SCHEDULERS
from dagsched_env.simulator import State, replay

__all__ = [
    "DAGSchedEnv",
    "DAGSchedError",
    "FormatError",
    "IllegalActionError",
    "Instance",
    "InvalidInstanceError",
    "InvalidScheduleError",
    "MissingExtraError",
    "REWARDS",
    "SCHEDULERS",
    "Schedule",
    "State",
    "replay",
]

if "DAGSched-v0" not in gymnasium.registry:
    gymnasium.register(
        id="DAGSched-v0",
        entry_point="dagsched_env.env:DAGSchedEnv",
        vector_entry_point="dagsched_env.vector.env:DAGSchedVectorEnv",
    )
