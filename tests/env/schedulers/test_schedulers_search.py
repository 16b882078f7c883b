"""The searches over order × assignment: what they find, and what they promise."""

import itertools
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagsched_env.problem.errors import DAGSchedError, InvalidScheduleError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import anytime
from dagsched_env.schedulers.anytime import DECODINGS, MOVES, Improvement, execution_order
from dagsched_env.schedulers.genetic import genetic
from dagsched_env.schedulers.heft import heft
from dagsched_env.schedulers.hill_climbing import hill_climbing
from dagsched_env.schedulers.iterated_lists import iterated_lists
from dagsched_env.schedulers.noisy_heft import noisy_heft
from dagsched_env.schedulers.simulated_annealing import annealing
from helpers import TESTS
from helpers.candidates import length, medium_instance
from helpers.oracles import GRAPHS, paper_instance
from helpers.strategies import instances

Search = Callable[..., Schedule]

SEARCHES: list[Search] = [annealing, genetic, hill_climbing, iterated_lists, noisy_heft]
seeds = st.integers(0, 2**32 - 1)
each_search = pytest.mark.parametrize("search", SEARCHES, ids=lambda search: search.__name__)


@pytest.fixture(scope="module")
def medium() -> Instance:
    return medium_instance()


@each_search
@settings(max_examples=25)
@given(instance=instances(), seed=seeds, insertion=st.booleans())
def test_every_search_is_valid_and_never_worse_than_heft(
    search: Search, instance: Instance, seed: int, insertion: bool
) -> None:
    trace: list[Improvement] = []
    schedule = search(instance, max_evaluations=300, seed=seed, insertion=insertion, trace=trace)
    schedule.validate(instance)
    assert schedule.algorithm == search.__name__
    assert instance.lower_bound * (1 - 1e-12) <= schedule.makespan <= heft(instance).makespan
    order = execution_order(instance, schedule)
    assert length(instance, order, schedule.processor, insertion=insertion) == schedule.makespan
    assert trace[-1].makespan == schedule.makespan


@each_search
def test_a_seed_decides_the_result(search: Search, medium: Instance) -> None:
    first = search(medium, max_evaluations=2000, seed=3)
    assert first == search(medium, max_evaluations=2000, seed=3)
    assert first == search(medium, max_evaluations=2000, seed=np.random.default_rng(3))
    others = [search(medium, max_evaluations=2000, seed=seed) for seed in range(4, 12)]
    assert any(first != other for other in others)
    default = MOVES if search in (annealing, hill_climbing) else DECODINGS
    assert search(medium, seed=3) == search(medium, max_evaluations=default, seed=3)


@each_search
def test_the_trace_records_every_improvement(search: Search, medium: Instance) -> None:
    trace: list[Improvement] = []
    schedule = search(medium, max_evaluations=4000, trace=trace)
    assert trace[0].makespan <= heft(medium).makespan
    assert trace[0].evaluations == 0
    assert trace[-1].makespan == schedule.makespan < heft(medium).makespan
    for earlier, later in itertools.pairwise(trace):
        assert later.makespan < earlier.makespan
        assert later.evaluations >= earlier.evaluations
        assert later.elapsed_s >= earlier.elapsed_s


@each_search
@pytest.mark.parametrize("limit", [1, 7, 100, 1234])
def test_exactly_the_allowed_evaluations_are_made(
    search: Search, limit: int, medium: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    budgets = []

    class Watched(anytime.Budget):
        def __init__(
            self, budget_s: float | None, max_evaluations: int | None, default: int
        ) -> None:
            super().__init__(budget_s, max_evaluations, default)
            budgets.append(self)

    monkeypatch.setattr(sys.modules[search.__module__], "Budget", Watched)
    search(medium, max_evaluations=limit)
    assert [budget.evaluations for budget in budgets] == [limit]


@each_search
def test_the_earlier_of_two_limits_stops(search: Search, medium: Instance) -> None:
    by_count = search(medium, max_evaluations=500, budget_s=1000.0, seed=1)
    assert by_count == search(medium, max_evaluations=500, seed=1)
    started = time.perf_counter()
    search(medium, max_evaluations=10**12, budget_s=0.02)
    assert time.perf_counter() - started < 60  # it ended at all


@each_search
def test_an_optimal_schedule_ends_the_search(search: Search) -> None:
    chain = Instance([[1.0], [2.0]], [(0, 1)], [5.0])
    trace: list[Improvement] = []
    assert search(chain, budget_s=1000.0, trace=trace).makespan == 3.0
    assert [found.evaluations for found in trace] == [0]


@pytest.mark.parametrize("search", [annealing, genetic], ids=lambda search: search.__name__)
@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_the_optimum_of_every_published_graph_is_found(search: Search, name: str) -> None:
    schedule = search(paper_instance(name), max_evaluations=100_000, seed=0)
    assert schedule.makespan == pytest.approx(GRAPHS[name]["makespan"]["optimum"], rel=1e-12)


@pytest.mark.parametrize(
    "search",
    [annealing, genetic, hill_climbing, iterated_lists],
    ids=lambda search: search.__name__,
)
def test_a_search_goes_on_from_a_schedule_that_is_known(search: Search, medium: Instance) -> None:
    known = annealing(medium, max_evaluations=50_000, seed=1)
    trace: list[Improvement] = []
    schedule = search(medium, max_evaluations=100, start=known, trace=trace)
    assert trace[0].makespan <= known.makespan < heft(medium).makespan
    assert schedule.makespan <= known.makespan
    with pytest.raises(InvalidScheduleError):
        search(paper_instance("Topcuoglu2002"), max_evaluations=1, start=known)


def test_a_gap_is_filled_in_the_final_order(gap_instance: Instance) -> None:
    assert annealing(gap_instance, max_evaluations=50).makespan == 17
    assert annealing(gap_instance, max_evaluations=50, insertion=False).makespan == 17


BAD_ARGUMENTS = [
    ({"budget_s": 0.0}, "budget_s is 0.0"),
    ({"budget_s": math.inf}, "budget_s is inf"),
    ({"budget_s": "1"}, "budget_s is '1'"),
    ({"max_evaluations": 0}, "max_evaluations is 0"),
    ({"max_evaluations": 1.5}, "max_evaluations is 1.5"),
    ({"max_evaluations": True}, "max_evaluations is True"),
    ({"seed": -1}, "seed is -1"),
    ({"seed": None}, "seed is None"),
    ({"trace": ()}, "trace is tuple"),
]


@each_search
@pytest.mark.parametrize(("options", "message"), BAD_ARGUMENTS)
def test_wrong_arguments_are_named(
    search: Search, options: dict[str, object], message: str, topcuoglu: Instance
) -> None:
    with pytest.raises(DAGSchedError, match=message):
        search(topcuoglu, **options)


def test_wrong_options_of_single_searches_are_named(topcuoglu: Instance) -> None:
    with pytest.raises(DAGSchedError, match="start_temperature is -1"):
        annealing(topcuoglu, start_temperature=-1)
    with pytest.raises(DAGSchedError, match=r"end_temperature is 2\.0: it may not exceed"):
        annealing(topcuoglu, end_temperature=2.0, start_temperature=1.0)
    with pytest.raises(DAGSchedError, match=r"pair_share is 1\.5: give a number in \[0, 1\]"):
        annealing(topcuoglu, pair_share=1.5)
    with pytest.raises(DAGSchedError, match=r"cluster_share is -1: give a number in \[0, 1\]"):
        annealing(topcuoglu, cluster_share=-1)
    with pytest.raises(DAGSchedError, match=r"pair_share \+ cluster_share is 1\.5: it may not"):
        annealing(topcuoglu, pair_share=0.75, cluster_share=0.75)
    with pytest.raises(DAGSchedError, match=r"cost_bias is 0\.5: give a number >= 1"):
        annealing(topcuoglu, cost_bias=0.5)
    with pytest.raises(DAGSchedError, match="best_place is 1: give True or False"):
        annealing(topcuoglu, best_place=1)
    with pytest.raises(DAGSchedError, match=r"load_weight is -1: give a number >= 0"):
        annealing(topcuoglu, load_weight=-1)
    with pytest.raises(DAGSchedError, match=r"load_weight is inf: give a number >= 0, finite"):
        annealing(topcuoglu, load_weight=np.inf)
    with pytest.raises(DAGSchedError, match="population is 1"):
        genetic(topcuoglu, population=1)
    with pytest.raises(DAGSchedError, match="sigma is 0"):
        noisy_heft(topcuoglu, sigma=0)


def test_the_searches_run_without_the_compiler() -> None:
    code = (
        "from dagsched_env.schedulers import SEARCHERS, annealing\n"
        "from helpers.oracles import paper_instance\n"
        "instance = paper_instance('Topcuoglu2002')\n"
        "for search in SEARCHERS.values():\n"
        "    print(repr(search(instance, max_evaluations=300).makespan))\n"
        "options = {'pair_share': 0.3, 'cluster_share': 0.2, 'cost_bias': 4.0}\n"
        "options |= {'best_place': True, 'load_weight': 8.0}\n"
        "print(repr(annealing(instance, max_evaluations=300, **options).makespan))\n"
    )
    path = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    results = []
    for disabled in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disabled, "PYTHONPATH": path}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        results.append(done.stdout)
    assert results[0] == results[1] != ""
