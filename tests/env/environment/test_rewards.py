"""Rewards: the formulas by hand, returns of whole episodes, batches, and finiteness."""

import math
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagsched_env import DAGSchedEnv, DAGSchedError, Instance
from dagsched_env.environment.rewards import REWARDS, Reduction, RewardFn, Transition
from dagsched_env.schedulers import heft
from helpers.strategies import instances

STEP = Transition(6.0, 8.0, 3.0, 7.0, 2.0, terminated=False, baseline_makespan=14.0)
LAST = STEP._replace(terminated=True)


def ending(baseline: float, makespan: float, scale: float = 1.0) -> Transition:
    return Transition(makespan, makespan, 0.0, makespan, scale, True, baseline)


def play(env: DAGSchedEnv, seed: int) -> tuple[list[float], dict[str, Any]]:
    """A random legal episode: rewards and the last info."""
    rng = np.random.default_rng(seed)
    _, info = env.reset()
    rewards, over = [], False
    while not over:
        action = rng.choice(np.flatnonzero(info["action_mask"]))
        _, reward, over, _, info = env.step(action)
        rewards.append(reward)
    return rewards, info


@pytest.mark.parametrize(
    ("name", "on_the_way", "at_the_end"),
    [
        ("lower_bound", -1.0, -1.0),
        ("makespan", -2.0, -2.0),
        ("terminal", 0.0, -3.5),
        ("reduction", 0.0, 0.5),
        ("log_reduction", 0.0, math.log(2)),
        ("scaled_reduction", 0.0, 0.0),
    ],
)
def test_by_hand(name: str, on_the_way: float, at_the_end: float) -> None:
    assert float(REWARDS[name](STEP)) == on_the_way
    assert float(REWARDS[name](LAST)) == pytest.approx(at_the_end, rel=1e-15)


def test_all_are_tested_by_hand() -> None:
    assert [*REWARDS] == sorted(REWARDS)
    assert len(REWARDS) == 6


@settings(max_examples=30)
@given(instances(max_tasks=6), st.integers(0, 2**32 - 1), st.booleans())
def test_returns(instance: Instance, seed: int, insertion: bool) -> None:
    baseline = heft(instance, insertion=insertion).makespan
    for name in REWARDS:
        env = DAGSchedEnv(instance, reward=name, insertion=insertion)
        rewards, info = play(env, seed)
        assert len(rewards) == instance.n_tasks
        assert np.isfinite(rewards).all()
        makespan, total = info["makespan"], sum(rewards)
        expected = {
            "lower_bound": instance.cp_min / instance.time_scale - info["slr"],
            "makespan": -info["slr"],
            "terminal": -info["slr"],
        }
        if baseline > 0 and makespan > 0:
            expected |= {
                "reduction": 1 - makespan / baseline,
                "log_reduction": math.log(baseline) - math.log(makespan),
                "scaled_reduction": 1 - 2 * makespan / baseline,
            }
            if min(baseline, makespan) < 1e-9 * instance.time_scale:
                del expected["log_reduction"]
        if name in expected:
            assert total == pytest.approx(expected[name], rel=1e-9, abs=1e-9), name


def test_the_baseline_is_that_of_the_instance_at_hand() -> None:
    problems = [Instance([[float(n)]], [], []) for n in (2, 6)]
    env = DAGSchedEnv(problems, reward=lambda t: t.baseline_makespan)
    for problem in (*problems, problems[0]):
        env.reset(options={"instance": problem})
        assert env.step(0)[1] == problem.comp[0, 0]


def test_heft_without_insertion_is_the_baseline_without_insertion(gap_instance: Instance) -> None:
    for insertion, makespan in ((True, 17.0), (False, 20.0)):
        env = DAGSchedEnv(
            gap_instance, insertion=insertion, reward=lambda t: float(t.baseline_makespan)
        )
        env.reset()
        assert env.step(0)[1] == makespan


def test_a_reward_that_returns_nothing_is_an_error() -> None:
    def forgets(transition: Transition) -> Any:
        transition.makespan_after - transition.makespan_before

    one = DAGSchedEnv(reward=forgets)
    _, info = one.reset(seed=0)
    action = np.flatnonzero(info["action_mask"])[0]
    with pytest.raises(TypeError):
        one.step(action)
    several = gymnasium.make_vec(
        "DAGSched-v0", 2, vectorization_mode="vector_entry_point", reward=forgets
    )
    several.reset(seed=0)
    with pytest.raises(TypeError, match="the reward returned None"):
        several.step(np.array([np.flatnonzero(mask)[0] for mask in several.action_masks()]))
    several.close()


def test_each_step_costs() -> None:
    instance = Instance(np.ones((4, 2)), [(0, 1)], [1.0])
    free = play(DAGSchedEnv(instance, reward=Reduction("log")), 3)[0]
    dear = play(DAGSchedEnv(instance, reward=Reduction("log", step_penalty=0.25)), 3)[0]
    assert np.subtract(free, dear) == pytest.approx([0.25] * 4)


@pytest.mark.parametrize(
    ("makespan", "reward"),
    [(4.0, 0.2 + (0.6 - 0.2) * 0.1), (8.0, 0.2), (9.0, 0.1), (20.0, -1.0), (0.0, 0.28)],
)
def test_threshold_leaks(makespan: float, reward: float) -> None:
    leaky = Reduction("relative", threshold=0.2, leak=0.1)
    assert float(leaky(ending(10.0, makespan))) == pytest.approx(reward, rel=1e-12)
    assert float(leaky(ending(10.0, makespan)._replace(terminated=False))) == 0.0


def test_threshold_without_a_leak_clips() -> None:
    assert float(Reduction("scaled", threshold=0.0, leak=0.0)(ending(10.0, 1.0))) == 0.0
    assert float(Reduction("scaled", threshold=0.0, leak=1.0)(ending(10.0, 1.0))) == 0.8


@pytest.mark.parametrize("kind", ["relative", "log", "scaled"])
@pytest.mark.parametrize(("baseline", "makespan"), [(0.0, 0.0), (0.0, 5.0), (5.0, 0.0)])
def test_zero_makespans(kind: Any, baseline: float, makespan: float) -> None:
    value = float(Reduction(kind)(ending(baseline, makespan)))
    assert math.isfinite(value)
    centre = -1.0 if kind == "scaled" else 0.0  # what HEFT itself gets
    assert np.sign(value - centre) == np.sign(baseline - makespan)


BATCHED: list[RewardFn] = [
    *REWARDS.values(),
    Reduction("log", step_penalty=0.5, threshold=0.1, leak=0.5),
]


@pytest.mark.parametrize("reward", BATCHED)
def test_a_batch_is_one_by_one(reward: RewardFn) -> None:
    rng = np.random.default_rng(0)
    fields = [rng.uniform(0, 9, 64) * (rng.random(64) < 0.8) for _ in Transition._fields]
    fields[Transition._fields.index("scale")] += 0.1
    fields[Transition._fields.index("terminated")] = rng.random(64) < 0.5
    together = reward(Transition(*fields))
    assert together.shape == (64,)
    assert np.isfinite(together).all()
    for i in range(64):
        one = Transition(*(field[i].item() for field in fields))
        assert float(reward(one)) == together[i]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "ratio"}, "kind='ratio' is unknown: give 'relative', 'log' or 'scaled'"),
        ({"step_penalty": -1.0}, "step_penalty=-1.0 is not a number >= 0"),
        ({"step_penalty": math.inf}, "step_penalty=inf"),
        ({"threshold": math.nan}, "threshold=nan is not a number: give one, or None"),
        ({"leak": 1.5}, r"leak=1.5 is not in 0\.\.1"),
        ({"leak": math.nan}, r"leak=nan is not in 0\.\.1"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DAGSchedError, match=message):
        Reduction(**arguments)
