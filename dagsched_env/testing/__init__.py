"""Checks that users can run on their own instances, schedulers and environments.

Each returns None or raises a ``ConformanceError`` that names what is wrong:

    check_scheduler(my_scheduler)
    check_env(MyWrapper(gymnasium.make("DAGSched-v0")))

In reading order:

- ``conformance``: the error of all checks;
- ``instances``: unusual instances; ``check_instance``;
- ``schedulers``: ``check_scheduler``;
- ``environments``: ``check_env``.
"""

from dagsched_env.testing.conformance import ConformanceError
from dagsched_env.testing.environments import check_env
from dagsched_env.testing.instances import check_instance, tricky_instances
from dagsched_env.testing.schedulers import check_scheduler

__all__ = [
    "ConformanceError",
    "check_env",
    "check_instance",
    "check_scheduler",
    "tricky_instances",
]
