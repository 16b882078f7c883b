"""Rank rewards: the formula, its invariants and its degenerate cases."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from aerl_trainer.learning.rank_reward import rank_correlation, rank_rewards, rank_weights
from dagsched_env.problem.errors import DAGSchedError

Makespans = st.lists(st.integers(1, 10_000), min_size=2, max_size=40).map(np.array)
Temperatures = st.sampled_from([0.2, 0.5, 1.0, 3.0])


def ranked(m: npt.ArrayLike, temperature: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Rewards and weights."""
    return rank_rewards(m, temperature=temperature), rank_weights(m, temperature=temperature)


def test_the_formula_by_hand() -> None:
    # m' = -1, 1; w = softmax(1, -1): the better one gets 1 / (1 + e^-2).
    rewards, weights = ranked([80.0, 100.0])
    assert weights == pytest.approx([1 / (1 + np.exp(-2)), 1 / (1 + np.exp(2))])
    assert rewards == pytest.approx([1.0, -1.0])
    # m' = (-1, 0, 1) * sqrt(3/2), τ = 2.
    rewards, weights = ranked([10.0, 20.0, 30.0], temperature=2.0)
    expected = np.exp(np.array([1, 0, -1]) * np.sqrt(1.5) / 2)
    expected /= expected.sum()
    assert weights == pytest.approx(expected)
    assert rewards == pytest.approx((expected - expected.mean()) / expected.std())


@given(Makespans, Temperatures)
def test_moments_and_weights(m: np.ndarray, temperature: float) -> None:
    rewards, weights = ranked(m, temperature=temperature)
    assert rewards.shape == weights.shape == m.shape
    assert rewards.mean() == pytest.approx(0.0, abs=1e-9)
    assert rewards.var() == pytest.approx(0.0 if np.ptp(m) == 0 else 1.0, abs=1e-6)
    assert weights.sum() == pytest.approx(1.0)
    assert (weights > 0).all()


@given(Makespans, Temperatures)
def test_shorter_is_never_worse(m: np.ndarray, temperature: float) -> None:
    rewards, weights = ranked(m, temperature=temperature)
    order = np.argsort(m, kind="stable")
    assert (np.diff(rewards[order]) <= 0).all()
    assert (np.diff(weights[order]) <= 0).all()
    if temperature >= 1:  # no underflow: strictly
        assert (np.diff(weights[order])[np.diff(m[order]) > 0] < 0).all()


@given(Makespans)
def test_ties_share_a_reward(m: np.ndarray) -> None:
    doubled = np.concatenate([m, m])
    rewards, weights = ranked(doubled)
    assert (rewards[: m.size] == rewards[m.size :]).all()
    assert (weights[: m.size] == weights[m.size :]).all()


@given(Makespans, st.sampled_from([1e-30, 0.01, 3.7, 1e6, 1e200]), st.integers(0, 5000))
def test_affine_invariance(m: np.ndarray, scale: float, shift: int) -> None:
    rewards, weights = ranked(m)
    moved_rewards, moved_weights = ranked(scale * (m + shift))
    assert moved_rewards == pytest.approx(rewards, abs=1e-6)
    assert moved_weights == pytest.approx(weights, abs=1e-6)


@given(Makespans, st.randoms(use_true_random=False))
def test_order_of_siblings_does_not_matter(m: np.ndarray, random: object) -> None:
    permutation = np.random.default_rng(random.getrandbits(32)).permutation(m.size)  # type: ignore[attr-defined]
    rewards = rank_rewards(m)
    permuted = rank_rewards(m[permutation])
    assert permuted == pytest.approx(rewards[permutation], abs=1e-9)


@given(Makespans)
def test_rounding_does_not_split_ties(m: np.ndarray) -> None:
    assume(np.ptp(m) > 0)
    noise = 1 + 1e-15 * np.arange(m.size) / m.size
    rewards = rank_rewards(m * noise)
    for value in np.unique(m):
        assert np.ptp(rewards[m == value]) == 0


@pytest.mark.parametrize(
    "m", [[42.0], [7.0] * 5, [0.0, 0.0], [0.1 + 0.2, 0.3, 0.3], [1e308, 1e308]]
)
def test_nothing_to_rank(m: list[float]) -> None:
    rewards, weights = ranked(m)
    assert rewards.tolist() == [0.0] * len(m)
    assert weights.tolist() == [1 / len(m)] * len(m)


def test_extreme_values_stay_finite() -> None:
    for m in ([1.0, 2.0, 1e300], [1e308, 1.7e308], [5e-324, 1.0], [1.0, 1.0 + 1e-6]):
        for temperature in (1e-6, 1.0, 1e6):
            rewards, weights = ranked(m, temperature=temperature)
            assert np.isfinite(rewards).all()
            assert weights.sum() == pytest.approx(1.0)
            assert rewards[0] == rewards.max() > 0


def test_low_temperature_rewards_the_best_alone() -> None:
    weights = rank_weights([3.0, 1.0, 2.0, 4.0], temperature=1e-3)
    assert weights == pytest.approx([0, 1, 0, 0])


def test_errors() -> None:
    with pytest.raises(DAGSchedError, match=r"makespans needs shape \[K\]"):
        rank_rewards([])
    with pytest.raises(DAGSchedError, match=r"makespans\[1\] is nan"):
        rank_rewards([1.0, float("nan")])
    for temperature in (0.0, -1.0, float("nan")):
        with pytest.raises(DAGSchedError, match="temperature"):
            rank_rewards([1.0, 2.0], temperature=temperature)


@given(st.lists(st.tuples(st.integers(-3, 3), st.floats(-1, 1)), min_size=1, max_size=30))
def test_rank_correlation_is_that_of_spearman(pairs: list[tuple[int, float]]) -> None:
    a, b = np.array(pairs).T
    found = rank_correlation(a, b)
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        assert found == 0.0
    else:
        assert found == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-9)
