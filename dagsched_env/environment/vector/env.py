"""Many ``DAGSched-v0`` at once: one struct of arrays, one kernel call per step.

Each step gives the same results as ``gymnasium.vector.SyncVectorEnv`` over ``DAGSchedEnv``, many
times faster.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from dagsched_env.environment.actions import ACTIONS, Bools
from dagsched_env.environment.env import DAGSchedEnv
from dagsched_env.environment.observation import OBSERVATIONS
from dagsched_env.environment.rewards import RewardFn, Transition
from dagsched_env.environment.vector.episodes import EpisodeSource, Seeds
from dagsched_env.environment.vector.seeded import SeededVectorEnv
from dagsched_env.environment.vector.states import StateBatch
from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.kernels.state.features import NO_ACTION
from dagsched_env.problem.durations import Durations, RobustMakespan, robust_makespan
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.sources import InstanceList, Instances, resolve_source


class DAGSchedVectorEnv(SeededVectorEnv):
    """B copies of ``DAGSchedEnv``, whose problems may differ in size.

    Made by ``gymnasium.make_vec("DAGSched-v0", num_envs=B,
    vectorization_mode="vector_entry_point")``. Env i has its own random
    generator, so it draws the problems that a ``DAGSchedEnv`` of the same seed draws. After the end
    of an episode the next ``step`` ignores the action of that env and begins a new episode
    (``AutoresetMode.NEXT_STEP``), or the step that ends it does so at once
    (``AutoresetMode.SAME_STEP``): it returns the first observation of the new episode, and in
    ``info`` the last one as ``final_obs`` and what there was to say of the old as ``final_info``.
    With ``AutoresetMode.DISABLED`` the caller begins it, with the option ``reset_mask`` of
    ``reset``; until then ``step`` raises.

    ``info`` follows Gymnasium's vector convention: arrays ``[B, …]``; ``"_" + key`` says which
    entries are valid, the others are 0 or None. It always holds ``action_mask``, int8 ``[B, A]``
    (with factored actions N entries for the tasks, then P for the processors), and after each step
    ``illegal_action``, without reasons. Where the last task has been placed it holds ``makespan``,
    ``slr``, ``speedup``, ``efficiency``, ``schedule`` and, with ``durations``,
    ``robust_makespan_mean``, ``_std`` and ``_q95``.

    Args:
        instances: the problems, as of ``DAGSchedEnv``; so are all arguments but the three marked *.
        num_envs: *B ≥ 1.
        action: ``"pair"``, ``"factored"`` or ``"task"``.
        observation: ``"graph"`` or ``"flat"``.
        reward: a name in ``dagsched_env.REWARDS``, or a function of a ``Transition`` whose
            fields are arrays ``[k]``.
        insertion: place a task in the earliest idle gap that holds it; False appends only.
        max_tasks: N, padded number of tasks.
        max_processors: P, padded number of processors.
        max_edges: M, padded number of edges.
        illegal_penalty: minus the reward of an illegal action, ≥ 0.
        max_illegal_actions: how many of them truncate an episode, ≥ 1.
        durations: executes each finished schedule under this noise.
        render_mode: None or ``"rgb_array"``.
        copy: *True: an observation keeps its values. False, which is faster: its arrays belong to
            the environment, and the next ``step`` or ``reset`` changes them; do not write to them.
        autoreset_mode: *``AutoresetMode.NEXT_STEP``, ``SAME_STEP`` or ``DISABLED``, or its value
            as text.

    Raises:
        DAGSchedError: an argument is out of its range, or an instance exceeds the padding.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012
        **DAGSchedEnv.metadata,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        instances: Instances | None = None,
        *,
        num_envs: int = 1,
        action: str = "pair",
        observation: str = "graph",
        reward: str | RewardFn = "lower_bound",
        insertion: bool = True,
        max_tasks: int | None = None,
        max_processors: int | None = None,
        max_edges: int | None = None,
        illegal_penalty: float = 1.0,
        max_illegal_actions: int = 100,
        durations: Durations | None = None,
        render_mode: str | None = None,
        copy: bool = True,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        draw = resolve_source(instances)
        single = DAGSchedEnv(  # checks all arguments but num_envs
            draw,
            action=action,
            observation=observation,
            reward=reward,
            insertion=insertion,
            max_tasks=max_tasks,
            max_processors=max_processors,
            max_edges=max_edges,
            illegal_penalty=illegal_penalty,
            max_illegal_actions=max_illegal_actions,
            durations=durations,
            render_mode=render_mode,
        )
        if num_envs < 1:
            raise DAGSchedError(f"num_envs={num_envs} is not at least 1")
        source = EpisodeSource(draw, single.padding, num_envs)
        super().__init__(source, num_envs, autoreset_mode)
        space = self.single_action_space = single.action_space
        self.single_observation_space = single.observation_space
        self.action_space = batch_space(single.action_space, num_envs)
        self.observation_space = batch_space(single.observation_space, num_envs)
        assert isinstance(space, spaces.Discrete | spaces.MultiDiscrete)
        self._action_ends = space.n if isinstance(space, spaces.Discrete) else space.nvec
        self.render_mode = render_mode
        self._reward_fn = single.reward_fn
        self._illegal_penalty = float(illegal_penalty)
        self._max_illegal_actions = max_illegal_actions
        padding = single.padding
        self._factors = None if durations is None else durations.factors(padding.tasks)
        self._copy = copy
        self._actions = ACTIONS[action](padding.tasks, padding.processors)
        observe = OBSERVATIONS[observation](*padding, self._actions)
        listed = draw.instances if isinstance(draw, InstanceList) else ()
        self._states = StateBatch(num_envs, listed, padding, observe, insertion)

    @property
    def instances(self) -> tuple[Instance, ...]:
        """The problem of each environment's episode.

        Raises:
            ResetNeeded: before the first ``reset``.
        """
        self._require_reset()
        return tuple(self._states.instance(i) for i in range(self.num_envs))

    def reset(
        self, *, seed: Seeds = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode in all environments, or in some of them.

        Args:
            seed: s for the seeds s, s + 1, …; or a list of one seed or None for each environment.
            options: ``{"reset_mask": [B] bool}``: the environments to reset; ``{"instance": an
                Instance or a file}``: the problem of all of them; ``{"instances": a list of B}``:
                one for each.

        Returns:
            The observations of all environments, and what ``info`` says of those that were reset;
            ``action_masks`` tells of all.

        Raises:
            DAGSchedError: an unknown option, a list of a wrong length, or an instance that exceeds
                the padding.
            ResetNeeded: some have never been reset, and ``reset_mask`` leaves them out.
        """
        options = dict(options or {})
        mask = self._mask_of(options)
        chosen = np.flatnonzero(mask).tolist()
        given = self._source.from_options(options, chosen)
        self._source.seed(seed, chosen)
        self._states.begin(self._source.draw(chosen) if given is None else given)
        self._begun = True
        self._over[mask] = False
        self._illegal_actions[mask] = 0
        masks = self.action_masks()
        return self._observations(masks), {
            "action_mask": (masks & mask[:, None]).view(np.int8),
            "_action_mask": mask,
        }

    def step(
        self, actions: npt.NDArray[Any]
    ) -> tuple[Any, npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any], dict[str, Any]]:
        """Place one task in each environment; begin a new episode where one is over.

        Args:
            actions: ``[B]`` integers, ``[B, 2]`` with factored actions.

        Returns:
            Observations, rewards ``[B]`` float64, terminations ``[B]`` and truncations ``[B]``
            bool, info.

        Raises:
            DAGSchedError: actions of another shape or type.
            ResetNeeded: before the first ``reset``; with ``AutoresetMode.DISABLED`` also while an
                episode is over. Nothing is changed.
        """
        self._require_running()
        tasks, processors = self._split(actions)
        restart = self._over
        states = self._states
        before = states.lower_bound.copy(), states.makespan.copy()
        begin = self._source.draw(np.flatnonzero(restart).tolist())
        placed = states.step(begin, tasks, processors)
        terminated = states.terminal
        illegal = ~(placed | restart)
        self._illegal_actions[restart] = 0
        self._illegal_actions += illegal
        truncated = self._illegal_actions >= self._max_illegal_actions
        self._over = terminated | truncated
        rewards = self._rewards(placed, illegal, *before)
        masks = self.action_masks()
        info: dict[str, Any] = {
            "illegal_action": illegal,
            "_illegal_action": ~restart,
            "action_mask": masks.view(np.int8),
            "_action_mask": np.ones(self.num_envs, dtype=np.bool_),
        }
        if terminated.any():
            info |= self._summary(terminated)
        observations = self._observations(masks)
        if self._autoreset_mode == AutoresetMode.SAME_STEP and self._over.any():
            observations, info = self._begin_again(observations, info)
        return observations, rewards, terminated, truncated, info

    def action_masks(self) -> Bools:
        """``[B, A]`` True where an action is legal; all False when a schedule is complete.

        ``A`` is N·P with pairs, N + P with factored actions (ready tasks, then the processors that
        can run one of them), N with tasks.

        Raises:
            ResetNeeded: before the first ``reset``.
        """
        self._require_reset()
        return np.array(self._actions.mask(self._states.legal))

    def _so_far(self) -> Iterable[tuple[Schedule, Instance]]:
        schedules = self._states.schedules(np.arange(self.num_envs))
        return zip(schedules, self.instances, strict=True)

    def _split(self, actions: npt.NDArray[Any]) -> tuple[Ints, Ints]:
        """Task and processor of each action; ``NO_ACTION`` where it is outside the space."""
        actions = np.asarray(actions)
        if actions.shape != self.action_space.shape or actions.dtype.kind not in "iu":
            raise DAGSchedError(
                f"actions is {actions.dtype} {actions.shape}: give integers "
                f"{self.action_space.shape}"
            )
        actions = actions.astype(np.int64, copy=False)
        inside = ((actions >= 0) & (actions < self._action_ends)).reshape(self.num_envs, -1)
        inside = np.logical_and.reduce(inside, axis=1)
        tasks, processors = self._actions.split(actions)
        return np.where(inside, tasks, NO_ACTION), np.where(inside, processors, 0)

    def _rewards(
        self, placed: Bools, illegal: Bools, bound_before: Floats, makespan_before: Floats
    ) -> Floats:
        """``[B]``; 0 where an episode has just begun."""
        states = self._states
        rewards = np.where(illegal, -self._illegal_penalty, 0.0)
        if placed.any():
            transition = Transition(
                lower_bound_before=bound_before,
                lower_bound_after=states.lower_bound,
                makespan_before=makespan_before,
                makespan_after=states.makespan,
                scale=states.scale,
                terminated=states.terminal,
                baseline_makespan=states.baseline_makespan,
            )
            legal_only = Transition._make(np.asarray(field)[placed] for field in transition)
            made = self._reward_fn(legal_only)
            if made is None:  # which numpy would take for NaN
                raise TypeError("the reward returned None: it returns one number for each step")
            rewards[placed] = made
        return rewards

    def _observations(self, masks: Bools) -> Any:
        return self._states.observations(masks, copy=self._copy)

    def _begin_again(self, last: Any, info: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Begin a new episode where one is over; the observations and info after that.

        Args:
            last: the observations at the end of the step.
            info: of the step.
        """
        over, self._over = self._over, np.zeros(self.num_envs, dtype=np.bool_)
        finished = np.flatnonzero(over).tolist()
        final_obs = np.full(self.num_envs, None, dtype=object)
        for i in finished:
            final_obs[i] = _row(last, i)
        final_info = {
            key: values & over if key.startswith("_") else values.copy()
            for key, values in info.items()
        }
        for key in ("illegal_action", "action_mask"):
            final_info[key][~over] = 0
        self._states.begin(self._source.draw(finished))
        self._illegal_actions[over] = 0
        masks = self.action_masks()
        info = {
            "illegal_action": info["illegal_action"] & ~over,
            "_illegal_action": ~over,
            "action_mask": masks.view(np.int8),
            "_action_mask": np.ones(self.num_envs, dtype=np.bool_),
            "final_obs": final_obs,
            "_final_obs": over,
            "final_info": final_info,
            "_final_info": over.copy(),
        }
        return self._observations(masks), info

    def _summary(self, done: Bools) -> dict[str, Any]:
        """What ``info`` holds about complete schedules."""
        summary = self._states.summary(done, algorithm="DAGSched-v0")
        if self._factors is not None:
            robust = np.zeros((self.num_envs, len(RobustMakespan._fields)))
            for i in np.flatnonzero(done).tolist():
                instance = self._states.instance(i)
                factors = self._factors[:, : instance.n_tasks]
                robust[i] = robust_makespan(summary["schedule"][i], instance, factors)
            names = (f"robust_makespan_{field}" for field in RobustMakespan._fields)
            summary |= zip(names, robust.T.copy(), strict=True)
        return summary | {f"_{key}": done.copy() for key in summary}


def _row(observations: Any, i: int) -> Any:
    """A copy of the observation of one environment."""
    if isinstance(observations, dict):
        return {name: values[i].copy() for name, values in observations.items()}
    return observations[i].copy()
