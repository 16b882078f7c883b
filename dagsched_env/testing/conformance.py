"""The error of all checks, and the two ways to raise it."""

from dagsched_env.errors import DAGSchedError
from dagsched_env.instance import Instance
from dagsched_env.schedule import Schedule

__all__ = ["ConformanceError", "require", "validate"]


class ConformanceError(DAGSchedError):
    """Something breaks a contract of this package."""


def require(holds: bool, message: str) -> None:
    """Raises ConformanceError with the message unless it holds."""
    if not holds:
        raise ConformanceError(message)


def validate(schedule: Schedule, instance: Instance, place: str) -> None:
    """Raises ConformanceError, naming the ``place``, if the schedule is not valid."""
    try:
        schedule.validate(instance)
    except DAGSchedError as error:
        raise ConformanceError(f"{place}: invalid schedule: {error}") from error
