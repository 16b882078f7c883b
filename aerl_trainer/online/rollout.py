"""Runs of one world by the learned dispatcher, with the gradient of their log-probability."""

from typing import NamedTuple

import numpy as np

from aerl_trainer.online.choices import GREEDY, decide
from aerl_trainer.online.context import (
    DispatchContext,
    DispatchWork,
    allocate_work,
    dispatch_context,
)
from aerl_trainer.online.weights import N_WEIGHTS
from dagsched_env.kernels.arrays import Floats, InstanceArrays
from dagsched_env.kernels.jit import borrowing
from dagsched_env.kernels.online.situation import (
    N_FINISHED,
    SituationArrays,
    allocate_situation,
    begin,
    can_start,
    start,
)
from dagsched_env.kernels.online.world import (
    WorldArrays,
    advance,
    open_world,
    settle,
    start_in,
)
from dagsched_env.online.world import World
from dagsched_env.problem.errors import DAGSchedError

NUMBERS_PER_TASK = 8
"""Random numbers of a run; after so many choices they come again."""


class RunGroup(NamedTuple):
    """K runs of one world."""

    objectives: Floats  # [K] makespan; of several graphs their mean completion (time)
    gradients: Floats  # [K, N_WEIGHTS] of each run's log-probability; [0, N_WEIGHTS] without


@borrowing
def roll_out_runs(
    g: InstanceArrays,
    s: SituationArrays,
    world: WorldArrays,
    c: DispatchContext,
    w: DispatchWork,
    weights: Floats,
    uniforms: Floats,
    objectives: Floats,
    gradients: Floats,
) -> bool:
    """K runs from the beginning, with the same real durations.

    Args:
        s: scratch; that of the last run is left in it.
        world: what happens.
        w: scratch.
        uniforms: ``[K, m]`` in [0, 1), or ``GREEDY``.
        objectives: ``[K]`` out (time).
        gradients: ``[K, N_WEIGHTS]`` out; or ``[0, N_WEIGHTS]`` to leave it out.

    Returns:
        False where a run could not be finished.
    """
    for k in range(uniforms.shape[0]):
        wanted = k < gradients.shape[0]
        row = gradients[k : k + 1] if wanted else gradients[0:0]
        if wanted:
            for j in range(gradients.shape[1]):
                gradients[k, j] = 0.0
        begin(g, s)
        open_world(g, s, world)
        w.used[0] = 0
        going = settle(g, s, world)
        while going:
            count = decide(g, s, c, w, weights, uniforms[k], row)
            for i in range(count):
                t, q = w.starts[i, 0], w.starts[i, 1]
                if can_start(g, s, t, q):
                    start(g, s, t, q)
                    start_in(g, s, world, t)
            going = advance(g, s, world) and settle(g, s, world)
        if s.counts[N_FINISHED] < g.comp.shape[0]:
            return False
        objectives[k] = _mean_completion(s, world)
    return True


@borrowing
def _mean_completion(s: SituationArrays, world: WorldArrays) -> float:
    """Mean time from the arrival of a graph to its completion; of one graph, its makespan."""
    total, graphs = 0.0, world.arrival.shape[0]
    for u in range(graphs):
        end = 0.0
        for t in range(world.first[u], world.first[u + 1]):
            end = max(end, s.finish[t])
        total += end - world.arrival[u]
    return total / graphs  # type: ignore[no-any-return]


class Runs:
    """Runs of one world. One object serves one thread.

    Args:
        world: what happens. It is judged by the makespan, or with several graphs by the mean time
            from arrival to completion.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        instance = world.instance
        self._context = dispatch_context(instance, world.graph)
        self._situation = allocate_situation(*instance.shape)
        n, p, _ = instance.shape
        self._work = allocate_work(n, p, world.n_graphs)

    def sample(self, weights: Floats, count: int, rng: np.random.Generator) -> RunGroup:
        """``count`` runs that are drawn, with gradients."""
        uniforms = rng.random((count, NUMBERS_PER_TASK * self._world.instance.n_tasks))
        return self.roll_out(weights, uniforms, gradients=True)

    def greedy(self, weights: Floats) -> float:
        """The objective of the run by the most probable choices (time)."""
        return float(self.roll_out(weights, np.full((1, 1), GREEDY)).objectives[0])

    def roll_out(self, weights: Floats, uniforms: Floats, *, gradients: bool = False) -> RunGroup:
        """K runs.

        Args:
            weights: ``[N_WEIGHTS]``.
            uniforms: ``[K, m]`` random numbers in [0, 1) of their choices, or ``GREEDY``.
            gradients: wanted.

        Raises:
            DAGSchedError: a run cannot be finished, as machines do not come back.
        """
        count = len(uniforms)
        group = RunGroup(np.zeros(count), np.zeros((count if gradients else 0, N_WEIGHTS)))
        finished = roll_out_runs(
            self._world.instance.arrays,
            self._situation,
            self._world.arrays(),
            self._context,
            self._work,
            weights,
            uniforms,
            group.objectives,
            group.gradients,
        )
        if not finished:
            raise DAGSchedError("nothing happens any more, and not all tasks have run")
        return group
