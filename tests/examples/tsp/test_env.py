"""``TSP-v0``: rules, rewards, and the batch against single environments."""

import gymnasium
import numpy as np
import pytest
import torch
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import SyncVectorEnv

from dagsched_env.problem.errors import DAGSchedError
from tsp.env import TSPEnv, TSPVectorEnv
from tsp.points import tour_lengths


def vector_env(**options):
    return gymnasium.make_vec("tsp:TSP-v0", vectorization_mode="vector_entry_point", **options)


@pytest.mark.filterwarnings("ignore:.*Box observation space .* value is")  # points lie anywhere
def test_the_checker_of_gymnasium_is_content():
    check_env(gymnasium.make("tsp:TSP-v0", size=6).unwrapped)


@pytest.mark.parametrize("points", ["uniform", "gaussian"])
def test_the_return_is_minus_the_length_of_the_tour(points):
    env = gymnasium.make("tsp:TSP-v0", size=7, points=points)
    rng = np.random.default_rng(0)
    for seed in range(5):
        observation, info = env.reset(seed=seed)
        drawn, total, over, order = observation["points"], 0.0, False, []
        assert observation["first"] == observation["last"] == 7
        while not over:
            action = rng.choice(np.flatnonzero(info["action_mask"]))
            observation, reward, over, truncated, info = env.step(action)
            order.append(int(action))
            total += reward
            assert not truncated
            assert not info["illegal_action"]
            assert observation["first"] == order[0]
            assert observation["last"] == order[-1]
            np.testing.assert_array_equal(np.flatnonzero(observation["visited"]), sorted(order))
        expected = tour_lengths(torch.from_numpy(drawn)[None], torch.tensor([[order]]))
        assert -total == pytest.approx(expected.item(), rel=1e-6)
        assert info["length"] == pytest.approx(-total, rel=1e-12)
        assert info["tour"].tolist() == order


def test_a_visited_point_costs_and_changes_nothing():
    env = TSPEnv(size=4, illegal_penalty=2.5, max_illegal_actions=2)
    env.reset(seed=0)
    before, *_ = env.step(1)
    after, reward, terminated, truncated, info = env.step(1)
    assert (reward, terminated, truncated, info["illegal_action"]) == (-2.5, False, False, True)
    for key in before:
        np.testing.assert_array_equal(before[key], after[key])
    *_, truncated, info = env.step(1)
    assert truncated
    with pytest.raises(ResetNeeded):
        env.step(2)


def test_a_given_problem_is_played():
    corners = [[0, 0], [0, 2], [2, 2], [2, 0]]
    env = TSPEnv(size=4)
    env.reset(options={"points": corners})
    rewards = [env.step(i)[1] for i in range(4)]
    assert rewards == [0.0, -2.0, -2.0, -4.0]


@pytest.mark.parametrize("points", ["uniform", "gaussian"])
def test_the_batch_gives_what_single_environments_give(points):
    count, size = 5, 6
    batch = vector_env(num_envs=count, size=size, points=points, max_illegal_actions=3)
    single = SyncVectorEnv(
        [lambda: TSPEnv(size=size, points=points, max_illegal_actions=3)] * count
    )
    assert batch.observation_space == single.observation_space
    assert batch.action_space == single.action_space
    for env in (batch, single):
        env.reset(seed=11)
    rng = np.random.default_rng(4)
    ends = 0
    for _ in range(60):
        actions = rng.integers(size, size=count)  # many have been visited
        here, there = batch.step(actions), single.step(actions)
        for key in here[0]:
            np.testing.assert_array_equal(here[0][key], there[0][key])
        for mine, theirs in zip(here[1:4], there[1:4], strict=True):
            np.testing.assert_array_equal(mine, theirs)
        np.testing.assert_array_equal(here[4]["action_mask"], np.stack(there[4]["action_mask"]))
        if here[2].any():
            valid = here[4]["_length"]
            np.testing.assert_array_equal(valid, there[4]["_length"])
            np.testing.assert_array_equal(here[4]["length"][valid], there[4]["length"][valid])
        ends += int((here[2] | here[3]).sum())
    assert ends > 20


def test_a_step_needs_a_reset():
    with pytest.raises(ResetNeeded):
        TSPVectorEnv(2).step(np.zeros(2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 2}, "size=2"),
        ({"points": "ring"}, "'ring': choose uniform or gaussian"),
        ({"max_illegal_actions": 0}, "max_illegal_actions=0"),
    ],
)
def test_settings_are_checked(options, message):
    with pytest.raises(DAGSchedError, match=message):
        TSPEnv(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"point": 1}, "'point' is unknown"),
        ({"points": [[0, 0]] * 4}, "of shape"),
        ({"points": [[0, np.nan]] * 5}, "finite"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(DAGSchedError, match=message):
        TSPEnv(size=5).reset(options=options)
