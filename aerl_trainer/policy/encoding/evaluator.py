"""What answers a batch of encoded states: a network, here or elsewhere, or the prior alone."""

from typing import Protocol

from aerl_trainer.policy.encoding.states import EncodedStates
from dagsched_env.problem.instance import Instance


class Evaluator(Protocol):
    """Something that fills ``logits`` and ``prediction`` of a batch."""

    def evaluate(self, instance: Instance, states: EncodedStates, count: int) -> int:
        """Answer the first ``count`` states, all of one problem.

        Args:
            states: its encoded states.
            count: how many of its rows are asked for.

        Returns:
            The version of the model.
        """
        ...


class PriorEvaluator:
    """No network: the hand-made prior and the list completion as they are."""

    def evaluate(self, instance: Instance, states: EncodedStates, count: int) -> int:
        """Answer 0 everywhere.

        Args:
            instance: not used.
            states: answered.
            count: how many of the rows.
        """
        states.logits[:count] = 0.0
        states.prediction[:count] = 0.0
        return 0
