"""A run that is to come: graphs, when they arrive, what tasks will really take, what fails."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.kernels.graph.ranks import upward_rank
from dagsched_env.kernels.online.world import WorldArrays
from dagsched_env.online.arrivals import Arrivals, AtOnce
from dagsched_env.online.noise import Noises, drawn
from dagsched_env.online.outages import Outage, Outages
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.sources import Draw, Instances, resolve_source

__all__ = ["World", "Worlds", "joined"]

Joined: TypeAlias = dict[tuple[int, ...], tuple[tuple[Instance, ...], Instance]]
"""Identities of graphs → the graphs, which keeps them theirs, and all as one instance."""
MOST_JOINED = 64
"""Such instances that are kept."""


class World:
    """What will happen in one run. Dispatchers see its ``instance``, and the rest as it happens.

    Args:
        instance: all graphs side by side, with the expected durations.
        actual: ``[n, p]`` what tasks really take, ≥ 0, finite where ``instance.comp`` is; None:
            what is expected.
        arrival: ``[u]`` when each graph arrives, ≥ 0, ascending; None: one graph, at time 0.
        first: ``[u + 1]`` graph i has the tasks ``first[i]:first[i + 1]``.
        deadline: ``[u]`` when each graph should be finished; None: no deadlines.
        weight: ``[u]`` what a unit of lateness of each graph costs, ≥ 0; None: 1.
        outages: of machines; those of one machine do not overlap.
        forgets: with a machine the outputs that are kept there are lost, too.

    Raises:
        DAGSchedError: a wrong shape or value, an edge between two graphs, or a task that no machine
            can run in the end.
    """

    def __init__(
        self,
        instance: Instance,
        actual: npt.ArrayLike | None = None,
        *,
        arrival: npt.ArrayLike | None = None,
        first: npt.ArrayLike | None = None,
        deadline: npt.ArrayLike | None = None,
        weight: npt.ArrayLike | None = None,
        outages: Sequence[Outage] = (),
        forgets: bool = False,
    ) -> None:
        n = instance.n_tasks
        self.instance = instance
        self.actual = _durations(instance, actual)
        if arrival is None and first is None:
            self.arrival, self.first = np.zeros(1), np.array([0, n])
            self.graph: Ints = np.zeros(n, dtype=np.int64)
        else:
            self._set_graphs(
                [0.0] if arrival is None else arrival, [0, n] if first is None else first
            )
        u = len(self.arrival)
        self.deadline = np.full(u, np.inf) if deadline is None else _row("deadline", deadline, u)
        self.weight = np.ones(u) if weight is None else _row("weight", weight, u, least=0.0)
        self.outages = tuple(outages)
        self.forgets = forgets
        self._changes = _changes(instance, self.outages)
        # Read-only as the instance's: numba compiles a kernel again for arrays that are not.
        constant = (self.actual, self.arrival, self.first, self.deadline, *self._changes)
        for array in constant:
            array.flags.writeable = False

    def _set_graphs(self, arrival: npt.ArrayLike, first: npt.ArrayLike) -> None:
        instance, n = self.instance, self.instance.n_tasks
        self.arrival = _row("arrival", arrival, None, least=0.0)
        u = len(self.arrival)
        if (np.diff(self.arrival) < 0).any():
            raise DAGSchedError("arrival is not ascending: sort the graphs by their arrival")
        self.first = np.array(first, dtype=np.int64)
        if self.first.shape != (u + 1,) or (np.diff(self.first) < 1).any():
            raise DAGSchedError(
                f"first needs {u + 1} ascending entries, one task per graph at least"
            )
        if self.first[0] != 0 or self.first[-1] != n:
            raise DAGSchedError(f"first runs from 0 to {n}, the number of tasks")
        self.graph = np.repeat(np.arange(u), np.diff(self.first))
        source, target = self.graph[instance.edges].T
        if u > 1 and (source != target).any():
            raise DAGSchedError("an edge joins two graphs: they are one, so let them arrive as one")

    def __reduce__(self) -> tuple[Any, ...]:
        # Made anew: kernels are compiled for arrays that cannot be written to; copies can.
        others: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("arrival", "first", "deadline", "weight", "outages", "forgets")
        }
        return partial(World, **others), (self.instance, self.actual)

    @property
    def n_graphs(self) -> int:
        """u."""
        return len(self.arrival)

    @cached_property
    def alone(self) -> Floats:
        """``[u]`` with all machines for itself and the expected durations, no graph takes less from
        its arrival on (time)."""
        if self.n_graphs == 1:
            return np.array([self.instance.lower_bound])
        g = self.instance.arrays
        longest = np.maximum.reduceat(upward_rank(g, g.min_comp, False), self.first[:-1])
        if self.instance.n_resources:
            return longest
        work = np.add.reduceat(g.min_comp, self.first[:-1])
        return np.maximum(longest, work / self.instance.n_processors)

    def arrays(self) -> WorldArrays:
        """For the kernels; new ones, which a run changes."""
        times, machines, works = self._changes
        return WorldArrays(
            actual=self.actual,
            arrival=self.arrival,
            first=self.first,
            deadline=self.deadline,
            change=times,
            changed=machines,
            works=works,
            forgets=np.array([self.forgets]),
            end=np.zeros(self.instance.n_tasks),
            passed=np.zeros(2, dtype=np.int64),
        )

    def clairvoyant(self) -> Instance:
        """The problem with the real durations, in which no graph may begin before it arrives.

        A schedule of it is what could be reached if all were known at the beginning and no machine
        failed.
        """
        arguments = self.instance.arguments() | {"comp": self.actual}
        if self.arrival.any():
            arrival = self.arrival[self.graph][:, None]
            arguments["release"] = np.maximum(self.instance.earliest, arrival)
        return Instance(**arguments)


@dataclass(frozen=True)
class Worlds:
    """Draws runs: graphs from any source, their arrivals, noise, outages.

    Several graphs run on the machines of the first one: links and capacities are its own, and so is
    the number of machines, which all graphs have to share.

    Args:
        instances: the graphs, as of ``DAGSchedEnv``.
        arrivals: when graphs arrive, and how many; None: one graph, at time 0.
        noise: how real durations differ from expected ones; several kinds are multiplied.
        outages: which machines fail, and when.
        forgets: as of ``World``.
        slack: deadlines are so many times the graph's lower bound after its arrival, > 0; None: no
            deadlines.

    Raises:
        DAGSchedError: an argument is out of its range.
    """

    instances: Instances | None = None
    arrivals: Arrivals | None = None
    noise: Noises = None
    outages: Outages | None = None
    forgets: bool = False
    slack: float | None = None
    _draw: Draw = dataclasses.field(init=False, repr=False, compare=False)
    _joined: Joined = dataclasses.field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_draw", resolve_source(self.instances))
        if self.slack is not None and not 0 < self.slack < np.inf:
            raise DAGSchedError(f"slack={self.slack} is not a number > 0")

    @property
    def source(self) -> Draw:
        """Draws one graph."""
        return self._draw

    @property
    def n_graphs(self) -> int:
        """Graphs of a run."""
        return 1 if self.arrivals is None else self.arrivals.graphs

    def __call__(self, rng: np.random.Generator) -> World:
        """A run."""
        graphs = [self._draw(rng) for _ in range(self.n_graphs)]
        return self.of(graphs, rng)

    def _instance(self, graphs: Sequence[Instance]) -> Instance:
        """The graphs side by side; where they are always the same ones, it is made once."""
        if len(graphs) == 1:
            return graphs[0]
        key = tuple(map(id, graphs))
        if key not in self._joined:
            made = joined(graphs)
            if len(self._joined) == MOST_JOINED:
                return made
            self._joined[key] = (tuple(graphs), made)
        return self._joined[key][1]

    def of(self, graphs: Sequence[Instance], rng: np.random.Generator) -> World:
        """A run of these graphs."""
        # One graph at time 0 is the usual case of learning, and begins thousands of times a second.
        arrival = np.zeros(1)
        if self.arrivals is not None or len(graphs) > 1:
            arrival = (self.arrivals or AtOnce()).times(graphs, rng)
        instance = self._instance(graphs)
        deadline = None
        if self.slack is not None:
            deadline = arrival + self.slack * np.array([graph.lower_bound for graph in graphs])
        actual = None
        if self.noise is not None:
            with np.errstate(invalid="ignore"):  # 0 · ∞, where a machine cannot run a task
                actual = instance.comp * drawn(self.noise, instance, rng)
        several = len(graphs) > 1 or arrival[0] > 0
        first = np.cumsum([0, *(graph.n_tasks for graph in graphs)]) if several else None
        return World(
            instance,
            actual,
            arrival=arrival if several else None,
            first=first,
            deadline=deadline,
            outages=() if self.outages is None else self.outages.draw(instance, rng),
            forgets=self.forgets,
        )


def joined(graphs: Sequence[Instance]) -> Instance:
    """Several graphs as one instance, on the machines of the first.

    Args:
        graphs: at least one; of as many processors, and of the same resources.

    Raises:
        DAGSchedError: they differ in that.
    """
    if len(graphs) == 1:
        return graphs[0]
    one = graphs[0]
    for i, graph in enumerate(graphs):
        if graph.n_processors != one.n_processors or graph.resource_names != one.resource_names:
            raise DAGSchedError(
                f"graph {i} ({graph}) is for other machines than the first ({one}): all graphs of "
                "a run have as many processors and the same resources"
            )
    first = np.cumsum([0, *(graph.n_tasks for graph in graphs)])
    arguments: dict[str, Any] = one.arguments() | {
        "name": f"{len(graphs)} graphs",
        "comp": np.concatenate([graph.comp for graph in graphs]),
        "edges": np.concatenate(
            [graph.edges + at for graph, at in zip(graphs, first, strict=False)]
        ),
        "data": np.concatenate([graph.data for graph in graphs]),
        "task_names": [
            f"{i}:{name}" for i, graph in enumerate(graphs) for name in graph.task_names
        ],
    }
    if one.n_resources:
        arguments["demands"] = np.concatenate([graph.demands for graph in graphs])
    if any(graph.has_release for graph in graphs):
        raise DAGSchedError("a graph with release dates cannot be one of several: leave them out")
    return Instance(**arguments)


def _durations(instance: Instance, actual: npt.ArrayLike | None) -> Floats:
    if actual is None:
        return instance.comp
    found: Floats = np.asarray(actual, dtype=np.float64)
    if found.shape != instance.comp.shape:
        raise DAGSchedError(
            f"actual needs shape {list(instance.comp.shape)}, got {list(found.shape)}"
        )
    eligible = instance.comp < np.inf
    fine = (found >= 0) & (found < np.inf)
    if not (fine | ~eligible).all():
        t, q = np.argwhere(eligible & ~fine)[0].tolist()
        raise DAGSchedError(f"actual[{t}, {q}] is {found[t, q]}: durations are finite and >= 0")
    return np.where(eligible, found, np.inf)


def _row(what: str, values: npt.ArrayLike, count: int | None, least: float = -np.inf) -> Floats:
    row: Floats = np.atleast_1d(np.array(values, dtype=np.float64))
    if row.ndim != 1 or not row.size or (count is not None and len(row) != count):
        raise DAGSchedError(f"{what} needs one number per graph, got shape {list(row.shape)}")
    finite = np.isfinite(row) | (what == "deadline")
    if np.isnan(row).any() or not (finite & (row >= least)).all():
        raise DAGSchedError(f"{what} has a number that is not finite and >= {least:g}")
    return row


def _changes(
    instance: Instance, outages: Sequence[Outage]
) -> tuple[Floats, Ints, npt.NDArray[np.bool_]]:
    """Times, machines, and whether they come back; a machine that comes back is before one that
    fails at the same time."""
    if not outages:
        return np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.bool_)
    events: list[tuple[float, bool, int]] = []
    for i, (q, start, end) in enumerate(outages):
        if not (0 <= q < instance.n_processors and 0 <= start < end and start < np.inf):
            raise DAGSchedError(
                f"outages[{i}] is machine {q} from {start} to {end}: machines run from 0 to "
                f"{instance.n_processors - 1}, and an outage begins at a time >= 0, before it ends"
            )
        events.append((start, True, q))
        if end < np.inf:
            events.append((end, False, q))
    events.sort()
    down: set[int] = set()
    for time, fails, q in events:
        if fails and q in down:
            raise DAGSchedError(f"machine {q} is to fail at {time:g}, and does not work then")
        down = down | {q} if fails else down - {q}
    never = ~np.isfinite(
        instance.comp[:, [q for q in range(instance.n_processors) if q not in down]]
    )
    if down and never.all(axis=1).any():
        t = int(np.flatnonzero(never.all(axis=1))[0])
        raise DAGSchedError(
            f"task {instance.task_names[t]!r} can run only on machines that do not come back"
        )
    return (
        np.array([time for time, _, _ in events]),
        np.array([q for _, _, q in events], dtype=np.int64),
        np.array([not fails for _, fails, _ in events], dtype=np.bool_),
    )
