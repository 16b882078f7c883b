"""``DAGSchedOnline-v0``: starts tasks while a run goes on."""

import copy
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces
from gymnasium.error import ResetNeeded

from dagsched_env.environment.online.episodes import Bools, Episodes
from dagsched_env.kernels.online.episodes import BEGIN
from dagsched_env.online.arrivals import Arrivals
from dagsched_env.online.noise import Noises
from dagsched_env.online.objectives import OBJECTIVES, measures
from dagsched_env.online.outages import Outages
from dagsched_env.online.simulation import Simulation
from dagsched_env.online.world import World, Worlds
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.sources import Instances, Padding, as_instance

__all__ = ["DAGSchedOnlineEnv"]

OBSERVATIONS = ("graph", "flat")


class DAGSchedOnlineEnv(gymnasium.Env[Any, Any]):
    """Run task graphs: each step starts one task now, or waits for the next event.

    Durations are known as expected and seen at the end of a task. Time goes on by events: a task
    ends, its inputs arrive, a graph arrives, a machine fails or comes back. When no task can start
    the environment goes on by itself. Action t·P + q starts task t on processor q, where it is
    ready, its inputs have arrived and there is room; action N·P waits. A run in which each task
    takes what is expected is a schedule of ``DAGSched-v0``, and each such schedule can be run.

    The reward of a step is minus what the time that it lets pass costs, in units of the lower bound
    of the first graph (``slowdown`` has none): the return of an episode is minus the objective.
    ``p95_completion`` is known at the end alone. For observations see ``features`` in this folder.

    ``info`` holds ``action_mask`` (int8, as ``action_space.sample`` takes it), and after each step
    ``illegal_action``. After the last task has ended it holds ``schedule``, when and where each
    task ran, and all of ``dagsched_env.online.OBJECTIVES``. An illegal action costs
    ``illegal_penalty``, changes nothing, and the ``max_illegal_actions``-th truncates the episode.

    Args:
        instances: the graphs, as of ``DAGSchedEnv``.
        arrivals: when graphs arrive, and how many (``dagsched_env.online``); None: one, at time 0.
        noise: how real durations differ from expected ones; several kinds are multiplied.
        outages: which machines fail, and when.
        forgets: with a machine the outputs that are kept there are lost, too.
        slack: deadlines are so many times a graph's lower bound after its arrival; None: none.
        objective: a key of ``dagsched_env.online.OBJECTIVES``.
        observation: ``"graph"``, a ``Dict``; or ``"flat"``, one ``Box``.
        max_tasks: N, padded number of tasks of all graphs of a run; default: the largest.
        max_processors: P, padded number of processors.
        max_edges: M, padded number of edges, at least 1.
        illegal_penalty: minus the reward of an illegal action, ≥ 0.
        max_illegal_actions: number of illegal actions that truncates an episode, ≥ 1.
        render_mode: None or ``"rgb_array"``, the Gantt chart so far.

    Raises:
        DAGSchedError: an argument is out of its range, or a run exceeds the padding.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        instances: Instances | None = None,
        *,
        arrivals: Arrivals | None = None,
        noise: Noises = None,
        outages: Outages | None = None,
        forgets: bool = False,
        slack: float | None = None,
        objective: str = "makespan",
        observation: str = "graph",
        max_tasks: int | None = None,
        max_processors: int | None = None,
        max_edges: int | None = None,
        illegal_penalty: float = 1.0,
        max_illegal_actions: int = 100,
        render_mode: str | None = None,
    ) -> None:
        for name, value, choices in (
            ("objective", objective, tuple(OBJECTIVES)),
            ("observation", observation, OBSERVATIONS),
            ("render_mode", render_mode, (None, *self.metadata["render_modes"])),
        ):
            if value not in choices:
                known = " or ".join(map(repr, choices))
                raise DAGSchedError(f"{name}={value!r} is not available: give {known}")
        if not (np.isfinite(illegal_penalty) and illegal_penalty >= 0):
            raise DAGSchedError(f"illegal_penalty={illegal_penalty} is not a number >= 0")
        if max_illegal_actions < 1:
            raise DAGSchedError(f"max_illegal_actions={max_illegal_actions} is not at least 1")
        self.worlds = Worlds(instances, arrivals, noise, outages, forgets, slack)
        self.padding = padding_of(self.worlds, max_tasks, max_processors, max_edges)
        self.objective = objective
        self.render_mode = render_mode
        self._flat = observation == "flat"
        self.illegal_penalty = float(illegal_penalty)
        self.max_illegal_actions = max_illegal_actions
        self._episodes = Episodes(1, self.padding, flat=self._flat, objective=objective)
        self.observation_space = self._episodes.space
        self.action_space = spaces.Discrete(self.padding.tasks * self.padding.processors + 1)
        self._wait = int(self.action_space.n) - 1
        self._action = np.zeros(1, dtype=np.int64)
        self._illegal_actions = 0
        self._over = True

    @property
    def simulation(self) -> Simulation:
        """The run; only ``step`` may change it.

        Raises:
            ResetNeeded: before the first ``reset``.
        """
        simulation = self._episodes.simulations[0]
        if simulation is None:
            raise ResetNeeded("there is no run before the first reset()")
        return simulation

    @property
    def instance(self) -> Instance:
        """All graphs of this run; raises ResetNeeded before the first ``reset``."""
        return self.simulation.world.instance

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Begin a run.

        Args:
            seed: of ``np_random``, which draws graphs, arrivals, noise and outages.
            options: ``{"world": a World}`` for that run; ``{"instance": an Instance or a file}``
                for one graph.

        Raises:
            DAGSchedError: an unknown option, or a run that exceeds the padding.
        """
        super().reset(seed=seed)
        world = drawn_world(self.worlds, self.padding, self.np_random, options or {})
        self._episodes.put(0, world)
        self._take(BEGIN)
        self._illegal_actions = 0
        self._over = False
        return self._observation(), {"action_mask": self._sample_mask()}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Start a task, or wait; then time goes on until some task can start.

        Raises:
            ResetNeeded: the episode is over, or has not begun.
        """
        if self._over:
            raise ResetNeeded(
                "the episode is over, or has not begun: call reset() before the next step()"
            )
        legal = self.action_space.contains(action) and self._episodes.legal[0, int(action)]
        info: dict[str, Any] = {"illegal_action": not legal}
        terminated = False
        if legal:
            self._take(int(action))
            terminated = bool(self._episodes.done[0])
            reward = -float(self._episodes.costs[0] / self._episodes.scales[0])
        else:
            self._illegal_actions += 1
            reward = -self.illegal_penalty
        if terminated:
            found = summary(self.simulation)
            info |= found
            if self.objective == "p95_completion":
                reward -= found[self.objective] / float(self._episodes.scales[0])
        truncated = self._illegal_actions >= self.max_illegal_actions
        self._over = terminated or truncated
        info["action_mask"] = self._sample_mask()
        return self._observation(), reward, terminated, truncated, info

    def action_of(self, task: int, processor: int) -> int:
        """The action that starts a task on a processor."""
        return task * self.padding.processors + processor

    @property
    def wait(self) -> int:
        """The action that waits."""
        return self._wait

    def action_masks(self) -> Bools:
        """``[N·P + 1]`` True where an action is legal; all False when the run is over.

        To wait is legal where something else will happen.

        Raises:
            ResetNeeded: before the first ``reset``.
        """
        self.simulation  # noqa: B018 - raises if there is none
        mask: Bools = self._episodes.legal[0].copy()
        return mask

    def clone(self) -> "DAGSchedOnlineEnv":
        """An independent environment with the same run, future and ``np_random``."""
        twin = copy.copy(self)
        twin._episodes = self._episodes.clone()
        twin._action = self._action.copy()
        if self._np_random is not None:
            twin._np_random = copy.deepcopy(self._np_random)
        return twin

    def render(self) -> npt.NDArray[np.uint8] | None:
        """Gantt chart of the run so far, uint8 ``[height, width, 3]``.

        Raises:
            MissingExtraError: matplotlib is not installed.
            ResetNeeded: before the first ``reset``.
        """
        if self.render_mode is None:
            gymnasium.logger.warn('render() needs an env made with render_mode="rgb_array"')
            return None
        from dagsched_env.pictures import rgb_array

        return rgb_array(self.simulation.schedule(), self.instance)

    def _take(self, action: int) -> None:
        self._action[0] = action
        self._episodes.step(self._action)

    def _observation(self) -> Any:
        found = self._episodes.observations(copy=True)
        if self._flat:
            return found[0]
        return {name: values[0] for name, values in found.items()}

    def _sample_mask(self) -> npt.NDArray[np.int8]:
        mask: npt.NDArray[np.int8] = self._episodes.legal[0].astype(np.int8)
        return mask


def padding_of(
    worlds: Worlds, max_tasks: int | None, max_processors: int | None, max_edges: int | None
) -> Padding:
    """The sizes of a run: those that are given, else those of the source times the graphs."""
    one = Padding.of(worlds.source, None, None, None) if None in (max_tasks, max_edges) else None
    u = worlds.n_graphs
    return Padding.of(
        worlds.source,
        one.tasks * u if max_tasks is None and one else max_tasks,
        max_processors,
        one.edges * u if max_edges is None and one else max_edges,
    )


def drawn_world(
    worlds: Worlds, padding: Padding, rng: np.random.Generator, options: dict[str, Any]
) -> World:
    """The run that the options of a reset name, or one that is drawn."""
    for key in options:
        if key not in ("world", "instance"):
            raise DAGSchedError(
                f'unknown option {key!r} of reset(); there are "world" and "instance"'
            )
    if len(options) > 1:
        raise DAGSchedError('options holds "world" and "instance": give one of them')
    place = "what instances(rng) returned"
    if "world" in options:
        world, place = options["world"], 'options["world"]'
        if not isinstance(world, World):
            raise DAGSchedError(f"{place} is {type(world).__name__}: give a World")
    elif "instance" in options:
        place = 'options["instance"]'
        world = worlds.of([as_instance(options["instance"], place)], rng)
    else:
        world = worlds(rng)
    padding.require_fit(world.instance, place)
    return world


def summary(simulation: Simulation) -> dict[str, Any]:
    """What ``info`` holds of a run that is over."""
    return {
        "schedule": simulation.schedule("DAGSchedOnline-v0"),
        **measures(simulation.world, simulation.completion),
    }
