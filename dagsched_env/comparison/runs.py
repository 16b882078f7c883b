"""Dispatchers side by side on the same runs."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from dagsched_env.comparison.compare import Comparison, Progress
from dagsched_env.online.dispatchers import Dispatcher
from dagsched_env.online.objectives import OBJECTIVES
from dagsched_env.online.simulation import Simulation, simulate
from dagsched_env.online.world import World
from dagsched_env.problem.errors import DAGSchedError

__all__ = ["MakeDispatcher", "compare_runs"]

MakeDispatcher = Callable[[World], Dispatcher]
"""Makes a dispatcher for one run. It is to look at ``world.instance`` alone, which is what is
expected, unless it is a bound that knows everything."""


def compare_runs(
    worlds: Sequence[World],
    dispatchers: Mapping[str, MakeDispatcher],
    objective: str = "makespan",
    progress: Progress | None = None,
) -> Comparison:
    """Run every dispatcher in every world: the same graphs, durations, arrivals and outages.

    Args:
        worlds: the runs.
        dispatchers: name → function.
        objective: a key of ``dagsched_env.online.OBJECTIVES``, which takes the place of makespans.
        progress: observer, see ``Progress``.

    Returns:
        ``seconds`` are those of a decision, on average over each run.

    Raises:
        DAGSchedError: no such objective; or names the dispatcher and the run, where it starts what
            cannot start or waits for ever.
    """
    if objective not in OBJECTIVES:
        raise DAGSchedError(f"objective={objective!r} is unknown: give {', '.join(OBJECTIVES)}")
    found = Comparison(
        makespans={name: [] for name in dispatchers},
        seconds={name: [] for name in dispatchers},
        schedules={name: [] for name in dispatchers},
        measure=objective,
    )
    total = len(worlds) * len(dispatchers)
    for world in worlds[:1]:
        for make in dispatchers.values():
            _decide(world, make)
    for i, world in enumerate(worlds):
        for j, (name, make) in enumerate(dispatchers.items()):
            try:
                outcome = simulate(world, make(world), name=name)
            except DAGSchedError as error:
                raise DAGSchedError(f"{name} in run {i}: {error}") from None
            found.makespans[name].append(outcome.measures[objective])
            found.seconds[name].append(outcome.seconds / max(outcome.decisions, 1))
            found.schedules[name].append(outcome.schedule)
            if progress is not None:
                progress(i * len(dispatchers) + j + 1, total)
    return found


def _decide(world: World, make: MakeDispatcher) -> None:
    """The first decision in a run, for nothing: who loads kernels for it is not charged."""
    simulation = Simulation(world)
    if simulation.settle():
        with suppress(DAGSchedError):  # it comes again, and is told with the run
            for task, machine in make(world).starts(simulation.situation):
                simulation.start(task, machine)
