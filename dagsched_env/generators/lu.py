"""Tiled LU factorisation without pivoting."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from dagsched_env.generators.tiled import Kernel, TiledFamily


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
