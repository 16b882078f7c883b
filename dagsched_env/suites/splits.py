"""``train``, ``valid``, ``test``: graph families crossed with sizes, processors and CCR.

A cell is one of 7 n × 4 p × 5 CCR = 140 combinations. ``train`` has every family in every cell:
8 · 140 instances. ``valid`` and ``test`` have one family in each cell, so that every family meets
every n, every p and every CCR about equally often. The family changes from cell to cell, and
differs between ``valid`` and ``test``. Every instance of every split has its own seed.
"""

import itertools
from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np

from dagsched_env.generators import (
    ChainsGenerator,
    DaggenGenerator,
    ErdosRenyiGenerator,
    ForkJoinGenerator,
    GraphFamily,
    LayeredGenerator,
    SeriesParallelGenerator,
    StencilGenerator,
    TopcuogluGraphGenerator,
)
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms import PlatformModel, Unrelated

Recipes = dict[str, Callable[[], Instance]]
"""Name of an instance → a function that makes it; in the order of the suite."""

TASKS = (10, 30, 50, 100, 200, 500, 1000)
PROCESSORS = (3, 4, 8, 16)
CCR = (0.1, 0.5, 1.0, 5.0, 10.0)
BETA = (0.25, 0.5, 1.0, 1.5)
"""Heterogeneity of the processors: one of these is drawn for each instance."""

SEEDS = {"train": 20250101, "valid": 20250102, "test": 20250103}
ROTATION = {"valid": 0, "test": 4}
"""Index in ``FAMILIES`` at which the rotation of a split begins."""

BLOCKS = {10: (2, 5), 30: (5, 6), 50: (5, 10), 100: (10, 10), 200: (10, 20), 500: (20, 25)}
BLOCKS |= {1000: (25, 40)}
"""n as a product, for families whose size is given by two numbers."""

PHASES = {10: (3, 2, 1), 30: (1, 14, 2), 50: (7, 3, 2), 100: (9, 5, 2), 200: (1, 33, 6)}
PHASES |= {500: (1, 83, 6), 1000: (27, 12, 3)}
"""Phases, width and length of fork–join graphs: n = 1 + phases · (width · length + 1)."""


class Cell(NamedTuple):
    """Sizes and CCR of an instance of a split."""

    n_tasks: int
    n_processors: int
    ccr: float


CELLS = tuple(itertools.starmap(Cell, itertools.product(TASKS, PROCESSORS, CCR)))


@cache
def split(name: str) -> Recipes:
    """The recipes of ``"train"``, ``"valid"`` or ``"test"``, by n, p, CCR, family."""
    recipes: Recipes = {}
    for i, cell in enumerate(CELLS):
        for family in FAMILIES if name == "train" else [_family_of(i, ROTATION[name])]:
            key = f"{name}-n{cell.n_tasks}-p{cell.n_processors}-ccr{cell.ccr:g}-{family}"
            seed = [SEEDS[name], i, list(FAMILIES).index(family)]
            recipes[key] = partial(_draw, key, family, cell, seed)
    return recipes


def _family_of(index: int, rotation: int) -> str:
    """Neighbouring cells differ; a step in n shifts the sequence by 3."""
    a, rest = divmod(index, len(PROCESSORS) * len(CCR))
    return list(FAMILIES)[(rotation + 3 * a + rest) % len(FAMILIES)]


def _draw(name: str, family: str, cell: Cell, seed: list[int]) -> Instance:
    platform = Unrelated(n_processors=cell.n_processors, beta=BETA, ccr=cell.ccr)
    return FAMILIES[family](cell.n_tasks, platform)(np.random.default_rng(seed)).renamed(name)


FAMILIES: dict[str, Callable[[int, PlatformModel], GraphFamily]] = {
    "chains": lambda n, m: ChainsGenerator(platform=m, chains=BLOCKS[n][0], length=BLOCKS[n][1]),
    "daggen": lambda n, m: DaggenGenerator(platform=m, n_tasks=n, fat=(0.3, 0.5)),
    # Two successors per task on average, for every n.
    "erdos-renyi": lambda n, m: ErdosRenyiGenerator(
        platform=m, n_tasks=n, probability=4.0 / (n - 1)
    ),
    "fork-join": lambda n, m: ForkJoinGenerator(
        platform=m, phases=PHASES[n][0], width=PHASES[n][1], length=PHASES[n][2]
    ),
    "layered": lambda n, m: LayeredGenerator(platform=m, layers=BLOCKS[n][1], width=BLOCKS[n][0]),
    "series-parallel": lambda n, m: SeriesParallelGenerator(platform=m, n_tasks=n),
    "stencil": lambda n, m: StencilGenerator(platform=m, width=BLOCKS[n][0], steps=BLOCKS[n][1]),
    "topcuoglu": lambda n, m: TopcuogluGraphGenerator(platform=m, n_tasks=n),
}
"""Name → generator of n tasks, exactly, on a platform; sorted."""
