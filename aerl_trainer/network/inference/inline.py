"""The inline backend: an actor evaluates its own leaves, with the weights last published."""

import time

from aerl_trainer.network.evaluator import TorchEvaluator
from aerl_trainer.network.inference.metrics import Counts, count_batch
from aerl_trainer.network.inference.weights import WeightBuffer
from aerl_trainer.policy.encoding.states import EncodedStates
from dagsched_env.problem.instance import Instance


class InlineEvaluator:
    """An ``Evaluator`` in the actor's own process.

    Args:
        evaluator: does the work.
        weights: published by the learner; None = the caller loads them into ``evaluator``.
        counts: ``[N_COUNTS]`` totals of this actor, written here.
        latencies: ``[LATENCY_BUCKETS]`` its histogram of latencies, written here.
    """

    def __init__(
        self,
        evaluator: TorchEvaluator,
        weights: WeightBuffer | None,
        counts: Counts,
        latencies: Counts,
    ) -> None:
        self._evaluator, self._weights = evaluator, weights
        self._counts, self._latencies = counts, latencies

    def evaluate(self, instance: Instance, states: EncodedStates, count: int) -> int:
        """Take new weights if there are any, then answer.

        Args:
            states: answered.
            count: how many of the rows.
        """
        started = time.monotonic_ns()
        if self._weights is not None and self._weights.version != self._evaluator.version:
            self._evaluator.load(*self._weights.read())
        version = self._evaluator.evaluate(instance, states, count)
        elapsed = time.monotonic_ns() - started
        count_batch(
            self._counts,
            self._latencies,
            leaves=count,
            depth=1,
            busy_ns=elapsed,
            latencies_ns=[elapsed],
            staleness=0 if self._weights is None else self._weights.version - version,
        )
        return version
