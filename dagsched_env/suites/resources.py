"""The suite ``resources``: tasks that share the cores of a few nodes.

It has the families of the splits with four sizes each, factorisations, query plans, and the
recorded workflows whose traces say nothing of cores. Nodes are identical or unrelated; they have 4
to 32 cores, and some instances have nodes of different sizes.
"""

from functools import partial

import numpy as np

from dagsched_env import io
from dagsched_env.generators import (
    CholeskyGenerator,
    GraphFamily,
    LUGenerator,
    QueryPlansGenerator,
)
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms import Related, Seeded, Shared, Unrelated
from dagsched_env.suites.splits import FAMILIES, Recipes

SEED = 20261127
TASKS = (30, 50, 100, 200)
"""Of the families of the splits."""
NODES = (1, 2, 4)
CORES = ((4,), (8,), (16,), (32,), (8, 32))
"""Of a node; of several numbers each node has one."""
TILES = {"cholesky": (5, 8, 11), "lu": (5, 7, 9)}
"""35 to 286 tasks."""
CCR = (0.1, 0.5, 1.0, 2.0)
PLANS = {1: (4, 8, 16, 32), 2: (8, 12, 20, 32), 4: (12, 16, 24, 32)}
"""Nodes → numbers of query plans, about 9 tasks each."""
WORKFLOWS = tuple(name for name in io.BUNDLED if name not in ("blast", "bwa"))
"""Without those whose traces record that every task used one core."""


def resources() -> Recipes:
    """All of it."""
    return _families() | _factorisations() | _query_plans() | _workflows()


def _families() -> Recipes:
    recipes: Recipes = {}
    for i, family in enumerate(FAMILIES):
        for j, n in enumerate(TASKS):
            machines = _machines(i + 2 * j, i // 2 + j)
            recipes[f"{family}-n{n}"] = partial(_of_family, family, n, machines, [SEED, i, j])
    return recipes


def _factorisations() -> Recipes:
    recipes: Recipes = {}
    for i, (family, tiles) in enumerate(TILES.items()):
        make = CholeskyGenerator if family == "cholesky" else LUGenerator
        for j, size in enumerate(tiles):
            generator = make(tiles=size, platform=_machines(i + j, i + j + 1))
            name = f"{family}-{size}"
            recipes[name] = partial(_drawn, name, generator, [SEED, 100 + i, j])
    return recipes


def _query_plans() -> Recipes:
    recipes: Recipes = {}
    for i, (nodes, numbers) in enumerate(PLANS.items()):
        for j, plans in enumerate(numbers):
            cores = (16, 32)[(i + j) % 2]
            generator = QueryPlansGenerator(
                n_plans=plans,
                scan_cores=(cores // 8, cores // 2),
                stage_cores=(cores // 8, cores // 4),
                platform=Shared(Related(nodes, (1.0, 1.0), 0.1), cores),
            )
            name = f"query-plans-{plans}-nodes{nodes}"
            recipes[name] = partial(_drawn, name, generator, [SEED, 200 + i, j])
    return recipes


def _workflows() -> Recipes:
    """On two nodes of 4 or 8 cores; a task uses up to all of them."""
    recipes: Recipes = {}
    for i, trace in enumerate(WORKFLOWS):
        cores = (4, 8)[i % 2]
        machines = Shared(Related(2, (1.0, 1.0), CCR[i % 3]), cores, (1, cores))
        recipes[trace] = partial(_recorded, trace, Seeded(machines, SEED + i))
    return recipes


def _machines(number: int, other: int) -> Shared:
    """One of the kinds of nodes; tasks use up to all cores of the smallest node, or up to half."""
    nodes, cores = NODES[number % len(NODES)], CORES[number % len(CORES)]
    ratio = CCR[other % len(CCR)]
    platform = Unrelated(nodes, 0.5, ratio) if other % 2 else Related(nodes, (1.0, 1.0), ratio)
    least = min(cores)
    demand = (max(1, least // 8), least) if other % 3 else (1, least // 2)
    return Shared(platform, cores, demand)


def _of_family(family: str, n: int, machines: Shared, seed: list[int]) -> Instance:
    return _drawn(f"{family}-n{n}", FAMILIES[family](n, machines), seed)


def _drawn(name: str, generator: GraphFamily, seed: list[int]) -> Instance:
    return generator(np.random.default_rng(seed)).renamed(name)


def _recorded(trace: str, platform: Seeded) -> Instance:
    return io.read_problem(io.bundled(trace), platform).instance.renamed(trace)
