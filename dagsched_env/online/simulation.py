"""``simulate``: one run, by a dispatcher."""

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats, InstanceArrays
from dagsched_env.kernels.online import world as kernels
from dagsched_env.kernels.online.situation import SituationArrays
from dagsched_env.kernels.online.world import WorldArrays
from dagsched_env.online.dispatchers import Dispatcher
from dagsched_env.online.objectives import measures
from dagsched_env.online.situation import Situation
from dagsched_env.online.world import World
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.schedule import Schedule

__all__ = ["Outcome", "Simulation", "simulate"]


class Simulation:
    """A run that goes on by events.

    Args:
        world: what will happen.
        several: it will be other runs of the same graphs, too (``prepare``).
    """

    def __init__(self, world: World, *, several: bool = False) -> None:
        self.world = world
        self.situation = Situation(world.instance, world.graph)
        self._arrays = world.arrays()
        self._durations: Floats | None = None
        if several:
            self._own_durations()
        self._problem = world.instance.arrays
        kernels.open_world(self._problem, self.situation.arrays, self._arrays)

    def start(self, task: int, machine: int) -> None:
        """A task starts now.

        Raises:
            DAGSchedError: it cannot start there now.
        """
        if not self.situation.can_start(task, machine):
            instance = self.world.instance
            raise DAGSchedError(
                f"the dispatcher starts {instance.task_names[task]!r} on "
                f"{instance.processor_names[machine]!r}, where it cannot start at "
                f"{self.situation.now:g}"
            )
        self.situation.start(task, machine)
        kernels.start_in(self._problem, self.situation.arrays, self._arrays, task)

    def prepare(self, world: World) -> bool:
        """Be another run of the same graphs, in the same arrays, if they fit.

        It has to be begun by a kernel before anything else: this is for many short runs.

        Returns:
            False where the arrays do not fit, and nothing is changed.
        """
        old = self.world
        alike = world.instance is old.instance and world.n_graphs == old.n_graphs == 1
        if not alike or world.outages or old.outages or world.forgets != old.forgets:
            return False
        for of_graph in ("arrival", "deadline", "weight"):
            if getattr(world, of_graph)[0] != getattr(old, of_graph)[0]:
                return False
        if self._durations is None:
            return False
        np.copyto(self._durations, world.actual)
        self.world = world
        return True

    def _own_durations(self) -> None:
        """Those of the world belong to it; a view is read-only as they are, for the kernels."""
        self._durations = self._arrays.actual.copy()
        shown = self._durations.view()
        shown.flags.writeable = False
        self._arrays = self._arrays._replace(actual=shown)

    def settle(self) -> bool:
        """Go on until some task can start; False where the run is over, or nothing more happens."""
        return kernels.settle(self._problem, self.situation.arrays, self._arrays)

    def wait(self) -> bool:
        """Go on to the next event, if there is one; then ``settle``."""
        if not kernels.advance(self._problem, self.situation.arrays, self._arrays):
            return False
        return self.settle()

    @property
    def arrays(self) -> tuple[InstanceArrays, SituationArrays, WorldArrays]:
        """For kernels that step several runs."""
        return self._problem, self.situation.arrays, self._arrays

    @property
    def completion(self) -> Floats:
        """``[u]`` when the last task of each graph finished; of a run that is over."""
        return np.maximum.reduceat(self.situation.arrays.finish, self.world.first[:-1])

    def schedule(self, algorithm: str | None = None) -> Schedule:
        """When and where tasks have run or run now; those that have not started are on −1."""
        arrays = self.situation.arrays
        copies = arrays.machine.copy(), arrays.start.copy(), arrays.finish.copy()
        return Schedule.adopt(*copies, algorithm=algorithm)

    def __reduce__(self) -> tuple[Any, ...]:
        several = self._durations is not None
        return _made_again, (self.world, several, list(self._changing))

    @property
    def _changing(self) -> tuple[npt.NDArray[Any], ...]:
        return *self.situation.arrays, self._arrays.end, self._arrays.passed

    def clone(self) -> "Simulation":
        """An independent copy with the same future."""
        twin = object.__new__(Simulation)
        twin.world, twin._problem = self.world, self._problem
        twin.situation = self.situation.clone()
        arrays = self._arrays
        twin._arrays = arrays._replace(end=arrays.end.copy(), passed=arrays.passed.copy())
        twin._durations = None
        if self._durations is not None:
            twin._own_durations()
        return twin


def _made_again(world: World, several: bool, changing: list[npt.NDArray[Any]]) -> Simulation:
    """A simulation in the state that it had."""
    simulation = Simulation(world, several=several)
    for array, values in zip(simulation._changing, changing, strict=True):
        np.copyto(array, values)
    return simulation


@dataclass(frozen=True, eq=False)
class Outcome:
    """A run that is over."""

    world: World
    schedule: Schedule
    """When and where each task ran, the last time if several times. It is a valid schedule of
    ``world.clairvoyant()``, unless machines failed."""
    completion: Floats
    """``[u]`` when each graph was finished."""
    seconds: float
    """Wall time that the dispatcher took."""
    decisions: int
    """How often it was asked."""

    @cached_property
    def measures(self) -> dict[str, float]:
        """By the names of ``OBJECTIVES``."""
        return measures(self.world, self.completion)


def simulate(world: World, dispatcher: Dispatcher, *, name: str | None = None) -> Outcome:
    """One run to its end.

    Args:
        world: what will happen.
        dispatcher: says what starts; it is asked whenever something can.
        name: of the dispatcher, for the schedule.

    Raises:
        DAGSchedError: the dispatcher starts what cannot start, or waits for ever.
    """
    simulation = Simulation(world)
    situation = simulation.situation
    seconds, decisions = 0.0, 0
    going = simulation.settle()
    while going:
        began = time.perf_counter()
        for task, machine in dispatcher.starts(situation):
            simulation.start(task, machine)
        seconds += time.perf_counter() - began
        decisions += 1
        going = simulation.wait()
    if not situation.done:
        waits = world.instance.task_names[int(np.argmax(~situation.finished))]
        raise DAGSchedError(
            f"nothing happens any more, and the dispatcher does not start {waits!r}"
        )
    return Outcome(world, simulation.schedule(name), simulation.completion, seconds, decisions)
