"""State: bounds, undo and clone as properties of random walks; illegal placements; replay."""

import numpy as np
import pytest
from hypothesis import given

from dagsched_env.problem.errors import IllegalActionError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.simulator import State, replay
from helpers.oracles import TOPCUOGLU_HEFT
from helpers.strategies import episodes

ARRAYS = ("processor", "slot_count", "missing", "bound", "counts", "totals")


def random_action(state: State, rng: np.random.Generator) -> tuple[int, int]:
    task, processor = rng.choice(np.argwhere(state.legal())).tolist()
    return task, processor


def snapshot(state: State) -> dict[str, object]:
    """Everything that a state means, without scratch and stale entries."""
    arrays, placed = state.arrays, np.flatnonzero(state.arrays.processor >= 0)
    slots = [
        arrays.slot_start[q, : arrays.slot_count[q]].tolist()
        for q in range(state.instance.n_processors)
    ]
    return {
        **{name: getattr(arrays, name).tolist() for name in ARRAYS},
        "ready": state.ready().tolist(),
        "sequence": arrays.sequence[: state.n_scheduled].tolist(),
        "times": (arrays.start[placed].tolist(), arrays.finish[placed].tolist()),
        "slots": slots,
    }


@given(episodes())
def test_any_walk_ends_in_a_valid_schedule(episode: tuple[Instance, int, bool]) -> None:
    instance, seed, insertion = episode
    rng, state = np.random.default_rng(seed), State(instance, insertion=insertion)
    assert state.lower_bound == pytest.approx(instance.cp_min, rel=1e-12)
    actions, bounds, makespans = [], [state.lower_bound], [state.makespan]
    while not state.terminal:
        assert state.legal().any()
        actions.append(random_action(state, rng))
        state.apply(*actions[-1])
        bounds.append(state.lower_bound)
        makespans.append(state.makespan)
    schedule = state.schedule(algorithm="walk")
    schedule.validate(instance)
    assert not state.legal().any()
    assert state.ready().size == 0
    assert bounds == sorted(bounds)
    assert makespans == sorted(makespans)
    assert bounds[-1] == schedule.makespan == makespans[-1]
    assert schedule.makespan >= instance.lower_bound * (1 - 1e-12)
    assert replay(instance, actions, insertion=insertion) == schedule


@given(episodes())
def test_bound_of_every_task_holds_in_the_end(episode: tuple[Instance, int, bool]) -> None:
    instance, seed, insertion = episode
    rng, state = np.random.default_rng(seed), State(instance, insertion=insertion)
    bounds = [state.arrays.bound.copy()]
    while not state.terminal:
        state.apply(*random_action(state, rng))
        bounds.append(state.arrays.bound.copy())
    assert (np.diff(bounds, axis=0) >= 0).all()
    assert (bounds[-1] == state.arrays.finish).all()


@given(episodes())
def test_undo_restores_every_earlier_state(episode: tuple[Instance, int, bool]) -> None:
    instance, seed, insertion = episode
    rng, state = np.random.default_rng(seed), State(instance, insertion=insertion)
    trail = [snapshot(state)]
    while not state.terminal:
        state.apply(*random_action(state, rng))
        trail.append(snapshot(state))
    while state.n_scheduled:
        assert snapshot(state) == trail.pop()
        state.undo()
    assert snapshot(state) == trail.pop() == snapshot(State(instance, insertion=insertion))
    with pytest.raises(IllegalActionError, match="nothing to undo"):
        state.undo()


@given(episodes())
def test_clones_are_independent_and_go_on_alike(episode: tuple[Instance, int, bool]) -> None:
    instance, seed, insertion = episode
    rng, state = np.random.default_rng(seed), State(instance, insertion=insertion)
    for _ in range(int(rng.integers(instance.n_tasks))):
        state.apply(*random_action(state, rng))
    before, twin = snapshot(state), state.clone()
    while not twin.terminal:
        twin.apply(*random_action(twin, rng))
    assert snapshot(state) == before
    for task in twin.arrays.sequence[state.n_scheduled :].tolist():
        state.apply(task, int(twin.arrays.processor[task]))
    assert snapshot(state) == snapshot(twin)


@given(episodes())
def test_is_ready_is_in_ready(episode: tuple[Instance, int, bool]) -> None:
    instance, seed, insertion = episode
    rng, state = np.random.default_rng(seed), State(instance, insertion=insertion)
    for _ in range(int(rng.integers(instance.n_tasks + 1))):
        state.apply(*random_action(state, rng))
    tasks = range(-2, instance.n_tasks + 2)
    assert [t for t in tasks if state.is_ready(t)] == state.ready().tolist()


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ((10, 0), r"no pair \(10, 0\): there are 10 tasks and 3 processors"),
        ((0, 3), r"no pair \(0, 3\)"),
        ((-1, 0), r"no pair \(-1, 0\)"),
        ((0, 0), "task 0 is scheduled already"),
        ((9, 0), "task 9 is not ready: 3 predecessors are missing"),
    ],
)
def test_illegal_placements(topcuoglu: Instance, action: tuple[int, int], message: str) -> None:
    state = State(topcuoglu)
    state.apply(0, 2)
    before = snapshot(state)
    with pytest.raises(IllegalActionError, match=message):
        state.apply(*action)
    assert snapshot(state) == before


def test_ineligible_processor(gap_instance: Instance) -> None:
    with pytest.raises(IllegalActionError, match="task 0 may not run on processor 1"):
        State(gap_instance).apply(0, 1)


def test_insertion_fills_the_gap_and_appending_does_not(gap_instance: Instance) -> None:
    actions = [(0, 0), (1, 1), (2, 1)]
    assert replay(gap_instance, actions).start.tolist() == [0, 12, 0]
    appended = replay(gap_instance, actions, insertion=False)
    assert appended.start.tolist() == [0, 12, 17]
    appended.validate(gap_instance)


def test_published_schedule_by_hand(topcuoglu: Instance) -> None:
    order = [0, 2, 3, 1, 4, 5, 8, 6, 7, 9]
    schedule = replay(topcuoglu, [(t, TOPCUOGLU_HEFT[t][0]) for t in order], algorithm="paper")
    for task, (_, start, finish) in TOPCUOGLU_HEFT.items():
        assert (schedule.start[task], schedule.finish[task]) == (start, finish)
    assert schedule.algorithm == "paper"


def test_incomplete_schedule(topcuoglu: Instance) -> None:
    with pytest.raises(IllegalActionError, match="9 tasks are not scheduled yet"):
        replay(topcuoglu, [(0, 0)])
