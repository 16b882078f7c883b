"""``LearnedOrder``: the learned dispatcher for simulators and engines."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from aerl_trainer.online.choices import GREEDY, decide
from aerl_trainer.online.context import (
    DispatchContext,
    DispatchWork,
    allocate_work,
    dispatch_context,
)
from aerl_trainer.online.weights import N_WEIGHTS, checked_weights
from dagsched_env.online.situation import Situation
from dagsched_env.problem.instance import Instance

__all__ = ["LearnedOrder"]


class LearnedOrder:
    """A small network that decides at each event which ready tasks start, and where.

    It knows what is expected of the tasks, what has happened so far, and by how much durations have
    differed. It is trained by ``aerl train --online`` for the makespan of one graph, and the mean
    completion of several.

    Args:
        instance: the problem; its durations are those that are expected.
        weights: ``[N_WEIGHTS]`` finite.

    Raises:
        DAGSchedError: weights of another length, or that are not finite.
    """

    def __init__(self, instance: Instance, weights: npt.ArrayLike) -> None:
        self._instance = instance
        self._weights = checked_weights(weights)
        self._greedy = np.full(1, GREEDY)
        self._no_gradient = np.zeros((0, N_WEIGHTS))
        self._made: tuple[DispatchContext, DispatchWork] | None = None

    def starts(self, situation: Situation) -> Iterator[tuple[int, int]]:
        """Those that start now."""
        context, work = self._made or self._make(situation)
        count = decide(
            self._instance.arrays,
            situation.arrays,
            context,
            work,
            self._weights,
            self._greedy,
            self._no_gradient,
        )
        for task, machine in work.starts[:count].tolist():
            if situation.can_start(task, machine):  # what is there may be late, or take no time
                yield task, machine

    def _make(self, situation: Situation) -> tuple[DispatchContext, DispatchWork]:
        """At the first call, which is the first to say what graphs there are."""
        n, p, _ = self._instance.shape
        context = dispatch_context(self._instance, situation.graph)
        self._made = context, allocate_work(n, p, int(situation.graph.max()) + 1)
        return self._made
