"""``DAGSched-v0``: build a schedule task by task; a thin shell on simulator and observation."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from dagsched_env.errors import DAGSchedError, IllegalActionError
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.instance import Instance
from dagsched_env.observation import GraphObservation, Observation
from dagsched_env.rewards import RewardFn, Transition, resolve_reward
from dagsched_env.schedule import Schedule
from dagsched_env.simulator import State

__all__ = ["DAGSchedEnv", "Draw", "Instances"]

Draw: TypeAlias = Callable[[np.random.Generator], Instance]
"""Draws a problem; as a ``dagsched_env.generators.Generator`` it sets the padding by itself."""

Instances: TypeAlias = Instance | str | Path | Sequence[Instance | str | Path] | Draw
"""Where an environment takes its problems from."""


class DAGSchedEnv(gymnasium.Env[Any, np.int64]):
    """Schedule one task graph per episode; each step places one ready task on a processor.

    Action ``task * max_processors + processor``, ``Discrete(N·P)``. The observation is described in
    ``dagsched_env.observation``. ``info`` holds ``action_mask`` (int8, as ``Discrete.sample`` takes
    it) always, ``illegal_action`` after each step (with ``illegal_reason`` if True), and after the
    last placement ``makespan``, ``slr``, ``speedup``, ``efficiency`` and ``schedule``.

    An illegal action never raises and never changes the state: it costs ``illegal_penalty``, and
    the ``max_illegal_actions``-th of an episode truncates it. When all tasks are placed nothing is
    legal any more: the mask is all False (``Discrete.sample`` then returns 0), and ``step`` wants
    a ``reset``.

    Args:
        instances: an ``Instance``, a file that ``dagsched_env.io.load`` reads, a list of those (one
            is drawn uniformly with ``np_random`` at each reset), or a function ``rng -> Instance``
            (called with ``np_random`` at each reset). Default: Topcuoglu graphs, n = 20, p = 4.
        action: ``"pair"``.
        observation: ``"graph"``.
        reward: a name in ``dagsched_env.rewards.REWARDS``, or a function of a ``Transition``.
        insertion: place a task in the earliest idle gap that holds it; False appends only.
        max_tasks: N, padded number of tasks; default: the largest of ``instances``.
        max_processors: P, likewise.
        max_edges: M, likewise; at least 1.
        illegal_penalty: an illegal action's reward is minus this, ≥ 0.
        max_illegal_actions: how many of them truncate an episode, ≥ 1.
        render_mode: None or ``"rgb_array"``, the Gantt chart so far.

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
        render_mode: str | None = None,
    ) -> None:
        _require_choice("action", action, ("pair",))
        _require_choice("observation", observation, ("graph",))
        _require_choice("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        if not (np.isfinite(illegal_penalty) and illegal_penalty >= 0):
            raise DAGSchedError(f"illegal_penalty={illegal_penalty} is no number >= 0")
        if max_illegal_actions < 1:
            raise DAGSchedError(f"max_illegal_actions={max_illegal_actions} is not at least 1")
        self.render_mode = render_mode
        self._draw = _source(instances)
        given = {"tasks": max_tasks, "processors": max_processors, "edges": max_edges}
        self._padding = {what: _size(self._draw, what, size) for what, size in given.items()}
        if isinstance(self._draw, _InstanceList):
            for i, instance in enumerate(self._draw.instances):
                self._require_fit(instance, f"instances[{i}]")
        self._observation = GraphObservation(*self._padding.values())
        self.observation_space = self._observation.space
        self.action_space = spaces.Discrete(self._padding["tasks"] * self._padding["processors"])
        self._reward = resolve_reward(reward)
        self._insertion = insertion
        self._illegal_penalty = float(illegal_penalty)
        self._max_illegal_actions = max_illegal_actions
        self._illegal_actions = 0
        self._over = True
        self._current: State | None = None

    @property
    def state(self) -> State:
        """The simulator's state; change it through ``step`` alone.

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
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: of ``np_random``, which draws the instances.
            options: ``{"instance": an Instance or a file}`` to schedule that one.

        Raises:
            DAGSchedError: an unknown option, or an instance that exceeds the padding.
        """
        super().reset(seed=seed)
        options = options or {}
        for key in options:
            if key != "instance":
                raise DAGSchedError(f'unknown option {key!r} of reset(); there is "instance"')
        if "instance" in options:
            instance = _as_instance(options["instance"], 'options["instance"]')
        else:
            instance = _as_instance(self._draw(self.np_random), "what instances(rng) returned")
        self._require_fit(instance, "the instance")
        self._current = State(instance, insertion=self._insertion)
        self._illegal_actions = 0
        self._over = False
        return self._observation(self._current), {"action_mask": self._mask()}

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Place task ``action // P`` on processor ``action % P`` at its earliest start.

        Raises:
            ResetNeeded: the episode is over, or has not begun.
        """
        state = self.state
        if self._over:
            raise ResetNeeded("the episode is over: call reset() before the next step()")
        before = state.lower_bound, state.makespan
        reason = self._apply(action)
        info: dict[str, Any] = {"illegal_action": reason is not None}
        if reason is None:
            transition = Transition(
                lower_bound_before=before[0],
                lower_bound_after=state.lower_bound,
                makespan_before=before[1],
                makespan_after=state.makespan,
                scale=state.instance.time_scale,
                terminated=state.terminal,
            )
            reward = float(self._reward(transition))
        else:
            info["illegal_reason"] = reason
            self._illegal_actions += 1
            reward = -self._illegal_penalty
        truncated = self._illegal_actions >= self._max_illegal_actions
        if state.terminal:
            info |= _summary(state)
        self._over = state.terminal or truncated
        info["action_mask"] = self._mask()
        return self._observation(state), reward, state.terminal, truncated, info

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """``[N·P]`` True where an action is legal; all False when the schedule is complete.

        Raises:
            ResetNeeded: before the first ``reset``.
        """
        return self._observation.legal(self.state)

    def render(self) -> npt.NDArray[np.uint8] | None:
        """Gantt chart of the schedule so far, uint8 ``[height, width, 3]``.

        Raises:
            MissingExtraError: matplotlib is not installed.
            ResetNeeded: before the first ``reset``.
        """
        if self.render_mode is None:
            gymnasium.logger.warn('render() needs an env made with render_mode="rgb_array"')
            return None
        from dagsched_env.render import rgb_array

        arrays = self.state.arrays
        return rgb_array(Schedule(arrays.processor, arrays.start, arrays.finish), self.instance)

    def _apply(self, action: Any) -> str | None:
        """Place the pair; returns why it could not be placed, or None."""
        if not self.action_space.contains(action):
            return f"action {action!r} is not in {self.action_space}"
        try:
            self.state.apply(*divmod(int(action), self._padding["processors"]))
        except IllegalActionError as error:
            return str(error)
        return None

    def _mask(self) -> npt.NDArray[np.int8]:
        return self.action_masks().view(np.int8)

    def _require_fit(self, instance: Instance, place: str) -> None:
        for what, limit in self._padding.items():
            size = getattr(instance, f"n_{what}")
            if size > limit:
                raise DAGSchedError(
                    f"{place} ({instance}) has {size} {what}, the env holds {limit}: "
                    f"make it with max_{what}={size} or more"
                )


class _InstanceList:
    """Draws uniformly from a list."""

    def __init__(self, instances: Sequence[Instance]) -> None:
        if not instances:
            raise DAGSchedError("instances is an empty list: give at least one")
        self.instances = tuple(instances)
        self.max_tasks = max(instance.n_tasks for instance in instances)
        self.max_processors = max(instance.n_processors for instance in instances)
        self.max_edges = max(instance.n_edges for instance in instances)

    def __call__(self, rng: np.random.Generator) -> Instance:
        return self.instances[int(rng.integers(len(self.instances)))]


def _source(instances: Instances | None) -> Draw:
    if instances is None:
        return TopcuogluGenerator(n_tasks=20, n_processors=4)
    if callable(instances):
        return instances
    if isinstance(instances, Instance | str | Path):
        return _InstanceList([_as_instance(instances, "instances")])
    if not isinstance(instances, Sequence):
        raise DAGSchedError(
            f"instances is {type(instances).__name__}: give an Instance, a path, a list of those, "
            "or a function rng -> Instance"
        )
    return _InstanceList([_as_instance(x, f"instances[{i}]") for i, x in enumerate(instances)])


def _as_instance(value: Any, place: str) -> Instance:
    if isinstance(value, Instance):
        return value
    if isinstance(value, str | Path):
        from dagsched_env.io import load

        return load(value)
    raise DAGSchedError(f"{place} is {type(value).__name__}: give an Instance or a path")


def _size(source: Draw, what: str, given: int | None) -> int:
    """One padded size: the one given, else the source's; at least 1."""
    size = getattr(source, f"max_{what}", None) if given is None else given
    if size is None:
        raise DAGSchedError(f"the function instances has no max_{what}: pass max_{what}=")
    if given is not None and given < 1:
        raise DAGSchedError(f"max_{what}={given} is not at least 1")
    return max(int(size), 1)


def _require_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    if value not in choices:
        raise DAGSchedError(
            f"{name}={value!r} is not available: give {' or '.join(map(repr, choices))}"
        )


def _summary(state: State) -> dict[str, Any]:
    schedule = state.schedule(algorithm="DAGSched-v0")
    return {
        "makespan": schedule.makespan,
        "slr": schedule.slr(state.instance),
        "speedup": schedule.speedup(state.instance),
        "efficiency": schedule.efficiency(state.instance),
        "schedule": schedule,
    }
