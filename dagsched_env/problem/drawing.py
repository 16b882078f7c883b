"""Who draws problems and schedules: they call it without importing it.

What draws has to know what it draws. So that the reverse does not hold, the package names its
renderer, ``pictures``, when it is imported; it is loaded when something is first drawn.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol


class Renderer(Protocol):
    """What ``Schedule.plot`` and notebooks call."""

    def save(self, schedule: Any, path: str | Path, instance: Any = None) -> Path:
        """Write a chart of a ``Schedule``, of the kind that the suffix says."""
        ...

    def instance_html(self, instance: Any) -> str:
        """An element of HTML for an ``Instance``."""
        ...

    def schedule_html(self, schedule: Any) -> str:
        """An element of HTML for a ``Schedule``."""
        ...


load_renderer: Callable[[], Renderer]
"""Set by the package; gives ``dagsched_env.pictures``."""
