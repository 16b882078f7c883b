"""A family of task graphs on a family of platforms; random weights for graphs without any."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.parameters import Range, as_range, check_fields, check_range, checked
from dagsched_env.problem.platforms import PlatformModel, Unrelated
from dagsched_env.problem.platforms.around import resources_of
from dagsched_env.problem.workflow import Workflow

MEAN_COST = 10.0
"""w̄_DAG: expected execution time of a task with a random weight. It only sets the unit of time."""


@dataclass(frozen=True, kw_only=True)
class GraphFamily(ABC):
    """Draws a workflow, then puts it on a platform: a ``Generator``.

    Subclasses are frozen dataclasses that say which graphs they draw and how large they can be;
    fields that are ``checked`` are checked here.
    """

    platform: PlatformModel = field(default=Unrelated())
    """Draws the processors; a family of ``dagsched_env.problem.platforms``, or your own."""

    def __post_init__(self) -> None:
        if not callable(self.platform) or not hasattr(self.platform, "max_processors"):
            raise DAGSchedError(
                f"platform is {self.platform!r}: give one of dagsched_env.problem.platforms"
            )
        check_fields(self)

    @property
    @abstractmethod
    def max_tasks(self) -> int:
        """No instance has more tasks."""

    @property
    @abstractmethod
    def max_edges(self) -> int:
        """No instance has more edges."""

    @abstractmethod
    def workflow(self, rng: np.random.Generator) -> Workflow:
        """Draw the task graph alone."""

    @property
    def max_processors(self) -> int:
        """No instance has more processors."""
        return self.platform.max_processors

    @property
    def max_resources(self) -> int:
        """Every instance has as many resources."""
        return resources_of(self.platform)

    def __call__(self, rng: np.random.Generator) -> Instance:
        """Draw one instance."""
        return self.platform(self.workflow(rng), rng)


@dataclass(frozen=True, kw_only=True)
class GraphFamilyOfSize(GraphFamily):
    """A family whose number of tasks is a parameter, with as many edges as its graphs may have."""

    n_tasks: Range = checked((20, 100), check_range)

    @property
    def max_tasks(self) -> int:
        """Largest n."""
        return as_range(self.n_tasks)[1]

    @property
    def max_edges(self) -> int:
        """Those of the complete DAG."""
        return complete(self.max_tasks)


def workflow(
    runtimes: Sequence[float] | Floats,
    edges: Sequence[tuple[int, int]],
    data: Sequence[float] | Floats | None = None,
    *,
    name: str,
    tasks: Sequence[str] | None = None,
    kinds: Sequence[str] | None = None,
) -> Workflow:
    """A workflow from plain lists.

    Args:
        runtimes: ``[n]`` time of each task on a processor of speed 1, ≥ 0.
        edges: m pairs (predecessor, successor) of task indices.
        data: ``[m]`` amount of data on each edge, ≥ 0; default 1.
        name: a label.
        tasks: n distinct names; default ``"0"`` … ``"n-1"``.
        kinds: ``[n]`` kind of each task, or None.
    """
    return Workflow(
        tasks=tuple(map(str, range(len(runtimes)))) if tasks is None else tuple(tasks),
        runtimes=np.asarray(runtimes, dtype=np.float64),
        edges=tuple(edges),
        data=np.ones(len(edges)) if data is None else np.asarray(data, dtype=np.float64),
        name=name,
        kinds=None if kinds is None else tuple(kinds),
    )


def random_weights(
    n: int, edges: Sequence[tuple[int, int]], rng: np.random.Generator, *, name: str
) -> Workflow:
    """A workflow with random weights, drawn as by Topcuoglu et al. 2002.

    Runtimes are uniform in [0, 2·w̄], data is uniform in [0, 1].

    Args:
        n: number of tasks.
        edges: pairs (predecessor, successor) of task indices.
        rng: draws the weights.
        name: a label.
    """
    return workflow(2.0 * MEAN_COST * rng.random(n), edges, rng.random(len(edges)), name=name)


def complete(n: int) -> int:
    """Number of edges of the complete DAG of n tasks."""
    return n * (n - 1) // 2
