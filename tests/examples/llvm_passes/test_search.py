"""Search without a policy, and the table that compares."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llvm_phase.compiler import Compiler, CompilerError
from llvm_phase.evaluation import Row, _o3, geometric_mean
from llvm_phase.programs import Program
from llvm_phase.search import Found, Searcher, changed, found, greedy, random_search
from llvm_phase.tasks import make_tasks, play

PASSES = ("sroa", "dce", "instcombine", "lcssa")


def test_greedy_takes_what_removes_most(compiler: Compiler, small: list[Program]) -> None:
    task = make_tasks(compiler, small)[3]
    best = greedy(compiler, task, PASSES, 10)
    state = task.initial
    for action in best.actions:
        sizes = [compiler.apply(state, name).size for name in PASSES]
        assert sizes[action] == min(sizes) < state.size
        state = compiler.apply(state, PASSES[action])
    assert all(compiler.apply(state, name).size >= state.size for name in PASSES)
    assert best.value == task.value(state) == 1.0


def test_random_search_returns_what_it_has_seen(compiler: Compiler, small: list[Program]) -> None:
    task = make_tasks(compiler, small)[1]
    asked = []

    def going(steps: int) -> bool:
        asked.append(steps)
        return steps < 30

    best = random_search(compiler, task, PASSES, 10, np.random.default_rng(0), going)
    assert asked == [0, 10, 20, 30]
    played = play(compiler, task, [PASSES[action] for action in best.actions])
    assert played.value == played.best == best.value > 0
    again = random_search(
        compiler, task, PASSES, 10, np.random.default_rng(0), lambda steps: steps < 30
    )
    assert again == best


def test_passes_without_effect_are_left_out(compiler: Compiler, small: list[Program]) -> None:
    task = make_tasks(compiler, small)[3]
    assert found(compiler, task, PASSES, [3, 0, 0, 1, 3, 2, 2, 3]).actions in ((0, 1, 2), (0, 1))


def test_a_searcher_gets_no_worse(compiler: Compiler, small: list[Program]) -> None:
    searcher = Searcher(compiler, make_tasks(compiler, small)[1], PASSES, 6, keep=3)
    values = []
    for number in range(20):
        searcher.round(np.random.default_rng(number))
        values.append(searcher.best[0].value)
    assert values == sorted(values)
    assert len({one.actions for one in searcher.best}) == len(searcher.best) <= 3
    searcher.add(Found(9.0, (1,)))
    searcher.add(Found(9.0, (1,)))
    assert [one.value for one in searcher.best].count(9.0) == 1


def test_what_is_lost_on_the_levels_of_llvm(lossy, small: list[Program]) -> None:
    task = make_tasks(lossy, small)[0]
    assert task.value_of(task.oz) == 1.0
    assert _o3(lossy, task) > 0
    lossy.lost = frozenset(["default<O3>"])
    assert _o3(lossy, task) == 0.0
    lossy.lost = frozenset(["default<Oz>"])
    with pytest.raises(CompilerError, match=r"^one: −Oz kills LLVM"):
        make_tasks(lossy, small)


@settings(max_examples=50)
@given(st.lists(st.integers(0, 3), max_size=8), st.integers(1, 8), st.integers(0, 2**32 - 1))
def test_changed_sequences_are_sequences(actions: list[int], horizon: int, seed: int) -> None:
    result = changed(tuple(actions), 4, horizon, np.random.default_rng(seed))
    assert len(result) == horizon
    assert set(result) <= set(range(4))


def test_geometric_means() -> None:
    assert geometric_mean(np.array([0.5, 2.0])) == pytest.approx(1.0)
    assert geometric_mean(np.array([-3.0, 1.0])) == pytest.approx(0.001**0.5)
    assert Row("", (1.0, 4.0), 1).value == pytest.approx(2.0)
