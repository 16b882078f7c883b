"""Tiled matrix factorisations: kernels on tiles in program order, and the graph of their data.

Buttari, Langou, Kurzak, Dongarra 2009, "A class of parallel tiled linear algebra algorithms for
multicore architectures", Parallel Computing 35(1).
"""

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, NamedTuple

import numpy as np

from dagsched_env.generators.family import GraphFamily, workflow
from dagsched_env.problem.parameters import Range, as_range, check_range, draw_range
from dagsched_env.problem.workflow import Workflow


class Kernel(NamedTuple):
    """One call of a kernel: a task."""

    name: str
    """Kind of kernel and, in parentheses, the tile."""
    work: float
    """Floating-point operations / b³, where tiles have b · b numbers."""
    reads: tuple[str, ...]
    """Tiles that it only reads."""
    writes: tuple[str, ...]
    """Tiles that it overwrites."""


@dataclass(frozen=True, kw_only=True)
class TiledFamily(GraphFamily):
    """A factorisation of a matrix of tiles · tiles tiles: a fixed graph for each size.

    A task needs each of its tiles from the kernel that wrote it last; an edge carries one unit of
    data per tile. The tiles of the input matrix are on every processor.
    """

    factorisation: ClassVar[str]

    tiles: Range = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("tiles", self.tiles)

    @property
    def max_tasks(self) -> int:
        """Kernels of the largest matrix."""
        return len(_graph(type(self), as_range(self.tiles)[1]).tasks)

    @property
    def max_edges(self) -> int:
        """Edges of the largest matrix."""
        return len(_graph(type(self), as_range(self.tiles)[1]).edges)

    def workflow(self, rng: np.random.Generator) -> Workflow:
        """Draw the task graph alone: its size."""
        return _graph(type(self), draw_range(self.tiles, rng))

    @staticmethod
    @abstractmethod
    def kernels(tiles: int) -> Iterator[Kernel]:
        """The sequential program."""


@lru_cache(maxsize=32)
def _graph(family: type[TiledFamily], tiles: int) -> Workflow:
    program = list(family.kernels(tiles))
    writer: dict[str, int] = {}
    flow: dict[tuple[int, int], float] = {}
    for task, kernel in enumerate(program):
        for tile in (*kernel.reads, *kernel.writes):
            if tile in writer:
                edge = (writer[tile], task)
                flow[edge] = flow.get(edge, 0.0) + 1.0
        writer |= dict.fromkeys(kernel.writes, task)
    edges = sorted(flow)
    graph = workflow(
        [kernel.work for kernel in program],
        edges,
        [flow[edge] for edge in edges],
        name=f"{family.factorisation}-{tiles}x{tiles}",
        tasks=[kernel.name for kernel in program],
        kinds=[kernel.name.partition("(")[0] for kernel in program],
    )
    graph.runtimes.flags.writeable = graph.data.flags.writeable = False  # shared by all instances
    return graph
