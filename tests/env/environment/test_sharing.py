"""Environments whose tasks share processors: observations, vector form, errors."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from dagsched_env import DAGSchedEnv, DAGSchedError, Instance
from dagsched_env.environment.observation import flat_slices
from dagsched_env.environment.pyg import to_pyg
from dagsched_env.environment.vector import DAGSchedVectorEnv
from helpers.sharing import sharing_instance

NODES = Instance(
    [[4.0, 8.0], [2.0, 2.0], [6.0, 3.0]],
    [(0, 2)],
    [1.0],
    demands=[[1, 2], [3, 0], [4, 6]],
    capacities=[[4, 8], [8, 4]],
    resource_names=["cores", "memory"],
)


LISTED = [sharing_instance(n, seed, [[8, 2.0]] * 3) for seed, n in enumerate((9, 14, 20))]


@pytest.mark.parametrize("observation", ["graph", "flat"])
def test_the_environment_is_one_of_gymnasium(observation: str) -> None:
    check_env(DAGSchedEnv(LISTED, observation=observation), skip_render_check=True)


def test_observations_tell_of_demands_capacities_and_loads() -> None:
    env = DAGSchedEnv(NODES)
    observation, _ = env.reset(seed=0)
    assert observation["demand"].tolist() == [0.125, 0.25, 0.375, 0.0, 0.5, 0.75]
    assert observation["capacity"].tolist() == [0.5, 1.0, 1.0, 0.5]
    assert observation["load"].tolist() == [0.0] * 4
    assert observation["free"].tolist() == [1.0] * 4
    observation, *_ = env.step(0)  # task 0 on P0: 4 of its 4 cores' time is a quarter, 2 of 8 GB
    scale = NODES.time_scale
    assert np.allclose(observation["load"], [1.0 / scale, 1.0 / scale, 0.0, 0.0])
    assert np.allclose(observation["free"], [0.75, 0.75, 1.0, 1.0])
    observation, *_ = env.step(2)  # task 1 on P0, beside it
    assert env.state.arrays.start[1] == 0.0
    assert np.allclose(observation["load"], [2.5 / scale, 1.0 / scale, 0.0, 0.0])
    assert np.allclose(observation["free"], [1.0 - 2.5 / 4.0, 0.75, 1.0, 1.0])
    flat, _ = DAGSchedEnv(NODES, observation="flat").reset(seed=0)
    places = flat_slices(3, 2, 2)
    assert flat[places["capacity"]].tolist() == [0.5, 1.0, 1.0, 0.5]
    graph = to_pyg(NODES)
    assert graph["demand"].tolist() == [[0.125, 0.25], [0.375, 0.0], [0.5, 0.75]]
    assert graph["capacity_attr"].shape == (2, 2, 3)


def test_no_idle_time_is_left_beside_a_task() -> None:
    """Task 2 may start on P0 at 1, where task 0 runs from 0 to 4."""
    comp, demands = [[4.0, 4.0], [1.0, 1.0], [2.0, 2.0]], [[1], [1], [1]]
    env = DAGSchedEnv(Instance(comp, [(1, 2)], [0.0], demands=demands, capacities=[[2], [2]]))
    env.reset(seed=0)
    env.step(0)
    observation, *_ = env.step(3)
    assert observation["est"][4] * env.state.instance.time_scale == 1.0
    assert observation["gap"].tolist() == [0.0] * 6


@pytest.mark.parametrize("observation", ["graph", "flat"])
def test_the_vector_form_equals_single_environments(observation: str) -> None:
    many = DAGSchedVectorEnv(LISTED, num_envs=4, observation=observation)
    singles = gymnasium.vector.SyncVectorEnv(
        [lambda: DAGSchedEnv(LISTED, observation=observation)] * 4
    )
    rng = np.random.default_rng(0)
    (seen, info), (expected, _) = many.reset(seed=5), singles.reset(seed=5)
    for _ in range(60):
        for part, value in _parts(seen).items():
            assert np.array_equal(value, _parts(expected)[part]), part
        mask = info["action_mask"]
        actions = np.array([rng.choice(np.flatnonzero(row)) if row.any() else 0 for row in mask])
        seen, rewards, ended, _, info = many.step(actions)
        expected, wanted, also_ended, _, others = singles.step(actions)
        assert np.array_equal(ended, also_ended)
        assert np.allclose(rewards, wanted)
        for i in np.flatnonzero(ended):
            assert info["efficiency"][i] == pytest.approx(others["efficiency"][i])
            info["schedule"][i].validate(many.instances[i])


def _parts(observation: Any) -> dict[str, Any]:
    return observation if isinstance(observation, dict) else {"": observation}


def test_all_instances_of_an_environment_have_as_many_resources() -> None:
    with pytest.raises(DAGSchedError, match=r"has 0 resources, the env 2: .* max_resources"):
        DAGSchedEnv([NODES, Instance([[1.0]], [], [])])
    env = DAGSchedEnv(lambda _: NODES, max_tasks=3, max_processors=2, max_edges=1)
    with pytest.raises(DAGSchedError, match="has 2 resources, the env 0"):
        env.reset(seed=0)
