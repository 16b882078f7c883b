"""The adapter to Stable-Baselines3 against its own vector of the same environments; MaskablePPO."""

from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest

from dagsched_env import DAGSchedEnv, DAGSchedError, Instance
from dagsched_env.environment.sb3 import sb3_vec_env
from dagsched_env.environment.vector import DAGSchedVectorEnv
from dagsched_env.generators import TopcuogluGenerator

pytest.importorskip("sb3_contrib")

import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecMonitor

SMALL = TopcuogluGenerator(n_tasks=(3, 6), n_processors=(2, 3))


Vector = gymnasium.vector.VectorEnv[Any, Any, Any]
Make = Callable[..., Vector]


class Masked(gymnasium.vector.SyncVectorEnv):
    """A vector environment of Gymnasium with masks, as the native one has them."""

    def action_masks(self) -> np.ndarray:
        return np.stack(self.call("action_masks"))


def synchronous(num_envs: int, **options: Any) -> Vector:
    return Masked([lambda: DAGSchedEnv(**options)] * num_envs)


def native(num_envs: int, **options: Any) -> Vector:
    return DAGSchedVectorEnv(num_envs=num_envs, **options)


def without_autoreset(num_envs: int, **options: Any) -> Vector:
    return native(num_envs, autoreset_mode="Disabled", **options)


each = pytest.mark.parametrize("make", [native, without_autoreset, synchronous])


def sampled(masks: list[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    """A legal action each, now and then another one."""
    return np.array(
        [
            rng.integers(mask.size) if rng.random() < 0.2 else rng.choice(np.flatnonzero(mask))
            for mask in masks
        ]
    )


@each
@pytest.mark.parametrize("observation", ["flat", "graph"])
def test_it_is_the_vector_of_stable_baselines(make: Make, observation: str) -> None:
    options = {"instances": SMALL, "observation": observation, "max_illegal_actions": 2}
    theirs = DummyVecEnv([lambda: DAGSchedEnv(**options)] * 3)
    ours = sb3_vec_env(make(3, **options))
    assert isinstance(ours, VecEnv)
    theirs.seed(5)
    ours.seed(5)
    assert_equal(ours.reset(), theirs.reset())
    rng, ends = np.random.default_rng(0), []
    for _ in range(60):
        masks = ours.env_method("action_masks")
        assert_equal(masks, theirs.env_method("action_masks"))
        actions = sampled(masks, rng)
        (a, ra, da, ia), (b, rb, db, ib) = ours.step(actions), theirs.step(actions)
        assert_equal(a, b)
        assert ra.dtype == rb.dtype
        assert (ra == rb).all()
        assert (da == db).all()
        for i in range(3):
            if da[i]:
                ends.append(ia[i]["TimeLimit.truncated"])
                assert_equal(ia[i]["terminal_observation"], ib[i]["terminal_observation"])
                assert ia[i]["TimeLimit.truncated"] == ib[i]["TimeLimit.truncated"]
                assert ia[i].get("makespan") == ib[i].get("makespan")
                assert ia[i].get("schedule") == ib[i].get("schedule")
            else:
                assert "terminal_observation" not in ia[i]
            assert ia[i]["illegal_action"] is ib[i]["illegal_action"]
    assert set(ends) == {True, False}
    ours.close()


def assert_equal(a: Any, b: Any) -> None:
    if isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_equal(a[key], b[key])
    else:
        assert np.array_equal(a, b)


@each
def test_masks_attributes_and_methods(make: Make) -> None:
    envs = sb3_vec_env(make(3, instances=Instance(np.ones((2, 2)), [(0, 1)], [1.0])))
    envs.reset()
    assert is_masking_supported(envs)
    assert get_action_masks(envs).tolist() == [[True, True, False, False]] * 3
    assert envs.env_method("action_masks", indices=[0, 2])[1].shape == (4,)
    assert len(envs.env_method("action_masks", indices=1)) == 1
    assert envs.get_attr("render_mode") == [None] * 3
    assert not envs.has_attr("nonsense")
    assert envs.env_is_wrapped(VecMonitor) == [False] * 3
    with pytest.raises(DAGSchedError, match="the copies share 'label'"):
        envs.set_attr("label", 1, indices=[0])
    envs.set_attr("label", 1)
    assert envs.get_attr("label", indices=[2]) == [1]


@each
def test_options_are_those_of_all_copies(make: Make) -> None:
    envs = sb3_vec_env(make(2, instances=SMALL))
    other = Instance(np.ones((2, 2)), [], [])
    envs.set_options({"instance": other})
    first = envs.reset()
    assert first["task_mask"].sum(axis=1).tolist() == [2, 2]
    envs.set_options([{"instance": other}, {}])
    with pytest.raises(DAGSchedError, match="same options"):
        envs.reset()


def test_same_step_reset_is_refused() -> None:
    envs = Masked(
        [lambda: DAGSchedEnv(SMALL)], autoreset_mode=gymnasium.vector.AutoresetMode.SAME_STEP
    )
    with pytest.raises(DAGSchedError, match=r"make it with AutoresetMode\.NEXT_STEP or DISABLED"):
        sb3_vec_env(envs)


@pytest.mark.parametrize("action", ["factored", "pair", "task"])
def test_maskable_ppo_never_acts_illegally_where_the_mask_is_exact(action: str) -> None:
    torch.set_num_threads(1)
    envs = VecMonitor(sb3_vec_env(native(2, instances=SMALL, action=action, observation="flat")))
    model = MaskablePPO("MlpPolicy", envs, n_steps=32, batch_size=32, n_epochs=1, seed=0)
    model.learn(64)
    assert model.num_timesteps == 64
    assert model.ep_info_buffer
    observations = envs.reset()
    for _ in range(20):
        masks = get_action_masks(envs)
        actions, _ = model.predict(observations, action_masks=masks)
        observations, _, _, infos = envs.step(actions)
        assert action == "factored" or not any(info["illegal_action"] for info in infos)


def test_factored_actions_of_a_large_problem_are_no_numerical_trouble() -> None:
    """One masked categorical over 8000 pairs can fail PyTorch's check of the simplex."""
    torch.set_num_threads(1)
    problems = TopcuogluGenerator(n_tasks=500, n_processors=16)
    envs = sb3_vec_env(native(2, instances=problems, action="factored", observation="flat"))
    model = MaskablePPO(
        "MlpPolicy",
        envs,
        n_steps=64,
        batch_size=32,
        n_epochs=2,
        learning_rate=1e-2,
        policy_kwargs={"net_arch": [16]},
        seed=0,
    )
    model.learn(256)
    assert model.num_timesteps == 256
    assert all(torch.isfinite(weights).all() for weights in model.policy.parameters())
