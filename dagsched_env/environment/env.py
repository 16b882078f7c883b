"""``DAGSched-v0``: builds a schedule task by task; a thin layer over simulator and observation."""

from collections.abc import Collection
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from dagsched_env.environment.actions import ACTIONS, Bools, SampleMask, decode
from dagsched_env.environment.observation import OBSERVATIONS
from dagsched_env.environment.rewards import RewardFn, Transition, resolve_reward
from dagsched_env.problem.durations import Durations, robust_makespan
from dagsched_env.problem.errors import DAGSchedError, IllegalActionError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.simulator import State
from dagsched_env.schedulers.heft import heft
from dagsched_env.sources import Instances, Padding, as_instance, resolve_source

__all__ = ["DAGSchedEnv"]

WHOLE = (int, np.integer)
"""Types of actions that are one number."""


class DAGSchedEnv(gymnasium.Env[Any, Any]):
    """Schedule one task graph per episode; each step places one ready task on a processor.

    For actions and observations see ``actions`` and ``observation`` in this folder. ``info`` holds
    ``action_mask`` (int8, as ``action_space.sample`` takes it), and after each step
    ``illegal_action`` (with ``illegal_reason`` if True). After the last placement it holds
    ``makespan``, ``slr``, ``speedup``, ``efficiency``, ``schedule`` and, with ``durations``,
    ``robust_makespan_mean``, ``_std`` and ``_q95``.

    An illegal action never raises and never changes the state. It costs ``illegal_penalty``, and
    the ``max_illegal_actions``-th of an episode truncates the episode. When all tasks are placed,
    no action is legal: the mask is all False (``sample`` then returns 0), and ``step`` raises until
    the next ``reset``.

    Args:
        instances: an ``Instance``; a file or folder that ``dagsched_env.io`` reads;
            ``"suite:NAME"``; ``"family:NAME?parameter=value&…"`` (see ``dagsched_env.sources``); a
            function ``rng -> Instance`` (called with ``np_random`` at each reset), such as a
            generator; or a list of those (one is drawn uniformly with ``np_random`` at each
            reset). Default: Topcuoglu graphs, n = 20, p = 4.
        action: ``"pair"``, ``Discrete(N·P)``, action t·P + q; ``"factored"``,
            ``MultiDiscrete([N, P])``; or ``"task"``, ``Discrete(N)``, placed where it finishes
            first.
        observation: ``"graph"``, a ``Dict``; or ``"flat"``, one ``Box``.
        reward: a name in ``dagsched_env.REWARDS``, or a function of a ``Transition``.
        insertion: place a task in the earliest idle gap that holds it; False appends only.
        max_tasks: N, padded number of tasks; default: the largest of ``instances``.
        max_processors: P, padded number of processors; default as for N.
        max_edges: M, padded number of edges, at least 1; default as for N.
        illegal_penalty: minus the reward of an illegal action, ≥ 0.
        max_illegal_actions: number of illegal actions that truncates an episode, ≥ 1.
        durations: executes each finished schedule under noise; see ``problem.durations``.
        render_mode: None or ``"rgb_array"``, the Gantt chart so far; ``gymnasium.make`` takes
            ``"human"`` too, which shows it in a window (extra ``human``).

    Raises:
        DAGSchedError: an argument is out of its range, or an instance exceeds the padding.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        instances: Instances | None = None,
        *,
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
    ) -> None:
        _require_choice("action", action, ACTIONS)
        _require_choice("observation", observation, OBSERVATIONS)
        if render_mode == "human":
            raise DAGSchedError(
                'render_mode="human" is a window around the environment, which '
                'gymnasium.make("DAGSched-v0", render_mode="human") makes (pip install '
                "'aerl-ds[human]'): give None or 'rgb_array'"
            )
        _require_choice("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        if not (np.isfinite(illegal_penalty) and illegal_penalty >= 0):
            raise DAGSchedError(f"illegal_penalty={illegal_penalty} is not a number >= 0")
        if max_illegal_actions < 1:
            raise DAGSchedError(f"max_illegal_actions={max_illegal_actions} is not at least 1")
        if not isinstance(insertion, bool | np.bool_):
            raise DAGSchedError(f"insertion={insertion!r} is not True or False")
        self.render_mode = render_mode
        self._draw = resolve_source(instances)
        self.padding = Padding.of(self._draw, max_tasks, max_processors, max_edges)
        self._actions = ACTIONS[action](self.padding.tasks, self.padding.processors)
        self._observe = OBSERVATIONS[observation](*self.padding, self._actions)
        space = self._actions.space
        self.action_space = space
        self._n_actions = int(space.n) if isinstance(space, spaces.Discrete) else 0
        self.observation_space = self._observe.space
        self.reward_fn = resolve_reward(reward)
        self._insertion = insertion
        self._illegal_penalty = float(illegal_penalty)
        self.max_illegal_actions = max_illegal_actions
        self._factors = None if durations is None else durations.factors(self.padding.tasks)
        self._illegal_actions = 0
        self._over = True
        self._current: State | None = None
        self._mask = np.zeros(self._actions.mask_size, dtype=np.bool_)
        self._baseline_makespan = 0.0

    @property
    def state(self) -> State:
        """The state of the simulator; only ``step`` may change it. Search on a ``clone``.

        Raises:
            ResetNeeded: before the first ``reset``.
        """
        if self._current is None:
            raise ResetNeeded("there is no state before the first reset()")
        return self._current

    @property
    def instance(self) -> Instance:
        """The problem of this episode; raises ResetNeeded before the first ``reset``."""
        return self.state.instance

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: of ``np_random``, which draws the instances.
            options: ``{"instance": an Instance or a file}`` to schedule that one.

        Raises:
            DAGSchedError: an unknown option, or an instance that exceeds the padding.
        """
        super().reset(seed=seed)
        instance = self._next_instance(options or {})
        self.padding.require_fit(instance, "the instance")
        if self._current is None or instance is not self._current.instance:
            self._baseline_makespan = heft(instance, insertion=self._insertion).makespan
        self._current = State(instance, insertion=self._insertion)
        self._illegal_actions = 0
        self._over = False
        observation, self._mask = self._observe(self._current)
        return observation, {"action_mask": self._sample_mask()}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Place a task at its earliest start on a processor.

        Raises:
            ResetNeeded: the episode is over, or has not begun.
        """
        state = self.state
        if self._over:
            raise ResetNeeded("the episode is over: call reset() before the next step()")
        info: dict[str, Any] = {"illegal_action": False}
        before = state.lower_bound, state.makespan
        try:
            placement = self._placement(action)
        except IllegalActionError as error:
            info = {"illegal_action": True, "illegal_reason": str(error)}
            self._illegal_actions += 1
            observation, self._mask = self._observe(state)
            terminated, reward = False, -self._illegal_penalty
        else:
            observation, self._mask = self._observe(state, *placement)
            terminated = state.terminal
            reward = self._reward_of(state, *before, terminated)
        if terminated:
            info |= self._summary(state)
        truncated = self._illegal_actions >= self.max_illegal_actions
        self._over = terminated or truncated
        info["action_mask"] = self._sample_mask()
        return observation, reward, terminated, truncated, info

    def action_of(self, task: int, processor: int) -> Any:
        """The action that places a task on a processor, in the mode of this environment.

        Raises:
            DAGSchedError: the mode is ``"task"``, in which the environment chooses the processor.
        """
        return self._actions.join(task, processor)

    def action_masks(self) -> Bools:
        """True where an action is legal; all False when the schedule is complete.

        ``[N·P]`` with pairs, ``[N + P]`` with factored actions (ready tasks, then the processors
        that can run one of them), ``[N]`` with tasks.

        Raises:
            ResetNeeded: before the first ``reset``.
        """
        self.state  # noqa: B018 - raises if there is none
        return self._mask.copy()

    def render(self) -> npt.NDArray[np.uint8] | None:
        """Gantt chart of the schedule so far, uint8 ``[height, width, 3]``.

        Raises:
            MissingExtraError: matplotlib is not installed.
            ResetNeeded: before the first ``reset``.
        """
        if self.render_mode is None:
            gymnasium.logger.warn('render() needs an env made with render_mode="rgb_array"')
            return None
        from dagsched_env.pictures import rgb_array

        arrays = self.state.arrays
        return rgb_array(Schedule(arrays.processor, arrays.start, arrays.finish), self.instance)

    def _next_instance(self, options: dict[str, Any]) -> Instance:
        for key in options:
            if key != "instance":
                raise DAGSchedError(f'unknown option {key!r} of reset(); there is "instance"')
        if "instance" in options:
            return as_instance(options["instance"], 'options["instance"]')
        return as_instance(self._draw(self.np_random), "what instances(rng) returned")

    def _placement(self, action: Any) -> tuple[int, int]:
        """The legal placement that an action means; raises IllegalActionError."""
        if isinstance(action, WHOLE):  # of these ``contains`` takes longer than the placement
            inside = 0 <= action < self._n_actions
        else:
            inside = self.action_space.contains(action)
        if not inside:
            raise IllegalActionError(f"action {action!r} is not in {self.action_space}")
        task, processor = decode(self._actions, action, self.state)
        self.state.require_legal(task, processor)
        return task, processor

    def _reward_of(
        self, state: State, bound_before: float, makespan_before: float, terminated: bool
    ) -> float:
        transition = Transition(
            lower_bound_before=bound_before,
            lower_bound_after=state.lower_bound,
            makespan_before=makespan_before,
            makespan_after=state.makespan,
            scale=state.instance.time_scale,
            terminated=terminated,
            baseline_makespan=self._baseline_makespan,
        )
        return float(self.reward_fn(transition))

    def _sample_mask(self) -> SampleMask:
        """A copy of the mask, for ``info``."""
        return self._actions.sample_mask(self._mask.copy())

    def _summary(self, state: State) -> dict[str, Any]:
        """What ``info`` holds about a complete schedule."""
        instance, schedule = state.instance, state.schedule(algorithm="DAGSched-v0")
        summary: dict[str, Any] = {
            "makespan": schedule.makespan,
            "slr": schedule.slr(instance),
            "speedup": schedule.speedup(instance),
            "efficiency": schedule.efficiency(instance),
            "schedule": schedule,
        }
        if self._factors is not None:
            robust = robust_makespan(schedule, instance, self._factors[:, : instance.n_tasks])
            summary |= {f"robust_makespan_{k}": value for k, value in robust._asdict().items()}
        return summary


def _require_choice(name: str, value: object, choices: Collection[object]) -> None:
    """Raise a DAGSchedError that lists the choices if ``value`` is not one of them."""
    if value not in choices:
        raise DAGSchedError(
            f"{name}={value!r} is not available: give {' or '.join(map(repr, choices))}"
        )
