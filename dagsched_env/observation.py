"""What an agent sees: one table of features, from which the arrays and the space are both made.

Every feature is one flat array under its own key, so that the observation is a plain ``Dict`` of
vectors (which every library of the Gymnasium ecosystem accepts):

* group ``task``: ``[N]``, entry t; ``processor``: ``[P]``, entry q; ``edge``: ``[M]``, entry e;
* group ``pair``: ``[N·P]``, entry ``t·P + q``: the same index as the action.

``N``, ``P``, ``M`` are the padded sizes; what is not there is 0 and masked out. ``stack_features``
gives the features of one group as one matrix, for graph networks.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from dagsched_env.instance import Instance
from dagsched_env.kernels import masks
from dagsched_env.kernels.arrays import Floats
from dagsched_env.kernels.features import dynamic_features
from dagsched_env.simulator import State

__all__ = ["FEATURES", "LIMIT", "Feature", "GraphObservation", "Observation", "stack_features"]

Observation = dict[str, npt.NDArray[Any]]
Group = Literal["task", "processor", "pair", "edge"]

LIMIT = 1e4
"""Upper bound of every time and ratio; larger values are cut."""


class Feature(NamedTuple):
    """One row of the table: one key of the observation."""

    name: str
    group: Group
    unit: Literal["CP_MIN", "ratio", "flag", "mask", "index"]
    """``CP_MIN``: a time / ``instance.time_scale``, in [0, LIMIT]; ``ratio``: in [0, LIMIT];
    ``flag``: 0 or 1; all float32. ``mask``: 0 or 1, int8. ``index``: a task, int64."""
    dynamic: bool
    """Whether it changes from step to step."""
    meaning: str


# In each group the dynamic float features are neighbours, in the order of ``dynamic_features``.
FEATURES: tuple[Feature, ...] = (
    Feature("mean_comp", "task", "CP_MIN", False, "mean execution time, eligible processors"),
    Feature("min_comp", "task", "CP_MIN", False, "least execution time"),
    Feature("data_in", "task", "CP_MIN", False, "sum of the mean communication of its inputs"),
    Feature("data_out", "task", "CP_MIN", False, "sum of the mean communication of its outputs"),
    Feature("rank_u", "task", "CP_MIN", False, "upward rank (HEFT)"),
    Feature("rank_d", "task", "CP_MIN", False, "downward rank (HEFT)"),
    Feature("status_uncompleted", "task", "flag", True, "waits for a predecessor"),
    Feature("status_ready", "task", "flag", True, "can be placed now"),
    Feature("status_completed", "task", "flag", True, "is placed"),
    Feature("earliest_finish", "task", "CP_MIN", True, "theoretical earliest finish time"),
    Feature("speed", "processor", "ratio", False, "mean / own work, over the tasks it can run"),
    Feature("available", "processor", "CP_MIN", True, "finish time of its last task"),
    Feature("comp", "pair", "CP_MIN", False, "execution time; 0 where not eligible"),
    Feature("eligible", "pair", "flag", False, "the processor can run the task"),
    Feature("oct", "pair", "CP_MIN", False, "optimistic cost to the end (PEFT); 0 if not eligible"),
    Feature("placed", "pair", "flag", True, "the task is placed on the processor"),
    Feature("est", "pair", "CP_MIN", True, "earliest start; legal pairs only"),
    Feature("eft", "pair", "CP_MIN", True, "earliest finish; legal pairs only"),
    Feature("gap", "pair", "CP_MIN", True, "idle time left directly before; legal pairs only"),
    Feature("communication", "edge", "CP_MIN", False, "mean over pairs of different processors"),
    Feature("edge_source", "edge", "index", False, "the predecessor"),
    Feature("edge_target", "edge", "index", False, "the successor"),
    Feature("task_mask", "task", "mask", False, "1 = a task, 0 = padding"),
    Feature("processor_mask", "processor", "mask", False, "1 = a processor, 0 = padding"),
    Feature("edge_mask", "edge", "mask", False, "1 = an edge, 0 = padding"),
    Feature("action_mask", "pair", "mask", True, "1 = legal; all 0 when the schedule is complete"),
)
"""The whole observation."""


class GraphObservation:
    """Turns states into padded arrays.

    The float features lie behind one another in one buffer, in the order of the table. The static
    ones are computed once per instance; a step copies that buffer and fills in the rest.

    Args:
        max_tasks: N ≥ 1.
        max_processors: P ≥ 1.
        max_edges: M ≥ 1.
    """

    def __init__(self, max_tasks: int, max_processors: int, max_edges: int) -> None:
        n, p, m = max_tasks, max_processors, max_edges
        self._pair_shape = (n, p)
        self._sizes: dict[str, int] = {"task": n, "processor": p, "pair": n * p, "edge": m}
        self.space: spaces.Dict[npt.NDArray[Any]] = spaces.Dict(
            {feature.name: self._space(feature) for feature in FEATURES}
        )
        self._slices: dict[str, slice] = {}
        end = 0
        for feature in FEATURES:
            if feature.unit not in ("mask", "index"):
                start, end = end, end + self._sizes[feature.group]
                self._slices[feature.name] = slice(start, end)
        self._width = end
        self._instance: Instance | None = None
        self._static: Observation = {}
        self._template = np.zeros(0, dtype=np.float32)

    def __call__(self, state: State) -> Observation:
        """Fresh arrays of a state whose instance fits the padding, inside ``space``."""
        if state.instance is not self._instance:
            self._bind(state.instance)
        buffer = self._template.copy()
        dynamic_features(
            state.instance.arrays,
            state.arrays,
            state.insertion,
            state.instance.time_scale,
            LIMIT,
            self._block(buffer, "status_uncompleted", "earliest_finish").reshape(4, -1),
            self._block(buffer, "available", "available").reshape(1, -1),
            self._block(buffer, "placed", "gap").reshape(4, *self._pair_shape),
        )
        observation: Observation = {name: buffer[at] for name, at in self._slices.items()}
        for name, array in self._static.items():
            observation[name] = array.copy()
        observation["action_mask"] = self.legal(state).view(np.int8)
        return observation

    def legal(self, state: State) -> npt.NDArray[np.bool_]:
        """``[N·P]`` True where the action is legal."""
        mask = np.empty(self._pair_shape, dtype=np.bool_)
        masks.legal_pairs(state.instance.arrays, state.arrays, mask)
        return mask.reshape(-1)

    def _space(self, feature: Feature) -> spaces.Space[Any]:
        size = self._sizes[feature.group]
        if feature.unit == "mask":
            return spaces.MultiBinary(size)
        if feature.unit == "index":
            last = max(self._sizes["task"] - 1, 1)
            return spaces.Box(0, last, (size,), dtype=np.int64)
        high = 1.0 if feature.unit == "flag" else LIMIT
        return spaces.Box(0.0, high, (size,), dtype=np.float32)

    def _block(
        self, buffer: npt.NDArray[np.float32], first: str, last: str
    ) -> npt.NDArray[np.float32]:
        return buffer[self._slices[first].start : self._slices[last].stop]

    def _bind(self, instance: Instance) -> None:
        """Compute everything that does not change while ``instance`` is being scheduled."""
        n, p, m = instance.n_tasks, instance.n_processors, instance.n_edges
        self._template = np.zeros(self._width, dtype=np.float32)
        for name, values in _static_features(instance).items():
            target = self._template[self._slices[name]]
            if values.ndim == 2:
                target.reshape(self._pair_shape)[:n, :p] = values
            else:
                target[: values.shape[0]] = values
        self._static = {
            feature.name: np.zeros(self._sizes[feature.group], np.int64)
            if feature.unit == "index"
            else np.zeros(self._sizes[feature.group], np.int8)
            for feature in FEATURES
            if feature.unit in ("mask", "index") and not feature.dynamic
        }
        self._static["edge_source"][:m] = instance.edges[:, 0]
        self._static["edge_target"][:m] = instance.edges[:, 1]
        self._static["task_mask"][:n] = 1
        self._static["processor_mask"][:p] = 1
        self._static["edge_mask"][:m] = 1
        self._instance = instance


def stack_features(observation: Mapping[str, npt.NDArray[Any]], group: Group) -> npt.NDArray[Any]:
    """The float features of one group behind one another: ``[..., size, features]`` float32.

    Args:
        observation: from ``GraphObservation``, or a batch of them (leading axes are kept).
        group: ``"task"``, ``"processor"``, ``"pair"`` (entry ``t·P + q``) or ``"edge"``.
    """
    names = [f.name for f in FEATURES if f.group == group and f.unit not in ("mask", "index")]
    return np.stack([observation[name] for name in names], axis=-1)


def _static_features(instance: Instance) -> dict[str, Floats]:
    """Unpadded values of the static float features: ``[n]``, ``[p]``, ``[n, p]`` or ``[m]``."""
    arrays, scale = instance.arrays, instance.time_scale
    eligible = np.isfinite(instance.comp)
    latency, inv_bandwidth = arrays.mean_link
    communication = latency + instance.data * inv_bandwidth
    source, target = instance.edges[:, 0], instance.edges[:, 1]
    times = {
        "mean_comp": arrays.mean_comp,
        "min_comp": arrays.min_comp,
        "data_in": np.bincount(target, weights=communication, minlength=instance.n_tasks),
        "data_out": np.bincount(source, weights=communication, minlength=instance.n_tasks),
        "rank_u": instance.rank_u,
        "rank_d": instance.rank_d,
        "comp": np.where(eligible, instance.comp, 0.0),
        "oct": np.where(eligible, instance.oct, 0.0),
        "communication": communication,
    }
    with np.errstate(over="ignore"):
        features = {name: np.minimum(values / scale, LIMIT) for name, values in times.items()}
    features["speed"] = _speeds(instance, eligible)
    features["eligible"] = eligible.astype(np.float64)
    return features


def _speeds(instance: Instance, eligible: npt.NDArray[np.bool_]) -> Floats:
    """``[p]`` relative speed: 1 is average, 0 belongs to a processor that can run nothing."""
    own = np.where(eligible, instance.comp, 0.0).sum(axis=0)
    mean = np.where(eligible, instance.arrays.mean_comp[:, None], 0.0).sum(axis=0)
    speeds = np.where(mean > 0, LIMIT, 1.0)
    with np.errstate(over="ignore"):
        np.divide(mean, own, out=speeds, where=own > 0)
    return np.where(eligible.any(axis=0), np.minimum(speeds, LIMIT), 0.0)
