"""The actor's side of a request."""

from collections.abc import Callable

from aerl_trainer.network.inference.request_slots import RequestSlots
from aerl_trainer.policy.encoding.states import EncodedStates
from dagsched_env.problem.instance import Instance

PATIENCE_S = 0.2
"""Seconds between two checks that the parent is alive."""


class WorkerGone(RuntimeError):  # noqa: N818 - names the event, as StopIteration does
    """The run is over or its parent is dead: nobody will answer."""


class InferenceClient:
    """An ``Evaluator`` that has its states evaluated by the inference worker.

    Args:
        slots: the shared request slots.
        actor: whose slot to use; the states to evaluate must be ``slots.states[actor]``.
        tree: slot of the tree; the inference worker knows its instance by this number.
        running: False once waiting has become pointless.
    """

    def __init__(
        self, slots: RequestSlots, actor: int, tree: int, running: Callable[[], bool]
    ) -> None:
        self._slots, self._actor, self._tree, self._running = slots, actor, tree, running

    def evaluate(self, instance: Instance, states: EncodedStates, count: int) -> int:
        """Post a request and sleep until it is answered.

        Args:
            instance: not sent: the worker knows it by the tree's slot.
            states: of the actor's request slot.
            count: how many of its rows are asked for.

        Raises:
            WorkerGone: ``running()`` turned False while waiting.
        """
        answered = self._slots.answers[self._actor]
        ticket = self._slots.post(self._actor, self._tree, count)
        while (version := self._slots.version_of(ticket)) is None:
            if not answered.wait(PATIENCE_S) and not self._running():
                raise WorkerGone("the inference worker is gone")
        return version
