"""What a step is worth: functions of a ``Transition``, chosen by name or given by the user."""

from typing import NamedTuple, Protocol

from dagsched_env.errors import DAGSchedError

__all__ = [
    "REWARDS",
    "RewardFn",
    "Transition",
    "lower_bound",
    "makespan",
    "resolve_reward",
    "terminal",
]


class Transition(NamedTuple):
    """One legal placement, seen by its effect on the schedule; all times in the user's unit."""

    lower_bound_before: float
    """No completion of the old state is shorter; CP_MIN at the start of an episode."""
    lower_bound_after: float
    """The same of the new state; the makespan at the end of an episode."""
    makespan_before: float
    """Latest finish of the old partial schedule; 0 at the start of an episode."""
    makespan_after: float
    """Latest finish of the new partial schedule."""
    scale: float
    """CP_MIN, or 1 where that is 0: the divisor of every reward."""
    terminated: bool
    """All tasks are placed."""


class RewardFn(Protocol):
    """Anything that turns a transition into a finite number."""

    def __call__(self, transition: Transition, /) -> float:
        """The reward of one legal step."""
        ...


def lower_bound(transition: Transition) -> float:
    """r = −(LB(s′) − LB(s)) / CP_MIN ≤ 0; the return of an episode is 1 − SLR.

    Each step says what it cost, and a terminal state has no future reward. (On a CP_MIN of 0 the
    return is −SLR.)
    """
    return (transition.lower_bound_before - transition.lower_bound_after) / transition.scale


def makespan(transition: Transition) -> float:
    """r = −(increase of the makespan) / CP_MIN ≤ 0; the return of an episode is −SLR."""
    return (transition.makespan_before - transition.makespan_after) / transition.scale


def terminal(transition: Transition) -> float:
    """0 until the last placement, which earns −SLR."""
    return -transition.makespan_after / transition.scale if transition.terminated else 0.0


REWARDS: dict[str, RewardFn] = {
    "lower_bound": lower_bound,
    "makespan": makespan,
    "terminal": terminal,
}


def resolve_reward(reward: str | RewardFn) -> RewardFn:
    """The function behind a name in ``REWARDS``; a function is returned as it is.

    Raises:
        DAGSchedError: no such name, or neither a name nor callable.
    """
    if isinstance(reward, str) and reward in REWARDS:
        return REWARDS[reward]
    if isinstance(reward, str) or not callable(reward):
        raise DAGSchedError(
            f"reward={reward!r} is unknown: give one of {', '.join(REWARDS)}, "
            "or a function of a Transition"
        )
    return reward
