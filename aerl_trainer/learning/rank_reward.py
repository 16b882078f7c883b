"""Value-weighted softmax rank rewards of sibling trajectories, and rank correlation."""

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.errors import DAGSchedError

EPSILON = 1e-12
"""The ε of both normalisations, in units of the makespans and of the mean weight."""
TIE_TOLERANCE = 1e-9
"""Makespans closer than this, relative to the largest, are equal: they differ by rounding."""


def rank_weights(makespans: npt.ArrayLike, *, temperature: float = 1.0) -> Floats:
    """Weigh each trajectory of a job by how its makespan compares with its siblings'.

    ``m' = (m - μ) / (σ + ε)``; ``w = softmax(-m' / τ)``. Shorter is better. Neither shifting nor
    scaling all makespans changes anything. Makespans equal up to rounding share a weight.

    Args:
        makespans: ``[K]`` true makespans, finite, K ≥ 1 (time).
        temperature: τ > 0; small values prefer the best alone.

    Returns:
        ``[K]`` weights w ≥ 0; they add up to 1.

    Raises:
        DAGSchedError: no makespans, one that is not finite, or τ ≤ 0.
    """
    m = np.asarray(makespans, dtype=np.float64)
    if m.ndim != 1 or m.size == 0:
        raise DAGSchedError(f"makespans needs shape [K], K >= 1, got {list(m.shape)}")
    if not np.isfinite(m).all():
        at = int(np.flatnonzero(~np.isfinite(m))[0])
        raise DAGSchedError(f"makespans[{at}] is {m[at]}: it must be finite")
    if not temperature > 0:
        raise DAGSchedError(f"temperature is {temperature}: it must be positive")
    m = _merge_ties(m)
    if (m == m[0]).all():
        return np.full(m.size, 1.0 / m.size)
    normalised = (m - m.mean()) / (m.std() + EPSILON)
    weights: Floats = np.exp((normalised.min() - normalised) / temperature)
    weights /= weights.sum()
    return weights


def rank_rewards(makespans: npt.ArrayLike, *, temperature: float = 1.0) -> Floats:
    """Reward each trajectory of a job by how its makespan compares with its siblings'.

    ``reward = (w - μ_w) / (σ_w + ε)``, where w are the ``rank_weights``: see there for what is
    raised. When all makespans are equal, or there is only one, rewards are zero.

    Args:
        makespans: ``[K]`` true makespans, finite, K ≥ 1 (time).
        temperature: τ > 0; small values reward the best alone.

    Returns:
        ``[K]`` with mean 0 and variance 1, or all 0.
    """
    weights = rank_weights(makespans, temperature=temperature)
    mean = 1.0 / weights.size
    rewards: Floats = (weights - mean) / (weights.std() + EPSILON * mean)
    return rewards


def rank_correlation(a: npt.NDArray[np.floating], b: npt.NDArray[np.floating]) -> float:
    """Spearman's rank correlation of ``a[k]`` with ``b[k]``, in [-1, 1].

    Equal values share the mean of their ranks. 0 where all values of ``a`` or of ``b`` are equal.
    """
    x, y = (ranks - ranks.mean() for ranks in (_ranks(a), _ranks(b)))
    norm = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / norm if norm > 0 else 0.0


def _ranks(values: npt.NDArray[np.floating]) -> Floats:
    """Rank of each value among all, from 0; equal values share the mean of theirs."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Floats = (np.cumsum(counts) - (counts + 1) / 2)[which]
    return ranks


def _merge_ties(m: Floats) -> Floats:
    """Makespans in units of the largest, each run of near-equal ones at its smallest value."""
    scaled = m / max(float(np.abs(m).max()), np.finfo(np.float64).tiny)
    order = np.argsort(scaled, kind="stable")
    ascending = scaled[order]
    starts_run = np.diff(ascending, prepend=-np.inf) > TIE_TOLERANCE
    merged = np.empty_like(scaled)
    merged[order] = ascending[starts_run][np.cumsum(starts_run) - 1]
    return merged
