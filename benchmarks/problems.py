"""The graphs of the benchmarks of the search; no benchmark itself."""

import numpy as np

from dagsched_env import Instance
from dagsched_env.generators import TopcuogluGenerator

__all__ = ["CCR", "PROCESSORS", "draw", "spread"]

PROCESSORS = (4, 8)
CCR = (0.1, 0.5, 1.0, 2.0, 5.0)


def draw(n: int, p: int, ccr: float, *key: int) -> Instance:
    """A layered random graph with a seed of its own."""
    generator = TopcuogluGenerator(n_tasks=n, n_processors=p, ccr=ccr, beta=1.0)
    return generator(np.random.default_rng([20261121, n, p, *key]))


def spread(n: int, count: int) -> list[Instance]:
    """Graphs of n tasks that go round all pairs of a number of processors and a CCR."""
    cells = [(p, ccr) for p in PROCESSORS for ccr in CCR]
    return [draw(n, *cells[i % len(cells)], i) for i in range(count)]
