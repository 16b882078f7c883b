"""``simulate``: one run, by a dispatcher."""

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np

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
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.situation = Situation(world.instance, world.graph)
        self._arrays = world.arrays()
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
        return Schedule(arrays.machine, arrays.start, arrays.finish, algorithm=algorithm)

    def clone(self) -> "Simulation":
        """An independent copy with the same future."""
        twin = object.__new__(Simulation)
        twin.world, twin._problem = self.world, self._problem
        twin.situation = self.situation.clone()
        arrays = self._arrays
        twin._arrays = arrays._replace(end=arrays.end.copy(), passed=arrays.passed.copy())
        return twin


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
