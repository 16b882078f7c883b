"""DAGSchedVectorEnv: equal to the single environment step by step; resets, options, errors."""

import copy
import itertools
import pickle
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics
from hypothesis import given, settings
from hypothesis import strategies as st

from dagsched_env import DAGSchedEnv, DAGSchedError, Instance
from dagsched_env.environment.actions import ACTIONS
from dagsched_env.environment.observation import OBSERVATIONS
from dagsched_env.environment.rewards import REWARDS, Reduction, Transition
from dagsched_env.environment.vector import DAGSchedVectorEnv
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.problem.durations import Uniform
from dagsched_env.schedulers.heft import heft
from helpers.strategies import instances

PAIR = Instance([[2.0, 4.0], [3.0, 1.0]], [(0, 1)], [6.0])
SINGLE = Instance([[1.0]], [], [])
CHAIN = Instance([[1.0, 9.0, 9.0]] * 4, [(0, 1), (1, 2), (2, 3)], [1.0] * 3)


def batched_mask(mask: np.ndarray, like: np.ndarray) -> np.ndarray:
    """The ``action_mask`` of a ``SyncVectorEnv``, int8 ``[B, A]``; factored ones are tuples."""
    if mask.dtype != object:
        return mask
    nothing = (np.zeros(like.shape[1], dtype=np.int8),)
    return np.array([np.concatenate(parts or nothing) for parts in mask])


def assert_same(observation: Any, expected: Any) -> None:
    if not isinstance(expected, dict):
        observation, expected = {"": observation}, {"": expected}
    assert observation.keys() == expected.keys()
    for key, array in expected.items():
        assert observation[key].dtype == array.dtype
        np.testing.assert_array_equal(observation[key], array, err_msg=key)


def assert_same_info(info: dict[str, Any], expected: dict[str, Any]) -> None:
    """Equal in every entry, but for the reasons of illegal actions.

    A key that no environment reports may be missing.
    """
    for key in info.keys() | expected.keys():
        if key.startswith("_") or key == "illegal_reason":
            continue
        if key not in expected:
            assert not info[key].any()
            assert not info[f"_{key}"].any()
            continue
        values = expected[key]
        if key == "action_mask":
            values = batched_mask(values, info[key])
        assert info[key].dtype == values.dtype, key
        np.testing.assert_array_equal(info[key], values, err_msg=key)
        np.testing.assert_array_equal(info[f"_{key}"], expected[f"_{key}"], err_msg=key)


def assert_same_end(info: dict[str, Any], expected: dict[str, Any]) -> None:
    """Take what is said of finished episodes out of both, and compare it."""
    ends = [
        [some.pop(key, None) for key in ("final_obs", "_final_obs", "final_info", "_final_info")]
        for some in (info, expected)
    ]
    (observations, there, of_end, _), (other_observations, _, other_of_end, _) = ends
    assert (there is None) == (other_observations is None)
    if there is None:
        return
    for key in (1, 3):
        np.testing.assert_array_equal(ends[0][key], ends[1][key])
    for observation, other in zip(observations, other_observations, strict=True):
        assert (observation is None) == (other is None)
        if observation is not None:
            assert_same(observation, other)
    assert_same_info(of_end, other_of_end)


def both(
    num_envs: int,
    mode: AutoresetMode = AutoresetMode.NEXT_STEP,
    copy: bool = True,
    **arguments: Any,
) -> tuple[DAGSchedVectorEnv, SyncVectorEnv]:
    """The vector environment and its reference."""
    envs = DAGSchedVectorEnv(num_envs=num_envs, autoreset_mode=mode, copy=copy, **arguments)
    copies = [lambda: DAGSchedEnv(**arguments)] * num_envs
    return envs, SyncVectorEnv(copies, autoreset_mode=mode)


def draw_actions(envs: DAGSchedVectorEnv, rng: np.random.Generator) -> np.ndarray:
    """Mostly legal actions, some that are not, some outside the space."""
    if rng.random() < 0.1:
        space = envs.single_action_space
        ends = space.n if isinstance(space, gymnasium.spaces.Discrete) else space.nvec
        return rng.integers(-2, np.broadcast_to(ends + 2, envs.action_space.shape))
    masks = envs.action_masks()
    legal = [rng.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in masks]
    if isinstance(envs.single_action_space, gymnasium.spaces.Discrete):
        return np.array(legal)
    n = envs.single_action_space.nvec[0]
    tasks = [rng.choice(np.flatnonzero(m[:n])) if m[:n].any() else 0 for m in masks]
    processors = [rng.choice(np.flatnonzero(m[n:])) if m[n:].any() else 0 for m in masks]
    return np.array([tasks, processors]).T


CASES = list(itertools.product(ACTIONS, OBSERVATIONS, (True, False)))


@pytest.mark.parametrize(("action", "observation", "insertion"), CASES)
@settings(max_examples=12)
@given(
    problems=st.lists(instances(max_tasks=8), min_size=1, max_size=4),
    num_envs=st.integers(1, 4),
    reward=st.sampled_from([*REWARDS, Reduction("relative", 0.01, 0.1)]),
    seed=st.integers(0, 2**31),
    mode=st.sampled_from(AutoresetMode),
    copy=st.booleans(),
)
def test_equal_to_single_environments_step_by_step(
    action: str, observation: str, insertion: bool, problems, num_envs, reward, seed, mode, copy
) -> None:
    envs, reference = both(
        num_envs,
        mode,
        copy,
        instances=problems,
        action=action,
        observation=observation,
        insertion=insertion,
        reward=reward,
        illegal_penalty=0.25,
        max_illegal_actions=2,
        max_edges=30,
    )
    assert envs.observation_space == reference.observation_space
    assert envs.action_space == reference.action_space
    rng = np.random.default_rng(seed)
    seen, info = envs.reset(seed=seed)
    expected, expected_info = reference.reset(seed=seed)
    assert_same(seen, expected)
    assert_same_info(info, expected_info)
    over = np.zeros(num_envs, dtype=bool)
    for _ in range(20):
        mask = rng.random(num_envs) < 0.05
        if mode == AutoresetMode.DISABLED:
            mask |= over
        if mask.any():
            new = None if rng.random() < 0.5 else int(rng.integers(99))
            seen, info = envs.reset(seed=new, options={"reset_mask": mask})
            expected, expected_info = reference.reset(seed=new, options={"reset_mask": mask})
            assert_same(seen, expected)
            assert_same_info(info, expected_info)
        actions = draw_actions(envs, rng)
        seen, *outcome, info = envs.step(actions)
        expected, *expected_outcome, expected_info = reference.step(actions)
        assert_same(seen, expected)
        for array, other in zip(outcome, expected_outcome, strict=True):
            assert array.dtype == other.dtype
            np.testing.assert_array_equal(array, other)
        assert_same_end(info, expected_info)
        assert_same_info(info, expected_info)
        over = outcome[1] | outcome[2]


# -- resets ----------------------------------------------------------------------------------------


def test_generators_and_seeds_are_those_of_single_environments() -> None:
    draw = TopcuogluGenerator(n_tasks=6, n_processors=3)
    envs, reference = both(3, instances=draw, action="task", observation="flat")
    for seed in (5, None, [1, None, 9]):
        assert_same(envs.reset(seed=seed)[0], reference.reset(seed=seed)[0])
        assert envs.np_random_seed == reference.np_random_seed
        for _ in range(15):  # two more episodes
            actions = envs.action_masks().argmax(axis=1)
            assert_same(envs.step(actions)[0], reference.step(actions)[0])
    assert len(set(envs.instances)) == 3
    assert [a.random() for a in envs.np_random] == [b.random() for b in reference.np_random]


def test_some_are_reset_and_the_others_go_on() -> None:
    envs, reference = both(3, instances=[PAIR, CHAIN], action="factored")
    envs.reset(seed=0)
    reference.reset(seed=0)
    actions = np.zeros((3, 2), dtype=np.int64)
    envs.step(actions)
    reference.step(actions)
    mask = np.array([True, False, True])
    seen, info = envs.reset(seed=3, options={"reset_mask": mask})
    expected, _ = reference.reset(seed=3, options={"reset_mask": mask.copy()})
    assert_same(seen, expected)
    assert info["_action_mask"].tolist() == mask.tolist()
    assert seen["placed"].any(axis=1).tolist() == [False, True, False]


def test_a_finished_environment_may_be_reset_at_once() -> None:
    """Then the next step is a step, not a second reset."""
    envs = DAGSchedVectorEnv(SINGLE, num_envs=2)
    envs.reset(seed=0)
    assert envs.step(np.zeros(2, dtype=int))[2].all()
    envs.reset(options={"reset_mask": np.array([True, False])})
    _, rewards, terminated, _, info = envs.step(np.zeros(2, dtype=int))
    assert terminated.tolist() == [True, False]
    assert info["_illegal_action"].tolist() == [True, False]
    assert info["_makespan"].tolist() == [True, False]
    assert rewards.tolist() == [0, 0]


@pytest.mark.parametrize("mask", [[True, False, True], np.array([1, 0, 1]), np.ones(2, dtype=bool)])
def test_wrong_masks_are_refused_as_by_gymnasium(mask: Any) -> None:
    envs, reference = both(3, AutoresetMode.DISABLED, instances=PAIR)
    envs.reset(seed=0)
    reference.reset(seed=0)
    with pytest.raises(DAGSchedError, match=r"reset_mask.*needs 3 booleans.*numpy array, got"):
        envs.reset(options={"reset_mask": mask})
    with pytest.raises((TypeError, ValueError), match="reset_mask"):
        reference.reset(options={"reset_mask": mask})


def test_without_autoreset_a_finished_environment_waits_for_its_reset() -> None:
    envs, reference = both(2, AutoresetMode.DISABLED, instances=SINGLE, max_tasks=2, action="task")
    for some in (envs, reference):
        some.reset(options={"reset_mask": np.ones(2, dtype=bool)})  # the first one, of all
        assert some.step(np.array([1, 0]))[2].tolist() == [False, True]
    before = envs.action_masks()
    for _ in range(2):
        with pytest.raises(ResetNeeded, match=r"environment 1 is over: call reset\(options="):
            envs.step(np.zeros(2, dtype=int))
    with pytest.raises(AssertionError):
        reference.step(np.zeros(2, dtype=int))
    assert (envs.action_masks() == before).all()
    envs.reset(options={"reset_mask": np.array([False, True])})
    _, _, terminated, _, info = envs.step(np.array([0, 1]))
    assert terminated.tolist() == info["_makespan"].tolist() == [True, False]


def test_partial_resets_leave_the_statistics_of_the_others() -> None:
    """Around a ``SyncVectorEnv`` they do not, see findings/gymnasium_partial_resets.sh."""
    single = DAGSchedVectorEnv(
        CHAIN,
        num_envs=2,
        action="task",
        max_tasks=4,
        max_edges=3,
        autoreset_mode=AutoresetMode.DISABLED,
    )
    envs = RecordEpisodeStatistics(single)
    envs.reset(options={"instances": [SINGLE, CHAIN]})
    lengths = []
    for step in range(4):
        *_, over, _, info = envs.step(np.array([0, step]))
        lengths.append(info["episode"]["l"].tolist())
        envs.reset(options={"reset_mask": over, "instances": [SINGLE, CHAIN]})
    assert lengths == [[1, 0], [1, 0], [1, 0], [1, 4]]


def test_instances_of_a_reset_last_for_one_episode() -> None:
    envs = DAGSchedVectorEnv(PAIR, num_envs=2, max_tasks=4, max_processors=3, max_edges=3)
    envs.reset(seed=0, options={"instances": [SINGLE, CHAIN]})
    assert envs.instances == (SINGLE, CHAIN)
    info = envs.step(np.zeros(2, dtype=int))[-1]
    assert info["makespan"].tolist() == [1, 0]
    envs.step(np.array([0, 3]))
    assert envs.instances == (PAIR, CHAIN)
    envs.reset(options={"instance": SINGLE})
    assert envs.instances == (SINGLE, SINGLE)


def test_made_by_gymnasium() -> None:
    entry_point = "dagsched_env.environment.vector:DAGSchedVectorEnv"
    gymnasium.register("VectorDAGSched-v0", vector_entry_point=entry_point)
    try:
        envs = gymnasium.make_vec(
            "VectorDAGSched-v0", 3, "vector_entry_point", instances=[PAIR, SINGLE], action="task"
        )
    finally:
        del gymnasium.registry["VectorDAGSched-v0"]
    assert envs.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    assert envs.num_envs == 3
    seen, _ = envs.reset(seed=0)
    assert seen in envs.observation_space
    envs.step(envs.action_space.sample())
    assert repr(envs) == "DAGSchedVectorEnv(VectorDAGSched-v0, num_envs=3)"
    envs.close()


def test_an_episode_that_ends_and_the_next_in_one_step() -> None:
    envs = gymnasium.make_vec(
        "DAGSched-v0",
        2,
        "vector_entry_point",
        instances=PAIR,
        action="task",
        autoreset_mode="SameStep",
    )
    assert envs.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP
    first, _ = envs.reset(seed=0)
    envs.step(np.array([0, 1]))
    seen, _, over, _, info = envs.step(np.array([1, 0]))
    assert over.tolist() == info["_final_info"].tolist() == [True, False]
    assert (seen["status_ready"][0] == first["status_ready"][0]).all()
    assert info["final_obs"][0]["status_completed"].tolist() == [1, 1]
    assert info["final_info"]["makespan"][0] == 5
    assert info["action_mask"].tolist() == [[1, 0], [0, 1]]
    assert "makespan" not in info
    assert envs.step(np.array([0, 1]))[2].tolist() == [False, True]


# -- observations, rewards, info -------------------------------------------------------------------


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda envs: pickle.loads(pickle.dumps(envs))])
@pytest.mark.parametrize("problems", ["family:fft?points=4&processors=3", "suite:paper"])
def test_copies_of_the_environments_go_on_alike(copied: Any, problems: str) -> None:
    envs = DAGSchedVectorEnv(problems, num_envs=2)
    observation, info = envs.reset(seed=1)
    twin, seen = copied(envs), []
    for each in (envs, twin):
        steps, now = [], info
        for _ in range(60):
            observation, rewards, ended, _, now = each.step(now["action_mask"].argmax(axis=1))
            for i in np.flatnonzero(ended):
                now["schedule"][i].validate(each.instances[i])
            steps.append((observation, rewards.tolist(), ended.tolist()))
        seen.append(steps)
    for (one, *rest), (other, *others) in zip(*seen, strict=True):
        assert_same(one, other)
        assert rest == others
    assert sum(sum(ended) for _, _, ended in seen[0]) > 2


@pytest.mark.parametrize("observation", OBSERVATIONS)
@pytest.mark.parametrize("copy", [True, False])
def test_copies_keep_their_values_and_views_follow(observation: str, copy: bool) -> None:
    envs = DAGSchedVectorEnv(CHAIN, num_envs=2, observation=observation, copy=copy)
    first, info = envs.reset(seed=0)
    parts = first if isinstance(first, dict) else {"whole": first}
    before = {key: array.copy() for key, array in parts.items()}
    mask_before = info["action_mask"].copy()
    second = envs.step(np.zeros(2, dtype=int))[0]
    kept = all((parts[key] == before[key]).all() for key in parts)
    assert kept == copy
    assert (info["action_mask"] == mask_before).all()
    for key, array in (second if isinstance(second, dict) else {"whole": second}).items():
        assert np.shares_memory(array, parts[key]) == (not copy and key != "action_mask")


def test_what_is_returned_can_be_changed_without_harm() -> None:
    envs, untouched = (DAGSchedVectorEnv(CHAIN, num_envs=2) for _ in range(2))
    envs.reset(seed=0)
    untouched.reset(seed=0)
    for action in (0, 3, 6, 9):
        actions = np.full(2, action)
        seen, rewards, terminated, truncated, info = envs.step(actions)
        assert_same(seen, untouched.step(actions)[0])
        for array in (*seen.values(), rewards, *info.values()):
            array[:] = 7
        terminated[:] = False
        truncated[:] = True
    assert envs.step(actions)[2].tolist() == untouched.step(actions)[2].tolist() == [False, False]


def test_a_reward_function_sees_the_legal_placements_of_all_environments() -> None:
    seen: list[Transition] = []

    def reward(transition: Transition) -> np.ndarray:
        seen.append(transition)
        return np.where(transition.terminated, transition.baseline_makespan, -1.0)

    envs = DAGSchedVectorEnv([CHAIN, PAIR], num_envs=3, reward=reward, illegal_penalty=0.5)
    envs.reset(options={"instances": [PAIR, CHAIN, PAIR]})
    assert envs.step(np.array([0, 0, 3]))[1].tolist() == [-1, -1, -0.5]
    assert envs.step(np.array([3, 0, 3]))[1].tolist() == [heft(PAIR).makespan, -0.5, -0.5]
    assert envs.step(np.array([3, 99, 99]))[1].tolist() == [0, -0.5, -0.5]
    assert [len(transition.scale) for transition in seen] == [2, 1]


def test_complete_schedules_in_info() -> None:
    durations = Uniform(0.5, samples=8)
    arguments = {"instances": [PAIR, CHAIN, SINGLE], "durations": durations, "action": "task"}
    envs, reference = both(4, **arguments)
    envs.reset(seed=2)
    reference.reset(seed=2)
    finished = 0
    for _ in range(12):
        actions = envs.action_masks().argmax(axis=1)
        info, expected = envs.step(actions)[-1], reference.step(actions)[-1]
        assert_same_info(info, expected)
        for i in np.flatnonzero(info.get("_schedule", np.zeros(4))):
            info["schedule"][i].validate(envs.instances[i])
            assert info["robust_makespan_mean"][i] > 0
            finished += 1
    assert finished > 4


def test_masks_are_asked_for_by_name() -> None:
    """As by MaskablePPO's helper, and with the number of entries that each mode has."""
    for action, entries in (("pair", 12), ("factored", 7), ("task", 4)):
        envs = DAGSchedVectorEnv(CHAIN, num_envs=2, action=action)
        _, info = envs.reset(seed=0)
        masks = envs.action_masks()
        assert masks.dtype == np.bool_
        assert masks.shape == info["action_mask"].shape == (2, entries)
        assert (masks == info["action_mask"]).all()
        masks[:] = False
        assert envs.action_masks().any()


def test_render(topcuoglu: Instance) -> None:
    pytest.importorskip("matplotlib")
    envs = DAGSchedVectorEnv([PAIR, topcuoglu], num_envs=2, render_mode="rgb_array")
    envs.reset(options={"instances": [PAIR, topcuoglu]})
    before = envs.render()
    assert before is not None
    assert all(frame.dtype == np.uint8 and frame.shape[2] == 3 for frame in before)
    envs.step(np.array([0, 99]))
    after = envs.render()
    assert after is not None
    assert [(x != y).any() for x, y in zip(before, after, strict=True)] == [True, False]


# -- errors ----------------------------------------------------------------------------------------


def test_nothing_works_before_the_first_reset() -> None:
    envs = DAGSchedVectorEnv(PAIR, num_envs=2)
    for call in (
        lambda: envs.step(np.zeros(2, dtype=int)),
        envs.action_masks,
        lambda: envs.instances,
        lambda: envs.reset(options={"reset_mask": np.array([True, False])}),
    ):
        with pytest.raises(ResetNeeded, match="first"):
            call()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_envs": 0}, "num_envs=0"),
        ({"autoreset_mode": "Never"}, "give 'NextStep' or 'SameStep' or 'Disabled'"),
        ({"action": "other"}, "action='other'"),
        ({"illegal_penalty": -1.0}, "illegal_penalty=-1"),
        ({"instances": [PAIR, CHAIN], "max_tasks": 3}, r"instances\[1\].*max_tasks=4"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DAGSchedError, match=message):
        DAGSchedVectorEnv(**{"instances": PAIR, "num_envs": 2, **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": [1]}, "seed has 1 entries"),
        ({"options": {"wrong": 1}}, "unknown option 'wrong'"),
        ({"options": {"instance": PAIR, "instances": [PAIR] * 2}}, "give one"),
        ({"options": {"instances": [PAIR]}}, "not a list of 2"),
        ({"options": {"instances": [PAIR, CHAIN]}}, r'options\["instances"\]\[1\].*4 tasks'),
        ({"options": {"reset_mask": np.ones(3, dtype=bool)}}, "reset_mask.*needs 2 booleans"),
        ({"options": {"reset_mask": np.zeros(2, dtype=bool)}}, "at least one True"),
    ],
)
def test_a_refused_reset_changes_nothing(arguments: dict[str, Any], message: str) -> None:
    envs = DAGSchedVectorEnv(PAIR, num_envs=2)
    envs.reset(seed=0)
    envs.step(np.zeros(2, dtype=int))
    before = envs.action_masks()
    with pytest.raises(DAGSchedError, match=message):
        envs.reset(**arguments)
    assert (envs.action_masks() == before).all()
    assert envs.np_random_seed == (0, 1)


@pytest.mark.parametrize("actions", [[0], [0.0, 0.0], [[0, 0], [0, 0]], [True, True]])
def test_actions_of_a_wrong_form(actions: list[Any]) -> None:
    envs = DAGSchedVectorEnv(PAIR, num_envs=2)
    envs.reset(seed=0)
    with pytest.raises(DAGSchedError, match=r"give integers \(2,\)"):
        envs.step(np.array(actions))


def test_a_function_that_draws_too_large_a_problem() -> None:
    problems = iter([PAIR, PAIR, CHAIN])
    envs = DAGSchedVectorEnv(
        lambda rng: next(problems), num_envs=2, max_tasks=2, max_processors=2, max_edges=1
    )
    envs.reset(seed=0)
    envs.step(np.zeros(2, dtype=int))
    assert envs.step(np.array([2, 0]))[2].tolist() == [True, False]
    with pytest.raises(DAGSchedError, match=r"returned.*4 tasks"):
        envs.step(np.zeros(2, dtype=int))
