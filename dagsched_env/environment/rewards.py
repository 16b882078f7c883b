"""Rewards of a step: functions of a ``Transition``, chosen by name or given by the user."""

from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from dagsched_env.problem.errors import DAGSchedError

__all__ = [
    "REDUCTIONS",
    "REWARDS",
    "Reduction",
    "RewardFn",
    "Transition",
    "Value",
    "lower_bound",
    "makespan",
    "resolve_reward",
    "terminal",
]

Value: TypeAlias = float | npt.NDArray[np.float64]
"""A number, or one number for each of k environments, ``[k]``."""

ZERO_MAKESPAN = 1e-9
"""Least makespan in a logarithm, in units of the scale."""


class Transition(NamedTuple):
    """The effect of one legal placement on the schedule; all times in the unit of the user.

    The fields are numbers, or arrays ``[k]`` with one entry for each of k placements.
    """

    lower_bound_before: Value
    """No completion of the old state is shorter; CP_MIN at the start of an episode."""
    lower_bound_after: Value
    """The same of the new state; the makespan at the end of an episode."""
    makespan_before: Value
    """Latest finish of the old partial schedule; 0 at the start of an episode."""
    makespan_after: Value
    """Latest finish of the new partial schedule."""
    scale: Value
    """CP_MIN, or 1 where that is 0."""
    terminated: bool | npt.NDArray[np.bool_]
    """All tasks are placed."""
    baseline_makespan: Value
    """Makespan of HEFT on the same instance, with or without insertion as the environment."""


class RewardFn(Protocol):
    """Anything that turns a transition into a finite number.

    A vector environment calls it once per step, with a transition whose fields are arrays ``[k]``,
    and expects k rewards. There the function must use arithmetic and ``numpy`` functions only:
    ``np.where(t.terminated, a, b)`` instead of ``a if t.terminated else b``.
    """

    def __call__(self, transition: Transition, /) -> Value:
        """The reward of one legal step, or ``[k]`` rewards."""
        ...


def lower_bound(transition: Transition) -> Value:
    """r = −(LB(s′) − LB(s)) / CP_MIN ≤ 0; the return of an episode is 1 − SLR.

    Each step is charged what it costs, and a terminal state has no future reward. (Where CP_MIN is
    0, the return is −SLR.)
    """
    return (transition.lower_bound_before - transition.lower_bound_after) / transition.scale


def makespan(transition: Transition) -> Value:
    """r = −(increase of the makespan) / CP_MIN ≤ 0; the return of an episode is −SLR."""
    return (transition.makespan_before - transition.makespan_after) / transition.scale


def terminal(transition: Transition) -> Value:
    """0 before the last placement, which earns −SLR."""
    slr = transition.makespan_after / transition.scale
    return np.where(transition.terminated, -slr, 0.0)


REDUCTIONS = {
    "relative": "(B − m) / B, which is 0 for HEFT and would be 1 for a makespan of 0",
    "log": "log(B / m), which is symmetric: halving B earns as much as doubling it costs",
    "scaled": "2 (B − m) / B − 1, which is −1 for HEFT",
}
"""Kind → what the last placement earns, with the makespan B of HEFT and the achieved one m."""


@dataclass(frozen=True)
class Reduction:
    """The reduction of the makespan against HEFT, paid at the last placement.

    What it pays there is in ``REDUCTIONS``, with the makespan B of HEFT and the achieved one m.
    A reward r above ``threshold`` is reduced to threshold + (r − threshold)·leak, so that a single
    instance does not dominate the others. Each step, the last one too, costs ``step_penalty``.
    Where B is 0, the divisor is ``Transition.scale``; in the logarithm a makespan counts as at
    least 1e-9 of it.

    Args:
        kind: a key of ``REDUCTIONS``: ``"relative"``, ``"log"`` or ``"scaled"``.
        step_penalty: α ≥ 0.
        threshold: θ, or None for no threshold.
        leak: in [0, 1]; 0 clips at the threshold.

    Raises:
        DAGSchedError: an argument is out of its range.
    """

    kind: Literal["relative", "log", "scaled"] = "relative"
    step_penalty: float = 0.0
    threshold: float | None = None
    leak: float = 0.1

    def __post_init__(self) -> None:
        if self.kind not in REDUCTIONS:
            raise DAGSchedError(
                f"kind={self.kind!r} is unknown: give 'relative', 'log' or 'scaled'"
            )
        if not (np.isfinite(self.step_penalty) and self.step_penalty >= 0):
            raise DAGSchedError(f"step_penalty={self.step_penalty} is not a number >= 0")
        if self.threshold is not None and not np.isfinite(self.threshold):
            raise DAGSchedError(f"threshold={self.threshold} is not a number: give one, or None")
        if not 0 <= self.leak <= 1:
            raise DAGSchedError(f"leak={self.leak} is not in 0..1")

    def __call__(self, transition: Transition) -> Value:
        """The reward of one legal step, or ``[k]`` rewards."""
        reduction = self._reduction(transition)
        if self.threshold is not None:
            excess = np.maximum(reduction - self.threshold, 0.0)
            reduction = reduction - (1.0 - self.leak) * excess
        return np.where(transition.terminated, reduction, 0.0) - self.step_penalty

    def _reduction(self, transition: Transition) -> Value:
        """f(B, m), finite; before the last placement, m is that of the partial schedule."""
        baseline, achieved = transition.baseline_makespan, transition.makespan_after
        if self.kind == "log":
            least = ZERO_MAKESPAN * transition.scale
            return np.log(np.maximum(baseline, least) / np.maximum(achieved, least))
        divisor = np.where(np.asarray(baseline) > 0, baseline, transition.scale)
        relative = (baseline - achieved) / divisor
        return relative if self.kind == "relative" else 2.0 * relative - 1.0


REWARDS: dict[str, RewardFn] = {
    "log_reduction": Reduction("log"),
    "lower_bound": lower_bound,
    "makespan": makespan,
    "reduction": Reduction("relative"),
    "scaled_reduction": Reduction("scaled"),
    "terminal": terminal,
}
"""Name → reward, sorted."""


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
