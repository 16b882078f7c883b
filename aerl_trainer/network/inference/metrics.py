"""What the workers of inference count, and the figures that are made of it.

A worker here is an inference worker, or an actor that evaluates its own states. Each writes one row
of counts in shared memory, once for each batch.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

# counts[worker, ...]
BATCHES, LEAVES, REQUESTS, DEPTH, BUSY_NS, LATENCY_NS, STALENESS = range(7)
N_COUNTS = 7

BUCKETS_PER_OCTAVE = 4
LATENCY_BUCKETS = 25 * BUCKETS_PER_OCTAVE
"""Bucket k holds latencies from 2^(k/4) µs on, a step of 19 %; the last one from 30 s on."""
QUANTILE = 0.95

Counts = npt.NDArray[np.int64]


def count_batch(
    counts: Counts,
    latencies: Counts,
    *,
    leaves: int,
    depth: int,
    busy_ns: int,
    latencies_ns: Sequence[int],
    staleness: int,
) -> None:
    """Add one batch to a worker's row.

    Args:
        counts: ``[N_COUNTS]`` the worker's totals.
        latencies: ``[LATENCY_BUCKETS]`` its histogram of latencies.
        leaves: in the batch.
        depth: requests that waited when the worker took the batch.
        busy_ns: time spent on the batch.
        latencies_ns: of each request, from its post to its answer.
        staleness: version published by now minus the version that was used.
    """
    counts[BATCHES] += 1
    counts[LEAVES] += leaves
    counts[REQUESTS] += len(latencies_ns)
    counts[DEPTH] += depth
    counts[BUSY_NS] += busy_ns
    counts[LATENCY_NS] += sum(latencies_ns)
    counts[STALENESS] += staleness
    for latency in latencies_ns:
        latencies[_bucket(latency)] += 1


def _bucket(latency_ns: int) -> int:
    bucket = int(BUCKETS_PER_OCTAVE * math.log2(max(latency_ns, 1000) / 1000.0))
    return min(bucket, LATENCY_BUCKETS - 1)


class InferenceTotals(NamedTuple):
    """Totals since the start."""

    counts: Counts  # [workers, N_COUNTS]
    latencies: Counts  # [workers, LATENCY_BUCKETS]

    @classmethod
    def zero(cls, workers: int) -> "InferenceTotals":
        return cls(
            np.zeros((workers, N_COUNTS), dtype=np.int64),
            np.zeros((workers, LATENCY_BUCKETS), dtype=np.int64),
        )

    def copy(self) -> "InferenceTotals":
        """As they are now."""
        return InferenceTotals(self.counts.copy(), self.latencies.copy())

    def of(self, worker: int) -> "InferenceTotals":
        """Those of one worker."""
        row = slice(worker, worker + 1)
        return InferenceTotals(self.counts[row], self.latencies[row])

    def total(self, which: int) -> int:
        """Sum over the workers of one of the counts, as ``total(LEAVES)``."""
        return int(self.counts[:, which].sum())


@dataclass(frozen=True)
class InferenceRates:
    """Inference over some stretch of time; means over all workers."""

    leaves_per_s: float
    mean_batch: float
    """Leaves per pass of the network."""
    queue_depth: float
    """Requests that waited when a worker took a batch, before it waited for more."""
    latency_ms: float
    """From the post of a request to its answer."""
    latency_p95_ms: float
    """95 % of the requests were answered within this time, to 19 %."""
    staleness: float
    """Publications of weights that a batch's answers were behind at its end."""
    busy: float
    """Share of the time that a worker spent on batches, in [0, 1]."""


def rates_between(
    before: InferenceTotals, after: InferenceTotals, seconds: float
) -> InferenceRates | None:
    """Rates of the time between two totals.

    Args:
        before: the earlier totals.
        after: the later totals.
        seconds: between the two.

    Returns:
        None if nothing was evaluated.
    """
    counts = (after.counts - before.counts).sum(axis=0)
    if counts[BATCHES] == 0 or seconds <= 0:
        return None
    batches, requests = float(counts[BATCHES]), max(float(counts[REQUESTS]), 1.0)
    histogram = (after.latencies - before.latencies).sum(axis=0)
    return InferenceRates(
        leaves_per_s=float(counts[LEAVES]) / seconds,
        mean_batch=float(counts[LEAVES]) / batches,
        queue_depth=float(counts[DEPTH]) / batches,
        latency_ms=float(counts[LATENCY_NS]) / requests / 1e6,
        latency_p95_ms=_quantile_ms(histogram),
        staleness=float(counts[STALENESS]) / batches,
        busy=float(counts[BUSY_NS]) / (1e9 * seconds * after.counts.shape[0]),
    )


def _quantile_ms(histogram: npt.NDArray[Any]) -> float:
    """Upper end of the bucket in which the quantile lies; 0 for an empty histogram."""
    cumulated = np.cumsum(histogram)
    if cumulated[-1] == 0:
        return 0.0
    bucket = int(np.searchsorted(cumulated, QUANTILE * cumulated[-1]))
    return float(2.0 ** ((bucket + 1) / BUCKETS_PER_OCTAVE)) / 1000.0
