"""Instances and observations as graphs for graph networks: ``edge_index`` and matrices of features.

The names are those of PyTorch Geometric, which is not needed here:

    graph = {name: torch.from_numpy(array) for name, array in to_pyg(observation).items()}
    data = torch_geometric.data.Data(**graph)
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from dagsched_env.environment.observation import GraphObservation, stack_features
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.simulator import State

__all__ = ["to_pyg"]


def to_pyg(source: Instance | Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """A graph of n tasks and m edges, without padding.

    Args:
        source: an instance, of which nothing is scheduled yet; or a ``"graph"`` observation of one
            environment.

    Returns:
        ``x`` [n, features] of tasks, ``edge_index`` int64 [2, m] (predecessor, successor),
        ``edge_attr`` [m, features], ``processor_attr`` [p, features] and ``pair_attr``
        [n, p, features]; with k resources ``demand`` [n, k] and ``capacity_attr`` [p, k, features];
        float32, in the order of ``dagsched_env.environment.features.FEATURES``.

    Raises:
        DAGSchedError: an observation of another kind, or of many environments.
    """
    if isinstance(source, Instance):
        sizes = source.n_tasks, source.n_processors, max(source.n_edges, 1), source.n_resources
        source, _ = GraphObservation(*sizes)(State(source))
    if not isinstance(source, Mapping) or np.ndim(source.get("task_mask", 0)) != 1:
        raise DAGSchedError('give an Instance, or the observation "graph" of one environment')
    tasks, processors, edges = (
        source[f"{group}_mask"] == 1 for group in ("task", "processor", "edge")
    )
    resources = {}
    if "demand" in source:
        limits = stack_features(source, "capacity")
        resources = {
            "demand": source["demand"].reshape(len(tasks), -1)[tasks],
            "capacity_attr": limits.reshape(len(processors), -1, limits.shape[-1])[processors],
        }
    pairs = stack_features(source, "pair").reshape(len(tasks), len(processors), -1)
    return {
        "x": stack_features(source, "task")[tasks],
        "edge_index": np.stack([source["edge_source"][edges], source["edge_target"][edges]]),
        "edge_attr": stack_features(source, "edge")[edges],
        "processor_attr": stack_features(source, "processor")[processors],
        "pair_attr": pairs[tasks][:, processors],
        **resources,
    }
