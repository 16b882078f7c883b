"""How a solve with several actors ends: nobody is left to wait for, whatever happens."""

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from aerl_trainer import solver
from aerl_trainer.records import SearchJob
from aerl_trainer.runtime import joint_search
from aerl_trainer.runtime.supervisor import Supervisor
from aerl_trainer.search.tree import BEST_MAKESPAN, ROOT, SIMS_DONE, WRITER
from aerl_trainer.seeding import generator
from aerl_trainer.solver import solve
from dagsched_env.schedule import Schedule
from dagsched_env.schedulers import annealing, best_of_portfolio
from dagsched_env.schedulers.simulated_annealing import run_chains
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


class Annealed(list[dict[str, Any]]):
    """What ``run_chains`` is asked for, and what still lives at that moment."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def recording(*arguments: Any, **options: Any) -> Schedule:
            self.append(
                {
                    "start": arguments[1],
                    "chains": len(arguments[2]),
                    "moves": options["moves"],
                    "children": multiprocessing.active_children(),
                    "memory": shared_memory_of(os.getpid()),
                }
            )
            return run_chains(*arguments, **options)

        monkeypatch.setattr(solver, "run_chains", recording)


# -- the annealing -------------------------------------------------------------------------------


@pytest.mark.parametrize("budget", [{"budget_s": 1.5}, {"simulations": 200}])
def test_the_annealing_has_the_machine_to_itself(
    budget: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that still start are as dead by then as those that search."""
    annealed = Annealed(monkeypatch)
    result = solve(INSTANCE, actors=3, **budget)
    result.schedule.validate(INSTANCE)
    assert [record["chains"] for record in annealed] == [3]
    assert not annealed[0]["children"]
    assert not annealed[0]["memory"]


def test_chains_share_the_moves_that_the_simulations_are_worth(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    annealed = Annealed(monkeypatch)
    for actors in (1, 3):
        result = solve(INSTANCE, simulations=100, actors=actors)
        moves = 20 * result.simulations
        assert moves <= actors * annealed[-1]["moves"] < moves + actors
    solve(INSTANCE, budget_s=1.5, actors=2)
    assert annealed[-1]["moves"] is None, "each has all the time that is left"


@pytest.mark.parametrize("checkpoint", [None, "default"])
def test_one_actor_anneals_in_one_chain(
    monkeypatch: pytest.MonkeyPatch, checkpoint: str | None
) -> None:
    annealed = Annealed(monkeypatch)
    settings = {"simulations": 300, "seed": 7, "checkpoint": checkpoint}
    result = solve(INSTANCE, **settings)
    assert result.policy == checkpoint
    start = annealed[0]["start"]
    assert start == solve(INSTANCE, **settings, anneal=False).schedule
    expected = annealing(
        INSTANCE,
        max_evaluations=20 * result.simulations,
        seed=generator(7, "annealing"),
        start_temperature=1.5,
        end_temperature=0.3,
        pair_share=0.2,
        cost_bias=4.0,
        best_place=True,
        load_weight=8.0,
        start=start,
    )
    assert result.schedule == (expected if expected.makespan < start.makespan else start)
    assert checkpoint or expected.makespan < start.makespan


def test_what_the_tree_has_proved_is_not_annealed(monkeypatch: pytest.MonkeyPatch) -> None:
    annealed = Annealed(monkeypatch)
    result = solve(problem(6, 3, 1), budget_s=3600.0, actors=2)
    assert result.optimal
    assert not annealed


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
    ("module", "step"), [(joint_search, "_work_as_guest"), (solver, "run_chains")]
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
from aerl_trainer import solve, solver
from aerl_trainer.runtime import joint_search

def announcing(step):
    def announced(*arguments, **options):
        print("here", flush=True)
        return step(*arguments, **options)
    return announced

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell says "&"
    solver.SEARCH_SHARE = 0.0001
    module = solver if hasattr(solver, sys.argv[1]) else joint_search
    setattr(module, sys.argv[1], announcing(getattr(module, sys.argv[1])))
    solve(problem(60, 4), budget_s=3600.0, actors=3)
"""


@pytest.mark.parametrize("step", ["_work_as_guest", "run_chains"])
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
            _, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == -signal.SIGINT
    # Of one process; other exceptions precede it where it came while one was handled.
    assert errors.count("\nKeyboardInterrupt\n") == 1
    assert errors.endswith("\nKeyboardInterrupt\n")
    assert shared_memory_of(process.pid) == []
