"""What a pass is worth: the rewards of ``dagsched_env``, with sizes in place of makespans.

Instructions take the place of time, −Oz that of HEFT: a step is a ``Transition`` from the size
before a pass to the size after it.
"""

from dagsched_env.environment.rewards import (
    Reduction,
    RewardFn,
    Transition,
    makespan,
    resolve_reward,
)

__all__ = ["REWARDS", "resolve", "transition"]

REWARDS: dict[str, RewardFn] = {
    "log_ratio": Reduction("log"),
    "reduction": Reduction("relative"),
    "scaled_reduction": Reduction("scaled"),
    "size": makespan,
}
"""Name → reward, sorted.

``"size"`` is (c_prev − c) / max(c_0 − c_Oz, 1): the return of an episode is 1 where it ends as
small as −Oz. The others are paid with the last pass, with B = c_Oz: (B − c) / B, log(B / c) and
2 (B − c) / B − 1; as a ``Reduction`` they take a step penalty, a threshold and a leak.
"""


def transition(
    before: int, after: int, initial: int, oz: int, *, terminated: bool = False
) -> Transition:
    """One pass, in instructions.

    Args:
        before: size of the module.
        after: size after the pass.
        initial: c_0, size at the start of the episode.
        oz: c_Oz, size after −Oz.
        terminated: it is the last pass.
    """
    return Transition(
        lower_bound_before=float(before),
        lower_bound_after=float(after),
        makespan_before=float(before),
        makespan_after=float(after),
        scale=float(max(initial - oz, 1)),
        terminated=terminated,
        baseline_makespan=float(oz),
    )


def resolve(reward: str | RewardFn) -> RewardFn:
    """The function behind a name of ``REWARDS`` or ``dagsched_env.REWARDS``, or a user's own.

    Raises:
        DAGSchedError: no such name, or neither a name nor callable.
    """
    if isinstance(reward, str) and reward in REWARDS:
        return REWARDS[reward]
    return resolve_reward(reward)
