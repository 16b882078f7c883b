"""The scheduling problem: a task DAG with communication costs on unrelated processors."""

import difflib
import hashlib
import inspect
import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints
from dagsched_env.kernels.graph import bounds, cost_tables, ranks
from dagsched_env.kernels.graph.csr import compress, topological_order
from dagsched_env.problem import drawing
from dagsched_env.problem.arguments import (
    checked_comp,
    checked_data,
    checked_edges,
    checked_link,
    checked_names,
    checked_times,
    first_index,
    floats,
    frozen,
    shown_task,
    texts,
)
from dagsched_env.problem.errors import FormatError, InvalidInstanceError
from dagsched_env.problem.resources import (
    check_capacities,
    check_demands,
    fitting,
    in_units,
    why_unfit,
)

__all__ = ["DATA_KEYS", "Instance"]

JSON_FORMAT = "dagsched-instance"
JSON_VERSION = 1
WITH_RESOURCES = 2
"""Version of the format where there are demands and capacities."""
WITH_RELEASE = 3
"""Version of the format where there are release dates."""
RESOURCES = ("demands", "capacities", "resource_names")
RELEASE = ("release", "available_from")
DATA_KEYS = ("data", "size", "weight")
"""Attributes of an edge that may be its amount of data; the first one that is there counts."""
HEADROOM = 32.0
"""How often all costs may be added up within float64: some schedulers give durations a weight."""


class Instance:
    """A frozen, validated scheduling problem.

    Communication of edge e from processor a to b ≠ a takes
    ``latency[a, b] + data[e] * inv_bandwidth[a, b]``; within a processor it is free. All times are
    in one unit that the user chooses.

    Without ``demands`` a processor runs one task at a time. With them the tasks on a processor
    overlap as long as, at each moment and for each resource, the demands of those that run stay
    within its capacity. A task runs from its start up to, but without, its finish. So tasks of
    duration 0 and of demand 0 need nothing and may be anywhere. A task whose demand exceeds a
    capacity is not eligible there: ``comp`` is ``inf``.

    Time begins at 0. No task starts before its ``release``, and none on a processor before that is
    ``available_from``; this holds for tasks of duration 0 and of demand 0, too.

    Args:
        comp: ``[n, p]`` execution time of each task on each processor, ≥ 0; ``inf`` = may not run.
        edges: ``[m, 2]`` pairs (predecessor, successor) of task indices.
        data: ``[m]`` amount of data on each edge, finite, ≥ 0.
        inv_bandwidth: ``[p, p]`` time per unit of data; default 1. The diagonal is ignored.
        latency: ``[p, p]`` start-up time of a transfer; default 0. The diagonal is ignored.
        task_names: n distinct names; default ``"0"`` … ``"n-1"``.
        processor_names: p distinct names; default ``"P0"`` … .
        name: a label for tables and pictures.
        assumptions: sentences on what was taken for granted where the problem was made, such as
            machines that its file does not describe. Equality and fingerprint leave them out.
        demands: ``[n, k]`` how much of each resource a task uses while it runs, finite, ≥ 0, taken
            as the decimal numbers that they are written as; None = processors run one task at a
            time.
        capacities: ``[p, k]`` how much of each resource a processor has, ≥ 0; ``inf`` = no limit.
        resource_names: k distinct names, such as ``"cores"``; default ``"R0"`` … .
        release: ``[n]`` or ``[n, p]`` time before which a task may not start, anywhere or on each
            processor, finite, ≥ 0; default 0. By processor it says when inputs that come from
            outside are there, such as data of tasks that are finished.
        available_from: ``[p]`` time before which nothing starts on a processor, finite, ≥ 0, such
            as the end of what runs there already; default 0.

    Raises:
        InvalidInstanceError: wrong shapes, NaN or negative costs or times, a task that no processor
            can run, self-loops, duplicate edges, cycles, a demand that fits on no processor; the
            message names the index.
    """

    def __init__(
        self,
        comp: npt.ArrayLike,
        edges: npt.ArrayLike | Iterable[tuple[int, int]],
        data: npt.ArrayLike,
        *,
        inv_bandwidth: npt.ArrayLike | None = None,
        latency: npt.ArrayLike | None = None,
        task_names: Sequence[str] | None = None,
        processor_names: Sequence[str] | None = None,
        name: str | None = None,
        assumptions: Sequence[str] | None = None,
        demands: npt.ArrayLike | None = None,
        capacities: npt.ArrayLike | None = None,
        resource_names: Sequence[str] | None = None,
        release: npt.ArrayLike | None = None,
        available_from: npt.ArrayLike | None = None,
    ) -> None:
        self.comp = checked_comp(floats("comp", comp))
        n, p = self.comp.shape
        self.task_names = checked_names("task_names", task_names, n, prefix="")
        self.processor_names = checked_names("processor_names", processor_names, p, prefix="P")
        self.edges = checked_edges(edges, self.task_names)
        self.data = checked_data(floats("data", data), self.edges)
        self.inv_bandwidth = checked_link("inv_bandwidth", inv_bandwidth, p, default=1.0)
        self.latency = checked_link("latency", latency, p, default=0.0)
        if not isinstance(name, str | None):
            raise InvalidInstanceError(f"name is {type(name).__name__}, not text")
        self.name = name
        self.assumptions = texts("assumptions", assumptions or ())
        self._set_resources(demands, capacities, resource_names)
        self.release = checked_times("release", release, (n,), (n, p))
        self.available_from = checked_times("available_from", available_from, (p,))
        self.arrays = self._build_arrays()

    def __setattr__(self, key: str, value: object) -> None:
        if "arrays" in self.__dict__:
            raise AttributeError(f"Instance is frozen: make a new one instead of setting {key!r}")
        super().__setattr__(key, value)

    # -- sizes and derived quantities ------------------------------------------------------------

    @property
    def n_tasks(self) -> int:
        return int(self.comp.shape[0])

    @property
    def n_processors(self) -> int:
        return int(self.comp.shape[1])

    @property
    def n_edges(self) -> int:
        return int(self.edges.shape[0])

    @property
    def n_resources(self) -> int:
        """k; 0 where processors run one task at a time."""
        return int(self.demands.shape[1])

    @property
    def has_release(self) -> bool:
        """Whether ``release`` or ``available_from`` was given."""
        return self.release is not None or self.available_from is not None

    @cached_property
    def earliest(self) -> Floats:
        """``[n, p]`` the larger of ``release`` and ``available_from`` (time); 0 without them."""
        if not self.has_release:
            return frozen(np.zeros(self.comp.shape))
        return self.arrays.earliest

    @cached_property
    def first_start(self) -> float:
        """The least of ``earliest`` where tasks may run: nothing can start before it (time)."""
        return float(self.earliest[np.isfinite(self.comp)].min()) if self.has_release else 0.0

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of tasks, processors and resources: n, p, k."""
        return self.n_tasks, self.n_processors, self.n_resources

    @property
    def topological_order(self) -> Ints:
        """``[n]`` tasks, every predecessor before its successors (Kahn, first in first out)."""
        return self.arrays.topo

    @cached_property
    def cp_min(self) -> float:
        """Longest path with each task at its minimum cost and no communication (time).

        With release dates each task ends there as early as they allow.
        """
        return float(bounds.critical_path_bound(self.arrays))

    @property
    def time_scale(self) -> float:
        """``cp_min``, or 1 where that is 0: the unit of scaled times, rewards and features."""
        return self.cp_min if self.cp_min > 0 else 1.0

    @cached_property
    def lower_bound(self) -> float:
        """No schedule is shorter: the larger of the critical path and the mean load (time)."""
        return max(self.cp_min, float(bounds.load_bound(self.arrays)))

    @cached_property
    def backwards(self) -> InstanceArrays:
        """``arrays`` of the same problem with time running backwards, without release dates."""
        g = self.arrays
        return g._replace(
            succ_ptr=g.pred_ptr,
            succ_task=g.pred_task,
            succ_data=g.pred_data,
            pred_ptr=g.succ_ptr,
            pred_task=g.succ_task,
            pred_data=g.succ_data,
            topo=frozen(g.topo[::-1]),
            topo_position=frozen(self.n_tasks - 1 - g.topo_position),
            latency=frozen(g.latency.T),
            inv_bandwidth=frozen(g.inv_bandwidth.T),
            earliest=frozen(np.zeros_like(g.earliest)),
        )

    @cached_property
    def rank_u(self) -> Floats:
        """``[n]`` upward rank of HEFT (time)."""
        return frozen(ranks.rank_u(self.arrays))

    @cached_property
    def rank_d(self) -> Floats:
        """``[n]`` downward rank of HEFT (time)."""
        return frozen(ranks.rank_d(self.arrays))

    @cached_property
    def oct(self) -> Floats:
        """``[n, p]`` optimistic cost table of PEFT (time)."""
        return frozen(cost_tables.oct_table(self.arrays))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the numbers (not the names): equal for equal problems on every machine."""
        digest = hashlib.sha256(f"{self.n_tasks},{self.n_processors},{self.n_edges}".encode())
        for array in self._numbers():
            digest.update(np.ascontiguousarray(array + array.dtype.type(0)).tobytes())  # no -0.0
        if self.earliest.any():
            digest.update(b"earliest" + (self.earliest + 0.0).tobytes())
        return digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        if not isinstance(other, Instance):
            return False
        return (
            self.name == other.name
            and self.task_names == other.task_names
            and self.processor_names == other.processor_names
            and self.resource_names == other.resource_names
            and all(map(np.array_equal, self._numbers(), other._numbers()))
            and np.array_equal(self.earliest, other.earliest)
        )

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        label = f"{self.name!r}, " if self.name else ""
        sizes = f"tasks={self.n_tasks}, processors={self.n_processors}, edges={self.n_edges}"
        if self.n_resources:
            sizes += f", resources={', '.join(self.resource_names)}"
        return f"Instance({label}{sizes})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return drawing.load_renderer().instance_html(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Instance._from_dict, (self.arguments(),)

    # -- conversions -----------------------------------------------------------------------------

    def renamed(
        self,
        name: str | None = None,
        *,
        task_names: Sequence[str] | None = None,
        processor_names: Sequence[str] | None = None,
    ) -> "Instance":
        """The same problem under other names; those that are None stay.

        Args:
            name: of the instance.
            task_names: n distinct names.
            processor_names: p distinct names.
        """
        names = {"name": name, "task_names": task_names, "processor_names": processor_names}
        given = {key: value for key, value in names.items() if value is not None}
        return Instance(**self.arguments() | given)

    def arguments(self) -> dict[str, Any]:
        """The arguments by which this instance is made again, by name."""
        return {
            "name": self.name,
            "comp": self.comp,
            "edges": self.edges,
            "data": self.data,
            "inv_bandwidth": self.inv_bandwidth,
            "latency": self.latency,
            "task_names": self.task_names,
            "processor_names": self.processor_names,
            "assumptions": self.assumptions,
            **({key: getattr(self, key) for key in RESOURCES} if self.n_resources else {}),
            **{key: getattr(self, key) for key in RELEASE if getattr(self, key) is not None},
        }

    @classmethod
    def from_networkx(
        cls,
        graph: "nx.DiGraph[Any]",
        *,
        comp: str = "comp",
        data: str | None = None,
        inv_bandwidth: npt.ArrayLike | None = None,
        latency: npt.ArrayLike | None = None,
        processor_names: Sequence[str] | None = None,
        name: str | None = None,
        capacities: npt.ArrayLike | None = None,
        resource_names: Sequence[str] | None = None,
    ) -> "Instance":
        """Read a DiGraph whose nodes carry a cost vector and whose edges carry an amount of data.

        Args:
            graph: node attribute ``comp``: p execution times; edge attribute ``data``: a number.
            comp: name of the node attribute.
            data: name of the edge attribute; a missing one counts as 0. None: the first of
                ``data``, ``size`` and ``weight``, in any case.
            inv_bandwidth: as of ``Instance``.
            latency: as of ``Instance``.
            processor_names: as of ``Instance``.
            name: a label; default: that of the graph.
            capacities: as of ``Instance``, where nodes have the attribute ``demands``: k numbers.
            resource_names: as of ``Instance``.

        Raises:
            InvalidInstanceError: a node without costs, or anything that ``Instance`` refuses, such
                as parallel edges of a MultiDiGraph.
        """
        if not graph.is_directed():
            raise InvalidInstanceError(
                f"the graph is a {type(graph).__name__}: an instance needs a DiGraph"
            )
        index: dict[Hashable, int] = {node: i for i, node in enumerate(graph.nodes)}
        for node, attributes in graph.nodes(data=True):
            if comp not in attributes:
                raise InvalidInstanceError(
                    f"node {node!r} has no attribute {comp!r} with its costs"
                )
        uses = [attributes.get("demands") for _, attributes in graph.nodes(data=True)]
        missing = next((i for i, found in enumerate(uses) if found is None), None)
        if missing is not None and (capacities is not None or any(x is not None for x in uses)):
            raise InvalidInstanceError(
                f"node {list(graph.nodes)[missing]!r} has no attribute 'demands' with what it uses"
            )
        return cls(
            [attributes[comp] for _, attributes in graph.nodes(data=True)],
            [(index[u], index[v]) for u, v in graph.edges()],
            [_carried(attributes, data) for _, _, attributes in graph.edges(data=True)],
            inv_bandwidth=inv_bandwidth,
            latency=latency,
            task_names=[str(node) for node in graph.nodes],
            processor_names=processor_names,
            name=name if name is not None else (graph.name or None),
            demands=None if missing is not None else uses,  # type: ignore[arg-type]
            capacities=capacities,
            resource_names=resource_names,
        )

    def to_networkx(self) -> "nx.DiGraph[Any]":
        """DiGraph on the task names: node attribute ``comp`` (list), edge attribute ``data``.

        With resources nodes have ``demands`` (list), too. Release dates are left out.
        """
        graph: nx.DiGraph[Any] = nx.DiGraph(name=self.name or "")
        for t, (task, costs) in enumerate(zip(self.task_names, self.comp.tolist(), strict=True)):
            uses = {"demands": self.demands[t].tolist()} if self.n_resources else {}
            graph.add_node(task, comp=costs, **uses)
        for (u, v), amount in zip(self.edges.tolist(), self.data.tolist(), strict=True):
            graph.add_edge(self.task_names[u], self.task_names[v], data=amount)
        return graph

    def to_json(self) -> str:
        """Own JSON format; infinite numbers are written as null, assumptions where there are some.

        Version 3 where there are release dates, else 2 where there are resources, else version 1,
        which older releases read, too.
        """
        record = {
            key: value.tolist() if isinstance(value, np.ndarray) else value
            for key, value in self.arguments().items()
        }
        record["comp"] = _with_null(self.comp)
        if self.n_resources:
            record["capacities"] = _with_null(self.capacities)
        if not self.assumptions:
            del record["assumptions"]
        version = WITH_RESOURCES if self.n_resources else JSON_VERSION
        version = WITH_RELEASE if self.has_release else version
        return json.dumps({"format": JSON_FORMAT, "version": version, **record}, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> "Instance":
        """Read ``to_json``.

        Raises:
            FormatError: not JSON, not this format, or a key is missing or of a wrong type.
            InvalidInstanceError: the numbers are not a valid instance.
        """
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise FormatError(f"not JSON: {error}") from None
        if not isinstance(record, dict) or record.get("format") != JSON_FORMAT:
            raise FormatError(f'no instance: the top level needs "format": "{JSON_FORMAT}"')
        if record.get("version") not in (JSON_VERSION, WITH_RESOURCES, WITH_RELEASE):
            known_versions = f"{JSON_VERSION}, {WITH_RESOURCES} or {WITH_RELEASE}"
            raise FormatError(f"version {record.get('version')!r} is not {known_versions}")
        known = {"format", "version", *inspect.signature(cls).parameters}
        for key in sorted(record.keys() - known):
            close = difflib.get_close_matches(key, known, n=1)
            question = f"did you mean {close[0]!r}? " if close else ""
            raise FormatError(f"no key {key!r}: {question}There are {', '.join(sorted(known))}")
        for key in ("edges", "data"):
            record.setdefault(key, [])
        for key in ("comp", "edges", "data"):
            if not isinstance(record.get(key), list):
                raise FormatError(f"key {key!r} is missing or no list")
        for key in ("comp", "capacities"):
            if record.get(key) is None:
                continue
            try:
                record[key] = [[np.inf if c is None else c for c in row] for row in record[key]]
            except TypeError:
                raise FormatError(f"key {key!r} has a row that is not a list") from None
        return cls._from_dict(record)

    # -- internals -------------------------------------------------------------------------------

    def _numbers(self) -> tuple[npt.NDArray[Any], ...]:
        numbers = (self.comp, self.edges, self.data, self.inv_bandwidth, self.latency)
        return (*numbers, self.demands, self.capacities) if self.n_resources else numbers

    @classmethod
    def _from_dict(cls, record: dict[str, Any]) -> "Instance":
        optional = ("inv_bandwidth", "latency", "task_names", "processor_names", "name")
        options = {key: record.get(key) for key in (*optional, "assumptions", *RESOURCES, *RELEASE)}
        return cls(record["comp"], record["edges"], record["data"], **options)

    def _set_resources(
        self,
        demands: npt.ArrayLike | None,
        capacities: npt.ArrayLike | None,
        names: Sequence[str] | None,
    ) -> None:
        """Set what concerns resources, and forbid the pairs that they make impossible."""
        n, p = self.comp.shape
        if (demands is None) != (capacities is None):
            given, missing = ("capacities", "demands") if demands is None else RESOURCES[:2]
            raise InvalidInstanceError(f"there are {given}, but no {missing}: give both")
        if demands is None or capacities is None:
            demands, capacities = np.zeros((n, 0)), np.zeros((p, 0))
        need = check_demands(floats("demands", demands), n)
        have = check_capacities(floats("capacities", capacities), p, need.shape[1])
        self.demands, self.capacities = frozen(need), frozen(have)
        self.resource_names = checked_names("resource_names", names, need.shape[1], prefix="R")
        units, limits = in_units(need, have, self.resource_names)
        self._units = frozen(units), frozen(limits)
        eligible = np.isfinite(self.comp)
        fits = eligible & fitting(units, limits)
        if not fits.any(axis=1).all():
            t = first_index(~fits.any(axis=1))[0]
            reason = why_unfit(
                need[t], have, eligible[t], self.resource_names, self.processor_names
            )
            raise InvalidInstanceError(f"task {shown_task(t, self.task_names)} {reason}")
        self.comp = frozen(np.where(fits, self.comp, np.inf))

    def _build_arrays(self) -> InstanceArrays:
        n, p = self.n_tasks, self.n_processors
        sources, targets = self.edges[:, 0].copy(), self.edges[:, 1].copy()
        succ_ptr, succ_task, succ_data = compress(n, sources, targets, self.data)
        pred_ptr, pred_task, pred_data = compress(n, targets, sources, self.data)
        topo = topological_order(succ_ptr, succ_task, pred_ptr)
        if topo.shape[0] < n:
            cycle = [u for u, _ in nx.find_cycle(nx.DiGraph(self.edges.tolist()))]
            shown = " -> ".join(shown_task(t, self.task_names) for t in [*cycle, cycle[0]])
            raise InvalidInstanceError(f"the tasks form a cycle: {shown}; remove one edge")
        position = np.empty(n, dtype=np.int64)
        position[topo] = np.arange(n)
        _check_magnitude(self)
        other = ~np.eye(p, dtype=bool)
        eligible = np.isfinite(self.comp)
        link = [self.latency[other].mean(), self.inv_bandwidth[other].mean()] if p > 1 else [0, 0]
        mean_comp = np.where(eligible, self.comp, 0.0).sum(axis=1) / eligible.sum(axis=1)
        arrays = InstanceArrays(
            comp=self.comp,
            succ_ptr=succ_ptr,
            succ_task=succ_task,
            succ_data=succ_data,
            pred_ptr=pred_ptr,
            pred_task=pred_task,
            pred_data=pred_data,
            topo=topo,
            topo_position=position,
            latency=self.latency,
            inv_bandwidth=self.inv_bandwidth,
            mean_link=np.asarray(link, dtype=np.float64),
            mean_comp=mean_comp,
            min_comp=self.comp.min(axis=1),
            demand=self._units[0] if self.n_resources else np.zeros((n, 0), dtype=np.bool_),
            capacity=self._units[1],
            earliest=self._fold_release(),
        )
        return InstanceArrays(*(frozen(array) for array in arrays))

    def _fold_release(self) -> Floats:
        """``earliest`` for the kernels, which has no column where there are no release dates."""
        n, p = self.n_tasks, self.n_processors
        if not self.has_release:
            return np.zeros((n, 0))
        earliest = np.zeros((n, p))
        if self.release is not None:
            earliest += self.release.reshape(n, -1)
        if self.available_from is not None:
            np.maximum(earliest, self.available_from, out=earliest)
        return earliest


def _carried(attributes: Mapping[Any, Any], name: str | None) -> Any:
    """The amount of data of an edge of networkx."""
    if name is not None:
        return attributes.get(name, 0.0)
    lower = {str(key).lower(): value for key, value in attributes.items()}
    return next((lower[key] for key in DATA_KEYS if key in lower), 0.0)


def _with_null(numbers: Floats) -> list[Any]:
    """Nested lists with None in place of inf."""
    entries = numbers.astype(object)
    entries[np.isinf(numbers)] = None
    return entries.tolist()  # type: ignore[no-any-return]


def _check_magnitude(instance: Instance) -> None:
    """Refuse numbers whose sum over the whole problem, some times as much, leaves float64."""
    with np.errstate(over="ignore"):
        work = instance.comp[np.isfinite(instance.comp)].sum()
        transfers = instance.data.sum() * instance.inv_bandwidth.max()
        delays = instance.n_edges * instance.latency.max()
        given = [x for x in (instance.release, instance.available_from) if x is not None]
        latest = max((x.max() for x in given), default=0.0)
        if not work + transfers + delays + latest < np.finfo(np.float64).max / HEADROOM:
            raise InvalidInstanceError("the costs overflow when added up: choose a larger unit")
