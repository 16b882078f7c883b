"""DAGSched-v0: conformance, equality with the simulator, rewards, masks, options, errors."""

import warnings
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st

from dagsched_env import DAGSchedEnv, DAGSchedError, Instance, State
from dagsched_env.environment.features import FLOAT_FEATURES, Feature
from dagsched_env.environment.observation import FEATURES, LIMIT, flat_slices, stack_features
from dagsched_env.environment.rewards import Transition
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.kernels.state import features as state_features
from dagsched_env.suites import load
from helpers.strategies import episodes, instances

PAIR = Instance([[2.0, 4.0], [3.0, 1.0]], [(0, 1)], [6.0])


def random_action(mask: np.ndarray, rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(mask)))


def play(env: DAGSchedEnv, rng: np.random.Generator) -> tuple[list[int], float, dict[str, Any]]:
    """A random legal episode: actions, return, last info."""
    _, info = env.reset()
    actions, total, over = [], 0.0, False
    while not over:
        actions.append(random_action(info["action_mask"], rng))
        _, reward, over, truncated, info = env.step(actions[-1])
        assert not truncated
        total += reward
    return actions, total, info


# -- conformance -------------------------------------------------------------------------------

CONFIGURATIONS = [
    {},
    {"instances": PAIR},
    {"instances": Instance([[1.0]], [], [])},
    {"instances": [PAIR], "max_tasks": 5, "max_processors": 3, "max_edges": 7},
    {"insertion": False, "reward": "terminal"},
]


MODES = [
    {"action": action, "observation": observation}
    for action in ("factored", "pair", "task")
    for observation in ("flat", "graph")
]


@pytest.mark.parametrize("render_mode", [None, "rgb_array"])
@pytest.mark.parametrize("options", CONFIGURATIONS + MODES)
def test_checkers_do_not_even_warn(options: dict[str, Any], render_mode: str | None) -> None:
    sb3 = pytest.importorskip("stable_baselines3.common.env_checker")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make("DAGSched-v0", render_mode=render_mode, **options)
        check_env(env.unwrapped)
        sb3.check_env(env.unwrapped)


def test_made_by_either_name() -> None:
    for name in ("DAGSched-v0", "dagsched_env:DAGSched-v0"):
        env = gymnasium.make(name, instances=PAIR)
        assert isinstance(env.unwrapped, DAGSchedEnv)
        observation, _ = env.reset(seed=1)
        assert observation in env.observation_space


def test_in_a_vector_of_environments() -> None:
    envs = gymnasium.make_vec(
        "DAGSched-v0", num_envs=3, vectorization_mode="sync", instances=PAIR, max_tasks=4
    )
    observation, info = envs.reset(seed=0)
    assert observation["est"].shape == (3, 8)
    assert info["action_mask"].shape == (3, 8)
    for action in (0, 2):
        _, _, terminated, _, info = envs.step(np.full(3, action))
    assert terminated.all()
    assert info["makespan"].tolist() == [5, 5, 5]
    envs.close()


def test_flattened_for_plain_policies() -> None:
    env = gymnasium.wrappers.FlattenObservation(gymnasium.make("DAGSched-v0", instances=PAIR))
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    assert observation.ndim == 1


# -- the env is the simulator --------------------------------------------------------------------


@given(episodes())
def test_any_legal_episode(episode: tuple[Instance, int, bool]) -> None:
    instance, seed, insertion = episode
    rng = np.random.default_rng(seed)
    env = DAGSchedEnv(instance, insertion=insertion, max_tasks=14, max_processors=5, max_edges=80)
    state = State(instance, insertion=insertion)
    observation, info = env.reset(seed=seed)
    total = 0.0
    for step in range(instance.n_tasks):
        legal = np.zeros((14, 5), dtype=bool)
        legal[: instance.n_tasks, : instance.n_processors] = state.legal()
        assert (env.action_masks() == legal.ravel()).all()
        assert (info["action_mask"] == legal.ravel()).all()
        assert (observation["action_mask"] == legal.ravel()).all()
        assert observation in env.observation_space
        action = random_action(info["action_mask"], rng)
        state.apply(*divmod(action, 5))
        observation, reward, terminated, truncated, info = env.step(action)
        total += reward
        assert (env.state.makespan, env.state.lower_bound) == (state.makespan, state.lower_bound)
        assert (terminated, truncated) == (step == instance.n_tasks - 1, False)
    assert observation in env.observation_space
    schedule = info["schedule"]
    schedule.validate(instance)
    assert schedule == state.schedule()
    assert info["makespan"] == schedule.makespan >= instance.lower_bound * (1 - 1e-12)
    assert info["slr"] == schedule.slr(instance)
    assert info["speedup"] == schedule.speedup(instance)
    assert info["efficiency"] == schedule.efficiency(instance)
    if instance.cp_min > 0:
        assert abs(total - (1 - info["slr"])) <= 1e-9 * max(1.0, info["slr"])


@given(episodes(), st.randoms(use_true_random=False))
def test_names_of_the_processors_do_not_matter(
    episode: tuple[Instance, int, bool], random: Any
) -> None:
    instance, seed, insertion = episode
    p = instance.n_processors
    old = random.sample(range(p), p)  # new processor i is old processor old[i]
    relabelled = Instance(
        instance.comp[:, old],
        instance.edges,
        instance.data,
        inv_bandwidth=instance.inv_bandwidth[np.ix_(old, old)],
        latency=instance.latency[np.ix_(old, old)],
    )
    envs = [DAGSchedEnv(x, insertion=insertion) for x in (instance, relabelled)]
    rng = np.random.default_rng(seed)
    observations = [env.reset()[0] for env in envs]
    terminated = False
    while not terminated:
        compare_relabelled(observations[0], observations[1], old)
        task, q = divmod(random_action(observations[0]["action_mask"], rng), p)
        first, second = envs[0].step(task * p + q), envs[1].step(task * p + old.index(q))
        assert second[1] == pytest.approx(first[1], rel=1e-9, abs=1e-12)
        assert second[2] == first[2]
        observations, terminated = [first[0], second[0]], first[2]
    schedules = first[4]["schedule"], second[4]["schedule"]
    assert schedules[1].start == pytest.approx(schedules[0].start, rel=1e-12)
    assert (np.array(old)[schedules[1].processor] == schedules[0].processor).all()


def present(features: tuple[Feature, ...]) -> list[Feature]:
    """Those of observations without resources."""
    return [feature for feature in features if feature.group not in ("demand", "capacity")]


def compare_relabelled(
    before: dict[str, np.ndarray], after: dict[str, np.ndarray], old: list[int]
) -> None:
    for feature in present(FEATURES):
        a, b = before[feature.name], after[feature.name]
        if feature.group == "pair":
            a = a.reshape(-1, len(old))[:, old].ravel()
        elif feature.group == "processor":
            a = a[old]
        assert b == pytest.approx(a, rel=1e-5), feature.name


def test_hand_made_episode() -> None:
    env = DAGSchedEnv(PAIR)
    env.reset()
    _, reward, terminated, _, info = env.step(1)  # task 0 on P1: 0–4, so 5 at the earliest
    assert (reward, terminated, info["illegal_action"]) == (-(5 - 3) / 3, False, False)
    _, reward, terminated, _, info = env.step(np.int64(2))  # task 1 on P0: 4 + 6 = 10–13
    assert (reward, terminated) == (-(13 - 5) / 3, True)
    assert info["makespan"] == 13
    assert info["slr"] == pytest.approx(13 / 3)
    assert not info["action_mask"].any()
    assert not env.action_masks().any()


# -- observation ---------------------------------------------------------------------------------


def test_features_of_a_known_state() -> None:
    env = DAGSchedEnv(PAIR, max_tasks=3, max_processors=2, max_edges=2)
    env.reset()
    observation = env.step(0)[0]  # task 0 on P0: 0–2; CP_MIN = 3
    expected = {
        "mean_comp": [3, 2, 0],
        "min_comp": [2, 1, 0],
        "data_in": [0, 6, 0],
        "data_out": [6, 0, 0],
        "rank_u": [11, 2, 0],
        "rank_d": [0, 9, 0],
        "earliest_finish": [2, 5, 0],
        "available": [2, 0],
        "comp": [2, 4, 3, 1, 0, 0],
        "oct": [3, 1, 0, 0, 0, 0],
        "est": [0, 0, 2, 8, 0, 0],
        "eft": [0, 0, 5, 9, 0, 0],
        "gap": [0, 0, 0, 8, 0, 0],
        "communication": [6, 0],
    }
    for name, values in expected.items():
        assert observation[name] * 3 == pytest.approx(values, rel=1e-6), name
    exact = {
        "speed": [1, 1],
        "status_uncompleted": [0, 0, 0],
        "status_ready": [0, 1, 0],
        "status_completed": [1, 0, 0],
        "eligible": [1, 1, 1, 1, 0, 0],
        "placed": [1, 0, 0, 0, 0, 0],
        "edge_source": [0, 0],
        "edge_target": [1, 0],
        "task_mask": [1, 1, 0],
        "processor_mask": [1, 1],
        "edge_mask": [1, 0],
        "action_mask": [0, 0, 1, 1, 0, 0],
    }
    for name, values in exact.items():
        assert observation[name].tolist() == values, name
    assert {*expected, *exact} == {f.name for f in present(FEATURES)} == set(observation)


def test_speed_is_relative() -> None:
    inf = np.inf
    instance = Instance([[1.0, 3.0, inf], [2.0, 6.0, inf]], [], [])
    speed = DAGSchedEnv(instance).reset()[0]["speed"]
    assert speed.tolist() == pytest.approx([2, 2 / 3, 0])


@given(instances(max_tasks=5), st.floats(1e-8, 1e-4), st.floats(1e4, 1e8))
def test_extreme_scales_stay_inside_the_space(
    instance: Instance, small: float, large: float
) -> None:
    extreme = Instance(instance.comp * small, instance.edges, instance.data * large)
    env = DAGSchedEnv(extreme)
    observation, info = env.reset()
    rng = np.random.default_rng(0)
    over = False
    while not over:
        assert observation in env.observation_space
        assert all(np.isfinite(array).all() for array in observation.values())
        observation, _, over, _, info = env.step(random_action(info["action_mask"], rng))
    assert observation["earliest_finish"].max() <= LIMIT


def test_stack_features_keeps_leading_axes() -> None:
    observation, _ = DAGSchedEnv(PAIR, max_tasks=3).reset()
    batch = {name: np.stack([array, array]) for name, array in observation.items()}
    pairs = stack_features(batch, "pair")
    assert pairs.shape == (2, 6, 7)
    assert pairs.dtype == np.float32
    assert (pairs[1, :, 0] == observation["comp"]).all()
    assert stack_features(observation, "task").shape == (3, 10)


@settings(max_examples=30)
@given(episodes())
def test_flat_is_the_graph_without_edges_and_masks(episode: tuple[Instance, int, bool]) -> None:
    instance, seed, insertion = episode
    options = {"insertion": insertion, "max_tasks": 14, "max_processors": 5, "max_edges": 80}
    flat = DAGSchedEnv(instance, observation="flat", **options)
    graph = DAGSchedEnv(instance, **options)
    slices = flat_slices(14, 5)
    assert [*slices] == [
        f.name for f in present(FEATURES) if f.unit not in ("mask", "index") and f.group != "edge"
    ]
    rng, over = np.random.default_rng(seed), False
    (vector, _), (parts, info) = flat.reset(), graph.reset()
    while not over:
        assert vector in flat.observation_space
        assert vector.shape == (sum(place.stop - place.start for place in slices.values()),)
        for name, place in slices.items():
            assert (vector[place] == parts[name]).all(), name
        action = random_action(info["action_mask"], rng)
        vector, *_ = flat.step(action)
        parts, _, over, _, info = graph.step(action)


@settings(max_examples=30)
@given(instances(max_tasks=10), st.integers(0, 2**31))
def test_flat_holds_no_number_of_a_task_or_processor(instance: Instance, seed: int) -> None:
    """Other numbers for tasks and processors move its values, and change none."""
    rng = np.random.default_rng(seed)
    n, p = instance.comp.shape
    tasks, processors = rng.permutation(n), rng.permutation(p)
    number = np.argsort(tasks)  # of each task in the other instance
    links = np.ix_(processors, processors)
    other = Instance(
        instance.comp[np.ix_(tasks, processors)],
        number[instance.edges],
        instance.data,
        inv_bandwidth=instance.inv_bandwidth[links],
        latency=instance.latency[links],
    )
    vector, _ = DAGSchedEnv(instance, observation="flat").reset()
    moved, _ = DAGSchedEnv(other, observation="flat").reset()
    features = {feature.name: feature for feature in FEATURES}
    for name, place in flat_slices(n, p).items():
        feature = features[name]
        assert feature.unit in ("CP_MIN", "ratio", "flag")
        expected = vector[place]
        if feature.group == "pair":
            expected = expected.reshape(n, p)[np.ix_(tasks, processors)].ravel()
        else:
            expected = expected[tasks if feature.group == "task" else processors]
        np.testing.assert_allclose(moved[place], expected, rtol=1e-5, err_msg=name)


@pytest.mark.parametrize("observation", ["flat", "graph"])
def test_nothing_that_is_returned_is_used_again(observation: str) -> None:
    env = DAGSchedEnv(PAIR, observation=observation)
    first, info = env.reset()
    for array in first.values() if observation == "graph" else [first]:
        array[:] = 1
    info["action_mask"][:] = 1
    env.action_masks()[:] = True
    again = env.step(3)  # illegal
    assert again[4]["illegal_action"]
    assert env.action_masks().tolist() == [True, True, False, False]
    assert again[4]["action_mask"].tolist() == [1, 1, 0, 0]
    fresh, _ = DAGSchedEnv(PAIR, observation=observation).reset()
    assert gymnasium.utils.env_checker.data_equivalence(again[0], fresh, exact=True)


def test_observations_of_two_steps_share_no_memory() -> None:
    env = DAGSchedEnv(PAIR)
    first, _ = env.reset()
    kept = {name: array.copy() for name, array in first.items()}
    env.step(0)
    env.step(2)
    assert all((first[name] == kept[name]).all() for name in first)


# -- illegal actions -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (3, "task 1 is not ready"),
        (6, r"no pair \(2, 0\)"),
        (2, r"no pair \(0, 2\)"),
        (12, r"action 12 is not in Discrete\(12\)"),
        (-1, "action -1 is not in"),
        (0.5, "action 0.5 is not in"),
        (None, "action None is not in"),
    ],
)
def test_illegal_actions_change_nothing(action: Any, reason: str) -> None:
    env = DAGSchedEnv(PAIR, max_tasks=4, max_processors=3, illegal_penalty=0.25)
    before, _ = env.reset()
    after, reward, terminated, truncated, info = env.step(action)
    assert (reward, terminated, truncated) == (-0.25, False, False)
    assert info["illegal_action"] is True
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(info["illegal_reason"])
    assert all((before[name] == after[name]).all() for name in before)


def test_the_last_tolerated_illegal_action_truncates() -> None:
    env = DAGSchedEnv(PAIR, max_illegal_actions=2)
    for _ in range(2):
        env.reset()
        assert env.step(3)[3] is False
        assert env.step(0)[3] is False
        _, reward, terminated, truncated, info = env.step(0)
        assert (reward, terminated, truncated) == (-1.0, False, True)
        assert "makespan" not in info
        with pytest.raises(ResetNeeded, match="episode is over"):
            env.step(2)


def test_sampling_with_the_mask_is_always_legal() -> None:
    env = gymnasium.make("DAGSched-v0")
    env.action_space.seed(0)
    _, info = env.reset(seed=0)
    over = False
    while not over:
        action = env.action_space.sample(info["action_mask"])
        _, _, over, _, info = env.step(action)
        assert not info["illegal_action"]
    assert env.action_space.sample(info["action_mask"]) == 0


def test_order_of_calls() -> None:
    env = DAGSchedEnv(PAIR)
    for call in (lambda: env.step(0), env.action_masks, lambda: env.instance):
        with pytest.raises(ResetNeeded, match="reset"):
            call()
    env.reset()
    env.step(0)
    env.step(2)
    with pytest.raises(ResetNeeded, match="episode is over"):
        env.step(0)
    env.reset()
    assert env.step(0)[4]["illegal_action"] is False


# -- rewards -------------------------------------------------------------------------------------


def test_own_reward_function() -> None:
    seen: list[Transition] = []
    env = DAGSchedEnv(PAIR, reward=lambda transition: seen.append(transition) or len(seen))
    env.reset()
    assert env.step(3)[1] == -1.0  # illegal: the function is not asked
    assert [env.step(1)[1], env.step(2)[1]] == [1.0, 2.0]
    assert seen == [
        Transition(3.0, 5.0, 0.0, 4.0, 3.0, False, 5.0),  # HEFT: both tasks on P0
        Transition(5.0, 13.0, 4.0, 13.0, 3.0, True, 5.0),
    ]


# -- instances -----------------------------------------------------------------------------------


def test_a_list_is_drawn_from_with_the_seed() -> None:
    problems = [Instance(np.full((n, 2), 1.0), [], []) for n in (1, 2, 3)]
    env = DAGSchedEnv(problems)
    assert env.action_space.n == 6

    def draws(seed: int) -> list[int]:
        env.reset(seed=seed)
        sizes = [env.instance.n_tasks]
        for _ in range(29):
            env.reset()
            sizes.append(env.instance.n_tasks)
        return sizes

    assert draws(5) == draws(5) != draws(6)
    assert set(draws(5)) == {1, 2, 3}


def test_paths(tmp_path: Path) -> None:
    path = tmp_path / "pair.json"
    path.write_text(PAIR.to_json(), encoding="utf-8")
    for instances_ in (path, str(path), [str(path), path]):
        env = DAGSchedEnv(instances_)
        env.reset()
        assert env.instance == PAIR


def test_generators_and_functions() -> None:
    generator = TopcuogluGenerator(n_tasks=(5, 9), n_processors=(2, 3))
    env = DAGSchedEnv(generator)
    assert env.action_space.n == 27
    env.reset(seed=4)
    assert env.instance == generator(np.random.default_rng(4))

    def draw(rng: np.random.Generator) -> Instance:
        return Instance(rng.random((3, 2)), [], [])

    env = DAGSchedEnv(draw, max_tasks=4, max_processors=2, max_edges=1)
    env.reset(seed=0)
    assert env.instance.n_tasks == 3
    with pytest.raises(DAGSchedError, match="has no max_tasks: pass max_tasks="):
        DAGSchedEnv(draw)
    env = DAGSchedEnv(lambda rng: rng, max_tasks=4, max_processors=2, max_edges=1)
    with pytest.raises(DAGSchedError, match=r"what instances\(rng\) returned is Generator"):
        env.reset()


def test_a_suite_by_its_name() -> None:
    env = DAGSchedEnv("suite:heldout")
    drawn = set()
    for seed in range(5):
        env.reset(seed=seed)
        drawn.add(env.instance.name)
    assert len(drawn) > 1
    assert drawn <= {instance.name for instance in load("heldout")}


def test_a_stream_of_instances() -> None:
    stream = iter([PAIR, Instance([[1.0]], [], [])])
    env = DAGSchedEnv(lambda rng: next(stream), max_tasks=2, max_processors=2, max_edges=1)
    env.reset()
    assert env.instance is PAIR
    env.reset()
    assert env.instance.n_tasks == 1


def test_reset_takes_an_instance(tmp_path: Path) -> None:
    env = DAGSchedEnv(PAIR, max_tasks=3, max_edges=2)
    other = Instance([[1.0], [1.0], [1.0]], [(0, 1)], [0.0])
    _, info = env.reset(options={"instance": other})
    assert env.instance == other
    assert info["action_mask"].tolist() == [1, 0, 0, 0, 1, 0]
    path = tmp_path / "other.json"
    path.write_text(other.to_json(), encoding="utf-8")
    env.reset(options={"instance": path})
    assert env.instance == other
    env.reset()
    assert env.instance == PAIR


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"instances": "PAIR"}, "unknown option 'instances'"),
        ({"instance": 3}, r'options\["instance"\] is int: give an Instance or a path'),
        (
            {"instance": Instance(np.ones((3, 2)), [], [], name="big")},
            "'big'.* has 3 tasks, the env holds 2: make it with max_tasks=3",
        ),
        ({"instance": Instance(np.ones((2, 4)), [], [])}, "has 4 processors, the env holds 2"),
    ],
)
def test_bad_reset_options(options: dict[str, Any], message: str) -> None:
    env = DAGSchedEnv(PAIR)
    with pytest.raises(DAGSchedError, match=message):
        env.reset(options=options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"action": "edge"}, "action='edge' is not available: give 'factored' or 'pair' or 'task'"),
        ({"observation": "box"}, "observation='box' is not available: give 'flat' or 'graph'"),
        ({"render_mode": "ansi"}, "render_mode='ansi' is not available: give None or"),
        ({"render_mode": "human"}, r"gymnasium.make\(.*\(pip install 'aerl-ds\[human\]'\)"),
        ({"reward": "speed"}, "reward='speed' is unknown: give one of log_reduction"),
        ({"reward": 3}, "reward=3 is unknown"),
        ({"illegal_penalty": -1}, "illegal_penalty=-1"),
        ({"illegal_penalty": float("nan")}, "illegal_penalty=nan"),
        ({"max_illegal_actions": 0}, "max_illegal_actions=0 is not at least 1"),
        ({"max_edges": 0}, "max_edges=0 is not at least 1"),
        ({"instances": []}, "instances is an empty list"),
        ({"instances": 5}, "instances is int"),
        ({"instances": "suite:none"}, "no suite 'none'"),
        ({"instances": [PAIR, 5]}, r"instances\[1\] is int"),
        ({"instances": [PAIR], "max_tasks": 1}, r"instances\[0\] .* has 2 tasks, the env holds 1"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DAGSchedError, match=message) as caught:
        DAGSchedEnv(**arguments)
    assert "\n" not in str(caught.value)


# -- pictures ------------------------------------------------------------------------------------


def test_render_shows_the_schedule_so_far() -> None:
    env = gymnasium.make("DAGSched-v0", instances=PAIR, render_mode="rgb_array")
    env.reset()
    frames = [env.render()]
    for action in (0, 2):
        env.step(action)
        frames.append(env.render())
    assert len({frame.shape for frame in frames}) == 1
    assert all(frame.dtype == np.uint8 and frame.shape[2] == 3 for frame in frames)
    assert (frames[0] != frames[1]).any()
    assert (frames[1] != frames[2]).any()


def test_render_without_a_mode_warns() -> None:
    env = DAGSchedEnv(PAIR)
    env.reset()
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None


def test_the_rows_of_the_kernels_are_those_of_the_table() -> None:
    dynamic = {
        group: [f.name for f in FLOAT_FEATURES if f.dynamic and f.group == group]
        for group in ("task", "pair")
    }
    kernel = state_features
    status = {
        kernel.WAITING: "status_uncompleted",
        kernel.READY: "status_ready",
        kernel.COMPLETED: "status_completed",
        kernel.EARLIEST_FINISH: "earliest_finish",
    }
    pairs = {kernel.PLACED: "placed", kernel.EST: "est", kernel.EFT: "eft", kernel.GAP: "gap"}
    assert [status[i] for i in sorted(status)] == dynamic["task"]
    assert [pairs[i] for i in sorted(pairs)] == dynamic["pair"]
