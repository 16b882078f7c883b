"""Graphs for graph networks: sizes, ends of edges, features in their places."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagsched_env import DAGSchedEnv, DAGSchedError, Instance
from dagsched_env.environment.features import FLOAT_FEATURES
from dagsched_env.environment.pyg import to_pyg
from dagsched_env.environment.vector import DAGSchedVectorEnv
from helpers.strategies import instances


@settings(max_examples=30)
@given(instances(max_tasks=8), st.integers(0, 3))
def test_padding_makes_no_difference(instance: Instance, padding: int) -> None:
    env = DAGSchedEnv(
        instance,
        max_tasks=instance.n_tasks + padding,
        max_processors=instance.n_processors + padding,
        max_edges=instance.n_edges + 1 + padding,
    )
    graph, of_instance = to_pyg(env.reset()[0]), to_pyg(instance)
    for name, array in of_instance.items():
        assert array.dtype == (np.int64 if name == "edge_index" else np.float32)
        np.testing.assert_array_equal(graph[name], array, err_msg=name)
    assert graph["edge_index"].T.tolist() == instance.edges.tolist()
    sizes = {group: sum(f.group == group for f in FLOAT_FEATURES) for group in ("task", "pair")}
    assert graph["x"].shape == (instance.n_tasks, sizes["task"])
    assert graph["edge_attr"].shape == (instance.n_edges, 1)
    assert graph["processor_attr"].shape == (instance.n_processors, 2)
    shape = (instance.n_tasks, instance.n_processors, sizes["pair"])
    assert graph["pair_attr"].shape == shape


def test_features_of_a_state() -> None:
    instance = Instance([[2.0, 4.0], [3.0, 1.0]], [(0, 1)], [6.0])
    env = DAGSchedEnv(instance, max_tasks=4, max_processors=3)
    env.reset()
    graph = to_pyg(env.step(1)[0])  # task 0 on processor 1
    names = {
        group: [f.name for f in FLOAT_FEATURES if f.group == group] for group in ("task", "pair")
    }
    assert graph["x"][:, names["task"].index("status_completed")].tolist() == [1, 0]
    assert graph["pair_attr"][..., names["pair"].index("placed")].tolist() == [[0, 1], [0, 0]]
    times = graph["pair_attr"][..., names["pair"].index("comp")] * instance.time_scale
    np.testing.assert_allclose(times, instance.comp)


def test_what_is_no_graph_of_one_environment() -> None:
    instance = Instance([[1.0]], [], [])
    flat, _ = DAGSchedEnv(instance, observation="flat").reset()
    many, _ = DAGSchedVectorEnv(instance, num_envs=2).reset()
    for source in (flat, many, {}):
        with pytest.raises(DAGSchedError, match='the observation "graph" of one environment'):
            to_pyg(source)
