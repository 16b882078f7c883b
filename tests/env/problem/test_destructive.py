"""Destructive bounds: sound against brute force, and sharp where communication is dear."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagsched_env import exact, suites
from dagsched_env.kernels.graph.destructive import refutes
from dagsched_env.problem.bounds import heads, lower_bounds, tails
from dagsched_env.problem.destructive import _widest, destructive_bound, windows
from dagsched_env.problem.instance import Instance
from dagsched_env.schedulers import heft
from helpers.brute_force import optimum
from helpers.oracles import GRAPHS, paper_instance
from helpers.strategies import instances, released, sharing_instances

INF = math.inf
SLACK = 1e-9
DEAR = 100.0


def any_instances(max_tasks):
    problems = instances(max_tasks, 3)
    return st.one_of(problems, released(problems))


@st.composite
def dear_instances(draw, max_tasks=6):
    """Small whole costs, much data; links that differ, pairs that are not eligible, releases."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(3, max_tasks)), draw(st.integers(2, 3))
    comp = rng.integers(1, 10, (n, p)).astype(float)
    if draw(st.booleans()):
        comp[rng.random((n, p)) < 0.2] = INF
        comp[np.arange(n), rng.integers(0, p, n)] = 3.0
    edges = [(u, v) for v in range(n) for u in range(v) if rng.random() < 0.5]
    data = rng.integers(0, 40, len(edges)).astype(float)
    given = {}
    if draw(st.booleans()):
        given["inv_bandwidth"] = rng.uniform(0.2, 2.0, (p, p))
        given["latency"] = rng.uniform(0.0, 3.0, (p, p))
    if draw(st.booleans()):
        given["release"] = rng.integers(0, 12, (n, p)).astype(float)
    return Instance(comp, edges, data, **given)


@given(st.one_of(any_instances(5), dear_instances()))
@settings(max_examples=150)
def test_no_bound_exceeds_the_optimum(instance):
    shortest, plain = optimum(instance), lower_bounds(instance).best
    for steps in (0, 3000, 2**20):
        bound = destructive_bound(instance, steps=steps)
        assert plain <= bound <= shortest * (1 + SLACK)
    above = 1.3 * shortest  # the makespan of another schedule only makes it sharper
    assert destructive_bound(instance, makespan=above) <= shortest * (1 + SLACK)


@given(st.one_of(any_instances(12), dear_instances(12)), st.sampled_from([0, 3000, 2**20]))
@settings(max_examples=100)
def test_a_schedule_is_within_its_windows(instance, steps):
    schedule = heft(instance)
    head, tail = windows(instance, schedule.makespan, steps=steps)
    assert (head >= heads(instance)).all()
    assert (tail >= tails(instance)).all()
    at = np.arange(instance.n_tasks), schedule.processor
    slack = SLACK * schedule.makespan
    assert (head[at] <= schedule.start + slack).all()
    assert (tail[at] <= schedule.makespan - schedule.finish + slack).all()


@given(dear_instances(5))
@settings(max_examples=50)
def test_a_shortest_schedule_is_proved_and_has_windows(instance):
    """The optimum is not refuted, just below it nearly all horizons are."""
    shortest = optimum(instance)
    head, tail = windows(instance, shortest)
    end = head + instance.comp + tail
    assert (end.min(axis=1) <= shortest * (1 + SLACK)).all()
    assert np.array_equal(np.isinf(head), np.isinf(tail))


def test_steps_that_run_out_leave_a_processor_for_each_task():
    """Wherever they end; otherwise kernels that look for one write where they should not."""
    instance = suites.instance("test", "test-n10-p3-ccr1-stencil")
    open_ended = 0
    for horizon in np.linspace(instance.lower_bound, heft(instance).makespan, 25):
        for steps in range(0, 60_000, 61):
            found, effort = _widest(instance), np.array([0, steps])
            if not refutes(instance.arrays, instance.backwards, found, horizon, effort, True):
                open_ended += 1
                assert np.isfinite(found.head.min(axis=1)).all()
                assert np.isfinite(found.tail.min(axis=1)).all()
    assert open_ended > 1000


def test_ancestors_share_a_processor_or_pay():
    """Of nine tasks in a tree none can be apart from its root: 9 · 4, where paths see 5 · 4."""
    edges = [(3, 0), (4, 0), (5, 1), (6, 1), (7, 2), (0, 2), (1, 2), (8, 2)]
    instance = Instance(np.full((9, 3), 4.0), edges, np.full(8, DEAR))
    assert lower_bounds(instance).path < 9 * 4
    assert destructive_bound(instance) == pytest.approx(9 * 4, rel=1e-3)
    assert destructive_bound(instance, makespan=9 * 4) == pytest.approx(9 * 4, rel=2e-8)


def test_companions_of_inputs_and_outputs():
    """A chain back and forth, all in one piece: no task is an ancestor of more than two."""
    n = 8
    edges = [(t, t + 1) if t % 2 == 0 else (t + 1, t) for t in range(n - 1)]
    instance = Instance(np.full((n, 4), 5.0), edges, np.full(n - 1, DEAR))
    assert lower_bounds(instance).best <= 3 * 5
    assert destructive_bound(instance) == pytest.approx(n * 5, rel=1e-3)


def test_links_count_in_their_direction():
    """From P0 to P1 data takes long, the other way no time: only there both work together."""
    comp = [[4, 4], [4, 4], [4, INF], [4, INF]]
    edges, data = [(0, 2), (1, 2), (0, 3), (1, 3)], [50.0] * 4
    free = Instance(comp, edges, data, inv_bandwidth=[[0, 1], [0, 0]])
    dear = Instance(comp, edges, data, inv_bandwidth=[[0, 0], [1, 0]])
    assert destructive_bound(free) == pytest.approx(optimum(free), rel=1e-3)
    assert destructive_bound(dear) == pytest.approx(optimum(dear), rel=1e-3)
    assert optimum(free) == 12
    assert optimum(dear) == 16


@pytest.mark.parametrize("name", GRAPHS)
def test_paper_graphs_are_nearly_proved(name):
    best = GRAPHS[name]["makespan"]["optimum"]
    assert 0.97 * best <= destructive_bound(paper_instance(name)) <= best


@given(sharing_instances(6, 2))
@settings(max_examples=20)
def test_tasks_that_share_a_processor_are_not_in_line(instance):
    assert destructive_bound(instance) == lower_bounds(instance).best
    head, tail = windows(instance, 1.0)
    assert np.array_equal(head, heads(instance))
    assert np.array_equal(tail, tails(instance))


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("test-n30-p8-ccr5-layered", 0.72, 0.995),
        ("test-n30-p3-ccr10-fork-join", 0.61, 0.99),
        ("test-n50-p3-ccr10-stencil", 0.47, 0.84),
    ],
)
def test_most_of_the_gap_is_closed(name, before, after):
    """At a budget of steps, so that the bound is the same on every machine."""
    instance, known = suites.instance("test", name), suites.reference("test")[name]
    assert lower_bounds(instance).best <= before * known.makespan
    bound = destructive_bound(instance, steps=2**21)
    assert after * known.makespan <= bound <= known.makespan
    assert bound == destructive_bound(instance, steps=2**21)


def test_cp_sat_proves_with_windows_what_it_did_not():
    """50 tasks: with the heads and tails of all schedules it does not with twice the work."""
    instance = suites.instance("train", "train-n50-p4-ccr10-fork-join")
    assert exact.solve(instance, work_limit=1.0, workers=1).optimal


def test_one_task_and_no_work():
    assert destructive_bound(Instance([[3, INF]], [], [])) == 3
    assert destructive_bound(Instance([[0.0], [0.0]], [(0, 1)], [7])) == 0
    assert windows(Instance([[0.0]], [], []), 0.0)[0] == 0


def test_a_bound_of_one_task_on_thousands_of_processors_is_no_work():
    """Links are looked at once, and not for each processor that is supposed."""
    assert destructive_bound(Instance(np.ones((1, 2000)), [], [])) == 1.0
