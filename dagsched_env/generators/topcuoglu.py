"""Layered random graphs: Topcuoglu, Hariri, Wu 2002, IEEE TPDS 13(3), section 5.1.

``TopcuogluGenerator`` documents the choices that the paper leaves open.
"""

import math
from dataclasses import dataclass

import numpy as np

from dagsched_env.generators.family import MEAN_COST, GraphFamilyOfSize, complete, random_weights
from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.parameters import (
    Choices,
    Range,
    WholeChoices,
    as_choices,
    as_range,
    check_choices,
    check_fields,
    check_range,
    checked,
    draw_choice,
    draw_range,
)
from dagsched_env.problem.workflow import Workflow


@dataclass(frozen=True)
class TopcuogluGenerator:
    """Draws layered random graphs.

    For each instance n, p, α, CCR and β are drawn uniformly as the arguments allow. The number of
    levels is uniform with mean √n / α, and their widths are uniform with mean α·√n, both within
    half of the mean and rounded up. The widths are then scaled so that they hold exactly n tasks.
    Every task below the first level has a predecessor in the level directly above. Further
    successors are drawn from all later levels until each task has its out-degree. A level that is
    much wider than the one above can make a larger out-degree necessary. The mean cost w̄_i of a
    task is uniform in [0, 2·w̄_DAG], its cost on a processor in [w̄_i·(1 − β/2), w̄_i·(1 + β/2)]. The
    data of an edge is uniform from 0, scaled so that mean communication / mean computation is
    exactly CCR.

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

    n_tasks: Range = checked((20, 100), check_range)
    n_processors: WholeChoices = checked((4, 8), check_choices, at_least=1, whole=True)
    shape: Choices = checked((0.5, 1.0, 2.0), check_choices, above=0)
    out_degree: Range = checked((1, 5), check_range)
    ccr: Choices = checked((0.1, 0.5, 1.0, 5.0, 10.0), check_choices, at_least=0)
    beta: Choices = checked((0.1, 0.25, 0.5, 0.75, 1.0), check_choices, at_least=0, at_most=2)

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def max_tasks(self) -> int:
        """Largest n."""
        return as_range(self.n_tasks)[1]

    @property
    def max_processors(self) -> int:
        """Largest p."""
        return int(max(as_choices(self.n_processors)))

    @property
    def max_edges(self) -> int:
        """Largest number of edges: one parent per task and the out-degrees, or the complete DAG."""
        return _max_edges(self.max_tasks, self.out_degree)

    def __call__(self, rng: np.random.Generator) -> Instance:
        """Draw one instance."""
        n = draw_range(self.n_tasks, rng)
        p = int(draw_choice(self.n_processors, rng))
        alpha = draw_choice(self.shape, rng)
        ccr = draw_choice(self.ccr, rng)
        beta = draw_choice(self.beta, rng)
        edges = _edges(_level_sizes(n, alpha, rng), as_range(self.out_degree), rng)
        comp = _costs(n, p, beta, rng)
        return Instance(
            comp,
            edges,
            _data(len(edges), ccr * _mean(comp), rng),
            name=f"topcuoglu-n{n}-p{p}-alpha{alpha:g}-ccr{ccr:g}-beta{beta:g}",
        )


@dataclass(frozen=True, kw_only=True)
class TopcuogluGraphGenerator(GraphFamilyOfSize):
    """The graphs of ``TopcuogluGenerator`` with random weights, on any platform.

    Args:
        platform: draws the processors.
        n_tasks: n, or an inclusive range (low, high) of it.
        shape: α > 0, or choices of it; large = wide and short.
        out_degree: successors of a task before the last level, or an inclusive range of them.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    shape: Choices = checked((0.5, 1.0, 2.0), check_choices, above=0)
    out_degree: Range = checked((1, 5), check_range)

    @property
    def max_edges(self) -> int:
        """Largest number of edges: one parent per task and the out-degrees, or the complete DAG."""
        return _max_edges(self.max_tasks, self.out_degree)

    def workflow(self, rng: np.random.Generator) -> Workflow:
        """Draw the task graph alone."""
        n = draw_range(self.n_tasks, rng)
        alpha = draw_choice(self.shape, rng)
        edges = _edges(_level_sizes(n, alpha, rng), as_range(self.out_degree), rng)
        return random_weights(n, edges, rng, name=f"topcuoglu-n{n}-alpha{alpha:g}")


# -- the graph ---------------------------------------------------------------------------------


def _max_edges(n: int, out_degree: Range) -> int:
    return min((as_range(out_degree)[1] + 1) * (n - 1), complete(n))


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
    first = [0, *np.cumsum(sizes).tolist()]
    n = first[-1]
    wanted = rng.integers(out_degree[0], out_degree[1] + 1, size=n).tolist()
    children: list[list[int]] = [[] for _ in range(n)]
    for level in range(1, len(sizes)):
        above = range(first[level - 1], first[level])
        free = [task for task in above if wanted[task] > 0]
        for task in range(first[level], first[level + 1]):
            candidates = free or above
            parent = candidates[int(rng.integers(len(candidates)))]
            children[parent].append(task)
            wanted[parent] -= 1
            if wanted[parent] == 0:
                free.remove(parent)
    for level in range(len(sizes) - 1):
        start = first[level + 1]
        for task in range(first[level], start):
            others = n - start - len(children[task])
            count = min(wanted[task], others)
            if count > 0:
                picks = rng.choice(others, size=count, replace=False).tolist()
                children[task] += _skipping(children[task], start, picks)
    return [(task, child) for task in range(n) for child in sorted(children[task])]


def _skipping(taken: list[int], start: int, picks: list[int]) -> list[int]:
    """The tasks of number ``picks``, counted from ``start`` on without the sorted ``taken``."""
    tasks = []
    for pick in picks:
        task = start + pick
        for other in taken:
            task += task >= other
        tasks.append(task)
    return tasks


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
    """Correctly rounded mean, so that instances are equal in every bit on every machine."""
    return math.fsum(array.ravel().tolist()) / max(array.size, 1)
