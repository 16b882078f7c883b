"""Lower bounds: sound against brute force, ordered, and sharp where the optimum is obvious."""

import math

import numpy as np
import pytest
from hypothesis import given

from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.kernels.graph import bounds
from dagsched_env.problem.bounds import heads, lower_bounds, tails
from dagsched_env.problem.instance import Instance
from dagsched_env.schedulers import heft
from helpers.brute_force import optimum
from helpers.oracles import GRAPHS, paper_instance
from helpers.strategies import instances

INF = math.inf
SLACK = 1e-9


@given(instances(max_tasks=5, max_processors=3))
def test_no_bound_exceeds_the_optimum(instance):
    shortest = optimum(instance)
    for name, bound in lower_bounds(instance)._asdict().items():
        assert bound <= shortest * (1 + SLACK), name


@given(instances())
def test_bounds_are_ordered(instance):
    found = lower_bounds(instance)
    assert found.critical_path <= found.path * (1 + SLACK)
    assert instance.lower_bound <= found.best * (1 + SLACK)
    assert found.load <= found.window * (1 + SLACK)
    assert found.best == max(found)


@given(instances(max_processors=3))
def test_heads_and_tails_hold_in_a_schedule(instance):
    schedule = heft(instance)
    tasks = np.arange(instance.n_tasks)
    head, tail = heads(instance), tails(instance)
    assert np.array_equal(np.isinf(head), np.isinf(instance.comp))
    assert np.array_equal(np.isinf(tail), np.isinf(instance.comp))
    slack = SLACK * schedule.makespan
    assert (head[tasks, schedule.processor] <= schedule.start + slack).all()
    left = schedule.makespan - schedule.finish
    assert (tail[tasks, schedule.processor] <= left + slack).all()


def slow_heads(instance):
    """Inputs are produced on the processor or sent: the best k for that are the last to arrive."""
    head = np.full(instance.comp.shape, INF)
    for t in instance.arrays.topo:
        for q in np.flatnonzero(np.isfinite(instance.comp[t])):
            inputs = []
            for (u, v), data in zip(instance.edges, instance.data, strict=True):
                if v == t:
                    sent = head[u] + instance.comp[u] + instance.latency[:, q]
                    sent += data * instance.inv_bandwidth[:, q]
                    inputs.append((min(np.delete(sent, q), default=INF), u))
            inputs.sort(reverse=True)
            head[t, q] = INF
            for k in range(len(inputs) + 1):
                end = 0.0
                for release, u in sorted((head[u, q], u) for _, u in inputs[:k]):
                    end = max(end, release) + instance.comp[u, q]
                last = max((sent for sent, _ in inputs[k:]), default=0.0)
                head[t, q] = min(head[t, q], max(end, last))
    return head


@given(instances())
def test_heads_are_those_of_a_slow_reference(instance):
    np.testing.assert_allclose(heads(instance), slow_heads(instance), rtol=1e-12)


@pytest.mark.parametrize("unlike", [0.0, 1e-9])
def test_heads_of_wide_joins_over_any_links(unlike):
    """More inputs than are sorted by hand; links all alike, and one that differs a little."""
    rng = np.random.default_rng(3)
    comp = rng.uniform(1, 9, (60, 3))
    edges = [(t, 20) for t in range(20)] + [(t, 59) for t in range(20, 59)]
    speed = np.ones((3, 3))
    speed[0, 2] += unlike
    instance = Instance(comp, edges, rng.uniform(0, 60, len(edges)), inv_bandwidth=speed)
    np.testing.assert_allclose(heads(instance), slow_heads(instance), rtol=1e-12)


@given(instances())
def test_slower_links_raise_no_path_bound(instance):
    slower = Instance(
        instance.comp,
        instance.edges,
        2 * instance.data,
        inv_bandwidth=instance.inv_bandwidth,
        latency=1.5 * instance.latency + 1,
    )
    assert lower_bounds(instance).path <= lower_bounds(slower).path * (1 + SLACK)


@pytest.mark.parametrize("name", GRAPHS)
def test_paper_graphs(name):
    instance = paper_instance(name)
    found = lower_bounds(instance)
    assert found.best <= GRAPHS[name]["makespan"]["optimum"]
    # Three quarters of the optimum at least, where the critical path alone has about a half.
    assert found.path >= 0.75 * GRAPHS[name]["makespan"]["optimum"]
    assert found.critical_path == instance.cp_min


def test_inputs_share_a_processor_or_pay():
    # Both inputs of task 2 take 4 anywhere; their data takes 3 or 100.
    cheap = Instance([[4, 4], [4, 4], [1, 1]], [(0, 2), (1, 2)], [3, 3])
    dear = Instance([[4, 4], [4, 4], [1, 1]], [(0, 2), (1, 2)], [100, 100])
    assert heads(cheap)[2].tolist() == [7, 7]
    assert heads(dear)[2].tolist() == [8, 8]
    assert lower_bounds(cheap).path == optimum(cheap) == 8
    assert lower_bounds(dear).path == optimum(dear) == 9


def test_links_count_in_their_direction():
    # Task 0 runs on P0 only, task 1 on P1 only: the way there takes 5 + 2 * 3, the way back 1.
    links = {"latency": [[0, 5], [1, 0]], "inv_bandwidth": [[0, 2], [0, 0]]}
    there = Instance([[1, INF], [INF, 1]], [(0, 1)], [3], **links)
    back = Instance([[INF, 1], [1, INF]], [(0, 1)], [3], **links)
    assert lower_bounds(there).path == 13
    assert lower_bounds(back).path == 3


def test_load_of_unrelated_processors():
    # P1 is nine times slower: the mean of the minima takes it for P0's equal, 5 instead of 9.
    instance = Instance([[1, 9]] * 10, [], [])
    assert bounds.load_bound(instance.arrays) == 5
    assert lower_bounds(instance).load == pytest.approx(9, rel=0.01)


def test_window_between_a_head_and_a_tail():
    # Fork, eight tasks of 1 on two processors, join: 2 + 4 + 3, whatever the path says.
    comp = [[2, 2], *[[1, 1]] * 8, [3, 3]]
    edges = [(0, t) for t in range(1, 9)] + [(t, 9) for t in range(1, 9)]
    found = lower_bounds(Instance(comp, edges, np.zeros(len(edges))))
    assert found.critical_path == 6
    assert found.load == pytest.approx(13 / 2)
    assert found.window == pytest.approx(9)


def test_window_of_a_single_processor():
    # Two jobs of three operations; P1 holds 4 + 5 and both jobs need 1 before it and 2 after it.
    chain = [[1, INF, INF], [INF, 4, INF], [INF, INF, 2]]
    other = [[1, INF, INF], [INF, 5, INF], [INF, INF, 2]]
    instance = Instance(chain + other, [(0, 1), (1, 2), (3, 4), (4, 5)], np.zeros(4))
    assert lower_bounds(instance).window == optimum(instance) == 12


def test_many_tasks_and_a_wide_join():
    n = 3000
    comp = np.ones((n, 4))
    edges = [(t, n - 1) for t in range(n - 1)]
    found = lower_bounds(Instance(comp, edges, np.full(n - 1, 50.0)))
    assert found.path == pytest.approx(1 + 51)
    assert found.window == pytest.approx((n - 1) / 4 + 1, rel=1e-3)


def test_some_processor_runs_two_of_three_tasks_on_two():
    """Between a first task and a last one: 1 + (4 + 5) + 2."""
    comp = np.repeat([[1.0], [4.0], [5.0], [6.0], [2.0]], 2, axis=1)
    instance = Instance(comp, [(0, 1), (0, 2), (0, 3), (1, 4), (2, 4), (3, 4)], np.zeros(6))
    found = lower_bounds(instance)
    assert found.crowd == 12 == optimum(instance)
    assert max(found[:-1]) < 12


def test_one_task_and_no_work():
    assert lower_bounds(Instance([[3, INF]], [], [])) == (3, 3, 3, 3, 0)
    assert lower_bounds(Instance([[0.0], [0.0]], [(0, 1)], [7])).best == 0


def test_gap_at_thirty_tasks():
    for ccr, least in ((0.1, 0.85), (5.0, 0.5)):
        instance = TopcuogluGenerator(n_tasks=30, n_processors=4, ccr=ccr)(np.random.default_rng(0))
        assert least <= lower_bounds(instance).best / heft(instance).makespan <= 1
