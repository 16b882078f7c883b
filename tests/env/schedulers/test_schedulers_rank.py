"""Rank-based schedulers: published makespans, and plain-Python references on random problems."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagsched_env.kernels.arrays import allocate_state
from dagsched_env.kernels.lists import fixed_order, orders
from dagsched_env.kernels.state import completion, transitions
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.cpop import cpop
from dagsched_env.schedulers.heft import heft
from dagsched_env.schedulers.lookahead_heft import lookahead_heft
from dagsched_env.schedulers.mapping import eft_greedy
from dagsched_env.schedulers.peft import ipeft, peft, ppts
from dagsched_env.schedulers.static_orders import hcpt, hlfet, mcp, pets
from helpers import references, references_rank
from helpers.oracles import GRAPHS, paper_instance
from helpers.references import assert_same
from helpers.strategies import episodes, instances
from helpers.without_jit import WITHOUT_JIT, check_without_jit

PUBLISHED = {"HEFT": heft, "CPOP": cpop, "PEFT": peft, "LookaheadHEFT": lookahead_heft}
REFERENCED = [cpop, hcpt, hlfet, ipeft, lookahead_heft, mcp, peft, pets, ppts]


@pytest.mark.parametrize("column", PUBLISHED)
@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_published_makespans(column: str, name: str) -> None:
    instance = paper_instance(name)
    schedule = PUBLISHED[column](instance)
    schedule.validate(instance)
    assert schedule.makespan == pytest.approx(GRAPHS[name]["makespan"][column], rel=1e-12)


@pytest.mark.parametrize("scheduler", REFERENCED, ids=lambda scheduler: scheduler.__name__)
@given(instance=instances(), insertion=st.booleans())
def test_each_is_the_algorithm_of_its_paper(
    scheduler: Callable[..., Schedule], instance: Instance, insertion: bool
) -> None:
    schedule = scheduler(instance, insertion=insertion)
    reference = getattr(references_rank, scheduler.__name__)
    assert_same(schedule, reference(instance, insertion=insertion))
    assert schedule.algorithm == scheduler.__name__


@pytest.mark.parametrize("rank", ["mean", "best", "worst", "median"])
@given(instance=instances(), insertion=st.booleans())
def test_heft_with_each_rank(rank: str, instance: Instance, insertion: bool) -> None:
    schedule = heft(instance, insertion=insertion, rank=rank)
    assert_same(schedule, references_rank.heft(instance, insertion=insertion, rank=rank))


def test_ranks_of_heft_differ_and_an_unknown_one_is_named() -> None:
    instance = Instance([[10, 1, 1], [5, 5, 5], [4, 4, 9]], [], [])
    orders_by_rank = {
        "best": [1, 2, 0],
        "worst": [0, 2, 1],
        "median": [1, 2, 0],
        "mean": [2, 1, 0],
    }
    for rank, order in orders_by_rank.items():
        partial = references.Partial(instance, insertion=True)
        for task in order:
            partial.place_earliest(task)
        assert_same(heft(instance, rank=rank), partial)
    with pytest.raises(DAGSchedError, match="unknown rank 'top': choose mean, best, worst"):
        heft(instance, rank="top")  # type: ignore[arg-type]


def test_hlfet_appends_and_the_others_insert_by_default(gap_instance: Instance) -> None:
    assert hlfet(gap_instance).makespan == 20
    assert hlfet(gap_instance, insertion=True).makespan == 17
    for scheduler in (cpop, hcpt, heft, lookahead_heft, mcp):
        assert scheduler(gap_instance).makespan == 17
        assert scheduler(gap_instance, insertion=False).makespan == 20


@given(instances(), st.booleans())
def test_pets_without_rounding(instance: Instance, insertion: bool) -> None:
    schedule = pets(instance, insertion=insertion, rounded=False)
    assert_same(schedule, references_rank.pets(instance, insertion=insertion, rounded=False))


def test_pets_rounds_ranks_as_published() -> None:
    tiny = Instance([[0.3], [0.2], [0.4]], [], [])
    assert pets(tiny).start.tolist() == [0.2, 0.0, 0.5]  # all 0: the cheapest first
    assert pets(tiny, rounded=False).start.tolist() == [0.4, 0.7, 0.0]


@pytest.mark.parametrize("scheduler", [*REFERENCED, heft], ids=lambda scheduler: scheduler.__name__)
@given(instance=instances())
def test_the_unit_of_time_does_not_matter(
    scheduler: Callable[..., Schedule], instance: Instance
) -> None:
    options = {"rounded": False} if scheduler is pets else {}
    doubled = Instance(
        2 * instance.comp,
        instance.edges,
        2 * instance.data,
        inv_bandwidth=instance.inv_bandwidth,
        latency=2 * instance.latency,
    )
    schedule, twice = scheduler(instance, **options), scheduler(doubled, **options)
    assert (twice.processor == schedule.processor).all()
    assert (twice.start == 2 * schedule.start).all()


def test_cpop_splits_a_path_that_no_processor_can_run() -> None:
    inf = float("inf")
    comp = [[1, 5], [2, inf], [inf, 2], [1, 5]]
    instance = Instance(comp, [(0, 1), (1, 2), (2, 3)], [1, 1, 1])
    schedule = cpop(instance)
    schedule.validate(instance)
    assert schedule.processor.tolist() == [0, 0, 1, 0]


# -- kernels -----------------------------------------------------------------------------------


@given(episodes())
def test_ready_order(episode: tuple[Instance, int, bool]) -> None:
    instance, seed, _ = episode
    order = np.random.default_rng(seed).permutation(instance.n_tasks)
    place = {task: i for i, task in enumerate(order.tolist())}
    partial, wanted = references.Partial(instance, insertion=True), []
    while ready := partial.ready_tasks():
        wanted.append(min(ready, key=place.__getitem__))
        partial.placed[wanted[-1]] = (0, 0.0, 0.0)
    result = orders.ready_order(instance.arrays, order)
    assert result.tolist() == wanted
    assert (orders.ready_order(instance.arrays, result) == result).all()


def crowded_instance(seed: int) -> Instance:
    """150 tasks on three processors: many gaps, many tasks without duration."""
    rng = np.random.default_rng(seed)
    comp = rng.integers(0, 9, (150, 3)).astype(float)
    edges = [(u, v) for v in range(1, 150) for u in {int(rng.integers(v)), int(rng.integers(v))}]
    return Instance(comp, edges, rng.integers(0, 60, len(edges)))


@pytest.mark.parametrize("insertion", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_lists_place_like_the_simulator(seed: int, insertion: bool) -> None:
    instance = crowded_instance(seed)
    rng = np.random.default_rng(seed)
    order = orders.ready_order(instance.arrays, rng.permutation(instance.n_tasks))
    arrays = allocate_state(*instance.shape)
    transitions.reset(instance.arrays, arrays)
    for t in order:
        q = completion.best_processor(instance.arrays, arrays, t, insertion)
        transitions.place(instance.arrays, arrays, t, q, insertion, False)
    processor, start, finish = fixed_order.schedule_in_order(instance.arrays, order, insertion)
    assert (processor == arrays.processor).all()
    assert (start == arrays.start).all()
    assert (finish == arrays.finish).all()


def test_adopted_arrays_are_not_copied_and_become_read_only(topcuoglu: Instance) -> None:
    arrays = fixed_order.schedule_in_order(
        topcuoglu.arrays, topcuoglu.topological_order.copy(), True
    )
    schedule = Schedule.adopt(*arrays, algorithm="eft_greedy")
    assert schedule.start is arrays[1]
    assert schedule == eft_greedy(topcuoglu)
    with pytest.raises(ValueError, match="read-only"):
        schedule.finish[0] = 0.0


@pytest.mark.skipif(WITHOUT_JIT, reason="this is that run")
def test_everything_above_holds_without_the_jit() -> None:
    check_without_jit(__file__)
