"""Many ``DAGSchedOnline-v0`` at once: one kernel call per step."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from dagsched_env.environment.online.env import DAGSchedOnlineEnv, drawn_world, summary
from dagsched_env.environment.online.episodes import IDLE, Bools, Episodes
from dagsched_env.environment.vector.episodes import EpisodeSource, Seeds
from dagsched_env.environment.vector.seeded import SeededVectorEnv
from dagsched_env.kernels.online.episodes import BEGIN
from dagsched_env.online.simulation import Simulation
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


class DAGSchedOnlineVectorEnv(SeededVectorEnv):
    """B copies of ``DAGSchedOnlineEnv``.

    Made by ``gymnasium.make_vec("DAGSchedOnline-v0", num_envs=B,
    vectorization_mode="vector_entry_point")``. Env i has its own random generator, so its runs are
    those of a ``DAGSchedOnlineEnv`` of the same seed. ``info`` follows Gymnasium's vector
    convention, and holds what the single environment reports.

    Args:
        num_envs: B ≥ 1.
        copy: an observation keeps its values. False, which is faster: its arrays belong to the
            environment, and the next ``step`` or ``reset`` changes them; do not write to them.
        autoreset_mode: ``AutoresetMode.NEXT_STEP``: the step after the last one of an episode
            begins the next one; or ``DISABLED``: the caller does, with the option ``reset_mask``.
        arguments: of ``DAGSchedOnlineEnv``.

    Raises:
        DAGSchedError: an argument is out of its range, or a run exceeds the padding.
    """

    modes = (AutoresetMode.NEXT_STEP, AutoresetMode.DISABLED)
    metadata: dict[str, Any] = {  # noqa: RUF012
        **DAGSchedOnlineEnv.metadata,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        instances: Any = None,
        *,
        num_envs: int = 1,
        copy: bool = True,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        **arguments: Any,
    ) -> None:
        single = DAGSchedOnlineEnv(instances, **arguments)  # checks its arguments
        if num_envs < 1:
            raise DAGSchedError(f"num_envs={num_envs} is not at least 1")
        source = EpisodeSource(single.worlds.source, single.padding, num_envs)
        super().__init__(source, num_envs, autoreset_mode)
        self.render_mode = single.render_mode
        self.single_observation_space = single.observation_space
        self.single_action_space = single.action_space
        self.observation_space = batch_space(single.observation_space, num_envs)
        self.action_space = batch_space(single.action_space, num_envs)
        assert isinstance(single.action_space, spaces.Discrete)
        self._n_actions = int(single.action_space.n)
        self._single = single
        self._copy = copy
        self._illegal_penalty = single.illegal_penalty
        self._episodes = Episodes(
            num_envs,
            single.padding,
            flat=not isinstance(single.observation_space, spaces.Dict),
            objective=single.objective,
        )

    @property
    def simulations(self) -> tuple[Simulation, ...]:
        """The run of each environment; only ``step`` may change it.

        Raises:
            ResetNeeded: before the first ``reset``.
        """
        self._require_reset()
        return tuple(run for run in self._episodes.simulations if run is not None)

    def reset(
        self, *, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin a run in all environments, or in some of them.

        Args:
            seed: s for the seeds s, s + 1, …; or a list of one seed or None for each environment.
            options: ``{"reset_mask": [B] bool}``: the environments to reset; ``{"worlds": a list of
                B}``: the run of each.

        Raises:
            DAGSchedError: an unknown option, a list of a wrong length, or a run that exceeds the
                padding.
            ResetNeeded: some have never been reset, and ``reset_mask`` leaves them out.
        """
        options = dict(options or {})
        mask = self._mask_of(options)
        worlds = options.pop("worlds", None)
        if options:
            raise DAGSchedError(
                f'unknown option {next(iter(options))!r} of reset(); there are "reset_mask" and '
                '"worlds"'
            )
        if worlds is not None and not (
            isinstance(worlds, Sequence) and len(worlds) == self.num_envs
        ):
            raise DAGSchedError(f'options["worlds"] is not a list of {self.num_envs} worlds')
        chosen = np.flatnonzero(mask)
        self._source.seed(seed, chosen.tolist())
        self._put(chosen, worlds)
        self._episodes.step(np.where(mask, BEGIN, IDLE))
        self._begun = True
        self._over[mask] = False
        self._illegal_actions[mask] = 0
        legal = self._episodes.legal & mask[:, None]
        return self._observations(), {"action_mask": legal.view(np.int8), "_action_mask": mask}

    def step(
        self, actions: npt.NDArray[Any]
    ) -> tuple[Any, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Start a task or wait in each environment; begin a new run where one is over.

        Args:
            actions: ``[B]`` integers.

        Raises:
            DAGSchedError: actions of another shape or type.
            ResetNeeded: before the first ``reset``; with ``AutoresetMode.DISABLED`` also while an
                episode is over. Nothing is changed.
        """
        self._require_running()
        restart = self._over
        actions = np.asarray(actions)
        if actions.shape != (self.num_envs,) or actions.dtype.kind not in "iu":
            raise DAGSchedError(
                f"actions is {actions.dtype} {actions.shape}: give integers ({self.num_envs},)"
            )
        actions = actions.astype(np.int64)
        inside = (actions >= 0) & (actions < self._n_actions)
        rows = np.arange(self.num_envs)
        legal = inside & self._episodes.legal[rows, np.where(inside, actions, 0)] & ~restart
        illegal = ~(legal | restart)
        self._put(np.flatnonzero(restart), None)
        self._episodes.step(np.where(restart, BEGIN, np.where(legal, actions, IDLE)))
        self._illegal_actions[restart] = 0
        self._illegal_actions += illegal
        terminated = self._episodes.done & legal
        truncated = self._illegal_actions >= self._single.max_illegal_actions
        self._over = terminated | truncated
        rewards = -self._episodes.costs / self._episodes.scales
        rewards[illegal] = -self._illegal_penalty
        info: dict[str, Any] = {
            "illegal_action": illegal,
            "_illegal_action": ~restart,
            "action_mask": self._episodes.legal.astype(np.int8),
            "_action_mask": np.ones(self.num_envs, dtype=np.bool_),
        }
        if terminated.any():
            info |= self._summary(terminated)
            if self._single.objective == "p95_completion":
                rewards -= info["p95_completion"] / self._episodes.scales
        return self._observations(), rewards, terminated, truncated, info

    def action_masks(self) -> Bools:
        """``[B, N·P + 1]`` True where an action is legal; all False when a run is over.

        Raises:
            ResetNeeded: before the first ``reset``.
        """
        self._require_reset()
        return self._episodes.legal.copy()

    def _so_far(self) -> Iterable[tuple[Schedule, Instance]]:
        return ((run.schedule(), run.world.instance) for run in self.simulations)

    def _put(self, chosen: npt.NDArray[np.intp], worlds: Sequence[Any] | None) -> None:
        """New runs for some environments."""
        for i in chosen.tolist():
            options = {} if worlds is None else {"world": worlds[i]}
            rng, _ = self._source.generator(i)
            world = drawn_world(self._single.worlds, self._single.padding, rng, options)
            self._episodes.put(i, world)

    def _observations(self) -> Any:
        return self._episodes.observations(copy=self._copy)

    def _summary(self, done: Bools) -> dict[str, Any]:
        """What ``info`` holds of the runs that are over."""
        found: dict[str, Any] = {}
        for i in np.flatnonzero(done).tolist():
            run = self._episodes.simulations[i]
            assert run is not None
            for key, value in summary(run).items():
                if key not in found:
                    kind: Any = object if key == "schedule" else np.float64
                    found[key] = np.full(self.num_envs, None if kind is object else 0.0, kind)
                found[key][i] = value
        return found | {f"_{key}": done.copy() for key in found}
