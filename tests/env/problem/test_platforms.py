"""Platforms: what turns a workflow into an instance, and that its CCR is what was asked for."""

import inspect

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dagsched_env import io
from dagsched_env.generators import CholeskyGenerator, Generator, TopcuogluGraphGenerator
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.platforms import (
    PLATFORMS,
    Clustered,
    CpuGpu,
    Platform,
    RandomPlatform,
    Related,
    Restricted,
    Seeded,
    Shared,
    Unrelated,
    ccr,
)
from dagsched_env.problem.workflow import Workflow

numbers = st.just(0.0) | st.floats(1e-3, 1e3)


@st.composite
def workflows(draw, max_tasks=10):
    n = draw(st.integers(1, max_tasks))
    pairs = [(i, j) for j in range(n) for i in range(j)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=20)) if pairs else []
    kinds = draw(st.none() | st.lists(st.sampled_from("ABC"), min_size=n, max_size=n))
    return Workflow(
        tasks=tuple(f"t{i}" for i in range(n)),
        runtimes=np.array(draw(st.lists(st.floats(1e-3, 1e3), min_size=n, max_size=n))),
        edges=tuple(edges),
        data=np.array(draw(st.lists(numbers, min_size=len(edges), max_size=len(edges)))),
        name="w",
        kinds=None if kinds is None else tuple(kinds),
    )


def drawn_platforms(p, ratio):
    """Platforms of p processors that should all have the given CCR."""
    sizes = {"n_processors": p, "ccr": ratio}
    simple = [Unrelated(**sizes), Related(**sizes), CpuGpu(**sizes, n_gpus=p // 2)]
    clustered = [Clustered(s, n_clusters=3, latency_share=0.25) for s in simple]
    restricted = [Restricted(s, share=0.4) for s in [*simple, *clustered]]
    nested = [Clustered(Clustered(simple[0]), n_clusters=4), Clustered(restricted[3])]
    shared = [Shared(s, cores=(1, 3), demand=(1, 4)) for s in [*simple, restricted[0], nested[0]]]
    around = [Clustered(shared[0]), Restricted(shared[1], share=0.4)]
    return [*simple, *clustered, *restricted, *nested, *shared, *around]


def measured_ccr(instance):
    """By the definition: mean over edges and ordered pairs / mean over tasks and eligible ones."""
    p = instance.n_processors
    pairs = [(a, b) for a in range(p) for b in range(p) if a != b]
    communication = np.mean(
        [
            [instance.latency[a, b] + d * instance.inv_bandwidth[a, b] for a, b in pairs]
            for d in instance.data
        ]
    )
    return communication / np.mean([row[np.isfinite(row)].mean() for row in instance.comp])


@settings(max_examples=60, deadline=None)
@given(
    workflow=workflows(),
    p=st.integers(1, 6),
    ratio=st.sampled_from([0.0, 0.1, 1.0, 7.5]),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_platform_has_exactly_the_ccr_asked_for(workflow, p, ratio, seed):
    for platform in drawn_platforms(p, ratio):
        instance = platform(workflow, np.random.default_rng(seed))
        assert platform.max_processors == instance.n_processors == p
        assert instance.task_names == workflow.tasks
        assert instance.name == workflow.name
        assert [tuple(edge) for edge in instance.edges] == list(workflow.edges)
        assert instance == platform(workflow, np.random.default_rng(seed))
        if p > 1 and workflow.data.any():
            assert measured_ccr(instance) == pytest.approx(ratio, rel=1e-12)
            assert ccr(instance) == pytest.approx(ratio, rel=1e-12)
        else:
            assert instance.latency.max() == 0
            assert ccr(instance) == 0


def test_ccr_of_instances_without_communication_or_computation():
    flow = Workflow(("a", "b"), np.zeros(2), ((0, 1),), np.ones(1))
    assert ccr(Platform([1.0, 1.0], 1.0).equip(flow)) == np.inf
    assert ccr(Platform([1.0], 1.0).equip(flow)) == 0
    alone = Workflow(("a",), np.ones(1), (), np.empty(0))
    assert ccr(Platform([1.0, 2.0], 1.0).equip(alone)) == 0


# -- each of them --------------------------------------------------------------------------------

FLOW = CholeskyGenerator(tiles=4).workflow(np.random.default_rng(0))


def on(platform, seed=1, workflow=FLOW):
    return platform(workflow, np.random.default_rng(seed))


def test_unrelated_costs_spread_by_beta_around_the_runtime():
    factors = on(Unrelated(n_processors=50, beta=0.8)).comp / FLOW.runtimes[:, None]
    assert stats.kstest(factors.ravel(), stats.uniform(0.6, 0.8).cdf).pvalue > 0.01
    alike = on(Unrelated(beta=0)).comp
    assert (alike == FLOW.runtimes[:, None]).all()


def test_related_processors_have_one_speed_for_all_tasks():
    speeds = FLOW.runtimes[:, None] / on(Related(n_processors=200, speeds=(2.0, 3.0))).comp
    assert speeds == pytest.approx(np.broadcast_to(speeds[0], speeds.shape))
    assert stats.kstest(speeds[0], stats.uniform(2, 1).cdf).pvalue > 0.01


def test_gpus_accelerate_by_kind():
    acceleration = {"POTRF": 2.0, "TRSM": 10.0, "SYRK": 25.0, "GEMM": 30.0}
    instance = on(CpuGpu(n_processors=5, n_gpus=2, acceleration=acceleration))
    assert instance.processor_names == ("CPU0", "CPU1", "CPU2", "GPU0", "GPU1")
    assert (instance.comp[:, :3] == FLOW.runtimes[:, None]).all()
    expected = FLOW.runtimes / [acceleration[kind] for kind in FLOW.kinds]
    assert (instance.comp[:, 3:] == expected[:, None]).all()


def test_drawn_accelerations_are_log_uniform_and_shared_by_a_kind():
    instance = on(CpuGpu(acceleration=(0.5, 30.0)))
    ratios = instance.comp[:, 0] / instance.comp[:, -1]
    for kind in set(FLOW.kinds):
        of_kind = ratios[[k == kind for k in FLOW.kinds]]
        assert of_kind == pytest.approx(of_kind[0])
    plain = Workflow(tuple(map(str, range(500))), np.ones(500), (), np.empty(0))
    accelerations = 1.0 / on(CpuGpu(acceleration=(0.5, 30.0)), workflow=plain).comp[:, -1]
    logarithms = np.log(accelerations)
    expected = stats.uniform(np.log(0.5), np.log(60.0))
    assert stats.kstest(logarithms, expected.cdf).pvalue > 0.01


def test_an_unknown_kind_is_named():
    platform = CpuGpu(acceleration={"POTRF": 2.0, "TRSM": 10.0, "GEMM": 30.0})
    with pytest.raises(DAGSchedError, match="acceleration names no task kind 'SYRK'"):
        on(platform)


def test_clusters_are_equal_parts_with_slow_links_between():
    fast = Unrelated(n_processors=7)
    instance = on(Clustered(fast, n_clusters=3, slowdown=4.0, latency_share=0.2))
    assert (instance.comp == on(fast).comp).all()
    cluster = np.array([0, 0, 0, 1, 1, 2, 2])
    near = (cluster[:, None] == cluster) & ~np.eye(7, dtype=bool)
    far = cluster[:, None] != cluster
    for links in (instance.inv_bandwidth, instance.latency):
        within, between = np.unique(links[near]), np.unique(links[far])
        assert within.size == between.size == 1
        assert between[0] == pytest.approx(4.0 * within[0])
    start_up = instance.latency[near | far].mean()
    transfer = instance.inv_bandwidth[near | far].mean() * instance.data.mean()
    assert start_up / (start_up + transfer) == pytest.approx(0.2)


def test_clusters_of_clusters_multiply_their_slowdowns():
    inner = Clustered(Unrelated(n_processors=4), n_clusters=4, slowdown=3.0, latency_share=0)
    instance = on(Clustered(inner, n_clusters=2, slowdown=5.0, latency_share=0))
    links = instance.inv_bandwidth
    assert links[0, 2] / links[0, 1] == pytest.approx(5.0)
    assert instance.latency.max() == 0


def test_more_clusters_than_processors_and_one_cluster():
    lonely = on(Clustered(Unrelated(n_processors=2), n_clusters=9))
    assert ccr(lonely) == pytest.approx(1.0)
    together = on(Clustered(Unrelated(n_processors=3), n_clusters=1, latency_share=0))
    assert together.inv_bandwidth[~np.eye(3, dtype=bool)] == pytest.approx(1.0)


def test_restrictions_leave_every_task_a_processor_and_the_stated_share():
    wide = Unrelated(n_processors=40)
    alone = np.isfinite(on(Restricted(wide, share=0.0)).comp)
    assert (alone.sum(axis=1) == 1).all()
    assert len(set(alone.argmax(axis=1))) > 5
    some = np.isfinite(on(Restricted(wide, share=0.3)).comp)
    assert some.mean() == pytest.approx(0.3, abs=0.05)
    assert (on(Restricted(wide, share=1.0)).comp == on(wide).comp).all()


def test_restrictions_add_up():
    once = np.isfinite(on(Restricted(Unrelated(), share=0.5)).comp)
    twice = np.isfinite(on(Restricted(Restricted(Unrelated(), share=0.5), share=0.5)).comp)
    assert twice.any(axis=1).all()
    assert twice.sum() < once.sum()


def test_shared_processors_have_cores_and_kinds_have_demands():
    instance = on(Shared(Unrelated(n_processors=50), cores=(8, 16), demand=(1, 8)))
    assert (instance.comp == on(Unrelated(n_processors=50)).comp).all()
    assert instance.resource_names == ("cores",)
    assert set(instance.capacities[:, 0]) == {8.0, 16.0}
    for kind in set(FLOW.kinds):
        assert (
            len({d for d, k in zip(instance.demands[:, 0], FLOW.kinds, strict=True) if k == kind})
            == 1
        )


def test_demands_are_log_uniform():
    plain = Workflow(tuple(map(str, range(2000))), np.ones(2000), (), np.empty(0))
    demands = on(Shared(cores=100, demand=(1, 63)), workflow=plain).demands[:, 0]
    assert set(demands) <= set(range(1, 64))
    octaves = np.bincount(np.log2(demands).astype(int), minlength=6)
    assert stats.chisquare(octaves).pvalue > 0.01


def test_no_task_uses_more_than_the_largest_processor_that_can_run_it():
    few = Restricted(Unrelated(n_processors=4), share=0.2)
    for seed in range(5):
        alone, shared = on(few, seed), on(Shared(few, cores=(2, 4, 8), demand=(6, 8)), seed)
        eligible = np.isfinite(alone.comp)
        largest = np.where(eligible, shared.capacities[:, 0], 0).max(axis=1)
        assert (shared.demands[:, 0] <= largest).all()
        assert (shared.demands[:, 0] == np.minimum(largest, 8)).any()
        assert (np.isfinite(shared.comp) <= eligible).all()


def test_recorded_cores_count_before_drawn_ones():
    uses = np.array([[3.0], [np.nan], [99.0]])
    flow = Workflow(
        ("a", "b", "c"), np.ones(3), (), np.empty(0), demands=uses, resource_names=("cores",)
    )
    instance = on(Shared(cores=8, demand=2), workflow=flow)
    assert instance.demands[:, 0].tolist() == [3.0, 2.0, 8.0]


def test_resources_are_stated_and_given_once():
    shared = Shared(cores=4)
    assert shared.max_resources == Clustered(Restricted(shared)).max_resources == 1
    assert Restricted().max_resources == 0
    assert Platform([1.0], 1.0, capacities={"cores": 2, "gpus": 1}).max_resources == 2
    with pytest.raises(DAGSchedError, match="its processors have resources already"):
        Shared(Restricted(shared))
    with pytest.raises(DAGSchedError, match="demand is 0: it needs 1 <= low <= high"):
        Shared(demand=0)
    with pytest.raises(DAGSchedError, match="cores has 0"):
        Shared(cores=0)


def test_choices_all_occur():
    platform = Unrelated(n_processors=(2, 5), beta=(0.0, 1.0), ccr=(0.5, 2.0))
    rng = np.random.default_rng(2)
    instances = [platform(FLOW, rng) for _ in range(60)]
    assert {i.n_processors for i in instances} == {2, 5}
    assert {round(ccr(i), 9) for i in instances} == {0.5, 2.0}
    assert {bool((i.comp == i.comp[:, :1]).all()) for i in instances} == {True, False}


# -- names, seeds and files ----------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(PLATFORMS))
def test_platforms_by_name_take_processors_and_ccr(name):
    platform = PLATFORMS[name](n_processors=5, ccr=3.0)
    instance = on(platform)
    assert instance.n_processors == 5
    assert ccr(instance) == pytest.approx(3.0)
    generator = TopcuogluGraphGenerator(n_tasks=9, platform=platform)
    assert isinstance(generator, Generator)
    assert generator.max_processors == 5
    assert ("beta" in inspect.signature(PLATFORMS[name]).parameters) == (
        name in {"unrelated", "clustered", "restricted"}
    )


def test_the_random_platform_of_traces_is_unrelated_with_a_seed():
    numbers = {"n_processors": 3, "beta": 1.5, "ccr": 2.0}
    by_trace = RandomPlatform(**numbers, seed=8).equip(FLOW)
    assert by_trace == Seeded(Unrelated(**numbers), seed=8).equip(FLOW)
    assert by_trace != RandomPlatform(**numbers, seed=9).equip(FLOW)


def test_a_described_platform_serves_generators_and_wrappers():
    described = Platform([1.0, 2.0, 4.0], bandwidths=1.0, latency=0.5)
    generator = CholeskyGenerator(tiles=4, platform=described)
    instance = generator(np.random.default_rng(0))
    assert generator.max_processors == 3
    assert instance == described.equip(FLOW)
    slow = on(Clustered(described, n_clusters=3, slowdown=7.0))
    assert ccr(slow) == pytest.approx(ccr(instance))


def test_traces_run_on_any_platform():
    platform = Seeded(Restricted(Clustered(CpuGpu(n_processors=6, n_gpus=2, ccr=0.5))), seed=4)
    instance = io.load("montage", platform=platform)
    assert instance.n_tasks == 58
    assert ccr(instance) == pytest.approx(0.5)
    assert instance == io.load("montage", platform=platform)


@pytest.mark.filterwarnings(
    "ignore::dagsched_env.problem.errors.AssumptionWarning"
)  # tasks of no time
@pytest.mark.parametrize("name", io.BUNDLED)
def test_bundled_traces_have_the_stated_sizes(name):
    readme = (io.bundled(name).parent / "README.md").read_text(encoding="utf-8")
    row = next(line for line in readme.splitlines() if line.startswith(f"| `{name}` "))
    file, n_tasks, n_edges = (row.split(" | ")[i].strip("`| ") for i in (1, 3, 4))
    instance = io.load(name, platform=RandomPlatform())
    assert io.bundled(name).name == file
    assert (instance.n_tasks, instance.n_edges) == (int(n_tasks), int(n_edges))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Unrelated(n_processors=0), "n_processors has 0"),
        (lambda: Unrelated(beta=2.5), "beta has 2.5: it needs to be >= 0 and <= 2"),
        (lambda: Unrelated(ccr=-1), "ccr has -1"),
        (lambda: Related(speeds=(0.0, 1.0)), r"speeds has 0.0: it needs to be > 0"),
        (lambda: Related(speeds=2.0), r"speeds is 2.0: give a tuple \(low, high\)"),
        (lambda: Related(speeds=(3.0, 2.0)), "it needs low <= high"),
        (lambda: CpuGpu(n_gpus=5), "n_gpus is 5: n_processors allows only 4"),
        (lambda: CpuGpu(n_gpus=(1, 2)), r"n_gpus is \(1, 2\): give one number"),
        (lambda: CpuGpu(acceleration={"A": 0.0}), r"acceleration\['A'\] has 0.0"),
        (lambda: CpuGpu(acceleration=(1.0,)), "acceleration is"),
        (lambda: Clustered(n_clusters=0), "n_clusters has 0"),
        (lambda: Clustered(slowdown=0.5), "slowdown has 0.5"),
        (lambda: Clustered(latency_share=1.5), "latency_share has 1.5"),
        (lambda: Restricted(share=-0.1), "share has -0.1"),
    ],
)
def test_bad_arguments_are_named(make, message):
    with pytest.raises(DAGSchedError, match=message):
        make()


def test_platforms_compare_and_hash():
    assert Clustered(CpuGpu()) == Clustered(CpuGpu())
    assert len({Unrelated(), Unrelated(), Related(), CpuGpu(acceleration={"A": 2.0})}) == 3
