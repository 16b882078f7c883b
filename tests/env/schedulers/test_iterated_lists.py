"""List schedules that learn from each other: what they learn, and that it pays."""

import itertools
import math
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagsched_env import suites
from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.kernels.lists import iterated
from dagsched_env.problem.instance import HEADROOM, Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import iterated_lists, noisy_heft, peft
from dagsched_env.schedulers.iterated_lists import (
    COST_STEP,
    DECAY,
    FIRST_PRICE,
    HIGHEST_PRICE,
    LEAST_PRICE,
    RANK_STEP,
    SLACK,
    URGENCY_STEP,
    Estimates,
    ListSeries,
)
from helpers.candidates import medium_instance
from helpers.strategies import instances

shares = st.floats(0.0, 1.0)


def paths(instance: Instance, processor: Ints) -> tuple[Floats, Floats]:
    """Slow reference: ranks and costs to go if all tasks stay where a schedule has them."""
    n, p = instance.comp.shape
    rank, to_go = np.zeros(n), np.zeros((n, p))
    for t in instance.arrays.topo[::-1]:
        for (u, v), data in zip(instance.edges, instance.data, strict=True):
            for q in range(p if u == t else 0):
                r = processor[v]
                sent = instance.latency[q, r] + data * instance.inv_bandwidth[q, r]
                to_go[t, q] = max(to_go[t, q], sent + rank[v])
        rank[t] = instance.comp[t, processor[t]] + to_go[t, processor[t]]
    return rank, to_go


@given(instance=instances(), rank_step=shares, cost_step=shares)
def test_ranks_and_costs_to_go_move_towards_those_of_the_schedule(
    instance: Instance, rank_step: float, cost_step: float
) -> None:
    processor = peft(instance).processor
    rank, costs_to_go = instance.rank_u.copy(), instance.oct.copy()
    iterated.learn_from(instance.arrays, processor, rank, costs_to_go, rank_step, cost_step)
    of_schedule = paths(instance, processor)
    for learnt, before, there, step in (
        (rank, instance.rank_u, of_schedule[0], rank_step),
        (costs_to_go, instance.oct, of_schedule[1], cost_step),
    ):
        np.testing.assert_allclose(learnt, (1 - step) * before + step * there, rtol=1e-9, atol=1e-9)


def blamed(instance: Instance, schedule: Schedule) -> tuple[list[int], Floats]:
    """Slow reference: the tasks that wait for their processor, and the longest path through each.

    Paths over edges and over neighbours on a processor, as shares of the makespan.
    """
    n, g, s = instance.n_tasks, instance.arrays, schedule
    order = sorted(range(n), key=lambda t: (s.start[t], g.topo_position[t]))
    arcs: dict[int, dict[int, float]] = {t: {} for t in range(n)}
    for (u, v), data in zip(instance.edges, instance.data, strict=True):
        a, b = s.processor[u], s.processor[v]
        arcs[u][v] = instance.latency[a, b] + data * instance.inv_bandwidth[a, b]
    waiting = []
    for q in range(instance.n_processors):
        sequence = [t for t in order if s.processor[t] == q]
        for u, v in itertools.pairwise(sequence):
            arcs[u].setdefault(v, 0.0)
            if s.finish[u] == s.start[v]:
                waiting.append(v)
    level = np.zeros(n)
    for t in reversed(order):
        behind = max((sent + level[v] for v, sent in arcs[t].items()), default=0.0)
        level[t] = instance.comp[t, s.processor[t]] + behind
    return waiting, (s.start + level) / (s.makespan or 1.0)


@given(instance=instances(), slack=st.sampled_from([0.013, 0.3, 1.1]), decay=shares)
def test_tasks_that_wait_on_a_long_path_become_more_urgent(
    instance: Instance, slack: float, decay: float
) -> None:
    schedule = peft(instance)
    waiting, share = blamed(instance, schedule)
    urgency = np.arange(instance.n_tasks, dtype=np.float64)
    placements = (schedule.processor, schedule.start, schedule.finish)
    iterated.learn_urgency(instance.arrays, *placements, urgency, 0.25, slack, decay)
    for t in range(instance.n_tasks):
        if abs(share[t] - (1.0 - slack)) > 1e-9 and schedule.makespan > 0.0:
            gain = 0.25 * schedule.makespan * (t in waiting and share[t] > 1.0 - slack)
            assert urgency[t] == pytest.approx(decay * t + gain)


def test_who_waits_for_a_processor_comes_earlier_next_time() -> None:
    """Task 1 waits for task 0, which lies on no long path; task 2 waits for data alone."""
    never = np.inf
    instance = Instance([[1.0, never], [4.0, never], [never, 2.0]], [(1, 2)], [1.0])
    g, urgency = instance.arrays, np.zeros(3)
    rank, nothing = np.array([9.0, 8.0, 1.0]), np.zeros((3, 2))
    made = iterated.priced_list(g, rank, nothing, 1e-12, True)
    assert made[2].max() == 1.0 + 4.0 + 1.0 + 2.0
    iterated.learn_urgency(g, *made, urgency, 0.5, 0.01, 0.97)
    assert urgency.tolist() == [0.0, 4.0, 0.0]
    made = iterated.priced_list(g, rank + urgency, nothing, 1e-12, True)
    assert made[2].max() == 4.0 + 1.0 + 2.0


@given(instance=instances(), insertion=st.booleans(), seed=st.integers(0, 2**32 - 1))
def test_each_list_is_a_schedule_and_decides_the_next_one(
    instance: Instance, insertion: bool, seed: int
) -> None:
    """Priced lists of what the schedules before give are the same series."""
    series = ListSeries(instance, np.random.default_rng(seed), insertion)
    rng, g = np.random.default_rng(seed), instance.arrays
    price, to_reach = FIRST_PRICE, math.inf
    rank = np.array([r[np.isfinite(c)].mean() for r, c in zip(instance.oct, g.comp, strict=True)])
    costs_to_go, urgency = instance.oct.copy(), np.zeros(instance.n_tasks)
    step = URGENCY_STEP / math.sqrt(instance.n_tasks)
    for _ in range(5):
        drawn = float(np.clip(price * np.exp(0.5 * rng.standard_normal()), 0.01, 10.0))
        made = iterated.priced_list(g, rank + urgency, costs_to_go, drawn, insertion)
        processor, start, finish = made
        schedule = series.next()
        schedule.validate(instance)
        np.testing.assert_array_equal(schedule.start, start)
        iterated.learn_from(g, processor, rank, costs_to_go, RANK_STEP, COST_STEP)
        iterated.learn_urgency(g, *made, urgency, step, SLACK, DECAY)
        if finish.max() <= to_reach:
            price, to_reach = drawn, float(finish.max())
        else:
            to_reach *= 1.001


@pytest.mark.parametrize("limit", [LEAST_PRICE, HIGHEST_PRICE])
def test_prices_stay_between_their_limits(limit: float, monkeypatch: pytest.MonkeyPatch) -> None:
    prices = []
    listed = iterated.priced_list

    def recording(g: Any, rank: Any, costs_to_go: Any, price: float, insertion: bool) -> Any:
        prices.append(price)
        return listed(g, rank, costs_to_go, price, insertion)

    monkeypatch.setattr(iterated, "priced_list", recording)
    monkeypatch.setattr(sys.modules[ListSeries.__module__], "FIRST_PRICE", limit)
    series = ListSeries(medium_instance(), np.random.default_rng(0), True)
    for _ in range(30):
        series.next()
    assert limit in prices
    assert LEAST_PRICE <= min(prices) < max(prices) <= HIGHEST_PRICE


def test_the_largest_costs_overflow_nowhere() -> None:
    """Durations count up to eleven times, and once more in the costs to go."""
    limit = np.finfo(np.float64).max / HEADROOM
    instance = Instance([[limit * 0.9, np.inf]], [], [])
    series = ListSeries(instance, np.random.default_rng(0), True)
    for _ in range(600):
        series.next().validate(instance)


def test_without_a_price_the_first_list_is_that_of_peft() -> None:
    instance = suites.instance("heldout", suites.names("heldout")[0])
    g = instance.arrays
    rank = instance.oct.mean(axis=1)
    made = iterated.priced_list(g, rank, instance.oct, 1e-12, True)
    np.testing.assert_array_equal(made[0], peft(instance).processor)
    np.testing.assert_allclose(made[2], peft(instance).finish)


def test_with_a_price_a_task_waits_for_the_processor_that_is_fast_for_it() -> None:
    """The second task finishes at 3 on P0, or at 4 behind the first one on P1, where it takes 2."""
    g = Instance([[3.0, 2.0], [3.0, 2.0]], [], []).arrays
    rank, nothing = np.array([2.0, 1.0]), np.zeros((2, 2))
    assert list(iterated.priced_list(g, rank, nothing, 0.9, True)[0]) == [1, 0]
    assert list(iterated.priced_list(g, rank, nothing, 1.1, True)[0]) == [1, 1]


def test_on_large_graphs_it_beats_noise_by_far() -> None:
    """As many list schedules of each; a seed of its own for each graph."""
    names = [name for name in suites.names("valid") if "-n500-p16-" in name]
    ratios = []
    for seed, name in enumerate(names):
        instance = suites.instance("valid", name)
        learnt = iterated_lists(instance, max_evaluations=60, seed=seed)
        noisy = noisy_heft(instance, max_evaluations=60, seed=seed)
        ratios.append(learnt.makespan / noisy.makespan)
    assert len(names) == 5
    assert np.exp(np.mean(np.log(ratios))) < 0.98


def test_urgency_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many list schedules with it and without, on graphs on which it was not chosen."""
    ratios = []
    names = [name for name in suites.names("train") if "-n200-" in name][::2]
    for seed, name in enumerate(names):
        instance = suites.instance("train", name)
        lengths = []
        for step in (URGENCY_STEP, 0.0):
            monkeypatch.setattr(sys.modules[Estimates.__module__], "URGENCY_STEP", step)
            lengths.append(iterated_lists(instance, max_evaluations=60, seed=seed).makespan)
        ratios.append(lengths[0] / lengths[1])
    assert len(ratios) == 80
    assert np.exp(np.mean(np.log(ratios))) < 0.996
