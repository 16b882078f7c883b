"""Families of task graphs: sizes by their formulas, small graphs edge by edge, every platform."""

import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagsched_env.generators import (
    GENERATORS,
    ChainsGenerator,
    CholeskyGenerator,
    DaggenGenerator,
    ErdosRenyiGenerator,
    FFTGenerator,
    ForkJoinGenerator,
    GaussianEliminationGenerator,
    Generator,
    GraphFamily,
    InTreeGenerator,
    LaplaceGenerator,
    LayeredGenerator,
    LUGenerator,
    MolecularDynamicsGenerator,
    OutTreeGenerator,
    QRGenerator,
    QueryPlansGenerator,
    SeriesParallelGenerator,
    StencilGenerator,
)
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.platforms import PLATFORMS, Shared, Unrelated, ccr

FAMILIES = {
    name: family
    for name, family in GENERATORS.items()
    if isinstance(family, type) and issubclass(family, GraphFamily) and name != "wfcommons"
}


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def graph(family: GraphFamily, seed: int = 0) -> nx.DiGraph:
    """The drawn graph, on the task names."""
    drawn = family.workflow(rng(seed))
    result = nx.DiGraph()
    result.add_nodes_from(drawn.tasks)
    result.add_edges_from((drawn.tasks[u], drawn.tasks[v]) for u, v in drawn.edges)
    assert result.number_of_edges() == len(drawn.edges)
    return result


@pytest.mark.parametrize("name", sorted(FAMILIES))
@pytest.mark.parametrize("machines", sorted(PLATFORMS))
def test_every_family_on_every_platform(name: str, machines: str) -> None:
    generator = FAMILIES[name](platform=PLATFORMS[machines](n_processors=3, ccr=2.0))
    assert isinstance(generator, Generator)
    for seed in range(3):
        instance = generator(rng(seed))
        assert instance == generator(rng(seed))
        assert instance.n_tasks <= generator.max_tasks
        assert instance.n_edges <= generator.max_edges
        assert instance.n_processors == generator.max_processors == 3
        if instance.n_edges:
            assert ccr(instance) == pytest.approx(2.0, rel=1e-9)


def test_seeds_differ() -> None:
    for name, family in FAMILIES.items():
        assert family()(rng(1)) != family()(rng(2)), name


def test_the_registry_is_sorted_and_complete() -> None:
    assert list(GENERATORS) == sorted(GENERATORS)
    assert len(FAMILIES) == 18


@given(size=st.integers(2, 12))
@settings(max_examples=11)
def test_gaussian_elimination(size: int) -> None:
    drawn = graph(GaussianEliminationGenerator(size=size))
    assert len(drawn) == (size**2 + size - 2) // 2
    assert drawn.number_of_edges() == size**2 - size - 1
    assert nx.dag_longest_path_length(drawn) == 2 * (size - 1) - 1


@pytest.mark.parametrize("points", [2, 4, 8, 32])
def test_fft(points: int) -> None:
    log = int(math.log2(points))
    drawn = graph(FFTGenerator(points=points))
    assert len(drawn) == 2 * points - 1 + points * log
    # Every path of an FFT graph has the same length: all are critical (Topcuoglu 2002, sec. 6.2).
    sources = [t for t in drawn if drawn.in_degree(t) == 0]
    sinks = [t for t in drawn if drawn.out_degree(t) == 0]
    assert (len(sources), len(sinks)) == (1, points)
    for sink in sinks:
        assert nx.shortest_path_length(drawn, sources[0], sink) == 2 * log
    assert nx.dag_longest_path_length(drawn) == 2 * log


@pytest.mark.parametrize("size", [1, 2, 5])
def test_laplace_is_a_diamond(size: int) -> None:
    drawn = graph(LaplaceGenerator(size=size))
    assert len(drawn) == size**2
    assert drawn.number_of_edges() == 2 * size * (size - 1)
    assert nx.dag_longest_path_length(drawn) == 2 * (size - 1)


def test_stencil() -> None:
    drawn = graph(StencilGenerator(width=5, steps=4))
    assert len(drawn) == 20
    assert drawn.number_of_edges() == 3 * (3 * 5 - 2)
    assert nx.dag_longest_path_length(drawn) == 3


def test_molecular_dynamics_has_41_tasks() -> None:
    drawn = graph(MolecularDynamicsGenerator())
    assert (len(drawn), drawn.number_of_edges()) == (41, 71)
    assert nx.is_weakly_connected(drawn)


def test_cholesky_of_nine_tiles_edge_by_edge() -> None:
    drawn = graph(CholeskyGenerator(tiles=3))
    assert set(drawn.edges) == {
        ("POTRF(0)", "TRSM(1,0)"),
        ("POTRF(0)", "TRSM(2,0)"),
        ("TRSM(1,0)", "SYRK(1,0)"),
        ("TRSM(1,0)", "GEMM(2,1,0)"),
        ("TRSM(2,0)", "SYRK(2,0)"),
        ("TRSM(2,0)", "GEMM(2,1,0)"),
        ("SYRK(1,0)", "POTRF(1)"),
        ("POTRF(1)", "TRSM(2,1)"),
        ("GEMM(2,1,0)", "TRSM(2,1)"),
        ("TRSM(2,1)", "SYRK(2,1)"),
        ("SYRK(2,0)", "SYRK(2,1)"),
        ("SYRK(2,1)", "POTRF(2)"),
    }


@pytest.mark.parametrize("tiles", range(1, 7))
def test_factorisations_have_their_tasks_and_operations(tiles: int) -> None:
    t = tiles
    for family, tasks, flops in (
        (CholeskyGenerator, t * (t + 1) * (t + 2) // 6, t**3 / 3),
        (LUGenerator, t * (t + 1) * (2 * t + 1) // 6, 2 * t**3 / 3),
        (QRGenerator, t * (t + 1) * (2 * t + 1) // 6, 4 * t**3 / 3),
    ):
        drawn = family(tiles=t).workflow(rng())
        assert len(drawn.tasks) == tasks
        assert drawn.runtimes.sum() == pytest.approx(flops)
        assert drawn.kinds is not None
        assert drawn.kinds[0] in ("POTRF", "GETRF", "GEQRT")
        assert nx.dag_longest_path_length(graph(family(tiles=t))) == 3 * (t - 1)


@pytest.mark.parametrize("seed", range(5))
def test_trees(seed: int) -> None:
    spread = graph(OutTreeGenerator(levels=4, degree=(1, 3)), seed)
    assert nx.is_arborescence(spread)
    assert nx.dag_longest_path_length(spread) == 3
    assert all(degree <= 3 for _, degree in spread.out_degree())
    gathered = graph(InTreeGenerator(levels=4, degree=(1, 3)), seed)
    assert nx.is_arborescence(gathered.reverse())


@pytest.mark.parametrize("seed", range(5))
def test_query_plans_are_in_trees_of_scans_joins_and_steps(seed: int) -> None:
    family = QueryPlansGenerator(n_plans=3, scans=4, steps=2)
    drawn = graph(family, seed)
    assert family.max_tasks == len(drawn) == 3 * (4 + 3 + 2)
    assert family.max_edges == drawn.number_of_edges() == 3 * 8
    plans = list(nx.weakly_connected_components(drawn))
    assert len(plans) == 3
    assert all(nx.is_arborescence(drawn.subgraph(plan).reverse()) for plan in plans)
    degrees = sorted(degree for _, degree in drawn.in_degree())
    assert degrees == [0] * 12 + [1] * 6 + [2] * 9
    last = [task for task, degree in drawn.out_degree() if degree == 0]
    assert all(drawn.in_degree(task) == 1 for task in last)


def test_times_and_cores_of_query_plans_are_those_of_their_table() -> None:
    drawn = QueryPlansGenerator(n_plans=2000).workflow(rng())
    inner = {j for _, j in drawn.edges}
    scan = np.array([task not in inner for task in range(len(drawn.tasks))])
    cores = drawn.recorded("cores")
    shares = [0.1, 0.5, 0.9]
    for values, expected in (
        (drawn.runtimes[scan], [1.2, 2.5, 3.7]),
        (drawn.runtimes[~scan], [0.04, 0.15, 0.58]),
        (cores[scan], [2, 7, 246]),
        (cores[~scan], [1, 200, 200]),
    ):
        assert np.quantile(values, shares) == pytest.approx(expected, rel=0.15)
    plans = np.bincount([int(task[1:].partition(".")[0]) for task in drawn.tasks])
    assert np.quantile(plans, shares) == pytest.approx([4, 9, 14])


def test_query_plans_share_the_cores_that_they_record() -> None:
    family = QueryPlansGenerator(scan_cores=(1, 6), stage_cores=(2, 3), platform=Shared(cores=64))
    instance = family(rng())
    assert family.max_resources == instance.n_resources == 1
    assert set(instance.demands[:, 0]) <= set(range(1, 7))
    assert QueryPlansGenerator()(rng()).n_resources == 0


def test_chains() -> None:
    drawn = graph(ChainsGenerator(chains=5, length=4))
    parts = list(nx.weakly_connected_components(drawn))
    assert sorted(map(len, parts)) == [4] * 5
    assert max(dict(drawn.in_degree()).values()) == 1


def test_fork_join() -> None:
    drawn = graph(ForkJoinGenerator(phases=2, width=3, length=2))
    assert len(drawn) == 2 * (3 * 2) + 3
    assert [t for t in drawn if drawn.in_degree(t) == 3] == [
        t for t in drawn if drawn.in_degree(t) > 1
    ]
    assert nx.dag_longest_path_length(drawn) == 2 * 3


@pytest.mark.parametrize("seed", range(8))
def test_series_parallel_graphs_reduce_to_one_edge(seed: int) -> None:
    drawn = graph(SeriesParallelGenerator(n_tasks=25), seed)
    parallel = nx.MultiDiGraph(drawn)
    changed = True
    while changed:
        changed = False
        for task in list(parallel):
            if parallel.in_degree(task) == 1 == parallel.out_degree(task):
                (before,), (after,) = parallel.predecessors(task), parallel.successors(task)
                parallel.remove_node(task)
                if not parallel.has_edge(before, after):
                    parallel.add_edge(before, after)
                changed = True
    assert (len(parallel), parallel.number_of_edges()) == (2, 1)


def test_erdos_renyi_has_the_expected_edges() -> None:
    counts = [
        ErdosRenyiGenerator(n_tasks=60, probability=0.2)(rng(seed)).n_edges for seed in range(50)
    ]
    mean, spread = 0.2 * 1770, math.sqrt(0.2 * 0.8 * 1770 / 50)
    assert abs(np.mean(counts) - mean) < 4 * spread


def test_layers_have_edges_to_the_next_layer_only() -> None:
    drawn = graph(LayeredGenerator(layers=5, width=4, probability=0.5))
    assert len(drawn) == 20
    assert all(int(v) // 4 == int(u) // 4 + 1 for u, v in drawn.edges)
    assert all(drawn.in_degree(t) > 0 for t in drawn if int(t) >= 4)


def test_daggen_jump_and_width() -> None:
    chain = graph(DaggenGenerator(n_tasks=30, fat=0.0, jump=1))
    assert nx.dag_longest_path_length(chain) == 29
    flat = graph(DaggenGenerator(n_tasks=30, fat=1.0, density=0.2), 3)
    assert nx.dag_longest_path_length(flat) < 12


@pytest.mark.parametrize(
    ("family", "arguments", "message"),
    [
        (CholeskyGenerator, {"tiles": 0}, "tiles"),
        (FFTGenerator, {"points": 6}, "points"),
        (GaussianEliminationGenerator, {"size": 1}, "size"),
        (ErdosRenyiGenerator, {"probability": 1.5}, "probability"),
        (DaggenGenerator, {"fat": -1}, "fat"),
        (LayeredGenerator, {"layers": (3, 2)}, "layers"),
        (StencilGenerator, {"platform": "fast"}, "platform is 'fast'"),
        (Unrelated, {"beta": 3.0}, "beta"),
    ],
)
def test_bad_arguments_are_named(family: type, arguments: dict, message: str) -> None:
    with pytest.raises(DAGSchedError, match=message):
        family(**arguments)
