"""The search for instances on which a scheduler does badly."""

import numpy as np
import pytest

from dagsched_env.comparison.adversarial import (
    LEAST_COST,
    MOVES,
    AdversarialResult,
    find_adversarial,
)
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.schedulers import cpop, heft

START = TopcuogluGenerator(n_tasks=8, n_processors=3, ccr=1.0)(np.random.default_rng(0))


def ratio(instance):
    return cpop(instance).makespan / heft(instance).makespan


def test_it_finds_an_instance_that_is_much_worse():
    result = find_adversarial(cpop, heft, START, max_evaluations=600)
    assert isinstance(result, AdversarialResult)
    assert result.ratio == ratio(result.instance) == result.trace[-1]
    assert result.trace[0] == ratio(START)
    assert result.trace.shape == (600,)
    assert (np.diff(result.trace) >= 0).all()
    assert result.ratio > 1.5 > ratio(START)
    assert result.instance.comp.shape == START.comp.shape
    assert result.instance.name == f"adversarial-{START.name}"
    cpop(result.instance).validate(result.instance)


def test_same_seed_same_instance():
    a, b = (find_adversarial(cpop, heft, START, max_evaluations=60, seed=3) for _ in range(2))
    assert a.instance == b.instance
    assert (a.trace == b.trace).all()
    c = find_adversarial(cpop, heft, START, max_evaluations=60, seed=np.random.default_rng(3))
    assert a.instance == c.instance
    other = find_adversarial(cpop, heft, START, max_evaluations=60, seed=4)
    assert other.instance != a.instance


def test_annealing_at_no_temperature_only_climbs():
    seen = []

    def watched(instance):
        seen.append(instance)
        return cpop(instance)

    find_adversarial(
        watched, heft, START, max_evaluations=80, start_temperature=1e-9, end_temperature=1e-9
    )
    ratios = [ratio(i) for i in seen]
    # Every instance is one move from the best before it, so differs from that in few numbers.
    for k in range(1, len(seen)):
        best = max(range(k), key=lambda i: (ratios[i], i))
        before, after = seen[best], seen[k]
        changes = (before.comp != after.comp).sum() + abs(before.n_edges - after.n_edges)
        if before.n_edges == after.n_edges:
            changes += (before.data != after.data).sum()
        assert changes <= 1


@pytest.mark.parametrize("move", sorted(MOVES))
def test_one_kind_of_move_changes_nothing_else(move):
    instance = find_adversarial(cpop, heft, START, max_evaluations=30, moves=[move]).instance
    before = {(u, v) for u, v in START.edges.tolist()}
    after = {(u, v) for u, v in instance.edges.tolist()}
    assert (move == "add_edge") or after <= before
    assert (move == "remove_edge") or after >= before
    assert (move == "cost") or (instance.comp == START.comp).all()
    if move == "cost":
        assert (instance.data == START.data).all()
    assert (instance.inv_bandwidth == START.inv_bandwidth).all()


def test_numbers_stay_within_those_of_the_start():
    seen = []

    def watched(instance):
        seen.append(instance)
        return cpop(instance)

    find_adversarial(watched, heft, START, max_evaluations=300)
    top, most = START.comp.max(), START.data.max()
    for instance in seen:
        assert (instance.comp >= LEAST_COST * top).all()
        assert (instance.comp <= top).all()
        assert (instance.data <= most).all()
    assert {i.n_edges for i in seen} > {START.n_edges}


def test_eligibility_stays():
    inf = np.inf
    start = Instance([[1, inf], [inf, 2], [0, 3]], [(0, 1)], [1.0])
    result = find_adversarial(cpop, heft, start, max_evaluations=50)
    assert (np.isinf(result.instance.comp) == np.isinf(start.comp)).all()


def test_small_instances_and_exhausted_moves():
    one = Instance([[3.0]], [], [])
    assert find_adversarial(heft, cpop, one, max_evaluations=20).ratio == 1
    stuck = find_adversarial(heft, cpop, one, max_evaluations=20, moves=["add_edge", "data"])
    assert stuck.trace.tolist() == [1.0]
    pair = Instance([[3.0, 3.0], [1.0, 1.0]], [(0, 1)], [0.0])
    full = find_adversarial(heft, cpop, pair, max_evaluations=20, moves=["remove_edge"])
    assert len(full.trace) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"max_evaluations": 0}, "max_evaluations is 0"),
        ({"moves": []}, "moves is empty: give some of add_edge, cost"),
        ({"moves": ["speed"]}, "no move 'speed': there are add_edge"),
        ({"start_temperature": 0.0}, "start_temperature is 0.0"),
        ({"end_temperature": float("nan")}, "end_temperature is nan"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(DAGSchedError, match=message):
        find_adversarial(cpop, heft, START, **arguments)


def test_a_start_without_work_is_refused():
    with pytest.raises(DAGSchedError, match="all costs of the start are 0"):
        find_adversarial(cpop, heft, Instance([[0.0, 0.0]], [], []))
