"""Tiled Cholesky factorisation: Buttari et al. 2009 (see ``tiled``)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from dagsched_env.generators.tiled import Kernel, TiledFamily


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
