"""Kernels against plain-Python references and published numbers; with the JIT and without."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagsched_env.kernels.arrays import MAKESPAN, N_PLACED, N_READY, StateArrays, allocate_state
from dagsched_env.kernels.graph import bounds, csr, ranks
from dagsched_env.kernels.schedules import decoding
from dagsched_env.kernels.state import completion, features, masks, timeline, transitions
from dagsched_env.problem.instance import Instance
from helpers import references
from helpers.oracles import (
    PEFT_OCT,
    PEFT_RANK_U,
    TOPCUOGLU_RANK_D,
    TOPCUOGLU_RANK_U,
    paper_instance,
)
from helpers.strategies import episodes, instances
from helpers.without_jit import WITHOUT_JIT, check_without_jit

seeds = st.integers(0, 2**32 - 1)


def random_topological_order(instance: Instance, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    partial = references.Partial(instance, insertion=True)
    order = []
    while ready := partial.ready_tasks():
        order.append(int(rng.choice(ready)))
        partial.placed[order[-1]] = (0, 0.0, 0.0)
    return np.array(order)


def random_processor(instance: Instance, task: int, rng: np.random.Generator) -> int:
    return int(rng.choice(np.flatnonzero(np.isfinite(instance.comp[task]))))


def fresh(instance: Instance) -> StateArrays:
    arrays = allocate_state(*instance.shape)
    transitions.reset(instance.arrays, arrays)
    return arrays


def partial_pair(
    instance: Instance, seed: int, insertion: bool
) -> tuple[StateArrays, references.Partial, np.random.Generator]:
    """The same random partial schedule twice: in kernel arrays and in the reference."""
    rng = np.random.default_rng(seed)
    arrays, partial = fresh(instance), references.Partial(instance, insertion=insertion)
    order = random_topological_order(instance, rng)
    for task in order[: rng.integers(len(order) + 1)].tolist():
        q = random_processor(instance, task, rng)
        transitions.place(instance.arrays, arrays, task, q, insertion, True)
        partial.place(task, q)
    return arrays, partial, rng


def assert_same(arrays: StateArrays, partial: references.Partial) -> None:
    for task in range(partial.instance.n_tasks):
        if task not in partial.placed:
            assert arrays.processor[task] == -1
            continue
        q, start, finish = partial.placed[task]
        assert arrays.processor[task] == q
        assert arrays.start[task] == pytest.approx(start, rel=1e-12)
        assert arrays.finish[task] == pytest.approx(finish, rel=1e-12)


# -- graph -------------------------------------------------------------------------------------


def test_compress_keeps_the_given_order_in_each_group() -> None:
    keys, values = np.array([2, 0, 2, 0, 2]), np.array([5, 6, 7, 8, 9])
    ptr, grouped, weights = csr.compress(4, keys, values, np.arange(5.0))
    assert ptr.tolist() == [0, 2, 2, 5, 5]
    assert grouped.tolist() == [6, 8, 5, 7, 9]
    assert weights.tolist() == [1, 3, 0, 2, 4]


def test_topological_order_is_first_in_first_out_and_stops_at_a_cycle() -> None:
    def order(n: int, edges: list[tuple[int, int]]) -> list[int]:
        sources, targets = np.array(edges, dtype=np.int64).reshape(-1, 2).T.copy()
        weights = np.zeros(len(edges))
        succ_ptr, succ_task, _ = csr.compress(n, sources, targets, weights)
        pred_ptr, _, _ = csr.compress(n, targets, sources, weights)
        return csr.topological_order(succ_ptr, succ_task, pred_ptr).tolist()

    assert order(5, [(3, 1), (4, 0), (1, 0), (3, 2)]) == [3, 4, 1, 2, 0]
    assert order(4, [(0, 1), (1, 2), (2, 1), (2, 3)]) == [0]
    assert order(2, []) == [0, 1]


# -- ranks -------------------------------------------------------------------------------------


def test_published_ranks(topcuoglu: Instance) -> None:
    assert topcuoglu.rank_u == pytest.approx(TOPCUOGLU_RANK_U, abs=5e-4)
    assert topcuoglu.rank_d == pytest.approx(TOPCUOGLU_RANK_D, abs=5e-4)
    peft = paper_instance("PEFT2014")
    assert peft.rank_u == pytest.approx(PEFT_RANK_U, abs=5e-4)
    assert peft.oct.tolist() == PEFT_OCT


def test_published_order_resolves_the_tie_of_n3_and_n4(topcuoglu: Instance) -> None:
    assert topcuoglu.rank_u[2] != topcuoglu.rank_u[3]  # equal on paper, not in float64
    order = ranks.order_by_rank(topcuoglu.rank_u, topcuoglu.arrays.topo_position)
    assert order.tolist() == [0, 2, 3, 1, 4, 5, 8, 6, 7, 9]


@given(instances())
def test_ranks(instance: Instance) -> None:
    assert instance.rank_u == pytest.approx(references.rank_u(instance), rel=1e-12)
    assert instance.rank_d == pytest.approx(references.rank_d(instance), rel=1e-12)
    table = np.array(references.oct_table(instance))
    assert instance.oct == pytest.approx(table, rel=1e-12)


@given(instances())
def test_order_by_rank(instance: Instance) -> None:
    rank = ranks.rank_u(instance.arrays)
    order = ranks.order_by_rank(rank, instance.arrays.topo_position).tolist()
    assert order == references.order_by_rank(instance, rank.tolist())
    place = {task: i for i, task in enumerate(order)}
    assert all(place[u] < place[v] for u, v in instance.edges.tolist())


# -- timeline ----------------------------------------------------------------------------------

moments = st.integers(0, 30).map(float)


@given(st.lists(moments, max_size=12, unique=True), moments, moments, st.booleans())
def test_earliest_slot(ends: list[float], ready: float, duration: float, insertion: bool) -> None:
    ends = sorted(ends)[: len(ends) // 2 * 2]
    busy = list(zip(ends[::2], ends[1::2], strict=True))
    arrays = allocate_state(len(busy) + 1, 1, 0)
    arrays.slot_count[0] = len(busy)
    arrays.slot_start[0, : len(busy)] = ends[::2]
    arrays.slot_finish[0, : len(busy)] = ends[1::2]
    g = Instance([[1.0]], [], []).arrays
    index, start = timeline.earliest_slot(g, arrays, 0, 0, ready, duration, insertion)
    assert start == references.earliest_start(busy, ready, duration, insertion)
    assert all(finish <= start for _, finish in busy[:index])
    assert all(start + duration <= begin for begin, _ in busy[index:])


@pytest.mark.parametrize(
    ("duration", "start"),
    [(12.0, 0.0), (12.5, 17.0)],
    ids=["fills the gap exactly", "is too long for the gap"],
)
def test_exact_gap(gap_instance: Instance, duration: float, start: float) -> None:
    comp = gap_instance.comp.copy()
    comp[2, 1] = duration
    instance = Instance(comp, gap_instance.edges, gap_instance.data)
    arrays = fresh(instance)
    for task, q in ((0, 0), (1, 1), (2, 1)):
        transitions.place(instance.arrays, arrays, task, q, True, True)
    assert arrays.start[2] == start


# -- state -------------------------------------------------------------------------------------


@given(episodes())
def test_place_and_the_running_bound(episode: tuple[Instance, int, bool]) -> None:
    instance = episode[0]
    arrays, partial, _ = partial_pair(*episode)
    assert_same(arrays, partial)
    assert sorted(arrays.ready[: arrays.counts[N_READY]].tolist()) == partial.ready_tasks()
    assert arrays.sequence[: arrays.counts[N_PLACED]].tolist() == list(partial.placed)
    assert arrays.totals[MAKESPAN] == max([0.0, *arrays.finish[arrays.processor >= 0]])
    running = arrays.bound.copy(), arrays.totals.copy()
    transitions.recompute_bounds(instance.arrays, arrays)
    assert (running[0] == arrays.bound).all()
    assert (running[1] == arrays.totals).all()


@given(episodes())
def test_a_cleared_state_is_the_empty_one_but_for_its_bounds(
    episode: tuple[Instance, int, bool],
) -> None:
    instance, seed, insertion = episode
    arrays, _, _ = partial_pair(instance, seed, insertion)
    bounds_before = arrays.bound.copy()
    transitions.clear(instance.arrays, arrays)
    assert np.array_equal(arrays.bound, bounds_before)
    transitions.recompute_bounds(instance.arrays, arrays)
    empty = fresh(instance)
    ready = empty.counts[N_READY]
    assert np.array_equal(arrays.ready[:ready], empty.ready[:ready])
    for name in ("processor", "slot_count", "missing", "bound", "counts", "totals"):
        assert np.array_equal(getattr(arrays, name), getattr(empty, name)), name


@given(episodes())
def test_slots_are_sorted_and_disjoint(episode: tuple[Instance, int, bool]) -> None:
    arrays, partial, _ = partial_pair(*episode)
    for q in range(partial.instance.n_processors):
        count = arrays.slot_count[q]
        starts, finishes = arrays.slot_start[q, :count], arrays.slot_finish[q, :count]
        busy = np.array(partial.busy(q)).reshape(-1, 2)
        assert starts == pytest.approx(busy[:, 0], rel=1e-12)
        assert finishes == pytest.approx(busy[:, 1], rel=1e-12)
        assert (finishes[:-1] <= starts[1:]).all()


@given(episodes())
def test_copy_and_remove(episode: tuple[Instance, int, bool]) -> None:
    instance, _, insertion = episode
    arrays, partial, rng = partial_pair(*episode)
    twin = fresh(instance)
    transitions.copy_state(arrays, twin)
    if not partial.ready_tasks():
        return
    task = int(rng.choice(partial.ready_tasks()))
    q = random_processor(instance, task, rng)
    transitions.place(instance.arrays, arrays, task, q, insertion, True)
    assert arrays.sequence[arrays.counts[N_PLACED] - 1] == task
    assert twin.processor[task] == -1
    transitions.remove_last(instance.arrays, arrays)
    for name in ("processor", "slot_count", "missing", "bound", "counts", "totals"):
        assert (getattr(arrays, name) == getattr(twin, name)).all(), name
    ready = twin.counts[N_READY]
    assert set(arrays.ready[:ready].tolist()) == set(twin.ready[:ready].tolist())
    assert (arrays.ready[arrays.ready_index[arrays.ready[:ready]]] == arrays.ready[:ready]).all()
    assert_same(arrays, partial)


# -- completion --------------------------------------------------------------------------------


@given(episodes())
def test_best_processor_and_decode(episode: tuple[Instance, int, bool]) -> None:
    instance, seed, insertion = episode
    order = random_topological_order(instance, np.random.default_rng(seed))
    partial = references.Partial(instance, insertion=insertion)
    for task in order.tolist():
        partial.place_earliest(task)
    arrays = fresh(instance)
    for task in order:
        q = completion.best_processor(instance.arrays, arrays, task, insertion)
        transitions.place(instance.arrays, arrays, task, q, insertion, False)
    assert_same(arrays, partial)
    decoded = decoding.decode(instance.arrays, order, arrays.processor, insertion)
    assert (decoded[1] == arrays.start).all()


@pytest.mark.parametrize("sigma", [0.0, 0.3, 1.0])
@given(episode=episodes())
def test_complete(sigma: float, episode: tuple[Instance, int, bool]) -> None:
    instance, _, insertion = episode
    arrays, partial, rng = partial_pair(*episode)
    noise = rng.standard_normal(instance.n_tasks * (1 + instance.n_processors))
    inputs = (np.array(instance.rank_u), np.array(instance.oct), sigma, noise)
    makespan = completion.complete(instance.arrays, arrays, *inputs, insertion)
    assert makespan == pytest.approx(references.complete(partial, *inputs), rel=1e-12)
    assert_same(arrays, partial)


# -- features, masks, bounds -------------------------------------------------------------------


@given(episodes())
def test_placements_and_masks(episode: tuple[Instance, int, bool]) -> None:
    instance, _, insertion = episode
    arrays, partial, _ = partial_pair(*episode)
    n, p = instance.comp.shape
    legal = np.ones((n, p), dtype=np.bool_)
    masks.legal_pairs(instance.arrays, arrays, legal)
    for task in range(n):
        for q in range(p):
            cost = instance.comp[task, q]
            possible = task in partial.ready_tasks() and cost < np.inf
            assert legal[task, q] == possible
            if not possible:
                continue
            start = partial.start(task, q)
            before = max((f for s, f in partial.busy(q) if f <= start), default=0.0)
            times = features.placement(instance.arrays, arrays, task, q, insertion)
            assert times == pytest.approx((start, start + cost, start - before))


@given(episodes())
def test_available(episode: tuple[Instance, int, bool]) -> None:
    arrays, partial, _ = partial_pair(*episode)
    for q in range(partial.instance.n_processors):
        finish = max((f for _, f in partial.busy(q)), default=0.0)
        assert features.available(arrays, q) == pytest.approx(finish)


@given(episodes())
def test_dynamic_features_fill_padded_arrays(episode: tuple[Instance, int, bool]) -> None:
    instance, _, insertion = episode
    arrays, partial, _ = partial_pair(*episode)
    n, p = instance.comp.shape
    tasks = np.zeros((4, n + 2), dtype=np.float32)
    processors = np.zeros((1, p + 1), dtype=np.float32)
    pairs = np.zeros((4, n + 2, p + 1), dtype=np.float32)
    features.dynamic_features(
        instance.arrays, arrays, insertion, 2.0, 20.0, tasks, processors, pairs, pairs[:2, :, :0]
    )
    available = np.array([features.available(arrays, q) for q in range(p)])
    times = np.zeros((n, p, 3))
    for task in partial.ready_tasks():
        for q in np.flatnonzero(np.isfinite(instance.comp[task])):
            times[task, q] = features.placement(instance.arrays, arrays, task, q, insertion)
    assert pairs[1:, :n, :p] == pytest.approx(
        np.minimum(times / 2.0, 20.0).transpose(2, 0, 1), rel=1e-6
    )
    assert processors[0, :p] == pytest.approx(np.minimum(available / 2.0, 20.0), rel=1e-6)
    assert tasks[3, :n] == pytest.approx(np.minimum(arrays.bound / 2.0, 20.0), rel=1e-6)
    ready = partial.ready_tasks()
    status = [2 if t in partial.placed else 1 if t in ready else 0 for t in range(n)]
    assert (tasks[:3, :n] == np.eye(3)[:, status]).all()
    placed = np.zeros((n, p))
    for task, (q, _, _) in partial.placed.items():
        placed[task, q] = 1.0
    assert (pairs[0, :n, :p] == placed).all()
    assert not tasks[:, n:].any()
    assert not processors[:, p:].any()
    assert not pairs[:, n:].any()
    assert not pairs[:, :, p:].any()


@given(instances())
def test_bounds(instance: Instance) -> None:
    assert bounds.critical_path_bound(instance.arrays) == references.critical_path(instance)
    work = instance.comp.min(axis=1).sum()
    assert bounds.load_bound(instance.arrays) == pytest.approx(work / instance.n_processors)


# -- without the JIT ---------------------------------------------------------------------------


@pytest.mark.skipif(WITHOUT_JIT, reason="this is that run")
def test_everything_above_holds_without_the_jit() -> None:
    check_without_jit(__file__)
