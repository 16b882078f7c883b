"""Checks of an environment, of a subclass or of wrappers of it, against ``DAGSched-v0``."""

from typing import Any, NamedTuple

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.utils import env_checker

from dagsched_env.environment.env import DAGSchedEnv
from dagsched_env.environment.rewards import lower_bound
from dagsched_env.testing.conformance import ConformanceError, require, validate

Env = gymnasium.Env[Any, Any]

EPISODES = 3
MAX_ILLEGAL_ACTIONS = 1000
"""A limit of illegal actions above this is not tested."""


def check_env(env: Env, *, seed: int = 0, rewards: bool = True) -> None:
    """Check ``DAGSched-v0``, a subclass, or either in wrappers.

    It checks that

    - ``check_env`` of Gymnasium passes, and observations are in the space;
    - ``action_masks()`` is bool and agrees with ``info["action_mask"]``;
    - actions outside the mask are reported as illegal and change nothing;
    - actions inside the mask are legal (with factored actions: in some combination);
    - a legal episode ends with all tasks placed, an empty mask, and a valid schedule in ``info``;
    - too many illegal actions truncate the episode, and each of them costs the same;
    - with the reward ``"lower_bound"`` the return of a legal episode is 1 − SLR;
    - the same seed and the same actions give the same episode.

    Args:
        env: the environment; it is reset many times.
        seed: of the resets and of the actions tried, ≥ 0.
        rewards: False does not check sums of rewards, for wrappers that change them.

    Raises:
        ConformanceError: names the first violation.
    """
    base = env.unwrapped
    if not isinstance(base, DAGSchedEnv):
        raise ConformanceError(f"{type(base).__name__} is not a DAGSchedEnv, nor a subclass of it")
    try:
        env_checker.check_env(base, skip_render_check=True)
    except (AssertionError, TypeError, ValueError, gymnasium.error.Error) as error:
        raise ConformanceError(f"gymnasium's check_env: {error}") from error
    for episode in range(seed, seed + EPISODES):
        first, second = (_Episode(env, base, episode, rewards).play() for _ in range(2))
        require(
            len(first) == len(second) and all(map(_same, first, second)),
            f"two episodes with seed {episode} and the same actions differ",
        )
    if base.max_illegal_actions <= MAX_ILLEGAL_ACTIONS:
        _check_truncation(env, base, seed)


class _Step(NamedTuple):
    """What one call of ``reset`` or ``step`` returned."""

    observation: Any
    mask: npt.NDArray[np.bool_]
    reward: float
    terminated: bool


class _Episode:
    """A random episode of legal actions, with an illegal one tried before each of them."""

    def __init__(self, env: Env, base: DAGSchedEnv, seed: int, rewards: bool) -> None:
        self._env = env
        self._base = base
        self._seed = seed
        self._rewards = rewards
        self._rng = np.random.default_rng(seed)
        self._penalties: list[float] = []

    def play(self) -> list[_Step]:
        """All steps of the episode, without those of illegal actions."""
        observation, info = self._env.reset(seed=self._seed)
        steps = [self._observed(observation, info)]
        for _ in range(self._base.instance.n_tasks):
            require(not steps[-1].terminated, "an episode ends before all tasks are placed")
            if len(self._penalties) < self._base.max_illegal_actions - 1:
                self._try_illegal(steps[-1].mask)
            action = _legal_action(self._env, self._base, steps[-1].mask, self._rng)
            observation, reward, terminated, truncated, info = self._env.step(action)
            require(
                info.get("illegal_action") is False,
                f"action {action!r} is allowed by the mask, but: {info.get('illegal_reason')}",
            )
            require(not truncated, f"the legal action {action!r} truncates the episode")
            steps.append(self._observed(observation, info, reward, terminated))
        self._check_end(steps, info)
        return steps

    def _observed(
        self, observation: Any, info: dict[str, Any], reward: Any = 0.0, terminated: bool = False
    ) -> _Step:
        require(
            observation in self._env.observation_space, "an observation is not in observation_space"
        )
        require(bool(np.isfinite(reward)), f"a reward is {reward}")
        mask = self._env.get_wrapper_attr("action_masks")()
        require(
            isinstance(mask, np.ndarray) and mask.dtype == np.bool_ and mask.ndim == 1,
            "action_masks() is not a bool array [A]",
        )
        require("action_mask" in info, 'info has no "action_mask"')
        told = info["action_mask"]
        flat = np.concatenate(told) if isinstance(told, tuple) else np.asarray(told)
        require(np.array_equal(flat, mask), 'info["action_mask"] is not action_masks()')
        return _Step(observation, mask.copy(), float(reward), bool(terminated))

    def _try_illegal(self, mask: npt.NDArray[np.bool_]) -> None:
        """Take an action outside the mask, if there is one; it may not change anything."""
        action = _illegal_action(self._env, mask, self._rng)
        if action is None:
            return
        before = self._base.state.clone()
        observation, reward, terminated, truncated, info = self._env.step(action)
        require(
            info.get("illegal_action") is True,
            f"action {action!r} is forbidden by the mask, but not reported as illegal",
        )
        require(not terminated and not truncated, f"the illegal action {action!r} ends the episode")
        after = self._base.state
        same = np.array_equal(before.arrays.processor, after.arrays.processor)
        require(
            same and before.lower_bound == after.lower_bound,
            f"the illegal action {action!r} changes the state",
        )
        step = self._observed(observation, info, reward)
        require(np.array_equal(step.mask, mask), f"the illegal action {action!r} changes the mask")
        self._penalties.append(step.reward)
        require(
            not self._rewards or step.reward == self._penalties[0],
            f"illegal actions cost {-step.reward} and {-self._penalties[0]}: they have to be equal",
        )

    def _check_end(self, steps: list[_Step], info: dict[str, Any]) -> None:
        require(steps[-1].terminated, "all tasks are placed, but the episode goes on")
        require(not steps[-1].mask.any(), "all tasks are placed, but the mask allows more")
        for key in ("makespan", "slr", "schedule"):
            require(key in info, f"info has no {key!r} at the end of an episode")
        instance, schedule = self._base.instance, info["schedule"]
        validate(schedule, instance, 'info["schedule"]')
        for key, value in (("makespan", schedule.makespan), ("slr", schedule.slr(instance))):
            require(
                bool(np.isclose(info[key], value, rtol=1e-9, atol=0)),
                f"info[{key!r}] is {info[key]}, that of the schedule is {value}",
            )
        if self._rewards and self._base.reward_fn is lower_bound:
            total = sum(step.reward for step in steps)
            expected = instance.cp_min / instance.time_scale - info["slr"]  # CP_MIN may be 0
            require(
                abs(total - expected) <= 1e-6 * max(1.0, info["slr"]),
                f"the return is {total}, but 1 - SLR is {expected}",
            )


def _check_truncation(env: Env, base: DAGSchedEnv, seed: int) -> None:
    """The last tolerated illegal action truncates the episode, and none before it."""
    limit, rng = base.max_illegal_actions, np.random.default_rng(seed)
    env.reset(seed=seed)
    mask = env.get_wrapper_attr("action_masks")()
    for count in range(1, limit + 1):
        action = _illegal_action(env, mask, rng)
        if action is None:
            return
        truncated = env.step(action)[3]
        require(
            bool(truncated) == (count == limit),
            f"truncated is {truncated} after {count} of {limit} illegal actions",
        )


def _legal_action(
    env: Env, base: DAGSchedEnv, mask: npt.NDArray[np.bool_], rng: np.random.Generator
) -> Any:
    """A random action that the mask allows; of factored ones, a combination that is legal."""
    require(bool(mask.any()), "nothing is allowed, but tasks are left")
    if not isinstance(env.action_space, spaces.MultiDiscrete):
        return rng.choice(np.flatnonzero(mask))
    legal = base.state.legal()
    tasks, processors = np.split(mask, [int(env.action_space.nvec[0])])
    n, p = legal.shape
    legal &= tasks[:n, None] & processors[:p]
    useful = np.concatenate([legal.any(axis=1), legal.any(axis=0)])
    allowed = np.concatenate([tasks[:n], processors[:p]])
    require(
        np.array_equal(useful, allowed) and not (tasks[n:].any() or processors[p:].any()),
        "the mask allows a task or a processor that has no legal counterpart",
    )
    return rng.choice(np.argwhere(legal)).astype(env.action_space.dtype)


def _illegal_action(
    env: Env, mask: npt.NDArray[np.bool_], rng: np.random.Generator
) -> np.int64 | npt.NDArray[Any] | None:
    """A random action of the space that the mask forbids, or None if it forbids nothing."""
    forbidden = np.flatnonzero(~mask)
    if not forbidden.size:
        return None
    index = rng.choice(forbidden)
    if not isinstance(env.action_space, spaces.MultiDiscrete):
        return np.int64(index)
    n_tasks, n_processors = env.action_space.nvec.tolist()
    action = rng.integers([n_tasks, n_processors])
    action[0 if index < n_tasks else 1] = index if index < n_tasks else index - n_tasks
    return action.astype(env.action_space.dtype)


def _same(a: _Step, b: _Step) -> bool:
    """Equal in every bit."""
    return (
        env_checker.data_equivalence(a.observation, b.observation, exact=True)
        and np.array_equal(a.mask, b.mask)
        and (a.reward, a.terminated) == (b.reward, b.terminated)
    )
