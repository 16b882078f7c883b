"""Observations: states as a ``Dict`` of padded arrays, or as one vector.

Both hold the features of ``environment.features``. ``"graph"`` is a plain ``Dict`` of vectors,
one for each row of the table, which every library of the Gymnasium ecosystem accepts;
``stack_features`` gives the features of one group as one matrix, for graph networks. ``"flat"`` is
one vector of the float features of tasks, processors and pairs: times, ratios and flags.

The ends of edges are numbers of tasks, which mean nothing as quantities. So ``"flat"`` is without
them; where you flatten ``"graph"`` yourself, leave them out (``FilterObservation`` of Gymnasium).
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from dagsched_env.environment.actions import ActionMode, Bools, PairActions
from dagsched_env.environment.features import (
    FEATURES,
    FLAT_FEATURES,
    FLOAT_FEATURES,
    LIMIT,
    Feature,
    buffer_length,
    feature_slices,
    feature_space,
    flat_space,
    group_sizes,
    stack_features,
    static_features,
)
from dagsched_env.kernels.state.features import NO_ACTION, Layout, observe
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.simulator import State

__all__ = [
    "FEATURES",
    "LIMIT",
    "OBSERVATIONS",
    "Feature",
    "FlatObservation",
    "GraphObservation",
    "Observation",
    "flat_slices",
    "layout",
    "stack_features",
]

Observation = dict[str, npt.NDArray[Any]]


class _Observer:
    """What both kinds share: the float features in one buffer.

    The static ones are computed once per instance; a step copies that buffer and fills in the rest.
    """

    features: ClassVar[Sequence[Feature]]
    """Those in the buffer, in this order."""

    def __init__(
        self,
        max_tasks: int,
        max_processors: int,
        max_edges: int,
        resources: int = 0,
        actions: ActionMode | None = None,
    ) -> None:
        self._sizes = group_sizes(max_tasks, max_processors, max_edges, resources)
        self._floats = feature_slices(self._present(self.features), self._sizes)
        self._actions = actions or PairActions(max_tasks, max_processors)
        self._pair_shape = (max_tasks, max_processors)
        self._layout = tuple(layout(*self._pair_shape, resources))
        self._instance: Instance | None = None
        self._template = np.zeros(0, dtype=np.float32)
        self._scale = 1.0

    def _present(self, features: Sequence[Feature]) -> list[Feature]:
        """Those of which an observation has entries."""
        return [feature for feature in features if self._sizes[feature.group]]

    def _filled(
        self, state: State, task: int, processor: int
    ) -> tuple[npt.NDArray[np.float32], Bools]:
        """Place a task unless it is ``NO_ACTION``; a new buffer, and the legal pairs ``[N, P]``."""
        if state.instance is not self._instance:
            self._bind(state.instance)
        buffer = self._template.copy()
        legal = np.empty(self._pair_shape, dtype=np.bool_)
        observe(
            tuple(state.instance.arrays),
            tuple(state.arrays),
            task,
            processor,
            state.insertion,
            self._scale,
            LIMIT,
            self._layout,
            buffer,
            legal,
        )
        return buffer, legal

    def _bind(self, instance: Instance) -> None:
        """Compute everything that does not change while ``instance`` is being scheduled."""
        n, p = instance.n_tasks, instance.n_processors
        self._template = np.zeros(buffer_length(self._floats), dtype=np.float32)
        for name, values in static_features(instance).items():
            if name not in self._floats:
                continue
            target = self._template[self._floats[name]]
            if name in ("demand", "capacity"):
                target[: values.size] = values.ravel()
            elif values.ndim == 2:
                target.reshape(self._pair_shape)[:n, :p] = values
            else:
                target[: values.shape[0]] = values
        self._scale = instance.time_scale
        self._instance = instance


class GraphObservation(_Observer):
    """Turns states into a ``Dict`` of padded arrays, one for each row of the table.

    Args:
        max_tasks: N ≥ 1.
        max_processors: P ≥ 1.
        max_edges: M ≥ 1.
        resources: K of every instance.
        actions: the action mode of the entry ``action_mask``; default ``PairActions``.
    """

    features = FLOAT_FEATURES

    @cached_property
    def space(self) -> "spaces.Dict[npt.NDArray[Any]]":
        """Of the observations."""
        return spaces.Dict(
            {
                feature.name: feature_space(feature, self._sizes)
                for feature in self._present(FEATURES)
                if feature.name != "action_mask"
            }
            | {"action_mask": spaces.MultiBinary(self._actions.mask_size)}
        )

    def __call__(
        self, state: State, task: int = NO_ACTION, processor: int = 0
    ) -> tuple[Observation, Bools]:
        """Place a task; then new arrays, inside ``space``, of the state, and its mask.

        Args:
            state: its instance fits the padding.
            task: may be placed on ``processor``; ``NO_ACTION`` places nothing.
            processor: where.
        """
        buffer, legal = self._filled(state, task, processor)
        masks, indices = self._mask_template.copy(), self._index_template.copy()
        observation: Observation = {name: buffer[at] for name, at in self._floats.items()}
        for name, at in self._indices.items():
            observation[name] = indices[at]
        for name, at in self._masks.items():
            observation[name] = masks[at]
        mask = self._actions.mask(legal)
        observation["action_mask"] = mask.astype(np.int8)
        return observation, mask

    def _bind(self, instance: Instance) -> None:
        super()._bind(instance)
        static_masks = [f for f in FEATURES if f.unit == "mask" and not f.dynamic]
        self._masks = feature_slices(static_masks, self._sizes)
        self._indices = feature_slices([f for f in FEATURES if f.unit == "index"], self._sizes)
        self._mask_template = np.zeros(buffer_length(self._masks), dtype=np.int8)
        self._index_template = np.zeros(buffer_length(self._indices), dtype=np.int64)
        m = instance.n_edges
        self._index_template[self._indices["edge_source"]][:m] = instance.edges[:, 0]
        self._index_template[self._indices["edge_target"]][:m] = instance.edges[:, 1]
        self._mask_template[self._masks["task_mask"]][: instance.n_tasks] = 1
        self._mask_template[self._masks["processor_mask"]][: instance.n_processors] = 1
        self._mask_template[self._masks["edge_mask"]][:m] = 1


class FlatObservation(_Observer):
    """Turns states into one vector: ``Box`` float32, for policies that are plain networks.

    It holds the float features of tasks, processors and pairs, in the order of the table; edges
    and masks are left out. ``flat_slices`` says where each feature is.

    Args:
        max_tasks: N ≥ 1.
        max_processors: P ≥ 1.
        max_edges: M; not used.
        resources: K of every instance.
        actions: the action mode of the mask; default ``PairActions``.
    """

    features = FLAT_FEATURES

    @cached_property
    def space(self) -> spaces.Box:
        """Of the observations."""
        return flat_space(FLAT_FEATURES, self._sizes)

    def __call__(
        self, state: State, task: int = NO_ACTION, processor: int = 0
    ) -> tuple[npt.NDArray[np.float32], Bools]:
        """Place a task; then a new vector, inside ``space``, of the state, and its mask.

        Args:
            state: its instance fits the padding.
            task: may be placed on ``processor``; ``NO_ACTION`` places nothing.
            processor: where.
        """
        buffer, legal = self._filled(state, task, processor)
        return buffer, self._actions.mask(legal)


OBSERVATIONS: dict[str, type[GraphObservation] | type[FlatObservation]] = {
    "flat": FlatObservation,
    "graph": GraphObservation,
}


def flat_slices(max_tasks: int, max_processors: int, resources: int = 0) -> dict[str, slice]:
    """Place of each feature in a ``"flat"`` observation; pairs are ``[N, P]``, flattened.

    Args:
        max_tasks: N ≥ 1.
        max_processors: P ≥ 1.
        resources: K of every instance.
    """
    sizes = group_sizes(max_tasks, max_processors, 0, resources)
    return feature_slices([feature for feature in FLAT_FEATURES if sizes[feature.group]], sizes)


def layout(max_tasks: int, max_processors: int, resources: int) -> Layout:
    """Where the kernels find the features that change, in observations of both kinds.

    Args:
        max_tasks: N ≥ 1.
        max_processors: P ≥ 1.
        resources: K of every instance.
    """
    at = flat_slices(max_tasks, max_processors, resources)
    return Layout(
        tasks=at["status_uncompleted"].start,
        processors=at["available"].start,
        pairs=at["placed"].start,
        loads=at["load"].start if resources else 0,
        max_tasks=max_tasks,
        max_processors=max_processors,
        resources=resources,
    )
