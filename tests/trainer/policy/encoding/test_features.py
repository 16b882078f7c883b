"""The table of features, and every dynamic feature against its meaning in plain Python."""

import copy
import gc
import math
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerl_trainer.policy.encoding.context import encoding_context
from aerl_trainer.policy.encoding.features import FEATURES, Group, group_size, index_of, names_of
from aerl_trainer.policy.encoding.states import (
    EncodedStates,
    allocate_states,
    allocate_workspace,
    encode_state,
)
from aerl_trainer.policy.encoding.static import static_features
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.simulator import State
from helpers import references
from helpers.small_runs import problem
from helpers.strategies import instances

GROUPS: tuple[Group, ...] = (
    *("policy", "pair", "state", "status", "task", "processor", "static_pair", "edge"),
)


def test_every_feature_has_a_name_a_column_and_a_meaning() -> None:
    for group in GROUPS:
        names = names_of(group)
        assert len(set(names)) == len(names) == group_size(group) >= 1
        assert [index_of(group, name) for name in names] == list(range(len(names)))
    assert sum(map(group_size, GROUPS)) == len(FEATURES)
    assert all(feature.meaning for feature in FEATURES)
    with pytest.raises(ValueError, match="not in tuple"):
        index_of("pair", "weight")


def test_arrays_are_as_wide_as_the_table_says() -> None:
    instance = problem(7, 3)
    states, static = allocate_states(4, 5, 7), static_features(instance)
    assert states.pair_features.shape == (4, 5, group_size("pair"))
    assert states.state_features.shape == (4, group_size("state"))
    assert static.task.shape == (7, group_size("task"))
    assert static.processor.shape == (3, group_size("processor"))
    assert static.pair.shape == (7, 3, group_size("static_pair"))
    assert static.edge.shape == (instance.n_edges, group_size("edge"))


def test_the_context_is_computed_once_and_dies_with_its_instance() -> None:
    instance = problem(7, 3)
    context = encoding_context(instance)
    assert encoding_context(instance) is context
    gone = weakref.ref(instance)
    del instance
    gc.collect()
    assert gone() is None


def encoded(state: State) -> EncodedStates:
    instance = state.instance
    states = allocate_states(1, instance.comp.size, instance.n_tasks)
    context, workspace = encoding_context(instance), allocate_workspace(*instance.shape)
    encode_state(context, workspace, state.arrays, states, 0, 0.0, True, True)
    return states


@given(instances(max_tasks=7, max_processors=3), st.integers(0, 2**32 - 1))
def test_dynamic_features_are_what_the_table_says(instance: Instance, seed: int) -> None:
    rng, state = np.random.default_rng(seed), State(instance)
    partial = references.Partial(instance, insertion=True)
    while not state.terminal:
        check(state, partial)
        task, q = rng.choice(np.argwhere(state.legal())).tolist()
        state.apply(task, q)
        partial.place(task, q)
    assert encoded(state).n_candidates[0] == 0


def test_features_of_shared_processors() -> None:
    """Task 0 is on P0 from 0 to 4 with half of the cores and most of the memory."""
    state = State(
        Instance(
            comp=[[4.0, 6.0], [2.0, 3.0], [1.0, 1.0]],
            edges=[],
            data=[],
            demands=[[2, 3], [1, 1], [1, 2]],
            capacities=[[4, 4], [2, 8]],
        )
    )
    state.apply(0, 0)
    states = encoded(state)
    columns = [index_of("pair", name) for name in ("spare", "beside", "gap")]
    rows = states.pair_features[0, : states.n_candidates[0], columns].T
    found = dict(zip(states.candidates[0].tolist(), rows.tolist(), strict=False))
    # Task 1 starts beside it; task 2 finds no memory before 4.
    assert found == {2: [0.75, 0.75, 0], 3: [0.5, 0, 0], 4: [0.5, 0, 0], 5: [0.5, 0, 0]}


def check(state: State, partial: references.Partial) -> None:
    """All features of all candidates, by name."""
    g, states = state.instance, encoded(state)
    n, p = g.comp.shape
    unit = float(max(references.rank_u(g))) or 1.0
    rank, oct_table = np.array(references.rank_u(g)), np.array(references.oct_table(g))
    zeros = np.zeros(n + n * p)
    completion = references.complete(copy.deepcopy(partial), rank, oct_table, 0.0, zeros)
    pairs = [divmod(int(a), p) for a in states.candidates[0, : states.n_candidates[0]]]
    start = {(t, q): partial.start(t, q) for t, q in pairs}
    finish = {(t, q): start[t, q] + g.comp[t, q] for t, q in pairs}
    total = {(t, q): finish[t, q] + oct_table[t, q] for t, q in pairs}
    makespan = partial.makespan() if partial.placed else 0.0
    for row, (t, q) in enumerate(pairs):
        ends = [f for _, f in partial.busy(q) if f <= start[t, q] + 1e-12 * unit]
        expected = {
            "prior": -(
                total[t, q]
                - min(total.values())
                + max(rank[u] for u in partial.ready_tasks())
                - rank[t]
            ),
            "est_delay": start[t, q] - min(start.values()),
            "eft_delay": finish[t, q] - min(finish.values()),
            "path_delay": total[t, q] - min(total.values()),
            "rank_lag": max(rank[u] for u, _ in pairs) - rank[t],
            "gap": start[t, q] - max(ends, default=0.0),
            "comp": g.comp[t, q],
            "comp_excess": g.comp[t, q] - np.min(g.comp[t]),
            "bound_excess": finish[t, q] - state.arrays.bound[t],
            "path_excess": finish[t, q] + rank[t] - references.mean_cost(g, t) - completion,
            "growth": max(0.0, finish[t, q] - makespan),
        }
        values = {name: value / unit for name, value in expected.items()}
        values["queue"] = len(partial.busy(q)) / n
        values["spare"] = values["beside"] = 0.0
        agree("pair", states.pair_features[0, row], values)
    available = [max((f for _, f in partial.busy(q)), default=0.0) for q in range(p)]
    busy = sum(f - s for q in range(p) for s, f in partial.busy(q))
    values = {
        "placed": len(partial.placed) / n,
        "ready": len(partial.ready_tasks()) / n,
        "over_bound": (completion - state.lower_bound) / unit,
        "over_makespan": (completion - makespan) / unit,
        "over_path": (completion - min(total.values())) / unit,
        "imbalance": (max(available) - min(available)) / unit,
        "utilisation": busy / (p * max(available)) if max(available) > 0 else 1.0,
        "log_p": math.log(p),
    }
    agree("state", states.state_features[0], values)
    names, ready = names_of("status"), partial.ready_tasks()
    assert [names[column] for column in states.status[0]] == [
        "completed" if t in partial.placed else "ready" if t in ready else "uncompleted"
        for t in range(n)
    ]


def agree(group: Group, row: np.ndarray, expected: dict[str, float]) -> None:
    assert tuple(expected) == names_of(group)
    for name, value in expected.items():
        assert row[index_of(group, name)] == pytest.approx(value, rel=1e-4, abs=1e-4), name
