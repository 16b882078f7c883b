"""Instances whose optimum is known, because they are made from an optimal schedule."""

from dataclasses import dataclass

import numpy as np

from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.parameters import (
    Choices,
    Range,
    WholeChoices,
    as_choices,
    as_range,
    check_choices,
    check_fields,
    check_number,
    check_range,
    checked,
    draw_choice,
    draw_range,
)
from dagsched_env.problem.schedule import Schedule


@dataclass(frozen=True)
class ToyGenerator:
    """Cuts ``[0, optimum]`` on every processor into tasks, then adds edges that the cut satisfies.

    A task is fastest on the processor of its cut, and costs up to ``1 + beta`` times as much on the
    others. So the mean load of the processors, with every task at its minimum cost, is exactly
    ``optimum``: no schedule is shorter, and the cut is a schedule of that length. An edge leads
    from a task to one that starts after its finish. Its data takes at most the time between the
    two, or any time if both are on the same processor in the cut. All times are whole numbers, so
    the bound is exact.

    Args:
        n_tasks: n, or an inclusive range (low, high) of it; at least one for each processor.
        n_processors: p ≥ 1, or choices of it.
        optimum: the makespan of an optimal schedule, a whole number ≥ n.
        beta: β ≥ 0, or choices of it; costs on other processors are 1 to 1 + β times the least.
        density: probability of each edge that is possible, in [0, 1], or choices of it.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    n_tasks: Range = checked(12, check_range)
    n_processors: WholeChoices = checked(3, check_choices, at_least=1, whole=True)
    optimum: int = 100
    beta: Choices = checked(1.0, check_choices, at_least=0)
    density: Choices = checked(0.3, check_choices, at_least=0, at_most=1)

    def __post_init__(self) -> None:
        check_fields(self)
        if as_range(self.n_tasks)[0] < self.max_processors:
            raise DAGSchedError(f"n_tasks is {self.n_tasks!r}: each processor needs a task")
        check_number("optimum", self.optimum, at_least=self.max_tasks, whole=True)

    @property
    def max_tasks(self) -> int:
        """Largest n."""
        return as_range(self.n_tasks)[1]

    @property
    def max_processors(self) -> int:
        """Largest p."""
        return int(max(as_choices(self.n_processors)))

    @property
    def max_edges(self) -> int:
        """Edges of the complete DAG."""
        return self.max_tasks * (self.max_tasks - 1) // 2

    def __call__(self, rng: np.random.Generator) -> Instance:
        """Draw one instance."""
        return self.solved(rng)[0]

    def solved(self, rng: np.random.Generator) -> tuple[Instance, Schedule]:
        """Draw one instance with an optimal schedule: its makespan is ``optimum``."""
        n = draw_range(self.n_tasks, rng)
        p = int(draw_choice(self.n_processors, rng))
        beta = draw_choice(self.beta, rng)
        density = draw_choice(self.density, rng)
        schedule = self._cut(n, p, rng)
        comp = np.floor(
            (schedule.finish - schedule.start)[:, None] * (1.0 + beta * rng.random((n, p)))
        )
        comp[np.arange(n), schedule.processor] = schedule.finish - schedule.start
        edges = _edges(schedule, density, rng)
        instance = Instance(
            comp, edges, self._data(schedule, edges, rng), name=f"toy-n{n}-p{p}-c{self.optimum}"
        )
        return instance, schedule

    def _cut(self, n: int, p: int, rng: np.random.Generator) -> Schedule:
        """n tasks in order of their start, without gaps on p processors."""
        pieces = 1 + rng.multinomial(n - p, [1.0 / p] * p)
        spans = []
        for q, count in enumerate(pieces.tolist()):
            inner = 1 + rng.choice(self.optimum - 1, size=count - 1, replace=False)
            times = [0, *np.sort(inner).tolist(), self.optimum]
            spans += [(times[i], q, times[i + 1]) for i in range(count)]
        start, processor, finish = zip(*sorted(spans), strict=True)
        return Schedule(
            np.array(processor),
            np.array(start, dtype=np.float64),
            np.array(finish, dtype=np.float64),
            algorithm="optimal",
        )

    def _data(self, schedule: Schedule, edges: Ints, rng: np.random.Generator) -> Floats:
        source, target = edges[:, 0], edges[:, 1]
        gap = schedule.start[target] - schedule.finish[source]
        same = schedule.processor[source] == schedule.processor[target]
        most = np.where(same, float(self.optimum), gap)
        data: Floats = np.floor(rng.random(len(edges)) * (most + 1.0))
        return data


def _edges(schedule: Schedule, density: float, rng: np.random.Generator) -> Ints:
    """``[m, 2]`` random pairs of which the first task finishes before the second one starts."""
    possible = np.argwhere(schedule.finish[:, None] <= schedule.start)
    return possible[rng.random(len(possible)) < density]
