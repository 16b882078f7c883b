"""Tiled factorisations, Cholesky, LU and QR: kernels in program order, and the graph of their data.

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
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.parameters import Range, as_range, check_range, checked, draw_range
from dagsched_env.problem.workflow import Workflow

MOST_TILES = 400
"""In a row."""


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

    tiles: Range = checked(5, check_range)

    def __post_init__(self) -> None:
        super().__post_init__()
        most = as_range(self.tiles)[1]
        if most > MOST_TILES:
            raise DAGSchedError(f"tiles is {most}: at most {MOST_TILES}, which are 10⁷ tasks")

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


@dataclass(frozen=True, kw_only=True)
class CholeskyGenerator(TiledFamily):
    """The lower triangle A = L·Lᵀ of t · t tiles: t·(t + 1)·(t + 2)/6 tasks.

    Work of POTRF 1/3, TRSM 1, SYRK 1, GEMM 2 (· b³ flops).

    Args:
        platform: draws the processors.
        tiles: t, or an inclusive range (low, high) of it.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    factorisation: ClassVar[str] = "cholesky"

    @staticmethod
    def kernels(tiles: int) -> Iterator[Kernel]:
        """The right-looking program."""
        for k in range(tiles):
            yield Kernel(f"POTRF({k})", 1 / 3, (), (f"A{k},{k}",))
            for i in range(k + 1, tiles):
                yield Kernel(f"TRSM({i},{k})", 1.0, (f"A{k},{k}",), (f"A{i},{k}",))
            for i in range(k + 1, tiles):
                yield Kernel(f"SYRK({i},{k})", 1.0, (f"A{i},{k}",), (f"A{i},{i}",))
                for j in range(k + 1, i):
                    reads = (f"A{i},{k}", f"A{j},{k}")
                    yield Kernel(f"GEMM({i},{j},{k})", 2.0, reads, (f"A{i},{j}",))


@dataclass(frozen=True, kw_only=True)
class LUGenerator(TiledFamily):
    """A = L·U of t · t tiles, no pivoting between tiles: t·(t + 1)·(2·t + 1)/6 tasks.

    Work of GETRF 2/3, TRSM 1, GEMM 2 (· b³ flops).

    Args:
        platform: draws the processors.
        tiles: t, or an inclusive range (low, high) of it.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    factorisation: ClassVar[str] = "lu"

    @staticmethod
    def kernels(tiles: int) -> Iterator[Kernel]:
        """The right-looking program."""
        for k in range(tiles):
            rest = range(k + 1, tiles)
            yield Kernel(f"GETRF({k})", 2 / 3, (), (f"A{k},{k}",))
            for j in rest:
                yield Kernel(f"TRSM({k},{j})", 1.0, (f"A{k},{k}",), (f"A{k},{j}",))
            for i in rest:
                yield Kernel(f"TRSM({i},{k})", 1.0, (f"A{k},{k}",), (f"A{i},{k}",))
            for i in rest:
                for j in rest:
                    reads = (f"A{i},{k}", f"A{k},{j}")
                    yield Kernel(f"GEMM({i},{j},{k})", 2.0, reads, (f"A{i},{j}",))


@dataclass(frozen=True, kw_only=True)
class QRGenerator(TiledFamily):
    """A = Q·R of t · t tiles, Householder reflectors tile by tile: t·(t + 1)·(2·t + 1)/6 tasks.

    GEQRT stores the reflectors V and the triangle R in one tile. They are sent separately, so that
    TSQRT, which updates R, does not wait for the UNMQR tasks, which read V. Work of GEQRT 4/3,
    UNMQR 2, TSQRT 2, TSMQR 4 (· b³ flops; Dongarra et al. 2013, "Hierarchical QR factorization
    algorithms for multi-core clusters", Parallel Computing 39(4–5)).

    Args:
        platform: draws the processors.
        tiles: t, or an inclusive range (low, high) of it.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    factorisation: ClassVar[str] = "qr"

    @staticmethod
    def kernels(tiles: int) -> Iterator[Kernel]:
        """The right-looking program."""
        for k in range(tiles):
            rest = range(k + 1, tiles)
            pivot = (f"A{k},{k}", f"V{k},{k}") if k < tiles - 1 else (f"A{k},{k}",)
            yield Kernel(f"GEQRT({k})", 4 / 3, (), pivot)
            for j in rest:
                yield Kernel(f"UNMQR({k},{j})", 2.0, (f"V{k},{k}",), (f"A{k},{j}",))
            for i in rest:
                yield Kernel(f"TSQRT({i},{k})", 2.0, (), (f"A{k},{k}", f"A{i},{k}"))
                for j in rest:
                    both = (f"A{k},{j}", f"A{i},{j}")
                    yield Kernel(f"TSMQR({i},{j},{k})", 4.0, (f"A{i},{k}",), both)


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
