"""How a solve with several actors ends: nobody is left to wait for, whatever happens."""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from aerl_trainer.runtime.supervisor import Supervisor
from aerl_trainer.solving import joint_search, solver
from aerl_trainer.solving.solver import solve
from aerl_trainer.tree.records import SearchJob
from aerl_trainer.tree.tree import BEST_MAKESPAN, ROOT, SIMS_DONE, WRITER
from dagsched_env.schedulers import best_of_portfolio
from dagsched_env.solver import Best, improve
from helpers import TESTS
from helpers.pools import OpenPool
from helpers.small_runs import (
    eventually,
    is_running,
    problem,
    shared_memory_of,
    small_config,
)
from helpers.tree_invariants import check_tree

INSTANCE = problem(40, 4, 2)


@pytest.fixture(scope="module", autouse=True)
def _kernels() -> None:
    """To load them for the first time may take longer than the budgets below."""
    solve(INSTANCE, simulations=10)


class Improved(list[dict[str, Any]]):
    """What ``improve`` is asked for, and what still lives at that moment."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def recording(
            best: Best, rngs: Sequence[np.random.Generator], moves: int | None, *, prove_too: bool
        ) -> None:
            self.append(
                {
                    "start": best.schedule,
                    "races": len(rngs),
                    "moves": moves,
                    "children": multiprocessing.active_children(),
                    "memory": shared_memory_of(os.getpid()),
                }
            )
            improve(best, rngs, moves, prove_too=prove_too)

        monkeypatch.setattr(solver, "improve", recording)


# -- the annealings ------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [{"budget_s": 1.5}, {"simulations": 200}])
def test_the_annealings_have_the_machine_to_themselves(
    budget: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that still start are as dead by then as those that search."""
    monkeypatch.setattr(solver, "WORTH_PROCESSES_S", 0.0)
    improved = Improved(monkeypatch)
    result = solve(INSTANCE, actors=3, **budget)
    result.schedule.validate(INSTANCE)
    assert [record["races"] for record in improved] == [3]
    assert not improved[0]["children"]
    assert not improved[0]["memory"]


def test_a_short_search_starts_no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would take longer to start than it lasts; the races have all cores."""

    def fail(*_: object) -> None:
        raise AssertionError("processes")

    monkeypatch.setattr(joint_search, "search_together", fail)
    improved = Improved(monkeypatch)
    assert solve(INSTANCE, actors=2, budget_s=2.0).simulations > 0
    assert improved[0]["races"] == 2


def test_the_annealings_have_the_moves_that_the_simulations_are_worth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    improved = Improved(monkeypatch)
    for actors in (1, 3):
        result = solve(INSTANCE, simulations=100, actors=actors)
        assert improved[-1]["moves"] == 20 * result.simulations
    solve(INSTANCE, budget_s=0.2, actors=2)
    assert improved[-1]["moves"] is None, "each has all the time that is left"


@pytest.mark.parametrize("checkpoint", [None, "default"])
def test_the_annealings_begin_with_the_schedule_of_the_search(
    monkeypatch: pytest.MonkeyPatch, checkpoint: str | None
) -> None:
    improved = Improved(monkeypatch)
    settings: dict[str, Any] = {"simulations": 300, "seed": 7, "checkpoint": checkpoint}
    result = solve(INSTANCE, **settings)
    assert result.policy == checkpoint
    start = improved[0]["start"]
    assert start.makespan == solve(INSTANCE, **settings, anneal=False).makespan
    assert result.makespan <= start.makespan
    assert checkpoint or result.found_by == "annealing"


def test_what_the_tree_has_proved_is_not_annealed(monkeypatch: pytest.MonkeyPatch) -> None:
    improved = Improved(monkeypatch)
    result = solve(problem(6, 3, 1), budget_s=3600.0, actors=2)
    assert result.optimal
    assert not improved


# -- the processes -------------------------------------------------------------------------------


@pytest.mark.parametrize("moment", [1, 900])
def test_no_actor_is_killed_in_the_middle_of_a_change(moment: int) -> None:
    """Whenever the searches are halted, each tree is whole, and held by nobody."""
    config = small_config(search={"budget": 10**6}, run={"actors": 3, "trees_in_flight": 2})
    pool = OpenPool(config, INSTANCE.n_tasks, backend="prior", explore=False)
    try:
        for number in range(2):
            pool.submit(SearchJob(number, INSTANCE, number), 1.0)
        trees = [pool.tree(number) for number in range(2)]
        eventually(lambda: all(t.counter(SIMS_DONE) > moment for t in trees), "both searches")
        pids = pool.actor_pids()
        pool.halt()
        assert not any(is_running(pid) for pid in pids)
        for tree in trees:
            assert not tree.finished
            check_tree(tree.arrays, finished=False, width=config.search.max_children)
            tree.incumbent(INSTANCE.n_tasks, algorithm="tree").validate(INSTANCE)
    finally:
        pool.close()
    assert shared_memory_of(os.getpid()) == []


def test_a_tree_that_breaks_at_the_very_end_gives_a_valid_schedule(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As if another actor had died in mid-write when nobody searches any more."""
    halt = joint_search._halt

    def halt_broken(supervisor: Supervisor) -> None:
        halt(supervisor)
        arrays = supervisor.slots[0].tree.arrays
        arrays.counters[WRITER] = 1
        arrays.incumbent_start[:] = -1.0
        arrays.scalars[BEST_MAKESPAN] = arrays.pruning_bound[ROOT] = 0.001

    monkeypatch.setattr(joint_search, "_halt", halt_broken)
    for anneal in (False, True):
        result = solve(INSTANCE, simulations=200, actors=2, anneal=anneal)
        result.schedule.validate(INSTANCE)
        assert result.makespan <= best_of_portfolio(INSTANCE).makespan
        assert result.lower_bound >= INSTANCE.lower_bound
        assert result.simulations >= 200


@pytest.mark.parametrize(
    ("module", "step"), [(joint_search, "_work_as_guest"), (solver, "improve")]
)
def test_an_error_leaves_nothing_behind(
    module: ModuleType, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ArithmeticError("in the middle")

    monkeypatch.setattr(module, step, fail)
    with pytest.raises(ArithmeticError, match="in the middle"):
        solve(INSTANCE, simulations=100, actors=3)
    assert not multiprocessing.active_children()
    assert shared_memory_of(os.getpid()) == []


SCRIPT = """
import signal, sys
from helpers.small_runs import problem
from aerl_trainer import solve
from aerl_trainer.solving import solver
from aerl_trainer.solving import joint_search

def announcing(step):
    def announced(*arguments, **options):
        print("here", flush=True)
        return step(*arguments, **options)
    return announced

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell says "&"
    solver.SEARCH_SHARE = 0.0001
    solver.WORTH_PROCESSES_S = 0.0
    module = solver if hasattr(solver, sys.argv[1]) else joint_search
    setattr(module, sys.argv[1], announcing(getattr(module, sys.argv[1])))
    result = solve(problem(60, 4), budget_s=3600.0, actors=3, checkpoint=None)
    result.schedule.validate(problem(60, 4))
    print(result.stopped_by)
"""


@pytest.mark.parametrize("step", ["_work_as_guest", "improve"])
def test_ctrl_c_ends_it_at_once(step: str, tmp_path: Path) -> None:
    """It reaches the children too: those that still import say nothing of it."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with subprocess.Popen(
        [sys.executable, script, step],
        env=os.environ | {"PYTHONPATH": str(TESTS)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "here\n"
            os.killpg(process.pid, signal.SIGINT)
            output, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, output, errors) == (0, "interrupt\n", "")
    assert shared_memory_of(process.pid) == []
