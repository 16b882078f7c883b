"""The three ways to name a placement: masks against the simulator, episodes, illegal actions."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings

from dagsched_env import DAGSchedEnv, Instance, State
from dagsched_env.environment.actions import ACTIONS, BY_EFT, decode
from dagsched_env.kernels.graph.ranks import order_by_rank
from dagsched_env.problem.errors import DAGSchedError
from helpers.strategies import episodes

PAIR = Instance([[2.0, 4.0], [3.0, 1.0]], [(0, 1)], [6.0])
N, P = 14, 5  # padding
PADDED = {"max_tasks": N, "max_processors": P, "max_edges": 80}


def padded_legal(state: State) -> np.ndarray:
    legal = np.zeros((N, P), dtype=bool)
    legal[: state.instance.n_tasks, : state.instance.n_processors] = state.legal()
    return legal


def expected_mask(action: str, legal: np.ndarray) -> list[bool]:
    tasks, processors = legal.any(axis=1).tolist(), legal.any(axis=0).tolist()
    return {"pair": legal.ravel().tolist(), "factored": tasks + processors, "task": tasks}[action]


def encode(action: str, task: int, processor: int) -> Any:
    return {"pair": task * P + processor, "factored": np.array([task, processor]), "task": task}[
        action
    ]


def earliest_finish(state: State, task: int) -> int:
    """The processor, by trying them all."""
    finish = {}
    for q in np.flatnonzero(state.legal()[task]).tolist():
        state.apply(task, q)
        finish[q] = state.arrays.finish[task]
        state.undo()
    least = min(finish.values())
    return min(q for q in finish if finish[q] <= least * (1 + 1e-9))


@settings(max_examples=25)
@given(episodes())
def test_every_mode_steps_the_simulator(episode: tuple[Instance, int, bool]) -> None:
    instance, seed, insertion = episode
    for action in ACTIONS:
        env = DAGSchedEnv(instance, action=action, insertion=insertion, **PADDED)
        rng, state = np.random.default_rng(seed), State(instance, insertion=insertion)
        observation, info = env.reset()
        total, over = 0.0, False
        while not over:
            mask = expected_mask(action, padded_legal(state))
            assert env.action_masks().tolist() == mask
            assert observation["action_mask"].tolist() == mask
            told = info["action_mask"]
            flat = np.concatenate(told) if action == "factored" else told
            assert flat.tolist() == mask
            assert observation in env.observation_space
            task, q = rng.choice(np.argwhere(state.legal())).tolist()
            observation, reward, over, _, info = env.step(encode(action, task, q))
            state.apply(task, earliest_finish(state, task) if action == "task" else q)
            assert not info["illegal_action"]
            total += reward
        assert info["schedule"] == state.schedule()
        assert not env.action_masks().any()
        if instance.cp_min > 0:
            assert total == pytest.approx(1 - info["slr"], rel=1e-9, abs=1e-9)


def test_tasks_in_the_order_of_heft_are_heft(topcuoglu: Instance) -> None:
    env = DAGSchedEnv(topcuoglu, action="task")
    env.reset()
    for task in order_by_rank(topcuoglu.rank_u, topcuoglu.arrays.topo_position):
        info = env.step(task)[4]
    assert info["makespan"] == 80


@pytest.mark.parametrize("action", ACTIONS)
def test_sampling_with_the_mask(action: str) -> None:
    env = gymnasium.make("DAGSched-v0", action=action)
    env.action_space.seed(0)
    _, info = env.reset(seed=0)
    over = truncated = False
    while not (over or truncated):
        _, _, over, truncated, info = env.step(env.action_space.sample(info["action_mask"]))
        assert not info["illegal_action"]  # here all processors are eligible for all tasks
    assert over
    assert not np.any(env.action_space.sample(info["action_mask"]))


def test_an_ineligible_combination_is_illegal(gap_instance: Instance) -> None:
    env = DAGSchedEnv(gap_instance, action="factored")
    _, info = env.reset()
    assert [mask.tolist() for mask in info["action_mask"]] == [[1, 0, 1], [1, 1]]
    _, reward, _, _, info = env.step(np.array([0, 1]))
    assert (reward, info["illegal_action"]) == (-1.0, True)
    assert info["illegal_reason"] == "task 0 may not run on processor 1"


@pytest.mark.parametrize(
    ("action", "illegal"),
    [
        ("factored", np.array([1, 0])),
        ("factored", np.array([2, 0])),
        ("factored", np.array([3, 3])),
        ("factored", np.array([-1, 0])),
        ("factored", np.array([0.0, 0.0])),
        ("factored", np.array([0, 0, 0])),
        ("factored", 0),
        ("factored", None),
        ("pair", np.array([0, 1])),
        ("pair", "0"),
        ("task", 1),
        ("task", 2),
        ("task", 3),
        ("task", -1),
        ("task", None),
        ("task", 0.5),
    ],
)
def test_illegal_actions_change_nothing_and_truncate_in_the_end(action: str, illegal: Any) -> None:
    env = DAGSchedEnv(
        PAIR,
        action=action,
        max_tasks=3,
        max_processors=3,
        illegal_penalty=0.5,
        max_illegal_actions=3,
    )
    before, _ = env.reset()
    for count in (1, 2, 3):
        after, reward, terminated, truncated, info = env.step(illegal)
        assert (reward, terminated, truncated) == (-0.5, False, count == 3)
        assert info["illegal_action"]
        assert info["illegal_reason"]
        assert all((before[name] == after[name]).all() for name in before)


@pytest.mark.parametrize("action", ACTIONS)
def test_batches(action: str) -> None:
    mode = ACTIONS[action](3, 2)
    legal = np.random.default_rng(0).random((4, 5, 3, 2)) < 0.5
    masks = mode.mask(legal)
    assert masks.shape == (4, 5, mode.mask_size)
    assert (masks[2, 3] == mode.mask(legal[2, 3])).all()
    batch = gymnasium.vector.utils.batch_space(mode.space, 7)
    batch.seed(0)
    actions = batch.sample()
    tasks, processors = mode.split(actions)
    assert tasks.shape == processors.shape == (7,)
    assert ((tasks >= 0) & (tasks < 3)).all()
    if action == "task":
        assert (processors == BY_EFT).all()
    state = State(Instance(np.ones((3, 2)), [], []))
    for i in range(7):
        task, processor = decode(mode, actions[i], state)
        assert (task, processor) == (tasks[i], max(processors[i], 0))


def test_a_placement_becomes_the_action_that_means_it() -> None:
    tasks, processors = np.array([0, 3, 13]), np.array([4, 0, 2])
    for action in ("pair", "factored"):
        mode = ACTIONS[action](N, P)
        joined = mode.join(tasks, processors)
        assert [part.tolist() for part in mode.split(joined)] == [[0, 3, 13], [4, 0, 2]]
        env = DAGSchedEnv(PAIR, action=action, **PADDED)
        env.reset()
        taken = env.action_of(0, 1)
        assert env.action_space.contains(taken)
        assert np.array_equal(taken, encode(action, 0, 1))
        assert not env.step(taken)[4]["illegal_action"]
        assert env.state.arrays.processor[0] == 1
    with pytest.raises(DAGSchedError, match=r'leaves the processor.*"pair" or "factored"'):
        DAGSchedEnv(PAIR, action="task").action_of(0, 1)


def test_spaces() -> None:
    made = {name: kind(3, 2) for name, kind in ACTIONS.items()}
    assert made["pair"].space == spaces.Discrete(6)
    assert made["factored"].space == spaces.MultiDiscrete([3, 2])
    assert made["task"].space == spaces.Discrete(3)
    assert {name: mode.mask_size for name, mode in made.items()} == {
        "factored": 5,
        "pair": 6,
        "task": 3,
    }
