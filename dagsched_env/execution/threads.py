"""What a job of a plan has to wait for on its worker, beside its inputs, so that the order is kept.

A worker that has all jobs begins any that is ready, also a long one just before the next one of the
plan becomes ready. But a job that waits for another is sent to its worker, and fetches its inputs,
only after that one has ended. So it waits for those alone that it could really hold up.
"""

from collections import deque
from collections.abc import Sequence

import numpy as np

from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule

AHEAD = 4
"""A thread has so many jobs at once: one runs, the others fetch their inputs."""
SHORT_S = 0.02
"""A job that takes no longer holds up none: a message to start it would take nearly as long."""
OFF = 0.05
"""Runs are off their plan by this share of the time that has passed."""


def jobs_before(
    instance: Instance, plan: Schedule, order: Sequence[int], threads: Sequence[int]
) -> list[list[int]]:
    """For each job those of its thread that have to end before it begins.

    These are the ones shortly before it that may become ready after their planned start. All others
    are ready by then, and Dask begins them in their order.

    Args:
        instance: the problem; each job takes one thread.
        plan: a valid schedule of it.
        order: all jobs by their planned start, each behind its predecessors.
        threads: ``[p]`` of each worker, ≥ 1.

    Returns:
        ``[n]`` lists of jobs that are earlier in ``order``.
    """
    before: list[list[int]] = [[] for _ in order]
    lanes = [[_Lane() for _ in range(count)] for count in threads]
    for job in order:
        start, finish = float(plan.start[job]), float(plan.finish[job])
        inputs, ready = _inputs(instance, plan, job)
        # The thread that one of its inputs leaves; else the one that is free for the longest time.
        lane = min(
            lanes[int(plan.processor[job])],
            key=lambda of: (of.free > start, of.last not in inputs, of.free),
        )
        if finish - start > SHORT_S:
            before[job] = [other for other, may_be_late in lane.jobs if may_be_late]
            if len(lane.jobs) == AHEAD and lane.jobs[0][0] not in before[job]:
                before[job].append(lane.jobs[0][0])
        late = bool(inputs) and ready > start * (1 - OFF) - SHORT_S
        lane.add(job, finish, may_be_late=late)
    return before


class _Lane:
    """One thread of a worker."""

    def __init__(self) -> None:
        self.jobs: deque[tuple[int, bool]] = deque(maxlen=AHEAD)
        """Those planned last, and whether they may become ready after their planned start."""
        self.free = -1.0
        """Planned end of the last one (seconds)."""

    @property
    def last(self) -> int:
        return self.jobs[-1][0] if self.jobs else -1

    def add(self, job: int, finish: float, *, may_be_late: bool) -> None:
        self.jobs.append((job, may_be_late))
        self.free = finish


def _inputs(instance: Instance, plan: Schedule, job: int) -> tuple[set[int], float]:
    """Jobs that make the inputs of a job, and when these are planned to be there (seconds)."""
    g, q = instance.arrays, plan.processor
    inputs = g.pred_task[g.pred_ptr[job] : g.pred_ptr[job + 1]]
    data = g.pred_data[g.pred_ptr[job] : g.pred_ptr[job + 1]]
    sent = np.where(
        q[inputs] == q[job],
        0.0,
        instance.latency[q[inputs], q[job]] + data * instance.inv_bandwidth[q[inputs], q[job]],
    )
    return set(inputs.tolist()), float((plan.finish[inputs] + sent).max(initial=0.0))
