"""Moves in critical blocks, and the tabu search that makes them."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagsched_env.generators.job_shop import JobShopGenerator, benchmark
from dagsched_env.kernels.graph import eligibility
from dagsched_env.kernels.moves import blocks, solution
from dagsched_env.kernels.moves.tabu import SLACK, Tabu, tabu, tabu_search
from dagsched_env.problem.instance import Instance
from dagsched_env.schedulers.anytime import execution_order
from dagsched_env.schedulers.heft import heft
from helpers.candidates import assert_consistent, is_topological, length, random_candidate
from helpers.strategies import instances

seeds = st.integers(0, 2**32 - 1)
problems = st.one_of(
    instances(),
    st.builds(
        lambda jobs, machines, seed: JobShopGenerator(jobs, machines, (0, 9))(
            np.random.default_rng(seed)
        ),
        st.integers(2, 5),
        st.integers(1, 3),
        seeds,
    ),
)


def is_longest_path(instance: Instance, s: solution.Solution, path: list[int]) -> bool:
    """Whether its first task starts when it is released and none behind it waits without need."""
    start = {t: s.finish[t] - instance.comp[t, s.processor[t]] for t in path}
    data = {(u, v): d for (u, v), d in zip(instance.edges.tolist(), instance.data, strict=True)}
    for u, v in itertools.pairwise(path):
        a, b = s.processor[u], s.processor[v]
        arrivals = [s.finish[u]] if s.before[v] == u else []
        if (u, v) in data:
            transfer = instance.latency[a, b] + data[u, v] * instance.inv_bandwidth[a, b]
            arrivals.append(s.finish[u] + transfer * (a != b))
        if not any(arrival == pytest.approx(start[v]) for arrival in arrivals):
            return False
    return start[path[0]] == 0 and bool(s.finish[path[-1]] == s.finish.max())


@given(problems, seeds)
def test_a_move_in_a_block_makes_no_path_longer_than_it_is_judged(
    instance: Instance, seed: int
) -> None:
    """The schedule stays consistent, and paths through the tasks that change places are bounded."""
    rng = np.random.default_rng(seed)
    g = instance.arrays
    s = solution.solution(g, *random_candidate(instance, rng))
    c = blocks.critical_path(instance.n_tasks)
    state = np.array([seed])
    for _ in range(8):
        size = blocks.trace(g, s, c, solution.makespan(g, s), state)
        slack = SLACK * solution.makespan(g, s)
        assert is_longest_path(instance, s, c.task[:size].tolist())
        moves, begin = [], 0
        while begin < size:
            end = blocks.block_end(s, c, begin, size)
            blocks.survey(g, s, c, begin, end)
            places = range(begin, end + 1)
            moves += [
                (i, j, forward)
                for i in places
                for j in places
                for forward in (False, True)
                if i < j and blocks.possible(s, c, i, j, forward, slack)
            ]
            begin = end + 1
        if not moves:
            break
        i, j, forward = moves[rng.integers(len(moves))]
        judged = blocks.judge(s, c, i, j, forward, np.inf)
        changed = c.task[i : j + 1].copy()
        blocks.turn(g, s, c, i, j, forward)
        assert is_topological(instance, s.order)
        assert_consistent(g, s)
        assert s.path[changed].max() <= judged * (1 + 1e-12)


def search(
    instance: Instance, moves: int, seed: int, tenure: int = 10
) -> tuple[solution.Solution, Tabu, Any]:
    """A tabu search from HEFT's schedule: where it ends, what it forbids, and the best schedule."""
    g, (n, p) = instance.arrays, instance.comp.shape
    begun = heft(instance)
    order = execution_order(instance, begun)
    s, w = solution.solution(g, order, begun.processor), tabu(n, p, seed)
    best = np.array([solution.makespan(g, s)]), order.copy(), begun.processor.copy()
    tabu_search(g, eligibility.eligibility(g), s, w, tenure, moves, *best)
    return s, w, best


@given(problems, seeds, st.integers(1, 40))
def test_a_tabu_search_keeps_its_best_schedule(instance: Instance, seed: int, moves: int) -> None:
    s, _, (makespan, order, processor) = search(instance, moves, seed)
    assert_consistent(instance.arrays, s)
    assert np.isfinite(instance.comp[np.arange(instance.n_tasks), s.processor]).all()
    assert length(instance, order, processor, insertion=False) == makespan[0]
    assert makespan[0] <= solution.makespan(instance.arrays, s)


def test_an_arc_that_was_turned_stays_for_some_moves() -> None:
    """No pair of tasks changes places twice within the tenure, unless there is nothing else."""
    instance = benchmark("ft10")
    g, tenure = instance.arrays, 10
    begun = heft(instance)
    order = execution_order(instance, begun)
    s, w = solution.solution(g, order, begun.processor), tabu(*instance.comp.shape, seed=3)
    best = np.array([0.0]), order.copy(), begun.processor.copy()  # nothing is allowed as the best
    same = s.processor[:, None] == s.processor[None, :]
    turned_at: dict[tuple[int, int], int] = {}
    turned = early = 0
    for move in range(300):
        before = (s.position[:, None] < s.position[None, :]) & same
        tabu_search(g, eligibility.eligibility(g), s, w, tenure, 1, *best)
        after = (s.position[:, None] < s.position[None, :]) & same
        for u, v in np.argwhere(before & ~after).tolist():
            turned += 1
            early += move - turned_at.get((min(u, v), max(u, v)), -tenure - 1) <= tenure
            turned_at[min(u, v), max(u, v)] = move
    assert turned > 300
    assert early <= 0.02 * turned


@pytest.mark.parametrize("name", ["ft06", "la06", "la16"])
def test_one_search_comes_near_the_optimum_of_a_job_shop(name: str) -> None:
    optimum = {"ft06": 55, "la06": 926, "la16": 945}[name]
    _, _, (makespan, _, _) = search(benchmark(name), 20_000, seed=1)
    assert optimum <= makespan[0] <= 1.01 * optimum
