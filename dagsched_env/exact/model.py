"""The scheduling problem as a CP-SAT model; imported only where ortools is installed."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from dagsched_env.exact.grid import Grid
from dagsched_env.kernels.arrays import Ints
from dagsched_env.problem.destructive import windows
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule

UNITS = 2**20
"""Most units of a resource: times up to 2³⁰ and so many tasks, sums in CP-SAT are below 2⁶³."""


@dataclass(frozen=True)
class Steps:
    """An instance on a grid: all times in whole steps."""

    horizon: int
    """Makespan of the schedule to beat."""
    options: list[list[int]]
    """For each task the processors on which it can still meet the horizon."""
    comp: Ints  # [n, p] valid at the options
    head: Ints  # [n, p] valid at the options
    tail: Ints  # [n, p] valid at the options


class Model:
    """Optional intervals on processors, and transfers between them.

    A processor runs one task at a time, or with resources those that fit.

    Every task has one start, one end and a literal for each of its options. An edge with a transfer
    time has a literal that makes the transfer free if both ends are on the same processor. Where
    links differ, the pairs of processors with a slower link are added.

    Args:
        grid: the unit of time.
        incumbent: a valid, semi-active schedule: hint and horizon.
        bound: lower bound on the makespan (time).
        steps: of the search for windows in which the tasks have to run.
    """

    def __init__(
        self, instance: Instance, grid: Grid, incumbent: Schedule, bound: float, steps: int
    ) -> None:
        self.instance = instance
        self.grid = grid
        self.steps = _on_grid(instance, grid, incumbent, steps)
        self.cp = cp_model.CpModel()
        at_least = int(grid.floor_bound(np.array(bound)))
        horizon = self.steps.horizon
        self.makespan = self.cp.new_int_var(min(at_least, horizon), horizon, "makespan")
        self.start: list[cp_model.IntVar] = []
        self.end: list[cp_model.IntVar] = []
        self.runs_on: list[dict[int, cp_model.IntVar]] = []
        self.same: dict[int, cp_model.IntVar] = {}
        for t in range(instance.n_tasks):
            self._add_task(t)
        for e in range(instance.n_edges):
            self._add_edge(e)
        self._add_processors()
        self._add_hint(incumbent)
        self.cp.minimize(self.makespan)

    def solution(
        self,
        is_true: Callable[[cp_model.IntVar], bool],
        value: Callable[[cp_model.IntVar], int],
    ) -> Schedule:
        """The schedule that the solver has found, in steps.

        Args:
            is_true: of a literal.
            value: of a variable.
        """
        processor = [
            next(q for q, literal in literals.items() if is_true(literal))
            for literals in self.runs_on
        ]
        start, end = [list(map(value, times)) for times in (self.start, self.end)]
        return Schedule(
            np.array(processor, np.int64),
            np.array(start, np.float64),
            np.array(end, np.float64),
            algorithm="exact",
        )

    def _add_task(self, t: int) -> None:
        steps, options = self.steps, self.steps.options[t]
        after = steps.comp[t, options] + steps.tail[t, options]
        earliest, latest = int(steps.head[t, options].min()), steps.horizon - int(after.min())
        start = self.cp.new_int_var(earliest, latest, f"start {t}")
        end = self.cp.new_int_var(earliest, steps.horizon, f"end {t}")
        literals = {q: self.cp.new_bool_var(f"{t} on {q}") for q in options}
        self.cp.add_exactly_one(literals.values())
        chosen = list(literals.values())
        self.cp.add(end == start + _choice(chosen, steps.comp[t, options]))
        self.cp.add(start >= _choice(chosen, steps.head[t, options]))
        self.cp.add(self.makespan >= end + _choice(chosen, steps.tail[t, options]))
        self.start.append(start)
        self.end.append(end)
        self.runs_on.append(literals)

    def _add_edge(self, e: int) -> None:
        u, v = self.instance.edges[e].tolist()
        self.cp.add(self.start[v] >= self.end[u])
        transfers = self._transfers(e, u, v)
        if not transfers:
            return
        least = min(transfers.values())
        shared = self.runs_on[u].keys() & self.runs_on[v].keys()
        if not shared:
            self.cp.add(self.start[v] >= self.end[u] + least)
        elif least > 0:
            self._add_transfer(e, u, v, least)
        for (a, b), steps in transfers.items():
            if steps > least:
                literals = (self.runs_on[u][a], self.runs_on[v][b])
                self.cp.add(self.start[v] >= self.end[u] + steps).only_enforce_if(*literals)

    def _transfers(self, e: int, u: int, v: int) -> dict[tuple[int, int], int]:
        """Transfer time of an edge in steps, for every two different options of its ends.

        Times above the horizon are set to twice the horizon; they are impossible in both cases.
        """
        instance = self.instance
        times = instance.latency + instance.data[e] * instance.inv_bandwidth
        steps = self.grid.floor(np.minimum(times, 2.0 * self.grid.time(self.steps.horizon + 1)))
        pairs = [(a, b) for a in self.runs_on[u] for b in self.runs_on[v] if a != b]
        return {(a, b): int(steps[a, b]) for a, b in pairs}

    def _add_transfer(self, e: int, u: int, v: int, steps: int) -> None:
        """A transfer takes ``steps`` unless both ends of the edge are on the same processor."""
        same = self.same[e] = self.cp.new_bool_var(f"same {e}")
        self.cp.add(self.start[v] >= self.end[u] + steps).only_enforce_if(~same)
        for here, there in ((self.runs_on[u], self.runs_on[v]), (self.runs_on[v], self.runs_on[u])):
            for q, literal in here.items():
                together = [there[q]] if q in there else []
                self.cp.add_bool_or(~same, ~literal, *together)

    def _add_processors(self) -> None:
        if self.instance.n_resources:
            self._add_resources()
            return
        for q in range(self.instance.n_processors):
            tasks = [t for t, literals in enumerate(self.runs_on) if q in literals]
            self.cp.add_no_overlap(self._intervals(tasks, q))
            literals = [self.runs_on[t][q] for t in tasks]
            self.cp.add(self.makespan >= _choice(literals, self.steps.comp[tasks, q]))

    def _add_resources(self) -> None:
        """At each step the demands of the tasks that run on a processor are within its capacity.

        Both are rounded down to ``UNITS`` of the capacity, which keeps every schedule possible. A
        solution in which that is too much gets later starts when it is timed again.
        """
        g = self.instance.arrays
        for q in range(self.instance.n_processors):
            for r in range(self.instance.n_resources):
                users = [
                    t
                    for t, literals in enumerate(self.runs_on)
                    if q in literals and g.demand[t, r] > 0
                ]
                unit = max(1, -(-int(g.capacity[q, r]) // UNITS))
                demands, capacity = g.demand[users, r] // unit, int(g.capacity[q, r]) // unit
                self.cp.add_cumulative(self._intervals(users, q), demands.tolist(), capacity)

    def _intervals(self, tasks: list[int], q: int) -> list[cp_model.IntervalVar]:
        """When tasks run on a processor, if they do."""
        return [
            self.cp.new_optional_interval_var(
                self.start[t],
                int(self.steps.comp[t, q]),
                self.end[t],
                self.runs_on[t][q],
                f"{t} on {q}",
            )
            for t in tasks
        ]

    def _add_hint(self, incumbent: Schedule) -> None:
        start = self.grid.floor(incumbent.start).tolist()
        processor = incumbent.processor.tolist()
        for t, q in enumerate(processor):
            self.cp.add_hint(self.start[t], start[t])
            self.cp.add_hint(self.end[t], start[t] + int(self.steps.comp[t, q]))
            for a, literal in self.runs_on[t].items():
                self.cp.add_hint(literal, a == q)
        for e, same in self.same.items():
            u, v = self.instance.edges[e].tolist()
            self.cp.add_hint(same, processor[u] == processor[v])
        self.cp.add_hint(self.makespan, self.steps.horizon)


def _on_grid(instance: Instance, grid: Grid, incumbent: Schedule, steps: int) -> Steps:
    """Round down, and drop the options with which no schedule meets the incumbent's makespan."""
    horizon = int(grid.floor(np.array(incumbent.makespan)))
    limit = 2.0 * grid.time(horizon + 1)
    comp = grid.floor(np.minimum(instance.comp, limit))
    first, last = windows(instance, incumbent.makespan, steps=steps)
    head = grid.floor_bound(np.minimum(first, limit))
    head = np.maximum(head, grid.floor(np.minimum(instance.earliest, limit)))
    tail = grid.floor_bound(np.minimum(last, limit))
    meets = head + comp + tail <= horizon
    options = [np.flatnonzero(row).tolist() for row in meets]
    return Steps(horizon, options, comp, head, tail)


def _choice(literals: list[cp_model.IntVar], steps: Ints) -> cp_model.LinearExpr:
    """The entry of ``steps`` whose literal is true; 0 if none is."""
    return cp_model.LinearExpr.weighted_sum(literals, steps.tolist())
