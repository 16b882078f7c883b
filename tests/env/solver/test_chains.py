"""Chains of tasks that stay together: linear clusters, attraction, and what descents gain."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagsched_env import Instance, suites
from dagsched_env.kernels.lists import chains, mapping
from dagsched_env.schedulers import best_of_portfolio
from dagsched_env.schedulers.anytime import Budget
from dagsched_env.solver import Best
from dagsched_env.solver import race as racing
from dagsched_env.solver.chains import draw_chains
from dagsched_env.solver.entrants import Descents
from helpers.strategies import instances


def reference_clusters(instance: Instance, factor: list[float]) -> list[list[int]]:
    """In plain Python, from lists of the edges."""
    g = instance.arrays
    after: dict[int, list[tuple[int, float]]] = {t: [] for t in range(instance.n_tasks)}
    edge = 0
    for t in range(instance.n_tasks):
        for k in range(g.succ_ptr[t], g.succ_ptr[t + 1]):
            mean = g.mean_link[0] + g.succ_data[k] * g.mean_link[1]
            after[t].append((int(g.succ_task[k]), factor[edge] * mean))
            edge += 1
    rank: dict[int, float] = {}
    for t in reversed(g.topo.tolist()):
        rank[t] = g.mean_comp[t] + max((w + rank[v] for v, w in after[t]), default=0.0)
    free = sorted(rank, key=lambda t: (-rank[t], int(g.topo_position[t])))
    clusters = []
    while free:
        chain = [free[0]]
        while steps := [(w + rank[v], -i, v) for i, (v, w) in enumerate(after[chain[-1]])]:
            steps = [step for step in steps if step[2] in free and step[2] not in chain]
            if not steps or max(steps)[0] <= 0.0:
                break
            chain.append(max(steps)[2])
        free = [t for t in free if t not in chain]
        clusters.append(chain)
    return clusters


@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.integers(1, 4))
def test_linear_clusters_are_those_of_the_reference(seed: int, n: int, degree: int) -> None:
    rng = np.random.default_rng(seed)
    edges = sorted(
        {
            (int(rng.integers(v)), v)
            for v in range(1, n)
            for _ in range(degree)
            if rng.random() < 0.8
        }
    )
    instance = Instance(rng.uniform(1, 9, (n, 3)), edges, rng.uniform(0, 25, len(edges)))
    factor = np.exp(rng.standard_normal(len(edges)))
    cluster, order = chains.linear_clusters(instance.arrays, factor)
    expected = reference_clusters(instance, factor.tolist())
    found = [np.flatnonzero(cluster == k).tolist() for k in range(cluster.max() + 1)]
    assert found == [sorted(chain) for chain in expected]
    assert sorted(order.tolist()) == list(range(n))
    pairs = set(edges)
    for chain in expected:
        assert all(pair in pairs for pair in itertools.pairwise(chain))


def test_a_cluster_is_drawn_to_what_it_exchanges_data_with() -> None:
    """Two chains, joined by an edge that takes 6 between processors; each takes 4 anywhere."""
    instance = Instance(np.full((4, 3), 2.0), [(0, 1), (2, 3), (0, 3)], [9.0, 9.0, 6.0])
    cluster, order = np.array([0, 0, 1, 1]), np.arange(4)
    for attraction, together in ((0.0, False), (0.6, False), (0.7, True), (5.0, True)):
        found = mapping.map_clusters(instance.arrays, cluster, order, attraction)
        assert found[0] == found[1]
        assert found[2] == found[3]
        assert (found[0] == found[2]) == together


@given(instances(), st.integers(0, 2**32 - 1))
def test_schedules_of_chains_are_valid_and_a_function_of_the_generator(
    instance: Instance, seed: int
) -> None:
    schedule = draw_chains(instance, np.random.default_rng(seed), 2)
    schedule.validate(instance)
    assert draw_chains(instance, np.random.default_rng(seed), 2) == schedule


def test_descents_leave_one_processor_only_from_schedules_of_chains(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Here communication is so dear that every list schedule has nearly all on one processor."""
    instance = suites.instance("train", "train-n100-p16-ccr5-stencil")
    shortest = best_of_portfolio(instance)

    def descend(seed: int) -> float:
        best = Best(instance)
        best.offer(shortest, shortest.algorithm)
        budget = Budget(None, 100_000, 1)
        track = racing._Track(best, np.random.default_rng(seed), budget, shortest)
        return track.run(track.descents(), 1.0) / shortest.makespan

    assert max(descend(seed) for seed in range(4)) < 0.95
    monkeypatch.setattr(Descents, "_chains", Descents._list)
    assert min(descend(seed) for seed in range(4)) > 0.99
