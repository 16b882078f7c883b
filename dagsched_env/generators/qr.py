"""Tiled QR factorisation with a flat tree: Buttari et al. 2009 (see ``tiled``)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from dagsched_env.generators.tiled import Kernel, TiledFamily


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
