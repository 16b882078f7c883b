"""``DAGSchedOnline-v0``: its rules, its features by the meaning of each, and its vector form."""

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

from dagsched_env.environment.features import LIMIT
from dagsched_env.environment.online.env import DAGSchedOnlineEnv
from dagsched_env.environment.online.features import ONLINE_FEATURES
from dagsched_env.environment.online.vector import DAGSchedOnlineVectorEnv
from dagsched_env.kernels.online.features import (
    OF_PAIR,
    OF_PROCESSOR,
    OF_TASK,
    clear,
    describe,
    show_graphs,
    show_machines,
)
from dagsched_env.online import (
    OBJECTIVES,
    Bursts,
    Gamma,
    ListOrder,
    Lognormal,
    OneLost,
    Poisson,
    RandomOutages,
    Recorded,
    Stragglers,
    World,
    simulate,
)
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from helpers.strategies import instances, sharing_instances

NAME = "DAGSchedOnline-v0"
KINDS = [
    {"noise": Lognormal(0.3)},
    {
        "instances": "family:topcuoglu?tasks=10&processors=4",
        "arrivals": Poisson(4, 0.8),
        "noise": [Gamma(0.5), Stragglers()],
        "outages": RandomOutages(1.0, 0.3, 5.0),
        "forgets": True,
        "objective": "slowdown",
        "observation": "flat",
    },
    {
        "instances": "family:cholesky?tiles=3&processors=2&cores=4&demand=1..3",
        "arrivals": Bursts(4, 2),
        "slack": 2.0,
        "objective": "tardiness",
    },
]


def make(**arguments):
    return gymnasium.make(NAME, disable_env_checker=True, **arguments).unwrapped


def played(env, rng, **reset):
    """A random episode: the sum of its rewards, and the last info."""
    env.reset(**reset)
    total, over = 0.0, False
    while not over:
        action = int(rng.choice(np.flatnonzero(env.action_masks())))
        observation, reward, over, _, info = env.step(action)
        assert env.observation_space.contains(observation)
        total += reward
    assert not env.action_masks().any()
    return total, info


@pytest.mark.parametrize("arguments", KINDS)
def test_gymnasium_accepts_it(arguments):
    check_env(make(**arguments))


@pytest.mark.parametrize("objective", OBJECTIVES)
@given(
    seed=st.integers(0, 2**32 - 1),
    outages=st.sampled_from([OneLost(), RandomOutages(1.0, 0.3, 20.0)]),
)
def test_the_return_is_minus_the_objective(objective, seed, outages):
    env = make(
        instances="family:fft?points=4&processors=3",
        arrivals=Poisson(3, 1.0),
        noise=Gamma(0.6),
        outages=outages,
        slack=1.5,
        objective=objective,
    )
    total, info = played(env, np.random.default_rng(seed), seed=seed)
    scale = 1.0 if objective == "slowdown" else env.simulation.world.alone[0]
    assert total == pytest.approx(-info[objective] / scale, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_return_counts_the_time_before_the_first_arrival(objective):
    spec = "family:fft?points=4&processors=3"
    env = make(instances=spec, arrivals=Recorded([40.0, 55.0]), slack=1.5, objective=objective)
    env.reset(seed=1)
    twin = pickle.loads(pickle.dumps(env))
    copied = env.clone()
    scale = 1.0 if objective == "slowdown" else env.simulation.world.alone[0]
    for one in (env, twin, copied):
        total, over = 0.0, False
        while not over:
            _, reward, over, _, info = one.step(int(np.flatnonzero(one.action_masks())[0]))
            total += reward
        assert total == pytest.approx(-info[objective] / scale, rel=1e-9)


@pytest.mark.parametrize("deadline", [[1.0, 4.0], [-3.0, 2.0], [1.0, np.inf]])
def test_the_return_counts_deadlines_before_the_arrival(deadline):
    graphs = Instance([[3.0], [2.0], [4.0]], [(0, 1)], [0.0])
    world = World(graphs, arrival=[0.0, 5.0], first=[0, 2, 3], deadline=deadline, weight=[2, 3])
    env = make(instances=graphs, objective="tardiness", max_tasks=3, max_edges=1)
    env.reset(options={"world": world})
    total, over = 0.0, False
    while not over:
        _, reward, over, _, info = env.step(int(np.flatnonzero(env.action_masks())[0]))
        total += reward
    by_hand = 2 * (5.0 - deadline[0]) + 3 * max(9.0 - deadline[1], 0.0)
    assert info["tardiness"] == by_hand
    assert total * world.alone[0] == pytest.approx(-by_hand)


@given(st.one_of(instances(), sharing_instances()), st.integers(0, 2**32 - 1))
def test_an_episode_is_a_valid_schedule_of_the_real_durations(instance, seed):
    env = make(instances=instance, noise=Lognormal(0.5))
    _, info = played(env, np.random.default_rng(seed), seed=seed)
    info["schedule"].validate(env.simulation.world.clairvoyant())


@given(st.one_of(instances(), sharing_instances()), st.integers(0, 2**32 - 1))
def test_features_mean_what_the_table_says(instance, seed):
    rng = np.random.default_rng(seed)
    env = make(instances=instance, noise=Lognormal(0.5))
    observation, _ = env.reset(seed=seed)
    for _ in range(int(rng.integers(2 * instance.n_tasks))):
        legal = np.flatnonzero(env.action_masks())
        if not legal.size:
            break
        observation = env.step(int(rng.choice(legal)))[0]
    situation = env.simulation.situation
    scale, now = env.simulation.world.alone[0] or 1.0, situation.now
    n, p = instance.n_tasks, instance.n_processors
    pairs = {f.name: observation[f.name] for f in ONLINE_FEATURES if f.group == "pair"}
    mask = observation["action_mask"]
    for t in range(n):
        assert observation["status_ready"][t] == situation.is_ready(t)
        assert observation["status_running"][t] == situation.is_running(t)
        assert observation["status_completed"][t] == situation.finished[t]
        left = situation.arrays.finish[t] - now if situation.is_running(t) else 0.0
        assert observation["left"][t] == pytest.approx(max(left, 0.0) / scale, rel=1e-5, abs=1e-6)
        assert observation["late"][t] == pytest.approx(max(-left, 0.0) / scale, rel=1e-5, abs=1e-6)
        for q in range(p):
            can = situation.can_start(t, q)
            assert pairs["startable"][t * p + q] == can == mask[t * p + q]
            if situation.is_ready(t) and np.isfinite(instance.comp[t, q]):
                wait = max(situation.arrival(t)[q] - now, 0.0) / scale
                assert pairs["inputs"][t * p + q] == pytest.approx(wait, rel=1e-5, abs=1e-6)
                if can:
                    takes = instance.comp[t, q] / scale
                    assert pairs["eft"][t * p + q] == pytest.approx(takes, rel=1e-5, abs=1e-6)
    for q in range(p):
        ends = [
            situation.expected_finish(t)
            for t in situation.running.tolist()
            if situation.arrays.machine[t] == q
        ]
        busy = (max(ends, default=now) - now) / scale
        assert observation["busy"][q] == pytest.approx(busy, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("arguments", KINDS)
def test_a_row_that_is_brought_up_to_date_equals_one_that_is_written_anew(arguments):
    env, rng = make(**arguments), np.random.default_rng(1)
    episodes, layout = env._episodes, env._episodes._layout
    for seed in range(3):
        env.reset(seed=seed)
        over = False
        while not over:
            *_, over, _, _ = env.step(int(rng.choice(np.flatnonzero(env.action_masks()))))
            g, s, w, e = episodes._episodes[0]
            row, ends, marks, legal = (
                np.full_like(kept[0], 7)
                for kept in (episodes._rows, episodes._ends, episodes._marks, episodes.legal)
            )
            clear(g, layout, row, ends, marks, legal)
            e.shown[0] = 0
            show_machines(e, g, layout, row)
            show_graphs(w, e, layout, row, ends, marks)
            describe(g, s, w, e, LIMIT, layout, row, legal)
            np.testing.assert_array_equal(row, episodes._rows[0])
            np.testing.assert_array_equal(ends, episodes._ends[0])
            np.testing.assert_array_equal(marks, episodes._marks[0])
            np.testing.assert_array_equal(legal, episodes.legal[0])


def test_the_table_has_as_many_features_as_the_kernel_writes():
    for group, count in (("task", OF_TASK), ("processor", OF_PROCESSOR), ("pair", OF_PAIR)):
        found = [f for f in ONLINE_FEATURES if f.group == group and f.dynamic and f.unit != "mask"]
        assert len(found) == count


def test_what_has_not_arrived_is_not_seen():
    env = make(instances="family:fft?points=4&processors=3", arrivals=Poisson(5, 0.3))
    observation, _ = env.reset(seed=3)
    first = env.simulation.world.first
    assert observation["task_mask"].sum() == first[1]
    for feature in ONLINE_FEATURES:
        if feature.group == "task":
            assert not observation[feature.name][first[1] :].any()
    edges = observation["edge_mask"].sum()
    over = False
    while not over:
        action = int(np.flatnonzero(env.action_masks())[0])
        observation, _, over, _, _ = env.step(action)
    assert observation["task_mask"].all()
    assert observation["edge_mask"].sum() == 5 * edges


@pytest.mark.parametrize("arguments", KINDS)
def test_the_vector_form_equals_single_environments(arguments):
    count, rng = 4, np.random.default_rng(0)
    envs = gymnasium.make_vec(
        NAME, num_envs=count, vectorization_mode="vector_entry_point", **arguments
    )
    singles = [make(**arguments) for _ in range(count)]
    several, _ = envs.reset(seed=5)
    each = [env.reset(seed=5 + i)[0] for i, env in enumerate(singles)]
    over = np.zeros(count, dtype=bool)
    for _ in range(120):
        for i in range(count):
            if isinstance(several, dict):
                for name in several:
                    np.testing.assert_array_equal(several[name][i], each[i][name], err_msg=name)
            else:
                np.testing.assert_array_equal(several[i], each[i])
        masks = envs.action_masks()
        actions = np.array([int(rng.choice(np.flatnonzero(m))) if m.any() else 0 for m in masks])
        several, rewards, ended, _, info = envs.step(actions)
        for i, env in enumerate(singles):
            if over[i]:
                each[i], over[i] = env.reset()[0], False
                continue
            each[i], reward, over[i], _, own = env.step(int(actions[i]))
            assert (reward, over[i]) == (rewards[i], ended[i])
            if over[i]:
                assert info["makespan"][i] == own["makespan"]
                assert info["schedule"][i] == own["schedule"]


def pickled(value):
    return pickle.loads(pickle.dumps(value))


COPIES = [DAGSchedOnlineEnv.clone, copy.deepcopy, pickled]


@pytest.mark.parametrize("copied", COPIES)
def test_a_clone_has_the_same_future_and_its_own_state(copied):
    env = make(noise=Gamma(0.8), arrivals=Poisson(2, 0.5))
    env.reset(seed=1)
    for _ in range(5):
        env.step(int(env.action_masks().argmax()))
    twin = copied(env)
    ends = []
    for each in (env, twin):
        over = False
        while not over:
            _, _, over, _, info = each.step(int(each.action_masks().argmax()))
        ends.append((info["makespan"], each.reset()[0]["comp"].tolist()))
    assert ends[0] == ends[1]


def test_actions_of_a_dispatcher_give_its_run():
    env = make(noise=Lognormal(0.4))
    env.reset(seed=7)
    world = env.simulation.world
    outcome = simulate(world, ListOrder(world.instance))
    order, over = ListOrder(world.instance), False
    while not over:
        starts = list(order.starts(env.simulation.situation))
        action = env.action_of(*starts[0]) if starts else env.wait
        _, _, over, _, info = env.step(action)
    assert info["schedule"] == outcome.schedule


def test_illegal_actions_change_nothing_and_truncate():
    env = make(max_illegal_actions=2, illegal_penalty=3.0)
    with pytest.raises(ResetNeeded):
        env.action_masks()
    first, _ = env.reset(seed=0)
    illegal = int(np.flatnonzero(~env.action_masks())[0])
    same, reward, ended, truncated, info = env.step(illegal)
    assert (reward, ended, truncated, info["illegal_action"]) == (-3.0, False, False, True)
    for name in first:
        np.testing.assert_array_equal(first[name], same[name])
    assert env.step(10**6)[3]
    with pytest.raises(ResetNeeded):
        env.step(0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"objective": "speed"}, "objective='speed' is not available"),
        ({"slack": 0.0}, "slack=0.0 is not a number > 0"),
        ({"illegal_penalty": -1.0}, "illegal_penalty=-1.0"),
        ({"instances": lambda rng: None}, "max_tasks"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(DAGSchedError, match=message):
        make(**arguments)


def test_options_of_a_reset_are_checked():
    env = make()
    with pytest.raises(DAGSchedError, match="unknown option 'instanc'"):
        env.reset(options={"instanc": 1})
    with pytest.raises(DAGSchedError, match="is int: give a World"):
        env.reset(options={"world": 1})


@pytest.mark.parametrize("copied", COPIES)
def test_a_copy_goes_on_as_before_when_the_next_run_of_the_same_graph_has_begun(copied):
    """The next run is in the arrays of the last one."""
    graph = Instance([[2.0, 3.0], [4.0, 3.0], [1.0, 5.0]], [(0, 1), (0, 2)], [5.0, 1.0])
    env = DAGSchedOnlineEnv(graph, noise=Lognormal(0.5))

    def to_the_end(env, info):
        while True:
            action = int(info["action_mask"].argmax())
            _, _, terminated, _, info = env.step(action)
            if terminated:
                return info["schedule"].finish.tolist()

    env.reset(seed=0)
    first = env.simulation
    _, info = env.reset(seed=1)
    assert env.simulation is first
    twin = copied(env)
    expected = to_the_end(env, info)
    _, other = env.reset(seed=2)
    assert env.simulation is first
    assert to_the_end(env, other) != expected
    assert to_the_end(twin, info) == expected
    assert env.simulation.world.actual.tolist() != twin.simulation.world.actual.tolist()


@pytest.mark.parametrize("copied", COPIES[1:])
def test_copies_of_vector_environments_go_on_alike(copied):
    envs = DAGSchedOnlineVectorEnv("family:fft?points=4&processors=3", num_envs=3)
    _, info = envs.reset(seed=0)
    for _ in range(3):
        *_, info = envs.step(info["action_mask"].argmax(axis=1))
    twin, seen = copied(envs), []
    for each in (envs, twin):
        mask, steps = info["action_mask"], []
        for _ in range(40):
            _, rewards, over, _, now = each.step(mask.argmax(axis=1))
            mask = now["action_mask"]
            steps.append((rewards.tolist(), over.tolist()))
        seen.append(steps)
    assert seen[0] == seen[1]
