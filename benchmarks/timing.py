"""How the benchmarks measure; no benchmark itself."""

from collections.abc import Callable, Sequence

__all__ = ["best_in_turn", "best_of"]

REPEATS = 5


def best_of(measure: Callable[[], float], repeats: int = REPEATS) -> float:
    """Highest of several rates: the one that other work on the machine disturbed least."""
    return best_in_turn([measure], repeats)[0]


def best_in_turn(measures: Sequence[Callable[[], float]], repeats: int) -> list[float]:
    """Highest rate of each, one after the other in every round: a slow minute touches them all."""
    rounds = [[measure() for measure in measures] for _ in range(repeats)]
    return [max(rates) for rates in zip(*rounds, strict=True)]
