"""The error of all checks, and the two ways to raise it."""

from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


class ConformanceError(DAGSchedError):
    """An instance, a scheduler or an environment breaks a contract of this package."""


def require(holds: bool, message: str) -> None:
    """Raise a ConformanceError with the message unless the condition holds."""
    if not holds:
        raise ConformanceError(message)


def validate(schedule: Schedule, instance: Instance, place: str) -> None:
    """Check a schedule.

    Args:
        schedule: the schedule.
        instance: its problem.
        place: what made it, for the message.

    Raises:
        ConformanceError: the schedule is not valid.
    """
    try:
        schedule.validate(instance)
    except DAGSchedError as error:
        raise ConformanceError(f"{place}: invalid schedule: {error}") from error
