"""The inline backend: an actor evaluates its own leaves, with the weights last published."""

from aerl_trainer.inference.weights import WeightBuffer
from aerl_trainer.nn.evaluator import TorchEvaluator
from aerl_trainer.search.leaves import LeafArrays
from dagsched_env.instance import Instance

__all__ = ["InlineEvaluator"]


class InlineEvaluator:
    """An ``Evaluator`` in the actor's own process."""

    def __init__(self, evaluator: TorchEvaluator, weights: WeightBuffer) -> None:
        self._evaluator, self._weights = evaluator, weights

    def evaluate(self, instance: Instance, leaves: LeafArrays, count: int) -> int:
        """Take new weights if there are any, then fill the first ``count`` rows."""
        if self._weights.version != self._evaluator.version:
            self._evaluator.load(*self._weights.read())
        return self._evaluator.evaluate(instance, leaves, count)
