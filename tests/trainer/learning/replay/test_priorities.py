"""The distributions: frequencies against probabilities, strata, weights, saving."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from aerl_trainer.learning.replay.priorities import (
    PRIORITY_FLOOR,
    Kind,
    Priorities,
    importance_weights,
    make_priorities,
)

KINDS: tuple[Kind, ...] = ("proportional", "rank", "uniform")


def expected_probabilities(kind: Kind, losses: np.ndarray, alpha: float) -> np.ndarray:
    """From the definitions in the paper."""
    priorities = losses + PRIORITY_FLOOR
    if kind == "proportional":
        shares = priorities**alpha
    elif kind == "rank":
        ranks = np.empty(len(losses))
        ranks[np.argsort(-priorities, kind="stable")] = np.arange(1, len(losses) + 1)
        shares = (1 / ranks) ** alpha
    else:
        shares = np.ones(len(losses))
    return shares / shares.sum()


def filled(kind: Kind, losses: np.ndarray, *, alpha: float, capacity: int = 0) -> Priorities:
    priorities = make_priorities(kind, capacity or len(losses), alpha)
    slots = np.arange(len(losses))
    priorities.add_many(slots)
    priorities.update(slots, losses)
    return priorities


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("alpha", [0.0, 0.7, 1.0])
def test_frequencies_are_the_probabilities(kind: Kind, alpha: float) -> None:
    losses = 0.05 + np.random.default_rng(1).exponential(size=30)
    priorities = filled(kind, losses, alpha=alpha, capacity=41)
    expected = expected_probabilities(kind, losses, alpha)
    rng = np.random.default_rng(2)
    # Batches of one are independent draws, as the χ² test wants them.
    draws = [priorities.sample(1, rng) for _ in range(8000)]
    slots = np.concatenate([slots for slots, _ in draws])
    counts = np.bincount(slots, minlength=30)
    assert stats.chisquare(counts, expected * 8000).pvalue > 0.01
    assert np.concatenate([p for _, p in draws]) == pytest.approx(expected[slots])
    assert priorities.least_probability() == pytest.approx(expected.min())
    if kind != "uniform" and alpha:  # the test can fail
        assert stats.chisquare(counts, np.full(30, 8000 / 30)).pvalue < 1e-6


@pytest.mark.parametrize("kind", KINDS)
def test_frequencies_after_many_updates(kind: Kind) -> None:
    rng = np.random.default_rng(3)
    losses = rng.exponential(size=1000)
    priorities = filled(kind, losses, alpha=0.8)
    for _ in range(300):
        slots, _ = priorities.sample(64, rng)
        changed = rng.exponential(size=64)
        priorities.update(slots, changed)
        losses[slots] = changed
    expected = expected_probabilities(kind, losses, 0.8)
    found, probabilities = priorities.sample(50_000, rng)
    assert probabilities == pytest.approx(expected[found])
    # One item from each of 50 000 strata: no count is further than 2 from its expectation.
    assert np.abs(np.bincount(found, minlength=1000) - 50_000 * expected).max() < 2


@pytest.mark.parametrize("kind", KINDS)
@given(st.lists(st.floats(0, 1e3), min_size=1, max_size=60), st.integers(1, 40), st.integers(0, 9))
def test_each_stratum_gives_one_item(kind: Kind, losses: list, size: int, seed: int) -> None:
    given_losses = np.array(losses)
    priorities = filled(kind, given_losses, alpha=0.6)
    slots, _ = priorities.sample(size, np.random.default_rng(seed))
    probabilities = expected_probabilities(kind, given_losses, 0.6)
    if kind == "rank":  # its shares lie in the order of the ranks
        order = np.argsort(-(given_losses + PRIORITY_FLOOR), kind="stable")
    else:
        order = np.arange(len(losses))
    ends = np.empty(len(losses))
    ends[order] = np.cumsum(probabilities[order])
    begins = ends - probabilities
    strata = np.arange(size) / size
    assert (begins[slots] < strata + 1 / size + 1e-9).all()
    assert (ends[slots] > strata - 1e-9).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beta", [0.0, 0.4, 1.0])
def test_weights_by_brute_force(kind: Kind, beta: float) -> None:
    losses = np.random.default_rng(4).exponential(size=50)
    priorities = filled(kind, losses, alpha=0.6, capacity=64)
    all_weights = (50 * expected_probabilities(kind, losses, 0.6)) ** -beta
    slots, probabilities = priorities.sample(16, np.random.default_rng(5))
    by_batch = importance_weights(probabilities, 50, beta, 0.0)
    assert by_batch == pytest.approx(all_weights[slots] / all_weights[slots].max())
    by_buffer = importance_weights(probabilities, 50, beta, priorities.least_probability())
    assert by_buffer == pytest.approx(all_weights[slots] / all_weights.max())


@pytest.mark.parametrize("kind", KINDS)
def test_new_items_get_the_highest_priority(kind: Kind) -> None:
    priorities = filled(kind, np.array([0.5, 9.0, 0.1]), alpha=1.0, capacity=5)
    priorities.add(3)
    values = priorities.values()
    assert values[4] == 0
    if kind == "uniform":
        assert values[:4].tolist() == [1, 1, 1, 1]
    else:
        assert values[3] == values[1] == priorities.highest == 9.0 + PRIORITY_FLOOR


@pytest.mark.parametrize("kind", KINDS)
def test_loaded_priorities_go_on_alike(kind: Kind) -> None:
    original = filled(kind, np.random.default_rng(6).exponential(size=20), alpha=0.6, capacity=30)
    twin = make_priorities(kind, 30, 0.6)
    twin.load(original.values(), original.highest)
    for p in (original, twin):
        p.add(20)
        p.update(np.array([3, 4]), np.array([7.0, 0.0]))
    one, other = (p.sample(64, np.random.default_rng(7)) for p in (original, twin))
    assert one[0].tolist() == other[0].tolist()
    assert one[1].tolist() == other[1].tolist()
    assert original.values().tolist() == twin.values().tolist()
    assert original.highest == twin.highest
