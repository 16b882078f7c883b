"""Arguments that are of another kind than expected, such as two that were swapped."""

from typing import Any

from dagsched_env.problem.errors import DAGSchedError


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
