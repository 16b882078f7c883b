"""Layered random graphs: Topcuoglu, Hariri, Wu 2002, IEEE TPDS 13(3), section 5.1.

Where the paper leaves a choice open, it is made here and said so: see ``TopcuogluGenerator``.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dagsched_env.errors import DAGSchedError
from dagsched_env.instance import Instance
from dagsched_env.kernels.arrays import Floats, Ints

__all__ = ["TopcuogluGenerator"]

MEAN_COST = 10.0
"""w̄_DAG: expected execution time of a task. It only sets the unit of time."""


@dataclass(frozen=True)
class TopcuogluGenerator:
    """Draws layered random graphs.

    Per instance: n, p, α, CCR and β are drawn uniformly from what the arguments allow. The number
    of levels is uniform with mean √n / α and their widths with mean α·√n, both within half of the
    mean and rounded up; the widths are then scaled so that they hold exactly n tasks. Every task
    beyond the first level has a predecessor in the level directly above; further successors are
    drawn from all later levels until each task has its out-degree. A level that is much wider than
    the one above can force a larger out-degree. The mean cost w̄_i of a task is uniform in
    [0, 2·w̄_DAG], its cost on a processor uniform in [w̄_i·(1 − β/2), w̄_i·(1 + β/2)]. The data of an
    edge is uniform from 0, scaled so that mean communication / mean computation is exactly CCR.

    Args:
        n_tasks: n, or an inclusive range (low, high) of it.
        n_processors: p, or choices of it.
        shape: α > 0, or choices of it; large = wide and short.
        out_degree: successors of a task before the last level, or an inclusive range of them.
        ccr: ratio of communication to computation, ≥ 0, or choices of it.
        beta: heterogeneity of the processors, in [0, 2], or choices of it.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    n_tasks: int | tuple[int, int] = (20, 100)
    n_processors: int | tuple[int, ...] = (4, 8)
    shape: float | tuple[float, ...] = (0.5, 1.0, 2.0)
    out_degree: int | tuple[int, int] = (1, 5)
    ccr: float | tuple[float, ...] = (0.1, 0.5, 1.0, 5.0, 10.0)
    beta: float | tuple[float, ...] = (0.1, 0.25, 0.5, 0.75, 1.0)

    def __post_init__(self) -> None:
        _check_range("n_tasks", self.n_tasks)
        _check_range("out_degree", self.out_degree)
        _check_choices("n_processors", self.n_processors, at_least=1, whole=True)
        _check_choices("shape", self.shape, above=0)
        _check_choices("ccr", self.ccr, at_least=0)
        _check_choices("beta", self.beta, at_least=0, at_most=2)

    @property
    def max_tasks(self) -> int:
        """Largest n."""
        return _as_range(self.n_tasks)[1]

    @property
    def max_processors(self) -> int:
        """Largest p."""
        return int(max(_as_choices(self.n_processors)))

    @property
    def max_edges(self) -> int:
        """Largest number of edges: one parent a task plus the out-degrees, or the complete DAG."""
        n, degree = self.max_tasks, _as_range(self.out_degree)[1]
        return min((degree + 1) * (n - 1), n * (n - 1) // 2)

    def __call__(self, rng: np.random.Generator) -> Instance:
        """Draw one instance."""
        n = _draw_range(self.n_tasks, rng)
        p = int(_draw_choice(self.n_processors, rng))
        alpha = _draw_choice(self.shape, rng)
        ccr = _draw_choice(self.ccr, rng)
        beta = _draw_choice(self.beta, rng)
        edges = _edges(_level_sizes(n, alpha, rng), _as_range(self.out_degree), rng)
        comp = _costs(n, p, beta, rng)
        return Instance(
            comp,
            edges,
            _data(len(edges), ccr * _mean(comp), rng),
            name=f"topcuoglu-n{n}-p{p}-alpha{alpha:g}-ccr{ccr:g}-beta{beta:g}",
        )


# -- the graph ---------------------------------------------------------------------------------


def _level_sizes(n: int, alpha: float, rng: np.random.Generator) -> Ints:
    """``[levels]`` positive task counts that add up to n."""
    root = math.sqrt(n)
    height = min(n, math.ceil((0.5 + rng.random()) * root / alpha))
    widths = np.ceil((0.5 + rng.random(height)) * root * alpha)
    share = (n - height) * widths / widths.sum()
    sizes: Ints = np.floor(share).astype(np.int64)
    largest_remainders = np.argsort(sizes - share, kind="stable")
    sizes[largest_remainders[: n - height - int(sizes.sum())]] += 1
    sizes += 1
    return sizes


def _edges(
    sizes: Ints, out_degree: tuple[int, int], rng: np.random.Generator
) -> list[tuple[int, int]]:
    """Sorted edges of a graph whose tasks are numbered level by level."""
    first = np.concatenate(([0], np.cumsum(sizes)))
    n = int(first[-1])
    wanted = rng.integers(out_degree[0], out_degree[1] + 1, size=n)
    children: list[set[int]] = [set() for _ in range(n)]
    for level in range(1, len(sizes)):
        above = np.arange(first[level - 1], first[level])
        for task in range(first[level], first[level + 1]):
            free = above[wanted[above] > 0]
            parent = int(rng.choice(free if free.size else above))
            children[parent].add(task)
            wanted[parent] -= 1
    for level in range(len(sizes) - 1):
        for task in range(first[level], first[level + 1]):
            later = [t for t in range(first[level + 1], n) if t not in children[task]]
            count = min(int(wanted[task]), len(later))
            if count > 0:
                children[task].update(rng.choice(later, size=count, replace=False).tolist())
    return [(task, child) for task in range(n) for child in sorted(children[task])]


# -- the numbers -------------------------------------------------------------------------------


def _costs(n: int, p: int, beta: float, rng: np.random.Generator) -> Floats:
    mean = 2.0 * MEAN_COST * rng.random((n, 1))
    costs: Floats = mean * (1.0 - beta / 2.0 + beta * rng.random((n, p)))
    return costs


def _data(m: int, mean: float, rng: np.random.Generator) -> Floats:
    """``[m]`` amounts with the given mean."""
    amounts = rng.random(m)
    total = _mean(amounts)
    return amounts * (mean / total) if total > 0 else amounts


def _mean(array: Floats) -> float:
    """Correctly rounded, so that instances are equal bit by bit on every machine."""
    return math.fsum(array.ravel().tolist()) / max(array.size, 1)


# -- arguments ---------------------------------------------------------------------------------


def _as_range(value: int | tuple[int, int]) -> tuple[int, int]:
    return value if isinstance(value, tuple) else (value, value)


def _as_choices(value: float | tuple[float, ...]) -> tuple[float, ...]:
    return value if isinstance(value, tuple) else (value,)


def _draw_range(value: int | tuple[int, int], rng: np.random.Generator) -> int:
    low, high = _as_range(value)
    return int(rng.integers(low, high + 1))


def _draw_choice(value: float | tuple[float, ...], rng: np.random.Generator) -> float:
    choices = _as_choices(value)
    return choices[int(rng.integers(len(choices)))]


def _is_number(value: Any, *, whole: bool) -> bool:
    kinds = (int, np.integer) if whole else (int, float, np.integer, np.floating)
    return isinstance(value, kinds) and not isinstance(value, bool) and math.isfinite(value)


def _check_range(name: str, value: Any) -> None:
    bounds = value if isinstance(value, tuple) else (value, value)
    if len(bounds) != 2 or not all(_is_number(bound, whole=True) for bound in bounds):
        raise DAGSchedError(f"{name} is {value!r}: give a whole number or a tuple (low, high)")
    if not 1 <= bounds[0] <= bounds[1]:
        raise DAGSchedError(f"{name} is {value!r}: it needs 1 <= low <= high")


def _check_choices(
    name: str,
    value: Any,
    *,
    at_least: float = -math.inf,
    above: float = -math.inf,
    at_most: float = math.inf,
    whole: bool = False,
) -> None:
    choices = value if isinstance(value, tuple) else (value,)
    kind = "whole number" if whole else "finite number"
    if not choices or not all(_is_number(choice, whole=whole) for choice in choices):
        raise DAGSchedError(f"{name} is {value!r}: give a {kind} or a tuple of choices")
    for choice in choices:
        if not (at_least <= choice <= at_most and choice > above):
            limits = [f"> {above:g}"] if math.isfinite(above) else [f">= {at_least:g}"]
            limits += [f"<= {at_most:g}"] if math.isfinite(at_most) else []
            raise DAGSchedError(f"{name} has {choice!r}: it needs to be {' and '.join(limits)}")
