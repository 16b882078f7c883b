"""What was assumed of problems, and how it is said: never in silence, and never hidden.

The sentences stand in ``Instance.assumptions``. Commands repeat them in their tables and JSON, and
say them on stderr; in Python they are warnings.
"""

import warnings
from collections.abc import Sequence

from dagsched_env.problem.instance import Instance

OF_MACHINES = "machines: "
"""Begins the sentence on assumed machines; the others are notices on what a file leaves out."""

HIDES_ALL = ("ignore", None, Warning, None, 0)
"""The filter that ``warnings.simplefilter("ignore")`` leaves, as ``import wfcommons`` does."""
SHOWS_ALL = ("default", *HIDES_ALL[1:])

MOST_LINES = 5


def notices(instance: Instance) -> list[str]:
    """Its assumptions, but for that on machines."""
    return [text for text in instance.assumptions if not text.startswith(OF_MACHINES)]


def stated(instances: Sequence[Instance]) -> list[str]:
    """The assumptions of all problems of a table, equal ones once, in at most six lines."""
    places: dict[str, list[str]] = {}
    for i, instance in enumerate(instances):
        for text in instance.assumptions:
            places.setdefault(text, []).append(instance.name or f"instance {i}")
    lines = []
    for text, names in list(places.items())[:MOST_LINES]:
        others = f" and {len(names) - 1} more" if len(names) > 1 else ""
        everywhere = len(names) == len(instances)
        lines.append(text if everywhere else f"{names[0]}{others}: {text}")
    left = len(places) - len(lines)
    return [*lines, f"{left} more of this kind"] if left else lines


def warn(warning: Warning, *, stacklevel: int) -> None:
    """Issue a warning that a filter which ignores all warnings does not hide.

    A filter for the warning's own category does, as one says on purpose.

    Args:
        warning: what to say.
        stacklevel: 1 for the caller of this function, 2 for its caller, and so on.
    """
    filters = list(warnings.filters)
    # In place: what has been shown once at a line is remembered until ``warnings`` changes filters.
    warnings.filters[:] = [SHOWS_ALL if x == HIDES_ALL else x for x in filters]  # type: ignore[index]
    try:
        warnings.warn(warning, stacklevel=stacklevel + 1)
    finally:
        warnings.filters[:] = filters  # type: ignore[index]
