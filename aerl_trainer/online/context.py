"""What the kernels of the learned dispatcher know of a problem, and their scratch space."""

from typing import NamedTuple

import numpy as np

from aerl_trainer.online.features import N_FEATURES
from aerl_trainer.online.weights import HIDDEN
from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.kernels.online.situation import Bools
from dagsched_env.problem.instance import Instance

TASKS = 8
"""Most ready tasks among which a choice is made."""
MACHINES = 6
"""Most machines of each."""
PAIRS = TASKS * MACHINES

# DispatchWork.moment
PRESSURE_NOW, DONE_NOW, SURPRISE_NOW, MOST_WORK, LEAST_WORK = range(5)


class DispatchContext(NamedTuple):
    """Constant; n tasks, p machines."""

    rank: Floats  # [n] rank_u (time)
    to_go: Floats  # [n, p] optimistic cost beyond the least of the task (time), 0 if ineligible
    unit: Floats  # [n] mean duration, > 0 (time)
    length: Floats  # [n] logarithm of its mean duration in mean durations
    degree: Floats  # [n] logarithm of its out-degree
    graph: Ints  # [n] of which graph it is
    scale: Floats  # [1] mean duration of all tasks, > 0 (time)


class DispatchWork(NamedTuple):
    """Scratch; u graphs. Rows belong to the tasks of the short list."""

    holds: Ints  # [n] tasks that run, then those that are assigned
    until: Floats  # [n] when each of them is expected to end (time)
    seen: Bools  # [n] of ready tasks: assigned, or in the short list, or without any machine
    free_at: Floats  # [p] without resources: when a machine is expected to be free (time)
    queue: Ints  # [p] tasks that are assigned and wait
    overdue: Floats  # [p]
    age: Floats  # [p]
    taken: Floats  # [p] share in use
    left: Floats  # [u] work left (time)
    tasks: Ints  # [TASKS] by rank_u, the highest first
    short: Bools  # [TASKS] listed because its graph has little work left
    room: Floats  # [TASKS, p] from when on a machine is expected to have room (time)
    finish: Floats  # [TASKS, p] expected finish, inf where it cannot run (time)
    pair_row: Ints  # [PAIRS]
    pair_machine: Ints  # [PAIRS]
    x: Floats  # [PAIRS, N_FEATURES]
    hidden: Floats  # [PAIRS, HIDDEN]
    slopes: Floats  # [HIDDEN]
    logits: Floats  # [PAIRS] then probabilities
    moment: Floats  # [5]
    starts: Ints  # [n, 2] tasks that start and their machines
    used: Ints  # [1] random numbers that have been used


def dispatch_context(instance: Instance, graph: Ints) -> DispatchContext:
    """Of a problem.

    Args:
        instance: with the expected durations.
        graph: ``[n]`` of which graph each task is.
    """
    mean = instance.arrays.mean_comp
    scale = float(mean.mean()) or 1.0
    unit = np.where(mean > 1e-6 * scale, mean, scale)
    eligible = np.isfinite(instance.comp)
    cost = np.where(eligible, instance.oct, np.inf)
    to_go = np.where(eligible, cost - cost.min(axis=1, keepdims=True), 0.0)
    degree = np.diff(instance.arrays.succ_ptr)
    return DispatchContext(
        rank=np.array(instance.rank_u),
        to_go=to_go,
        unit=unit,
        length=np.clip(np.log(unit / scale) / 2.0, -2.0, 2.0),
        degree=np.log1p(degree) / 3.0,
        graph=np.array(graph),
        scale=np.array([scale]),
    )


def allocate_work(n: int, p: int, graphs: int) -> DispatchWork:
    """Scratch space."""

    def ints(*shape: int) -> Ints:
        return np.zeros(shape, dtype=np.int64)

    def floats(*shape: int) -> Floats:
        return np.zeros(shape)

    return DispatchWork(
        holds=ints(n),
        until=floats(n),
        seen=np.zeros(n, dtype=np.bool_),
        free_at=floats(p),
        queue=ints(p),
        overdue=floats(p),
        age=floats(p),
        taken=floats(p),
        left=floats(graphs),
        tasks=ints(TASKS),
        short=np.zeros(TASKS, dtype=np.bool_),
        room=floats(TASKS, p),
        finish=floats(TASKS, p),
        pair_row=ints(PAIRS),
        pair_machine=ints(PAIRS),
        x=floats(PAIRS, N_FEATURES),
        hidden=floats(PAIRS, HIDDEN),
        slopes=floats(HIDDEN),
        logits=floats(PAIRS),
        moment=floats(5),
        starts=ints(n, 2),
        used=ints(1),
    )
