"""What the jobs of a plan wait for, so that workers keep its order."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dagsched_env.execution.threads import AHEAD, jobs_before
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import heft
from dagsched_env.schedulers.anytime import execution_order


def waits(instance, plan, threads):
    return jobs_before(instance, plan, execution_order(instance, plan).tolist(), threads)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3))
def test_none_waits_for_a_later_one_or_for_another_worker(seed, threads):
    rng = np.random.default_rng(seed)
    n, p = 20, 2
    edges = [(u, v) for v in range(n) for u in range(v) if rng.random() < 0.1]
    instance = Instance(
        np.repeat(rng.uniform(0.001, 2.0, (n, 1)), p, axis=1),
        edges,
        rng.uniform(0, 1, len(edges)),
        demands=np.ones((n, 1)),
        capacities=np.full((p, 1), threads),
    )
    plan = heft(instance)
    place = np.argsort(execution_order(instance, plan))
    for job, before in enumerate(waits(instance, plan, [threads] * p)):
        assert len(before) <= AHEAD
        for other in before:
            assert place[other] < place[job]
            assert plan.processor[other] == plan.processor[job]


def test_a_long_job_waits_for_one_that_may_be_late_and_a_short_one_does_not():
    seconds = np.array([1.0, 1.0, 1.0, 1.0, 0.01])
    instance = Instance(np.repeat(seconds[:, None], 2, axis=1), [(1, 2)], [0.0])
    plan = Schedule([0, 1, 0, 0, 0], [0, 0, 1, 2, 3], [1, 1, 2, 3, 3.01])  # 1 ends as 2 begins
    assert waits(instance, plan, [1, 1]) == [[], [], [], [2], []]


def test_a_thread_gets_few_jobs_at_once():
    n = 10
    instance = Instance(np.ones((n, 1)), [], [])
    plan = Schedule([0] * n, np.arange(n), np.arange(n) + 1.0)
    before = waits(instance, plan, [1])
    assert before == [[max(0, j - AHEAD)] if j >= AHEAD else [] for j in range(n)]
