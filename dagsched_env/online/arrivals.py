"""When graphs arrive: at once, one after the other at random, in bursts, or as recorded."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance

__all__ = ["ARRIVALS", "Arrivals", "AtOnce", "Bursts", "Poisson", "Recorded", "work_of"]


class Arrivals(Protocol):
    """Draws times of arrival."""

    @property
    def graphs(self) -> int:
        """How many graphs a run has, ≥ 1."""
        ...

    def times(self, graphs: Sequence[Instance], rng: np.random.Generator) -> Floats:
        """``[graphs]`` times ≥ 0, finite, ascending."""
        ...


@dataclass(frozen=True)
class AtOnce:
    """All graphs are there at the beginning.

    Args:
        graphs: how many, ≥ 1.
    """

    graphs: int = 1

    def __post_init__(self) -> None:
        _check_graphs(self.graphs)

    def times(self, graphs: Sequence[Instance], rng: np.random.Generator) -> Floats:
        """``[graphs]`` zeros."""
        return np.zeros(len(graphs))


@dataclass(frozen=True)
class Poisson:
    """Graphs arrive independently of each other; the first one at time 0.

    Args:
        graphs: how many, ≥ 1.
        load: mean work that arrives / what the machines can do in the same time, > 0.
    """

    graphs: int = 10
    load: float = 0.8

    def __post_init__(self) -> None:
        _check_graphs(self.graphs)
        _check_load(self.load)

    def times(self, graphs: Sequence[Instance], rng: np.random.Generator) -> Floats:
        """``[graphs]``, with exponential gaps."""
        gaps = rng.exponential(_mean_gap(graphs, self.load), len(graphs) - 1)
        return np.concatenate([[0.0], np.cumsum(gaps)])


@dataclass(frozen=True)
class Bursts:
    """Several graphs at once, again and again after exponential gaps; the first ones at time 0.

    Args:
        graphs: how many in all, ≥ 1.
        size: how many of them arrive together, ≥ 1.
        load: as of ``Poisson``, over a long time.
    """

    graphs: int = 10
    size: int = 5
    load: float = 0.8

    def __post_init__(self) -> None:
        _check_graphs(self.graphs)
        if self.size < 1:
            raise DAGSchedError(f"size={self.size} is not at least 1")
        _check_load(self.load)

    def times(self, graphs: Sequence[Instance], rng: np.random.Generator) -> Floats:
        """``[graphs]``."""
        count = -(-len(graphs) // self.size)
        gaps = rng.exponential(self.size * _mean_gap(graphs, self.load), count - 1)
        bursts = np.concatenate([[0.0], np.cumsum(gaps)])
        return np.repeat(bursts, self.size)[: len(graphs)]


class Recorded:
    """Times from a list.

    Args:
        at: times ≥ 0, one for each graph.

    Raises:
        DAGSchedError: no time, or one that is negative or not finite.
    """

    def __init__(self, at: Sequence[float]) -> None:
        self._times = np.sort(np.asarray(at, dtype=np.float64))
        if not self._times.size or not (np.isfinite(self._times) & (self._times >= 0)).all():
            raise DAGSchedError("at is no list of times >= 0, one for each graph")
        self.graphs = len(self._times)

    def times(self, graphs: Sequence[Instance], rng: np.random.Generator) -> Floats:
        """``[graphs]`` those of the list."""
        return self._times[: len(graphs)].copy()


def _recorded(file: str = "") -> Recorded:
    if not file:
        raise DAGSchedError("recorded needs a file with one time per line: recorded?file=PATH")
    times = []
    for i, line in enumerate(Path(file).read_text("utf-8").splitlines(), 1):
        if line.strip():
            try:
                times.append(float(line))
            except ValueError:
                raise DAGSchedError(f"{file}, line {i}: {line.strip()!r} is not a time") from None
    return Recorded(times)


ARRIVALS: Mapping[str, Callable[..., Arrivals]] = {
    "at_once": AtOnce,
    "bursts": Bursts,
    "poisson": Poisson,
    "recorded": _recorded,
}
"""Name in a SPEC → what makes the arrivals."""


def work_of(graph: Instance) -> float:
    """For how long a graph keeps all machines busy, at the mean of their speeds (time).

    With resources the one that takes longest counts.
    """
    g = graph.arrays
    if not graph.n_resources:
        return float(g.mean_comp.sum()) / graph.n_processors
    total = g.capacity.sum(axis=0)
    used = (g.mean_comp[:, None] * g.demand).sum(axis=0)
    return float(np.max(used[total > 0] / total[total > 0], initial=0.0))


def _mean_gap(graphs: Sequence[Instance], load: float) -> float:
    return float(np.mean([work_of(graph) for graph in graphs])) / load


def _check_graphs(graphs: int) -> None:
    if graphs < 1:
        raise DAGSchedError(f"graphs={graphs} is not at least 1")


def _check_load(load: float) -> None:
    if not 0 < load < np.inf:
        raise DAGSchedError(f"load={load} is not a number > 0")
