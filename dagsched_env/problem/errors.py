"""Errors and warnings of the package; every message names the place and a remedy."""

from typing import Any

__all__ = [
    "AssumptionWarning",
    "DAGSchedError",
    "DoubtfulUnitsWarning",
    "FormatError",
    "IllegalActionError",
    "InvalidInstanceError",
    "InvalidScheduleError",
    "MachinesAssumedWarning",
    "MissingExtraError",
]


class DAGSchedError(ValueError):
    """Base of all errors that a caller can correct by changing the input."""


class InvalidInstanceError(DAGSchedError):
    """The arrays do not describe a scheduling problem."""


class InvalidScheduleError(DAGSchedError):
    """A schedule violates a constraint of its instance."""


class IllegalActionError(DAGSchedError):
    """A (task, processor) placement is not allowed in this state."""


class FormatError(DAGSchedError):
    """A file cannot be read as the format it claims to be."""


class MissingExtraError(DAGSchedError, ImportError):
    """A feature needs an optional dependency that is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"this feature needs {package!r}: install it with  pip install 'aerl-ds[{extra}]'"
        )


class AssumptionWarning(UserWarning):
    """A problem was read in a way that its file does not state; ``Instance.assumptions`` has it."""


class MachinesAssumedWarning(AssumptionWarning):
    """A file describes no processors, and nobody has said which ones to take.

    Args:
        fact: which file, and what was assumed.
        assumed: names of the parameters that change it.
        remedy: what to write.
    """

    def __init__(self, fact: str, assumed: tuple[str, ...], remedy: str) -> None:
        super().__init__(f"{fact}; {remedy}")
        self.fact = fact
        self.assumed = assumed


class DoubtfulUnitsWarning(MachinesAssumedWarning):
    """Transfers take so long that the data of a file seems to be in another unit than bandwidths.

    Its ``assumed`` are what to say instead: ``bandwidth 1Gbit/s``, ``ccr 1``.
    """


def expect(name: str, value: Any, kind: type | tuple[type, ...], call: str) -> None:
    """Refuse an argument of another kind, and show how the call is written.

    Args:
        name: of the argument.
        value: what was given.
        kind: what it has to be.
        call: the right call, as in ``plot("gantt.png", instance)``.

    Raises:
        DAGSchedError: the message names the argument, its type and the call.
    """
    if not isinstance(value, kind):
        raise DAGSchedError(f"{name} is of type {type(value).__name__}: write {call}")
