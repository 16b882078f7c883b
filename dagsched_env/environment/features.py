"""The table of all features that an agent sees, and the values that are constant in an episode.

Every feature is one flat array:

* group ``task``: ``[N]``, entry t; ``processor``: ``[P]``, entry q; ``edge``: ``[M]``, entry e;
* group ``pair``: ``[N·P]``, entry ``t·P + q``: the index of the action in the mode ``"pair"``;
* with K > 0 resources, groups ``demand``: ``[N·K]``, entry ``t·K + r``, and ``capacity``:
  ``[P·K]``, entry ``q·K + r``. Without resources an observation has none of their features.

``N``, ``P``, ``M`` are the padded sizes; padding is 0 and masked out. The float features are stored
in one buffer, in the order of the table.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.instance import Instance

__all__ = [
    "FEATURES",
    "FLAT_FEATURES",
    "FLOAT_FEATURES",
    "LIMIT",
    "Feature",
    "buffer_length",
    "feature_slices",
    "feature_space",
    "flat_space",
    "group_sizes",
    "stack_features",
    "static_features",
]

Group = Literal["task", "processor", "pair", "demand", "capacity", "edge"]

LIMIT = 1e4
"""Upper bound of every time and ratio; larger values are cut off."""


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
    Feature(
        "speed",
        "processor",
        "ratio",
        False,
        "mean / own work, over the tasks it can run",
    ),
    Feature("available", "processor", "CP_MIN", True, "finish time of its last task"),
    Feature("comp", "pair", "CP_MIN", False, "execution time; 0 where not eligible"),
    Feature("eligible", "pair", "flag", False, "the processor can run the task"),
    Feature("oct", "pair", "CP_MIN", False, "optimistic cost to the end (PEFT); 0 if not eligible"),
    Feature("placed", "pair", "flag", True, "the task is placed on the processor"),
    Feature("est", "pair", "CP_MIN", True, "earliest start; legal pairs only"),
    Feature("eft", "pair", "CP_MIN", True, "earliest finish; legal pairs only"),
    Feature("gap", "pair", "CP_MIN", True, "idle time left directly before; legal pairs only"),
    Feature("demand", "demand", "ratio", False, "demand / largest capacity"),
    Feature(
        "capacity",
        "capacity",
        "ratio",
        False,
        "capacity / largest one; none counts more than all demands",
    ),
    Feature("load", "capacity", "CP_MIN", True, "demand × time of the tasks there / capacity"),
    Feature("free", "capacity", "ratio", True, "mean share that is free until ``available``"),
    Feature("communication", "edge", "CP_MIN", False, "mean over pairs of different processors"),
    Feature("edge_source", "edge", "index", False, "the predecessor"),
    Feature("edge_target", "edge", "index", False, "the successor"),
    Feature("task_mask", "task", "mask", False, "1 = a task, 0 = padding"),
    Feature("processor_mask", "processor", "mask", False, "1 = a processor, 0 = padding"),
    Feature("edge_mask", "edge", "mask", False, "1 = an edge, 0 = padding"),
    # This is the size in the mode "pair"; other modes have masks of other sizes.
    Feature("action_mask", "pair", "mask", True, "1 = legal; all 0 when the schedule is complete"),
)
"""The whole observation."""

FLOAT_FEATURES = tuple(feature for feature in FEATURES if feature.unit not in ("mask", "index"))
FLAT_FEATURES = tuple(feature for feature in FLOAT_FEATURES if feature.group != "edge")
"""The features of a ``"flat"`` observation, in this order."""


def stack_features(observation: Mapping[str, npt.NDArray[Any]], group: Group) -> npt.NDArray[Any]:
    """The float features of one group as one matrix: ``[..., size, features]`` float32.

    Args:
        observation: a ``"graph"`` observation, or a batch of them (leading axes are kept).
        group: ``"task"``, ``"processor"``, ``"pair"`` (entry ``t·P + q``), ``"edge"``, or with
            resources ``"demand"`` or ``"capacity"``.
    """
    return np.stack([observation[f.name] for f in FLOAT_FEATURES if f.group == group], axis=-1)


def static_features(instance: Instance) -> dict[str, Floats]:
    """Unpadded values of the static float features: ``[n]``, ``[p]``, ``[m]``, ``[n, p]``,
    ``[n, k]`` or ``[p, k]``."""
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
    largest = np.maximum(arrays.capacity.max(axis=0), 1)
    features["demand"] = arrays.demand / largest
    features["capacity"] = arrays.capacity / largest
    return features


def _speeds(instance: Instance, eligible: npt.NDArray[np.bool_]) -> Floats:
    """``[p]`` relative speed: 1 is average; 0 where a processor can run no task."""
    own = np.where(eligible, instance.comp, 0.0).sum(axis=0)
    mean = np.where(eligible, instance.arrays.mean_comp[:, None], 0.0).sum(axis=0)
    speeds = np.where(mean > 0, LIMIT, 1.0)
    with np.errstate(over="ignore"):
        np.divide(mean, own, out=speeds, where=own > 0)
    return np.where(eligible.any(axis=0), np.minimum(speeds, LIMIT), 0.0)


def group_sizes(
    max_tasks: int, max_processors: int, max_edges: int, resources: int
) -> dict[str, int]:
    """Number of entries of a feature of each group.

    Args:
        max_tasks: N ≥ 1.
        max_processors: P ≥ 1.
        max_edges: M ≥ 1.
        resources: K ≥ 0.
    """
    return {
        "task": max_tasks,
        "processor": max_processors,
        "pair": max_tasks * max_processors,
        "demand": max_tasks * resources,
        "capacity": max_processors * resources,
        "edge": max_edges,
    }


def feature_slices(features: Sequence[Feature], sizes: dict[str, int]) -> dict[str, slice]:
    """Feature → its place in one buffer that holds them all, in this order."""
    ends = list(accumulate((sizes[feature.group] for feature in features), initial=0))
    places = map(slice, ends[:-1], ends[1:])
    return {feature.name: place for feature, place in zip(features, places, strict=True)}


def buffer_length(slices: dict[str, slice]) -> int:
    """Length of the buffer."""
    return int(max(place.stop for place in slices.values()))


def _highest(feature: Feature) -> float:
    """Upper bound of a float feature."""
    return 1.0 if feature.unit == "flag" else LIMIT


def feature_space(feature: Feature, sizes: dict[str, int]) -> spaces.Space[Any]:
    """Of the values of a feature."""
    size = sizes[feature.group]
    if feature.unit == "mask":
        return spaces.MultiBinary(size)
    if feature.unit == "index":
        return spaces.Box(0, max(sizes["task"] - 1, 1), (size,), dtype=np.int64)
    return spaces.Box(0.0, _highest(feature), (size,), dtype=np.float32)


def flat_space(features: Iterable[Feature], sizes: dict[str, int]) -> spaces.Box:
    """Of float features in one vector, in this order."""
    bounds = [np.full(sizes[f.group], _highest(f), dtype=np.float32) for f in features]
    high = np.concatenate(bounds)
    return spaces.Box(np.zeros_like(high), high, dtype=np.float32)
