"""Scientific workflows from the recipes of wfcommons.

T. Coleman, H. Casanova, L. Pottier, M. Kaushik, E. Deelman, R. Ferreira da Silva 2022, "WfCommons:
A framework for enabling scientific workflow research and development", Future Generation Computer
Systems 128. Needs the extra ``workflows``.
"""

import random
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from dagsched_env.generators.family import GraphFamily, complete
from dagsched_env.problem.errors import DAGSchedError, MissingExtraError
from dagsched_env.problem.parameters import Range, as_range, check_range, checked, draw_range
from dagsched_env.problem.workflow import Workflow

_CLASSES = {
    "1000genome": "GenomeRecipe",
    "blast": "BlastRecipe",
    "bwa": "BwaRecipe",
    "cycles": "CyclesRecipe",
    "epigenomics": "EpigenomicsRecipe",
    "montage": "MontageRecipe",
    "seismology": "SeismologyRecipe",
    "soykb": "SoykbRecipe",
    "srasearch": "SrasearchRecipe",
}

RECIPES = tuple(_CLASSES)
"""Names of the applications, sorted; without rnaseq, whose recipe has no dependencies."""

_DUMMIES = 2
"""A recipe counts a source and a sink that do not belong to its workflow."""


@dataclass(frozen=True)
class RecipeGenerator(GraphFamily):
    """Draws workflows like the recorded ones of an application in ``RECIPES``.

    A recipe repeats parts of a recorded workflow until it has n tasks, or as many below n as it
    can have. Runtimes and file sizes are drawn from fitted distributions. An edge carries all files
    that its first task writes. The platform determines the weight of communication: state its CCR
    with every figure.

    wfcommons draws from the global generators of ``random`` and numpy. They are seeded from ``rng``
    for the draw and restored afterwards, so do not draw in two threads at the same time.

    Args:
        application: one of ``RECIPES``.
        n_tasks: largest number of tasks, or an inclusive range (low, high) of it; each application
            has a smallest workflow.
        platform: draws the processors.

    Raises:
        DAGSchedError: an argument is out of its range, or, on drawing, ``n_tasks`` is below the
            smallest workflow of the application.
        MissingExtraError: on drawing, wfcommons is not installed.
    """

    application: str = "montage"
    n_tasks: Range = checked(100, check_range)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.application not in _CLASSES:
            raise DAGSchedError(f"no recipe {self.application!r}: there are {', '.join(RECIPES)}")

    @property
    def max_tasks(self) -> int:
        """Largest n."""
        return as_range(self.n_tasks)[1]

    @property
    def max_edges(self) -> int:
        """Edges of the complete DAG, because recipes state no bound."""
        return complete(self.max_tasks)

    def workflow(self, rng: np.random.Generator) -> Workflow:
        """Draw the task graph alone."""
        try:
            with warnings.catch_warnings():  # its import silences every warning of the process
                from wfcommons.wfchef import recipes
        except ImportError:
            raise MissingExtraError("wfcommons", "workflows") from None
        recipe_class = getattr(recipes, _CLASSES[self.application])
        n = draw_range(self.n_tasks, rng)
        with _seeded(int(rng.integers(2**32))):
            try:
                drawn = recipe_class.from_num_tasks(n + _DUMMIES).build_workflow()
            except ValueError as error:  # with "... from base graph with 60 nodes"
                raise DAGSchedError(
                    f"n_tasks {n} is too small for {self.application!r} (wfcommons, which counts "
                    f"{_DUMMIES} more: {error})"
                ) from None
        return _converted(drawn, f"{self.application}-n{len(drawn.nodes)}")


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """Seed the global generators of ``random`` and numpy, and restore them at the end."""
    of_python, of_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(of_python)
        np.random.set_state(of_numpy)  # noqa: NPY002


def _converted(drawn: Any, name: str) -> Workflow:
    """The workflow of a ``wfcommons.common.Workflow``, a graph whose nodes hold tasks."""
    tasks = [drawn.nodes[node]["task"] for node in drawn.nodes]
    index = {node: i for i, node in enumerate(drawn.nodes)}
    written = [float(sum(file.size for file in task.output_files)) for task in tasks]
    edges = tuple((index[parent], index[child]) for parent, child in drawn.edges)
    return Workflow(
        tasks=tuple(map(str, index)),
        runtimes=np.array([float(task.runtime) for task in tasks]),
        edges=edges,
        data=np.array([written[parent] for parent, _ in edges]),
        name=name,
        kinds=tuple(str(task.name) for task in tasks),
    )
