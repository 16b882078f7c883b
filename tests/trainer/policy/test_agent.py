"""The fast policy in ``DAGSched-v0``: action by action it makes the schedules of its kernels."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers
from hypothesis import given, settings
from hypothesis import strategies as st

from aerl_trainer.policy.agent import PolicyAgent, policy_action
from aerl_trainer.policy.fast import FastPolicy
from dagsched_env import DAGSchedEnv, DAGSchedError, Instance, Schedule, State
from dagsched_env.generators import TopcuogluGenerator
from helpers.policies import some_weights
from helpers.small_runs import problem
from helpers.strategies import instances

PADDED = {"max_tasks": 12, "max_processors": 5, "max_edges": 70}


def play(env: gymnasium.Env, choose: Any) -> Schedule:
    """``choose(observation)`` is asked for each action of an episode."""
    observation, _ = env.reset(seed=0)
    over = False
    while not over:
        observation, _, over, _, info = env.step(choose(observation))
        assert not info["illegal_action"]
    assert isinstance(info["schedule"], Schedule)
    return info["schedule"]


@settings(max_examples=40)
@given(instances(max_tasks=10, max_processors=4), st.integers(0, 2**32 - 1))
def test_an_episode_is_the_schedule(instance: Instance, seed: int) -> None:
    """Exactly, greedy and drawn, from the state and from observations, in both modes."""
    policy = FastPolicy(some_weights())
    drawn = policy.sample(instance, 1, np.random.default_rng(seed)).actions[0]
    state = State(instance)
    for action in drawn.tolist():
        state.apply(*divmod(action, instance.n_processors))
    for rng, expected in ((False, policy.schedule(instance)), (True, state.schedule())):

        def generator(rng: bool = rng) -> np.random.Generator | None:
            return np.random.default_rng(seed) if rng else None

        for mode in ("pair", "factored"):
            env, draws = DAGSchedEnv(instance, action=mode, **PADDED), generator()
            assert play(env, lambda _, e=env, d=draws: policy_action(policy, e, d)) == expected
        env, agent = DAGSchedEnv(instance, **PADDED), PolicyAgent(policy, generator())
        assert play(env, lambda seen, a=agent: a.act(seen, instance)) == expected


def test_a_wrapped_environment_and_other_observations() -> None:
    policy, instance = FastPolicy(some_weights()), problem(12, 3)
    made = gymnasium.make("DAGSched-v0", instances=instance, observation="flat")
    env = wrappers.TimeLimit(wrappers.NormalizeObservation(made), 100)
    assert play(env, lambda _: policy_action(policy, env)) == policy.schedule(instance)


def test_an_agent_notices_a_new_episode_and_what_others_place() -> None:
    """The same instance twice, the second time from the second task on; then other ones."""
    policy, env = FastPolicy(some_weights()), DAGSchedEnv(problem(10, 3), **PADDED)
    agent = PolicyAgent(policy)
    assert play(env, lambda seen: agent.act(seen, env.instance)) == policy.schedule(env.instance)
    observation, info = env.reset()
    for _ in range(2):
        observation, _, _, _, info = env.step(int(info["action_mask"].argmax()))
        chosen = agent.act(observation, env.instance)
        assert chosen == policy_action(policy, env)
    for seed in range(1, 6):
        observation, _ = env.reset(options={"instance": problem(10, 3, seed)})
        assert agent.act(observation, env.instance) == policy_action(policy, env)


def test_an_agent_that_has_missed_an_observation_says_so() -> None:
    env, agent = DAGSchedEnv(problem(10, 3)), PolicyAgent(FastPolicy())
    _, info = env.reset()
    for _ in range(2):
        observation, _, _, _, info = env.step(int(info["action_mask"].argmax()))
    with pytest.raises(DAGSchedError, match="2 tasks have been placed since the last observation"):
        agent.act(observation, env.instance)


def test_many_environments_at_once() -> None:
    """Sizes differ, and episodes begin anew in the middle."""
    policy, rng = FastPolicy(some_weights()), np.random.default_rng(0)
    problems = [TopcuogluGenerator(n_tasks=n, n_processors=p)(rng) for n, p in [(5, 2), (8, 4)] * 2]
    envs = gymnasium.make_vec(
        "DAGSched-v0", num_envs=3, vectorization_mode="vector_entry_point", instances=problems
    )
    agents = [PolicyAgent(policy) for _ in range(3)]
    observations, info = envs.reset(seed=0)
    seen = 0
    for _ in range(30):
        current = envs.unwrapped.instances
        actions = [
            agent.act({key: value[i] for key, value in observations.items()}, current[i])
            for i, agent in enumerate(agents)
        ]
        observations, _, over, _, info = envs.step(np.array(actions))
        assert not info["illegal_action"].any()
        for i in np.flatnonzero(over).tolist():
            assert info["schedule"][i] == policy.schedule(current[i])
            seen += 1
    assert seen >= 9


def test_what_it_cannot_do_is_said() -> None:
    policy, instance = FastPolicy(), problem(5, 2)
    by_task = DAGSchedEnv(instance, action="task")
    by_task.reset()
    with pytest.raises(DAGSchedError, match="leaves the processor to the environment"):
        policy_action(policy, by_task)
    with pytest.raises(DAGSchedError, match="insertion=False"):
        policy.action(State(instance, insertion=False))
    complete = State(instance)
    while not complete.terminal:
        complete.apply(*policy.action(complete))
    with pytest.raises(DAGSchedError, match="all tasks are placed"):
        policy.action(complete)
    with pytest.raises(DAGSchedError, match="is not DAGSched-v0"):
        policy_action(policy, gymnasium.make("CartPole-v1"))
    flat = DAGSchedEnv(instance, observation="flat")
    with pytest.raises(DAGSchedError, match='observation="graph"'):
        PolicyAgent(policy).act(flat.reset()[0], instance)
