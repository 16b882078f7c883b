"""What each task of a run waited for, and the longest chains of its graph."""

from typing import Literal, NamedTuple

import numpy as np

from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.run import Run


class Step(NamedTuple):
    """One task of the chain that a run waited for."""

    task: int
    waits_for: Literal["data", "machine", "nothing"]
    """The task before it in the chain made its input, or left its machine; or it is the first."""
    gap: float
    """Seconds between the end of the task before it, or the beginning of the run, and its start."""


class Chain(NamedTuple):
    """Tasks that must run one after another."""

    tasks: tuple[int, ...]
    seconds: float
    """What they take together."""
    slack: float
    """By how much they could take longer before this became the longest chain."""


def measured_chain(run: Run, instance: Instance) -> list[Step]:
    """The chain that ends with the last task of a run, followed backwards.

    A task waited for the last of those that finished before it started: that which it needs data
    of, or without whose end it had no room on its machine: with it, the tasks there would have
    exceeded a resource, or have been more than ever ran there at once. Of equal ones, data counts.

    Args:
        run: all its tasks ran.
        instance: its problem.

    Returns:
        The chain in the order of time; the gaps are what the tool took between tasks.
    """
    g, start, finish = instance.arrays, run.start, run.finish
    slack = 1e-9 * run.makespan
    most = _most_at_once(run)
    t = int(np.argmax(finish))
    chain, seen = list[Step](), {t}
    while True:
        data = g.pred_task[g.pred_ptr[t] : g.pred_ptr[t + 1]]
        data = data[finish[data] <= start[t] + slack]
        left = [u for u in data.tolist() if u not in seen]
        before = max(left, key=lambda u: finish[u], default=-1)
        reason = "data" if left else "nothing"
        ended = finish[before] if left else -np.inf
        beside = (run.machine == run.machine[t]) & (finish <= start[t] + slack)
        beside &= finish > ended + slack
        for u in sorted(np.flatnonzero(beside).tolist(), key=lambda u: -finish[u]):
            if u not in seen and _held_up(t, u, run, instance, most):
                before, reason, ended = u, "machine", finish[u]
                break
        ended = max(ended, 0.0)
        chain.append(Step(t, reason, float(max(0.0, start[t] - ended))))  # type: ignore[arg-type]
        if before < 0:
            return chain[::-1]
        t = before
        seen.add(t)


def _most_at_once(run: Run) -> Ints:
    """``[machines]`` tasks that ran there at once, at most."""
    most = np.zeros(len(run.machines.speeds), dtype=np.int64)
    for q in range(len(most)):
        own = run.machine == q
        times = np.concatenate([run.finish[own], run.start[own]])  # of equal times, ends come first
        steps = np.repeat([-1, 1], np.count_nonzero(own))
        running = np.cumsum(steps[np.argsort(times, kind="stable")])
        most[q] = running.max(initial=0)
    return most


def _held_up(t: int, u: int, run: Run, instance: Instance, most: Ints) -> bool:
    """Whether a task had no room on the machine of u until u ended."""
    at, machine = run.finish[u], run.machine[u]
    there = (run.machine == machine) & (run.start < at) & (run.finish >= at)
    there[t] = True
    used = instance.demands[there].sum(axis=0)
    exceeds = (used > instance.capacities[machine]).any() if instance.n_resources else False
    return bool(exceeds or np.count_nonzero(there) > most[machine])


def longest_chains(instance: Instance, seconds: Floats, most: int) -> list[Chain]:
    """The longest chain of the graph, then the longest one through a task that is in none so far.

    Args:
        instance: the graph.
        seconds: ``[n]`` what each task takes; transfers take nothing.
        most: number of chains, ≥ 1.
    """
    g = instance.arrays
    head, before = _longest(seconds, g.topo, g.pred_ptr, g.pred_task)
    tail, behind = _longest(seconds, g.topo[::-1], g.succ_ptr, g.succ_task)
    through = head + tail + seconds
    longest, left = float(through.max()), through.copy()
    chains = list[Chain]()
    while len(chains) < most and left.max() > -np.inf:
        t = int(np.argmax(left))
        tasks = [*_follow(before, t)[::-1], t, *_follow(behind, t)]
        chains.append(Chain(tuple(tasks), float(through[t]), longest - float(through[t])))
        left[tasks] = -np.inf
    return chains


def _longest(seconds: Floats, order: Ints, pointer: Ints, others: Ints) -> tuple[Floats, list[int]]:
    """Longest sum of tasks on one side of each task, and the neighbour through which it goes."""
    length, through = np.zeros(len(seconds)), [-1] * len(seconds)
    for t in order.tolist():
        for u in others[pointer[t] : pointer[t + 1]].tolist():
            if length[u] + seconds[u] > length[t] or through[t] < 0:
                length[t], through[t] = length[u] + seconds[u], u
    return length, through


def _follow(through: list[int], t: int) -> list[int]:
    found = list[int]()
    while through[t] >= 0:
        t = through[t]
        found.append(t)
    return found
