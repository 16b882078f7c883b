"""Random instance families: callables ``rng -> Instance`` that state their largest sizes.

Most are a ``GraphFamily``: they draw a task graph and put it on a platform of
``dagsched_env.problem.platforms``, given as ``platform=``. ``GENERATORS`` has all families by name.

In reading order:

- ``family``: ``GraphFamily``: draws a workflow and puts it on a platform;
- ``topcuoglu``: layered random graphs of Topcuoglu et al.;
- ``daggen``: the graphs of DAGGEN: fat, density, regularity, jump;
- ``erdos_renyi``: random graphs G(n, probability);
- ``layered``: layers with edges from each to the next;
- ``fork_join``: phases of parallel branches;
- ``trees``: in-trees and out-trees;
- ``series_parallel``: two-terminal series–parallel graphs;
- ``chains``: independent chains;
- ``stencil``: sweeps over a line of cells;
- ``gaussian_elimination``: Gaussian elimination;
- ``fft``: fast Fourier transform;
- ``laplace``: the diamond-shaped graph of a Laplace solver;
- ``molecular_dynamics``: one time step of a molecular dynamics code;
- ``tiled``: tiled Cholesky, LU and QR factorisations, from their kernel calls;
- ``query_plans``: several query plans, as in analytical databases;
- ``recipes``: scientific workflows from the recipes of wfcommons;
- ``job_shop``: job shops, random and classic;
- ``toy``: instances whose optimum is known;
- ``mixture``: one of several families, drawn for each instance.
"""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from dagsched_env.generators.chains import ChainsGenerator
from dagsched_env.generators.daggen import DaggenGenerator
from dagsched_env.generators.erdos_renyi import ErdosRenyiGenerator
from dagsched_env.generators.family import GraphFamily
from dagsched_env.generators.fft import FFTGenerator
from dagsched_env.generators.fork_join import ForkJoinGenerator
from dagsched_env.generators.gaussian_elimination import GaussianEliminationGenerator
from dagsched_env.generators.job_shop import JobShopGenerator
from dagsched_env.generators.laplace import LaplaceGenerator
from dagsched_env.generators.layered import LayeredGenerator
from dagsched_env.generators.mixture import Mixture
from dagsched_env.generators.molecular_dynamics import MolecularDynamicsGenerator
from dagsched_env.generators.query_plans import QueryPlansGenerator
from dagsched_env.generators.recipes import RecipeGenerator
from dagsched_env.generators.series_parallel import SeriesParallelGenerator
from dagsched_env.generators.stencil import StencilGenerator
from dagsched_env.generators.tiled import CholeskyGenerator, LUGenerator, QRGenerator
from dagsched_env.generators.topcuoglu import TopcuogluGenerator, TopcuogluGraphGenerator
from dagsched_env.generators.toy import ToyGenerator
from dagsched_env.generators.trees import InTreeGenerator, OutTreeGenerator
from dagsched_env.problem.instance import Instance

__all__ = [
    "ChainsGenerator",
    "CholeskyGenerator",
    "DaggenGenerator",
    "ErdosRenyiGenerator",
    "FFTGenerator",
    "ForkJoinGenerator",
    "GENERATORS",
    "GaussianEliminationGenerator",
    "Generator",
    "GraphFamily",
    "InTreeGenerator",
    "JobShopGenerator",
    "LUGenerator",
    "LaplaceGenerator",
    "LayeredGenerator",
    "Mixture",
    "MolecularDynamicsGenerator",
    "OutTreeGenerator",
    "QRGenerator",
    "QueryPlansGenerator",
    "RecipeGenerator",
    "SeriesParallelGenerator",
    "StencilGenerator",
    "TopcuogluGenerator",
    "TopcuogluGraphGenerator",
    "ToyGenerator",
]


@runtime_checkable
class Generator(Protocol):
    """A family of instances.

    The three bounds hold for every instance it will ever draw, so that an environment can fix the
    shape of its observation. One whose instances have resources also states their number, which is
    the same for all, as ``max_resources``.
    """

    @property
    def max_tasks(self) -> int:
        """No instance has more tasks."""

    @property
    def max_processors(self) -> int:
        """No instance has more processors."""

    @property
    def max_edges(self) -> int:
        """No instance has more edges."""

    def __call__(self, rng: np.random.Generator, /) -> Instance:
        """Draw one instance; all randomness comes from ``rng``."""


GENERATORS: dict[str, Callable[..., Generator]] = {
    "chains": ChainsGenerator,
    "cholesky": CholeskyGenerator,
    "daggen": DaggenGenerator,
    "erdos_renyi": ErdosRenyiGenerator,
    "fft": FFTGenerator,
    "fork_join": ForkJoinGenerator,
    "gaussian_elimination": GaussianEliminationGenerator,
    "in_tree": InTreeGenerator,
    "job_shop": JobShopGenerator,
    "laplace": LaplaceGenerator,
    "layered": LayeredGenerator,
    "lu": LUGenerator,
    "molecular_dynamics": MolecularDynamicsGenerator,
    "out_tree": OutTreeGenerator,
    "qr": QRGenerator,
    "query_plans": QueryPlansGenerator,
    "series_parallel": SeriesParallelGenerator,
    "stencil": StencilGenerator,
    "topcuoglu": TopcuogluGenerator,
    "topcuoglu_graph": TopcuogluGraphGenerator,
    "toy": ToyGenerator,
    "wfcommons": RecipeGenerator,
}
"""Name of a family → its generator class, sorted."""
