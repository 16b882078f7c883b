"""How the benchmarks measure; no benchmark itself."""

from collections.abc import Callable

__all__ = ["best_of"]

REPEATS = 5


def best_of(measure: Callable[[], float], repeats: int = REPEATS) -> float:
    """Highest of several rates: the one that other work on the machine disturbed least."""
    return max(measure() for _ in range(repeats))
