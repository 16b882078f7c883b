"""What inference counts: means, histogram and quantile, by hand."""

import pytest

from aerl_trainer.network.inference.metrics import InferenceTotals, count_batch, rates_between


def counted(*batches: tuple[int, int, list[float], int]) -> InferenceTotals:
    """Totals of batches of (leaves, depth, latencies in ms, staleness), 2 ms each."""
    totals = InferenceTotals.zero(2)
    for leaves, depth, latencies_ms, staleness in batches:
        count_batch(
            totals.counts[0],
            totals.latencies[0],
            leaves=leaves,
            depth=depth,
            busy_ns=2_000_000,
            latencies_ns=[round(1e6 * latency) for latency in latencies_ms],
            staleness=staleness,
        )
    return totals


def test_rates_are_means_over_the_stretch() -> None:
    before = counted((100, 9, [50.0] * 9, 3))
    after = counted((100, 9, [50.0] * 9, 3), (8, 1, [1.0], 0), (24, 2, [2.0, 3.0], 1))
    rates = rates_between(before, after, seconds=4.0)
    assert rates is not None
    assert rates.leaves_per_s == 8.0
    assert rates.mean_batch == 16.0
    assert rates.queue_depth == 1.5
    assert rates.latency_ms == 2.0
    assert rates.staleness == 0.5
    assert rates.busy == pytest.approx(0.004 / (4.0 * 2)), "of two workers, one of which idles"
    assert rates_between(after, after, seconds=4.0) is None


@pytest.mark.parametrize("latency_ms", [0.0005, 0.001, 0.35, 7.0, 900.0, 20_000.0])
def test_the_quantile_of_latencies_is_right_to_a_bucket(latency_ms: float) -> None:
    slow = [latency_ms] * 10
    after = counted((1, 1, [latency_ms / 100] * 90, 0), (1, 1, slow, 0))
    rates = rates_between(InferenceTotals.zero(2), after, 1.0)
    assert rates is not None
    assert (
        max(latency_ms, 0.001) <= rates.latency_p95_ms <= max(latency_ms, 0.001) * 2**0.25 * 1.001
    )


def test_latencies_beyond_the_histogram_are_in_its_last_bucket() -> None:
    after = counted((1, 1, [1e7], 0))
    assert after.latencies[0, -1] == 1
