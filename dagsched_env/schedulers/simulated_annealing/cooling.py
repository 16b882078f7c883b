"""How the temperature of an annealing falls."""

from typing import NamedTuple


class Cooling(NamedTuple):
    """Temperatures, in units of (makespan of the first schedule / n).

    The temperature falls geometrically from ``start`` to ``end``.
    """

    start: float
    end: float

    def at(self, progress: float) -> float:
        """Temperature after a share of the time, in [0, 1]."""
        return float(self.start * (self.end / self.start) ** progress)
