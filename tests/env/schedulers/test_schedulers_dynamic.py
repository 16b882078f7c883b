"""Selecting, mapping and clustering schedulers: published makespans, references, the portfolio."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagsched_env.kernels.lists import clustering, mapping
from dagsched_env.kernels.schedules import decoding
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import CONSTRUCTIVE, best_of_portfolio
from dagsched_env.schedulers.dsc import dsc
from dagsched_env.schedulers.dynamic import bil, dls, etf
from dagsched_env.schedulers.mapping import (
    duplex,
    fastest_node,
    max_min,
    mct,
    met,
    min_min,
    olb,
    sufferage,
)
from helpers import references_dynamic
from helpers.oracles import GRAPHS, paper_instance
from helpers.references import assert_same
from helpers.strategies import instances
from helpers.without_jit import WITHOUT_JIT, check_without_jit

PUBLISHED = {"DLS_noninsertion": dls, "MinMin": min_min, "MaxMin": max_min}
REFERENCED = [bil, dls, dsc, duplex, etf, fastest_node, max_min, mct, met, min_min, olb, sufferage]
SELECTING = [bil, dls, etf, max_min, min_min, sufferage]
INF = math.inf

by_name = pytest.mark.parametrize("scheduler", REFERENCED, ids=lambda scheduler: scheduler.__name__)


@pytest.mark.parametrize("column", PUBLISHED)
@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_published_makespans(column: str, name: str) -> None:
    instance = paper_instance(name)
    schedule = PUBLISHED[column](instance)
    schedule.validate(instance)
    assert schedule.makespan == pytest.approx(GRAPHS[name]["makespan"][column], rel=1e-12)


@by_name
@given(instance=instances(), insertion=st.booleans())
def test_each_is_the_algorithm_of_its_paper(
    scheduler: Callable[..., Schedule], instance: Instance, insertion: bool
) -> None:
    schedule = scheduler(instance, insertion=insertion)
    reference = getattr(references_dynamic, scheduler.__name__)
    assert_same(schedule, reference(instance, insertion=insertion))
    assert schedule.algorithm == scheduler.__name__


def wide_instance(seed: int, p: int = 3) -> Instance:
    """40 tasks, many of them ready at once, and long transfers that leave gaps."""
    rng = np.random.default_rng(seed)
    comp = rng.integers(0, 9, (40, p)).astype(float)
    comp[rng.random((40, p)) < 0.2] = INF
    comp[np.arange(40), rng.integers(p, size=40)] = 5.0
    edges = sorted({(int(rng.integers(max(1, v - 12))), v) for v in range(8, 40) for _ in "ab"})
    return Instance(comp, edges, rng.integers(0, 30, len(edges)))


@pytest.mark.parametrize("scheduler", SELECTING, ids=lambda scheduler: scheduler.__name__)
def test_earliest_starts_stay_right_as_gaps_fill(scheduler: Callable[..., Schedule]) -> None:
    reference = getattr(references_dynamic, scheduler.__name__)
    for seed, p in enumerate([3, 3, 7]):
        instance = wide_instance(seed, p)
        assert_same(scheduler(instance, insertion=True), reference(instance, insertion=True))


@by_name
def test_all_append_by_default(scheduler: Callable[..., Schedule], gap_instance: Instance) -> None:
    for instance in (gap_instance, wide_instance(0)):
        assert scheduler(instance) == scheduler(instance, insertion=False)


@by_name
@given(instance=instances())
def test_the_unit_of_time_does_not_matter(
    scheduler: Callable[..., Schedule], instance: Instance
) -> None:
    doubled = Instance(
        2 * instance.comp,
        instance.edges,
        2 * instance.data,
        inv_bandwidth=instance.inv_bandwidth,
        latency=2 * instance.latency,
    )
    schedule, twice = scheduler(instance), scheduler(doubled)
    assert (twice.processor == schedule.processor).all()
    assert (twice.start == 2 * schedule.start).all()


# -- one by one --------------------------------------------------------------------------------


def test_min_min_and_max_min_by_hand() -> None:
    instance = Instance([[2, 9], [3, 9], [8, 9]], [], [])
    shortest_first, longest_first = min_min(instance), max_min(instance)
    assert shortest_first.processor.tolist() == [0, 0, 1]
    assert shortest_first.makespan == duplex(instance).makespan == 9
    assert longest_first.processor.tolist() == [1, 0, 0]
    assert longest_first.makespan == 11


def test_sufferage_by_hand() -> None:
    instance = Instance([[5, 6], [4, 9], [1, INF]], [], [])
    schedule = sufferage(instance)  # task 2 has no other processor, task 1 loses 5 or more
    assert schedule.processor.tolist() == [1, 0, 0]
    assert schedule.start.tolist() == [0, 1, 0]


@given(instances(), st.booleans())
def test_dls_with_the_published_median(instance: Instance, insertion: bool) -> None:
    schedule = dls(instance, insertion=insertion, average="median")
    reference = references_dynamic.dls(instance, insertion=insertion, average="median")
    assert_same(schedule, reference)


def test_averages_of_dls_differ_and_an_unknown_one_is_named(topcuoglu: Instance) -> None:
    hsu = paper_instance("Hsu")
    assert dls(hsu).makespan == 87
    assert dls(hsu, average="median").makespan == 82
    with pytest.raises(DAGSchedError, match="unknown average 'best': choose mean or median"):
        dls(topcuoglu, average="best")  # type: ignore[arg-type]


def test_etf_starts_the_longest_path_first_on_the_fastest_processor() -> None:
    instance = Instance([[4, 2], [1, 1], [3, 3]], [(1, 2)], [0])
    schedule = etf(instance)  # static levels 3, 4, 3
    assert schedule.start.tolist() == [0, 0, 1]
    assert schedule.processor.tolist() == [1, 0, 0]


def test_bil_is_optimal_on_a_chain() -> None:
    """Oh, Ha 1996: proved for linear graphs on identical links."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        comp = rng.integers(1, 20, (5, 3)).astype(float)
        chain = Instance(comp, [(t, t + 1) for t in range(4)], rng.integers(0, 15, 4))
        lengths = [
            decoding.decode(chain.arrays, np.arange(5), np.array(assignment), False)[2].max()
            for assignment in itertools.product(range(3), repeat=5)
        ]
        assert bil(chain).makespan == min(lengths)


def test_met_ignores_load_and_olb_ignores_cost() -> None:
    instance = Instance([[1, 2], [1, 2], [1, 2]], [], [])
    assert met(instance).processor.tolist() == [0, 0, 0]
    slow = Instance([[1, 90], [1, 90], [1, 90]], [], [])
    assert olb(slow).processor.tolist() == [0, 1, 0]
    assert mct(slow).processor.tolist() == [0, 0, 0]


@given(instances())
def test_fastest_node_is_the_best_single_processor(instance: Instance) -> None:
    totals = instance.comp.sum(axis=0)
    schedule = fastest_node(instance)
    if np.isfinite(totals).any():
        assert set(schedule.processor.tolist()) == {int(schedule.processor[0])}
        assert schedule.makespan == pytest.approx(totals.min(), rel=1e-12)


def test_fastest_node_uses_few_processors_where_none_runs_everything() -> None:
    comp = [[INF, 5, 4], [1, INF, 4], [1, 9, INF], [1, 9, 4]]
    instance = Instance(comp, [(0, 1), (1, 2), (2, 3)], [1, 1, 1])
    assert fastest_node(instance).processor.tolist() == [2, 0, 0, 0]


# -- clustering --------------------------------------------------------------------------------


def clustered_length(costs: list[int], edges: list[tuple[int, int]], data: list[int]) -> float:
    """Makespan of the clusters of DSC, each on a processor of its own."""
    n = len(costs)
    instance = Instance(np.tile(np.array(costs, dtype=float)[:, None], n), edges, data)
    g = instance.arrays
    cluster = clustering.dominant_sequence_clusters(g)
    return float(decoding.decode(g, instance.topological_order.copy(), cluster, False)[2].max())


stars = st.integers(1, 5).flatmap(
    lambda leaves: st.tuples(
        st.lists(st.integers(1, 9), min_size=leaves + 1, max_size=leaves + 1),
        st.lists(st.integers(0, 9), min_size=leaves, max_size=leaves),
    )
)


@given(stars)
def test_dsc_is_optimal_on_forks_and_joins(star: tuple[list[int], list[int]]) -> None:
    """Yang, Gerasoulis 1994, sec. 5: some leaves stay with the centre, others are apart."""
    (centre, *leaves), data = star
    lengths = [
        centre
        + max(
            sum(leaf for leaf, here in zip(leaves, local, strict=True) if here),
            max((w + c for w, c, h in zip(leaves, data, local, strict=True) if not h), default=0),
        )
        for local in itertools.product([True, False], repeat=len(leaves))
    ]
    tasks = range(1, len(leaves) + 1)
    costs = [centre, *leaves]
    assert clustered_length(costs, [(0, t) for t in tasks], data) == min(lengths)
    assert clustered_length(costs, [(t, 0) for t in tasks], data) == min(lengths)


def test_dsc_leaves_room_for_a_partially_free_task() -> None:
    """3 can start at 2 behind 0, where the free 2 could start one earlier than apart."""
    costs, edges, data = [2, 1, 12, 9], [(0, 2), (0, 3), (1, 3)], [1, 9, 0]
    assert clustered_length(costs, edges, data) == 15


@pytest.mark.parametrize("degree", [1, 2, 4])
def test_dsc_finds_the_clusters_of_the_paper(degree: int) -> None:
    for seed in range(15):
        rng = np.random.default_rng([seed, degree])
        comp = rng.integers(1, 9, (24, 2)).astype(float)
        edges = sorted(
            {(int(rng.integers(max(1, v // 2))), v) for v in range(6, 24) for _ in range(degree)}
            | {(int(u), 23) for u in rng.integers(23, size=6)}
        )
        instance = Instance(comp, edges, rng.integers(0, 25, len(edges)))
        cluster = clustering.dominant_sequence_clusters(instance.arrays).tolist()
        found = {frozenset(t for t in range(24) if cluster[t] == k) for k in cluster}
        assert found == {frozenset(c) for c in references_dynamic.Clusters(instance).members}


@given(instances())
def test_clusters_are_split_only_where_they_must(instance: Instance) -> None:
    rng = np.random.default_rng(instance.n_tasks)
    cluster = rng.integers(0, min(3, instance.n_tasks), instance.n_tasks)
    order = rng.permutation(instance.n_tasks)
    assignment = mapping.map_clusters(instance.arrays, cluster, order, 0.0)
    assert np.isfinite(instance.comp[np.arange(instance.n_tasks), assignment]).all()
    for k in set(cluster.tolist()):
        if np.isfinite(instance.comp[cluster == k]).all(axis=0).any():
            assert len(set(assignment[cluster == k].tolist())) == 1


# -- portfolio ---------------------------------------------------------------------------------


@given(instances())
def test_the_portfolio_is_as_good_as_its_best_and_says_which(instance: Instance) -> None:
    best = best_of_portfolio(instance)
    best.validate(instance)
    makespans = {name: scheduler(instance).makespan for name, scheduler in CONSTRUCTIVE.items()}
    assert best.makespan == min(makespans.values())
    assert best.algorithm == min(makespans, key=makespans.__getitem__)


def test_a_chosen_portfolio(topcuoglu: Instance) -> None:
    assert best_of_portfolio(topcuoglu, schedulers={"olb": olb, "dls": dls}).algorithm == "dls"
    mine = {"a": max_min, "b": min_min, "c": min_min}
    assert best_of_portfolio(topcuoglu, schedulers=mine).algorithm == "b"
    with pytest.raises(DAGSchedError, match="schedulers is empty: name at least one"):
        best_of_portfolio(topcuoglu, schedulers={})


@pytest.mark.skipif(WITHOUT_JIT, reason="this is that run")
def test_everything_above_holds_without_the_jit() -> None:
    check_without_jit(__file__)
