"""Runs that go on by events, with durations that differ from what is expected.

    worlds = Worlds("family:cholesky?tiles=6", noise=Lognormal(0.3))
    world = worlds(np.random.default_rng(0))
    outcome = simulate(world, ListOrder(world.instance))

``DAGSchedOnline-v0`` is the same as an environment, and ``execution`` runs jobs by the same
dispatchers for real.

In reading order:

- ``noise``, ``arrivals``, ``outages``: how durations differ, when graphs arrive, what fails;
- ``world``: all of that for one run;
- ``objectives``: what a run is judged by;
- ``situation``: what is known of a run;
- ``dispatchers``: FIFO, list scheduling at each event, a plan;
- ``judging``: plans for several graphs, chosen by an objective;
- ``replanning``: plans that are made anew;
- ``simulation``: ``simulate``;
- ``specs``: noise, arrivals and outages as text.
"""

from dagsched_env.online.arrivals import ARRIVALS, Arrivals, AtOnce, Bursts, Poisson, Recorded
from dagsched_env.online.dispatchers import ORDERS, Dispatcher, Fifo, ListOrder, PlanOrder
from dagsched_env.online.judging import Judge
from dagsched_env.online.noise import (
    NOISES,
    Gamma,
    Lognormal,
    Machines,
    Measured,
    Noise,
    Stragglers,
    Uniform,
)
from dagsched_env.online.objectives import OBJECTIVES, Objective
from dagsched_env.online.outages import OUTAGES, OneLost, Outage, Outages, RandomOutages
from dagsched_env.online.replanning import Planner, Replanning
from dagsched_env.online.simulation import Outcome, Simulation, simulate
from dagsched_env.online.situation import Situation
from dagsched_env.online.world import World, Worlds

__all__ = [
    "ARRIVALS",
    "NOISES",
    "OBJECTIVES",
    "ORDERS",
    "OUTAGES",
    "Arrivals",
    "AtOnce",
    "Bursts",
    "Dispatcher",
    "Fifo",
    "Gamma",
    "Judge",
    "ListOrder",
    "Lognormal",
    "Machines",
    "Measured",
    "Noise",
    "Objective",
    "OneLost",
    "Outage",
    "Outages",
    "Outcome",
    "PlanOrder",
    "Planner",
    "Poisson",
    "RandomOutages",
    "Recorded",
    "Replanning",
    "Simulation",
    "Situation",
    "Stragglers",
    "Uniform",
    "World",
    "Worlds",
    "simulate",
]
