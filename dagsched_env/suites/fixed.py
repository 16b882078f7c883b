"""The suites that are lists: ``heldout``, ``paper``, ``structured``, ``workflows``, ``jobshop``."""

import json
from collections.abc import Callable, Iterable
from functools import partial
from importlib.resources import files

import numpy as np

from dagsched_env import io
from dagsched_env.generators import (
    CholeskyGenerator,
    FFTGenerator,
    GaussianEliminationGenerator,
    GraphFamily,
    InTreeGenerator,
    JobShopGenerator,
    LaplaceGenerator,
    LUGenerator,
    MolecularDynamicsGenerator,
    OutTreeGenerator,
    QRGenerator,
    TopcuogluGenerator,
)
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms import Unrelated
from dagsched_env.suites.splits import BETA, CCR, PROCESSORS, Recipes

HELDOUT_SIZE = 40
HELDOUT_SEED = 20020313
HELDOUT_CCR = (0.5, 1.0, 2.0, 5.0)
"""CCR of the instances of ``heldout``, in turn."""
HELDOUT_BETA = (0.5, 1.0)
"""Heterogeneity β of the instances of ``heldout``, in turn."""

STRUCTURED_SEED = 20250104
JOB_SHOP_SEED = 20250105
JOB_SHOPS = ((6, 4), (8, 6), (10, 5), (15, 5), (10, 10), (20, 5), (15, 10), (20, 10), (20, 15))
"""Jobs and machines."""

SMALL_WORKFLOWS = ("1000genome", "epigenomics", "montage")
"""Traces of 41 to 58 tasks, from three applications."""

STRUCTURES: dict[str, tuple[Callable[[int, Unrelated], GraphFamily], tuple[int, ...]]] = {
    "cholesky": (lambda k, m: CholeskyGenerator(platform=m, tiles=k), (4, 6, 8, 10)),
    "fft": (lambda k, m: FFTGenerator(platform=m, points=k), (4, 8, 16, 32)),
    "gaussian": (lambda k, m: GaussianEliminationGenerator(platform=m, size=k), (5, 10, 15, 20)),
    "in-tree": (lambda k, m: InTreeGenerator(platform=m, levels=k, degree=2), (4, 5, 6, 7)),
    "laplace": (lambda k, m: LaplaceGenerator(platform=m, size=k), (4, 7, 10, 14)),
    "lu": (lambda k, m: LUGenerator(platform=m, tiles=k), (3, 4, 6, 8)),
    # One graph; the number distinguishes the draws of its weights.
    "molecular": (lambda _, m: MolecularDynamicsGenerator(platform=m), (1, 2, 3, 4)),
    "out-tree": (lambda k, m: OutTreeGenerator(platform=m, levels=k, degree=2), (4, 5, 6, 7)),
    "qr": (lambda k, m: QRGenerator(platform=m, tiles=k), (3, 4, 6, 8)),
}
"""Family → generator of a size on a platform, and the sizes."""


def heldout() -> Recipes:
    """40 graphs of Topcuoglu et al., n = 30, p = 4.

    CCR cycles through 0.5, 1, 2, 5; β alternates between 0.5 and 1 after each such cycle.
    """
    return {f"heldout-{i:02d}": partial(_heldout, i) for i in range(HELDOUT_SIZE)}


def paper() -> Recipes:
    """Eight small graphs of published papers; their optima are known."""
    text = (files("dagsched_env") / "data" / "paper_graphs.json").read_text(encoding="utf-8")
    graphs = json.loads(text)["graphs"]
    return {name: partial(_paper_graph, name, graph) for name, graph in graphs.items()}


def structured() -> Recipes:
    """Graphs of numerical kernels and complete binary trees, four sizes each.

    The four sizes of a family have the four p; CCR moves on by one from each size to the next.
    """
    recipes: Recipes = {}
    for i, (family, (generator, sizes)) in enumerate(STRUCTURES.items()):
        for j, size in enumerate(sizes):
            p, ccr = PROCESSORS[(i + j) % len(PROCESSORS)], CCR[(i + j) % len(CCR)]
            name = f"{family}-{size}-p{p}-ccr{ccr:g}"
            make = partial(generator, size, Unrelated(n_processors=p, beta=BETA, ccr=ccr))
            recipes[name] = partial(_drawn, name, make, [STRUCTURED_SEED, i, j])
    return recipes


def workflows(names: Iterable[str]) -> Recipes:
    """Bundled traces on ``io.RandomPlatform()``."""
    return {name: partial(_trace, name) for name in names}


def jobshop() -> Recipes:
    """ft06 of Fisher and Thompson 1963, and random job shops of increasing size."""
    recipes: Recipes = {"ft06": lambda: io.load(io.bundled("ft06"), format="job_shop")}
    for i, (jobs, machines) in enumerate(JOB_SHOPS):
        name = f"jobshop-{jobs}x{machines}"
        make = partial(JobShopGenerator, n_jobs=jobs, n_machines=machines)
        recipes[name] = partial(_drawn, name, make, [JOB_SHOP_SEED, i])
    return recipes


def _heldout(i: int) -> Instance:
    generator = TopcuogluGenerator(
        n_tasks=30,
        n_processors=4,
        ccr=HELDOUT_CCR[i % len(HELDOUT_CCR)],
        beta=HELDOUT_BETA[i // len(HELDOUT_CCR) % len(HELDOUT_BETA)],
    )
    return generator(np.random.default_rng([HELDOUT_SEED, i])).renamed(f"heldout-{i:02d}")


def _paper_graph(name: str, graph: dict[str, list[list[float]]]) -> Instance:
    edges = [(int(u), int(v)) for u, v, _ in graph["edges"]]
    return Instance(graph["comp"], edges, [data for _, _, data in graph["edges"]], name=name)


def _drawn(
    name: str, make: Callable[[], GraphFamily | JobShopGenerator], seed: list[int]
) -> Instance:
    return make()(np.random.default_rng(seed)).renamed(name)


def _trace(name: str) -> Instance:
    return io.read_problem(io.bundled(name), io.RandomPlatform()).instance.renamed(name)
