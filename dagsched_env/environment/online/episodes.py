"""Runs that are stepped together by one kernel call, with their observations."""

import copy
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from numba.typed import List

from dagsched_env.environment.features import (
    LIMIT,
    buffer_length,
    feature_slices,
    feature_space,
    flat_space,
    group_sizes,
    static_features,
)
from dagsched_env.environment.online.features import ONLINE_FEATURES
from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.kernels.online.episodes import MAKESPAN, NOTHING, RATES, step
from dagsched_env.kernels.online.features import (
    CAPACITY,
    DEMAND,
    EDGE,
    PAIR,
    PROCESSOR,
    TASK,
    EpisodeArrays,
    Layout,
)
from dagsched_env.online.objectives import rates
from dagsched_env.online.simulation import Simulation
from dagsched_env.online.world import MOST_JOINED, World
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.sources import Padding

Bools = npt.NDArray[np.bool_]

GROUPS = {
    "task": TASK,
    "pair": PAIR,
    "demand": DEMAND,
    "edge": EDGE,
    "processor": PROCESSOR,
    "capacity": CAPACITY,
}
FLOATS = [feature for feature in ONLINE_FEATURES if feature.unit not in ("mask", "index")]
FLAT = [feature for feature in FLOATS if feature.group != "edge"]
INDICES = [feature for feature in ONLINE_FEATURES if feature.unit == "index"]
MASKS = [feature for feature in ONLINE_FEATURES if feature.unit == "mask"]
UNSCALED = ("slowdown",)
"""Objectives that are no times."""

MOST_KNOWN = 10_000
"""Instances whose features are kept."""

IDLE = -2
"""In place of an action: nothing happens."""


class Episodes:
    """B runs, each with its observation.

    Args:
        count: B ≥ 1.
        padding: sizes that every run fits into.
        flat: observations are one vector; False: a ``Dict``.
        objective: a key of ``OBJECTIVES``.
    """

    def __init__(self, count: int, padding: Padding, *, flat: bool, objective: str) -> None:
        self.padding = padding
        self._objective = objective
        n, p, m, k = padding
        sizes = group_sizes(n, p, m, k)
        self._floats = feature_slices([f for f in FLOATS if sizes[f.group]], sizes)
        self._indices = feature_slices(INDICES, sizes)
        self._masks = feature_slices(MASKS, sizes)
        self._flat = buffer_length(feature_slices([f for f in FLAT if sizes[f.group]], sizes))
        self._layout = Layout(
            tasks=self._floats["status_waiting"].start,
            processors=self._floats["working"].start,
            pairs=self._floats["placed"].start,
            free=self._floats["free"].start if k else 0,
            max_tasks=n,
            max_processors=p,
            max_edges=m,
            resources=k,
        )
        static = [f for f in FLOATS if not f.dynamic and sizes[f.group]]
        self._static: Ints = np.array(
            [(self._floats[f.name].start, GROUPS[f.group]) for f in static], dtype=np.int64
        )
        self.space = flat_space(FLAT, sizes) if flat else _dict_space(sizes)
        self._rows = np.zeros((count, buffer_length(self._floats)), dtype=np.float32)
        self._ends = np.zeros((count, buffer_length(self._indices)), dtype=np.int64)
        self._marks = np.zeros((count, buffer_length(self._masks)), dtype=np.int8)
        self.legal: Bools = np.zeros((count, n * p + 1), dtype=np.bool_)
        """``[B, N·P + 1]`` what may start where, then whether to wait is possible."""
        self.costs: Floats = np.zeros(count)
        """``[B]`` what the time that has passed in the last step costs, by the objective."""
        self.done: Bools = np.zeros(count, dtype=np.bool_)
        """``[B]`` whether all tasks have finished."""
        self.scales: Floats = np.ones(count)
        """``[B]`` unit of times and costs."""
        self.simulations: list[Simulation | None] = [None] * count
        self._episodes: Any = None
        self._known: dict[tuple[int, bytes], tuple[Instance, EpisodeArrays]] = {}

    def put(self, i: int, world: World) -> None:
        """The run of episode i from now on; the next ``step`` has to begin it."""
        before = self.simulations[i]
        if before is not None and before.prepare(world):
            return
        simulation = Simulation(world, several=True)
        self.simulations[i] = simulation
        episode = self._episode(world)
        self.scales[i] = 1.0 if self._objective in UNSCALED else episode.scale[0]
        entry = (*simulation.arrays, episode)
        if self._episodes is None:  # until they have runs of their own, all have this one
            self._episodes = List([entry for _ in self.simulations])
        else:
            self._episodes[i] = entry

    def step(self, actions: Ints) -> None:
        """One step of each episode.

        Args:
            actions: ``[B]`` legal; or ``BEGIN``, or ``IDLE``.
        """
        step(
            self._episodes,
            actions,
            LIMIT,
            self._layout,
            self._rows,
            self._ends,
            self._marks,
            self.legal,
            self.costs,
            self.done,
        )

    def observations(self, *, copy: bool) -> Any:
        """``[B, …]`` of all episodes; without ``copy`` the next step changes them."""
        rows, ends, marks = self._rows, self._ends, self._marks
        if copy:
            rows, ends, marks = rows.copy(), ends.copy(), marks.copy()
        if isinstance(self.space, spaces.Box):
            return rows[:, : self._flat]
        found: dict[str, npt.NDArray[Any]] = {}
        found |= {name: rows[:, at] for name, at in self._floats.items()}
        found |= {name: ends[:, at] for name, at in self._indices.items()}
        found |= {name: marks[:, at] for name, at in self._masks.items()}
        found["action_mask"] = self.legal.astype(np.int8)
        return {name: found[name] for name in self.space.spaces}

    def __getstate__(self) -> dict[str, Any]:
        # Neither the list nor what it holds can be copied: arrays in it have to be read-only.
        state = self.__dict__ | {"_known": {}}
        if self._episodes is not None:
            state["_episodes"] = [_changed(EpisodeArrays(*e)) for *_, e in self._episodes]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._episodes is None:
            return
        runs = [run for run in self.simulations if run is not None]
        entries = []
        for run, changed in zip(self.simulations, self._episodes, strict=True):
            own = run or runs[0]
            entries.append((*own.arrays, self._episode(own.world)._replace(**changed)))
        self._episodes = List(entries)

    def clone(self) -> "Episodes":
        """An independent copy with the same futures."""
        twin = copy.copy(self)
        for name in ("_rows", "_ends", "_marks", "legal", "costs", "done", "scales"):
            setattr(twin, name, getattr(self, name).copy())
        twin.simulations = [run and run.clone() for run in self.simulations]
        if self._episodes is not None:
            entries = []
            for run, (*_, episode) in zip(twin.simulations, self._episodes, strict=True):
                assert run is not None
                own = EpisodeArrays(*episode)
                entries.append((*run.arrays, own._replace(**_changed(own))))
            twin._episodes = List(entries)
        return twin

    def _episode(self, world: World) -> EpisodeArrays:
        found = rates(self._objective, world)
        kinds = {"makespan": MAKESPAN, "p95_completion": NOTHING}
        rate, since = (np.zeros(1), np.zeros(1)) if found is None else found
        key = (id(world.instance), world.first.tobytes())
        known = self._known.get(key)
        if known is None or known[0] is not world.instance:
            known = (world.instance, self._constant(world))
            if len(self._known) < (MOST_KNOWN if world.n_graphs == 1 else MOST_JOINED):
                self._known[key] = known
        return known[1]._replace(
            charge=np.array([kinds.get(self._objective, RATES)]),
            rate=np.array(rate),
            since=np.array(since),
            shown=np.zeros(1, dtype=np.int64),
            charged=np.zeros(1),
            until=np.zeros(world.instance.n_tasks),
        )

    def _constant(self, world: World) -> EpisodeArrays:
        """What follows from the graphs alone, which is the same whenever they are run again."""
        instance = world.instance
        n, p = instance.n_tasks, instance.n_processors
        of_edge = world.graph[instance.edges[:, 0]]
        in_order = np.argsort(of_edge, kind="stable")  # by arrival
        if instance.has_release:
            raise DAGSchedError(
                f"{instance} has release dates: leave them out, and let its graphs arrive"
            )
        scale = float(world.alone[0]) or 1.0
        full = np.zeros(buffer_length(self._floats), dtype=np.float32)
        for name, values in static_features(instance).items():
            if name not in self._floats:
                continue
            target = full[self._floats[name]]
            feature = next(f for f in FLOATS if f.name == name)
            rescaled = values[in_order] if feature.group == "edge" else values
            if feature.unit == "CP_MIN":
                rescaled = np.minimum(rescaled * (instance.time_scale / scale), LIMIT)
            if feature.group == "pair":
                target.reshape(self.padding.tasks, self.padding.processors)[:n, :p] = rescaled
            else:
                target[: values.size] = rescaled.ravel()
        nothing = np.zeros(0)
        per_graph = np.bincount(of_edge, minlength=world.n_graphs)
        return EpisodeArrays(
            full=full,
            ends=np.ascontiguousarray(instance.edges[in_order].T),
            static=self._static,
            edges_of=np.cumsum([0, *per_graph]),
            charge=np.zeros(0, dtype=np.int64),
            rate=nothing,
            since=nothing,
            scale=np.array([scale]),
            shown=np.zeros(0, dtype=np.int64),
            charged=nothing,
            until=nothing,
        )


def _changed(episode: EpisodeArrays) -> dict[str, npt.NDArray[Any]]:
    """Copies of what steps change."""
    return {"shown": episode.shown.copy(), "charged": episode.charged.copy()}


def _dict_space(sizes: dict[str, int]) -> "spaces.Dict[npt.NDArray[Any]]":
    return spaces.Dict(
        {f.name: feature_space(f, sizes) for f in ONLINE_FEATURES if sizes[f.group]}
        | {"action_mask": spaces.MultiBinary(sizes["pair"] + 1)}
    )
