"""The fast policy as an agent of ``DAGSched-v0``: an action from the environment or what it shows.

The policy needs the exact state. An observation alone is less: its times are rounded, and it shows
neither the data of the edges nor the idle gaps. Together with the instance and the observations
before it, it is enough.
"""

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from aerl_trainer.policy.fast import FastPolicy
from dagsched_env.environment.env import DAGSchedEnv
from dagsched_env.kernels.arrays import UNSCHEDULED, Ints
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.simulator import State

__all__ = ["PolicyAgent", "policy_action"]


def policy_action(
    policy: FastPolicy, env: gymnasium.Env[Any, Any], rng: np.random.Generator | None = None
) -> Any:
    """What the policy does in an environment now.

    Args:
        policy: chooses.
        env: ``DAGSched-v0`` with actions ``"pair"`` or ``"factored"``, in wrappers or without.
        rng: draws the action; None takes the most probable one.

    Returns:
        An action of the unwrapped environment.

    Raises:
        DAGSchedError: another environment or action mode; the episode is over; or
            ``insertion=False``.
    """
    inner = env.unwrapped
    if not isinstance(inner, DAGSchedEnv):
        raise DAGSchedError(f"{inner} is not DAGSched-v0; of many at once, use a PolicyAgent each")
    return inner.action_of(*policy.action(inner.state, rng))


class PolicyAgent:
    """Chooses from observations, for environments that hide their state, such as vector ones.

    It remembers the placements of the episode, so it has to see each observation in turn. One agent
    serves one environment, or one place of a vector environment:

        act(observation, env.unwrapped.instance)
        act({key: value[i] for key, value in observations.items()}, envs.instances[i])

    Args:
        policy: chooses.
        rng: draws the actions; None takes the most probable ones.
    """

    def __init__(self, policy: FastPolicy, rng: np.random.Generator | None = None) -> None:
        self._policy, self._rng = policy, rng
        self._state: State | None = None

    def act(self, observation: Mapping[str, npt.NDArray[Any]], instance: Instance) -> int:
        """The action ``t * P + q``, as in the mode ``"pair"``; 0 when the schedule is complete.

        Args:
            observation: ``"graph"``, of an environment that places by insertion.
            instance: the problem of the episode.

        Raises:
            DAGSchedError: a flat observation, or one before this has not been seen.
        """
        if not isinstance(observation, Mapping):
            raise DAGSchedError('the agent reads observation="graph": make the environment with it')
        width = len(observation["available"])
        self._state = self._follow(_placed(observation["placed"].reshape(-1, width)), instance)
        if self._state.terminal:
            return 0
        task, processor = self._policy.action(self._state, self._rng)
        return task * width + processor

    def _follow(self, placed: Ints, instance: Instance) -> State:
        """The state in which the given pairs ``[k, 2]`` are placed."""
        state = self._state
        if state is None or state.instance != instance or not _contains(placed, state):
            state = State(instance)
        new = placed[state.arrays.processor[placed[:, 0]] == UNSCHEDULED]
        if len(new) > 1:
            raise DAGSchedError(
                f"{len(new)} tasks have been placed since the last observation that the agent saw: "
                "show it each one, from the beginning of the episode"
            )
        for task, processor in new.tolist():
            state.apply(task, processor)
        return state


def _placed(flags: npt.NDArray[Any]) -> Ints:
    """``[k, 2]`` the pairs that ``[N, P]`` marks."""
    return np.argwhere(flags > 0)


def _contains(placed: Ints, state: State) -> bool:
    """Whether all placements of the state are among the pairs."""
    where = state.arrays.processor[placed[:, 0]]
    return int(np.count_nonzero(where == placed[:, 1])) == state.n_scheduled
