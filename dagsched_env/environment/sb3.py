"""Vector environments of Gymnasium for Stable-Baselines3 and sb3-contrib.

``sb3_vec_env`` wraps the native vector form of ``DAGSched-v0``:

    envs = gymnasium.make_vec("DAGSched-v0", num_envs=64, observation="flat")
    model = MaskablePPO("MlpPolicy", VecMonitor(sb3_vec_env(envs)))

The two libraries treat the end of an episode differently. In Gymnasium the step after the end
resets the copy, or the caller does. Stable-Baselines3 expects the first observation of the next
episode at once, and the last one of the old episode as ``info["terminal_observation"]``. So
finished copies are reset by ``reset(options={"reset_mask": ...})`` in the step that finishes them.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from dagsched_env.problem.errors import DAGSchedError, MissingExtraError

if TYPE_CHECKING:
    from stable_baselines3.common.vec_env import VecEnv

__all__ = ["sb3_vec_env"]

Vectors: TypeAlias = Any
"""A ``gymnasium.vector.VectorEnv``, whose ``reset`` also takes one seed for each copy."""
Infos = list[dict[str, Any]]
Indices = int | Iterable[int] | None


def sb3_vec_env(vector_env: Vectors) -> "VecEnv":
    """A Stable-Baselines3 ``VecEnv`` on a Gymnasium vector environment.

    MaskablePPO uses its ``action_masks() -> [num_envs, A]``, where it has that method. ``info`` of
    each copy holds what the vector environment reports about it, except ``action_mask``. In the
    last step of an episode it also holds ``terminal_observation`` and ``TimeLimit.truncated``.

    Args:
        vector_env: supports ``reset(options={"reset_mask": bool [num_envs]})`` at any time, and
            does not reset within the step that finishes an episode.

    Raises:
        MissingExtraError: stable-baselines3 is not installed.
        DAGSchedError: the vector environment resets within the step.
    """
    if vector_env.metadata.get("autoreset_mode") == AutoresetMode.SAME_STEP:
        raise DAGSchedError(
            "the vector environment resets within the step: make it with AutoresetMode.NEXT_STEP "
            "or DISABLED"
        )
    adapter: VecEnv = _adapter_class()(vector_env)
    return adapter


class VectorAdapter:
    """The methods of a ``VecEnv``; ``sb3_vec_env`` makes a subclass of both."""

    def __init__(self, vector_env: Vectors) -> None:
        self.vector_env = vector_env
        self._actions: npt.NDArray[Any] | None = None
        super().__init__(  # of VecEnv
            vector_env.num_envs,  # type: ignore[call-arg]
            vector_env.single_observation_space,
            vector_env.single_action_space,
        )

    num_envs: int
    reset_infos: Infos
    _seeds: list[int | None]
    _options: list[dict[str, Any]]

    def reset(self) -> Any:
        """Start all episodes; returns the observations.

        Raises:
            DAGSchedError: ``set_options`` gave different options to different copies.
        """
        if any(options != self._options[0] for options in self._options):
            raise DAGSchedError("all copies are reset with the same options: give one dict")
        seeds = None if all(seed is None for seed in self._seeds) else list(self._seeds)
        observations, infos = self.vector_env.reset(seed=seeds, options=self._options[0] or None)
        self.reset_infos = _split(infos, self.num_envs)
        self._seeds = [None] * self.num_envs
        self._options = [{} for _ in range(self.num_envs)]
        return observations

    def step_async(self, actions: npt.NDArray[Any]) -> None:
        """Keep the actions for ``step_wait``."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, npt.NDArray[np.float32], npt.NDArray[np.bool_], Infos]:
        """Step all copies, and reset those that are done."""
        observations, rewards, terminated, truncated, merged = self.vector_env.step(self._actions)
        dones = np.logical_or(terminated, truncated)
        infos = _split(merged, self.num_envs)
        finished = np.flatnonzero(dones)
        if finished.size:
            for i in finished.tolist():
                infos[i]["terminal_observation"] = _row(observations, i)
                infos[i]["TimeLimit.truncated"] = bool(truncated[i] and not terminated[i])
            observations, merged = self.vector_env.reset(options={"reset_mask": dones})
            new = _split(merged, self.num_envs)
            for i in finished.tolist():
                self.reset_infos[i] = new[i]
        return observations, np.asarray(rewards, dtype=np.float32), dones, infos

    def close(self) -> None:
        """Close the vector environment."""
        self.vector_env.close()

    def has_attr(self, attr_name: str) -> bool:
        """Whether the vector environment has an attribute."""
        return hasattr(self.vector_env, attr_name)

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """An attribute of the vector environment, which all copies share."""
        value = getattr(self.vector_env, attr_name)
        return [value for _ in self._chosen(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Set an attribute of the vector environment.

        Args:
            attr_name: its name.
            value: its new value.
            indices: None or all copies.

        Raises:
            DAGSchedError: ``indices`` names some copies only; all copies share their attributes.
        """
        if len(self._chosen(indices)) != self.num_envs:
            raise DAGSchedError(f"the copies share {attr_name!r}: set it without indices")
        setattr(self.vector_env, attr_name, value)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of the vector environment that returns one entry per copy.

        Args:
            method_name: its name.
            method_args: its arguments.
            indices: the copies whose entries are returned; None: all.
            method_kwargs: its keyword arguments.
        """
        rows = getattr(self.vector_env, method_name)(*method_args, **method_kwargs)
        return [rows[i] for i in self._chosen(indices)]

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Indices = None) -> list[bool]:
        """False: the copies of a vector environment are not wrapped one by one."""
        return [False for _ in self._chosen(indices)]

    def get_images(self) -> Sequence[npt.NDArray[np.uint8] | None]:
        """The picture of each copy."""
        images = self.vector_env.render()
        return [None] * self.num_envs if images is None else list(images)

    def _chosen(self, indices: Indices) -> list[int]:
        if indices is None:
            return list(range(self.num_envs))
        return [indices] if isinstance(indices, int) else list(indices)


@cache
def _adapter_class() -> Any:
    """``VectorAdapter`` as a subclass of ``VecEnv``, whose import loads torch."""
    try:
        from stable_baselines3.common.vec_env import VecEnv
    except ImportError:
        raise MissingExtraError("stable-baselines3", "trainer") from None
    return type("SB3VecEnv", (VectorAdapter, VecEnv), {"__doc__": sb3_vec_env.__doc__})


def _row(observations: Any, i: int) -> Any:
    """A copy of one environment's part of a batch of observations."""
    if isinstance(observations, dict):
        return {name: _row(batch, i) for name, batch in observations.items()}
    return np.array(observations[i])


def _split(merged: dict[str, Any], num_envs: int) -> Infos:
    """One info per copy; in ``merged``, ``_key[i]`` says whether copy i has reported ``key``."""
    infos: Infos = [{} for _ in range(num_envs)]
    for key, values in merged.items():
        present = merged.get(f"_{key}")
        if present is None or key == "action_mask":
            continue
        for i in np.flatnonzero(present).tolist():
            value = values[i]
            infos[i][key] = value.item() if isinstance(value, np.generic) else value
    return infos
