"""The runs on which the dispatcher is trained: families, machines, noise, arrivals at random."""

from functools import cache

import numpy as np

from dagsched_env.generators import Generator
from dagsched_env.online.arrivals import Poisson
from dagsched_env.online.noise import Lognormal
from dagsched_env.online.world import World, Worlds
from dagsched_env.sources.specs import parse_family

__all__ = ["draw_world"]

FAMILIES = (
    "topcuoglu_graph?tasks=20..120",
    "topcuoglu_graph?tasks=20..120",
    "layered?layers=4..10&width=3..10",
    "cholesky?tiles=4..7",
    "fft?points=8,16",
    "stencil?width=4..9&steps=4..10",
    "daggen?tasks=20..120",
    "lu?tiles=4..6",
)
SMALL_FAMILIES = (
    "topcuoglu_graph?tasks=10..30",
    "layered?layers=3..6&width=2..5",
    "cholesky?tiles=3..5",
    "fft?points=4,8",
    "stencil?width=3..5&steps=3..5",
    "daggen?tasks=10..30",
)
"""Of runs of several graphs."""
PLATFORMS = (
    "unrelated&processors={p}&beta={beta}",
    "unrelated&processors={p}&beta={beta}",
    "related&processors={p}",
    "identical&processors={p}",
    "clustered&processors={p}&beta={beta}",
    "cpu_gpu&cpus={cpus}&gpus={gpus}",
)
PROCESSORS = (4, 6, 8, 12, 16)
BETAS = (0.25, 0.5, 1.0)
CCRS = (0.1, 0.3, 0.5, 1.0, 2.0, 5.0)
CVS = (0.0, 0.1, 0.3, 0.3, 0.6, 0.6, 1.0)
SHARING, STREAMS = 0.15, 0.3
"""Shares of runs whose tasks share machines, and of runs of several graphs."""
GRAPHS = (4, 12)
LOADS = (0.5, 0.95)


def draw_world(rng: np.random.Generator) -> World:
    """A run: of one graph, or of several that arrive one after the other."""
    stream = rng.random() < STREAMS
    cv = float(rng.choice(CVS))
    arrivals = None
    if stream:
        arrivals = Poisson(int(rng.integers(*GRAPHS, endpoint=True)), float(rng.uniform(*LOADS)))
    families = SMALL_FAMILIES if stream else FAMILIES
    family = _family(families[rng.integers(len(families))] + _machines(rng))
    return Worlds(family, arrivals=arrivals, noise=Lognormal(cv) if cv else None)(rng)


def _machines(rng: np.random.Generator) -> str:
    """The part of a SPEC that says which machines there are."""
    p = int(rng.choice(PROCESSORS))
    gpus = 1 if p < 8 else 2
    platform = PLATFORMS[rng.integers(len(PLATFORMS))].format(
        p=p, beta=rng.choice(BETAS), cpus=p - gpus, gpus=gpus
    )
    shared = "&cores=4&demand=1..4" if rng.random() < SHARING else ""
    return f"&platform={platform}&ccr={rng.choice(CCRS)}{shared}"


@cache
def _family(spec: str) -> Generator:
    return parse_family(f"family:{spec}")
