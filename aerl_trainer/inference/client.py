"""The actor's side of the inference server."""

from collections.abc import Callable

from aerl_trainer.inference.arena import Arena
from aerl_trainer.search.leaves import LeafArrays
from dagsched_env.instance import Instance

__all__ = ["InferenceClient", "ServerGone"]

PATIENCE_S = 0.2
"""Time between looks at whether anyone is still there."""


class ServerGone(RuntimeError):  # noqa: N818 - names the event, as StopIteration does
    """The run is over or its parent is dead: nobody will answer."""


class InferenceClient:
    """An ``Evaluator`` that has its leaves evaluated by the inference worker.

    Args:
        arena: the shared slots.
        actor: whose slot to use; the leaves to evaluate must be ``arena.leaves[actor]``.
        tree: slot of the tree; the inference worker knows its instance by this number.
        running: False once waiting has become pointless.
    """

    def __init__(self, arena: Arena, actor: int, tree: int, running: Callable[[], bool]) -> None:
        self._arena, self._actor, self._tree, self._running = arena, actor, tree, running

    def evaluate(self, instance: Instance, leaves: LeafArrays, count: int) -> int:
        """Post the first ``count`` rows and sleep until they are answered.

        Raises:
            ServerGone: ``running()`` turned False while waiting.
        """
        answered = self._arena.answers[self._actor]
        ticket = self._arena.post(self._actor, self._tree, count)
        while (version := self._arena.version_of(ticket)) is None:
            if not answered.acquire(timeout=PATIENCE_S) and not self._running():
                raise ServerGone("the inference worker is gone")
        return version
