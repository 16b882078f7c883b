"""``solve`` of the environment: valid, never worse than a list schedule, and it ends when asked."""

import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagsched_env import exact
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.problem.bounds import lower_bounds
from dagsched_env.problem.errors import DAGSchedError, InvalidScheduleError
from dagsched_env.problem.instance import Instance
from dagsched_env.schedulers import CONSTRUCTIVE, annealing, best_of_portfolio
from dagsched_env.solver import Finding, SolveResult, lists, solve, solving
from dagsched_env.solver.best import Best
from dagsched_env.sources import resolve_source
from helpers import TESTS
from helpers.oracles import GRAPHS, paper_instance
from helpers.small_runs import problem
from helpers.strategies import instances


def check(instance: Instance, result: SolveResult) -> None:
    result.schedule.validate(instance)
    assert result.schedule.algorithm == "solve"
    assert result.makespan == result.schedule.makespan == result.trace[-1].makespan
    assert result.found_by == result.trace[-1].found_by
    makespans = [finding.makespan for finding in result.trace]
    assert makespans == sorted(set(makespans), reverse=True)
    times = [finding.elapsed_s for finding in result.trace]
    assert times == sorted(times)
    assert times[-1] <= result.elapsed_s
    assert 0 <= result.lower_bound <= result.makespan
    assert 0 <= result.gap <= 1
    assert result.optimal == (result.stopped_by == "optimal") or result.stopped_by == "budget"


@settings(max_examples=40)
@given(
    instance=instances(max_tasks=9),
    moves=st.sampled_from([1, 70, 5000]),
    seed=st.integers(0, 2**31 - 1),
)
def test_any_problem_is_solved_at_least_as_well_as_by_any_scheduler(
    instance: Instance, moves: int, seed: int
) -> None:
    result = solve(instance, max_evaluations=moves, seed=seed)
    check(instance, result)
    assert result.makespan <= best_of_portfolio(instance).makespan * (1 + 1e-12)


@pytest.mark.parametrize("name", GRAPHS)
def test_published_graphs_are_solved_to_their_proven_optimum(name: str) -> None:
    instance = paper_instance(name)
    result = solve(instance)
    check(instance, result)
    assert result.makespan == pytest.approx(GRAPHS[name]["makespan"]["optimum"])


def test_it_is_shorter_than_annealing_with_as_many_moves() -> None:
    ratios = []
    for seed in range(8):
        instance = problem(40, 4, seed)
        ours = solve(instance, seed=seed).makespan
        ratios.append(ours / annealing(instance, max_evaluations=200_000, seed=seed).makespan)
    assert np.mean(ratios) < 1.0


@pytest.mark.parametrize(
    "spec",
    [
        "wfcommons?application=bwa&tasks=300&platform=identical&processors=16",
        "wfcommons?application=montage&tasks=1000&platform=identical&processors=16",
        "fork_join?phases=6&width=100&processors=16&ccr=5",
        "job_shop?jobs=20&machines=15",
    ],
)
def test_every_result_has_the_best_lower_bound(spec: str) -> None:
    instance = resolve_source(f"family:{spec}")(np.random.default_rng(0))
    known = lower_bounds(instance).best
    assert known > 1.01 * instance.lower_bound
    for limit in ({"budget_s": 0.8}, {"max_evaluations": 100}):
        result = solve(instance, **limit)  # type: ignore[arg-type]
        check(instance, result)
        assert result.lower_bound >= known


def test_a_bound_that_takes_too_much_of_the_budget_is_left_out() -> None:
    instance = problem(1500, 16)
    best = Best(instance, budget_s=0.05)
    best.offer(CONSTRUCTIVE["heft"](instance), "heft")
    solving.prove_bounds(best)
    assert best.lower_bound == instance.lower_bound


def test_a_schedule_at_the_bound_ends_the_solve() -> None:
    """A fork, 400 tasks of 1 on four processors, a join; neither path nor load are the makespan."""
    tasks = range(1, 401)
    comp = np.repeat([[2.0], *[[1.0]] * 400, [3.0]], 4, axis=1)
    edges = [*((0, t) for t in tasks), *((t, 401) for t in tasks)]
    instance = Instance(comp, edges, np.zeros(800))
    result = solve(instance, budget_s=2.0)
    check(instance, result)
    assert result.stopped_by == "optimal"
    assert result.makespan == 105.0 > instance.lower_bound
    assert result.elapsed_s < 1.0


def test_a_small_problem_is_proved_optimal() -> None:
    for seed in range(2):
        instance = problem(8, 3, seed)
        result = solve(instance, budget_s=8.0)
        check(instance, result)
        assert result.optimal
        assert result.elapsed_s < 8.0
        assert result.makespan == pytest.approx(exact.solve(instance).schedule.makespan)


def test_without_any_limit_a_small_problem_is_proved_optimal_too() -> None:
    """By a limit of work, so the result is the same again; a limit of moves leaves CP-SAT out."""
    instance = problem(16, 4, seed=1)
    one, two = solve(instance), solve(instance)
    check(instance, one)
    assert one.optimal
    assert (one.schedule, one.lower_bound) == (two.schedule, two.lower_bound)
    assert not solve(instance, max_evaluations=200_000).optimal


def test_patience_ends_a_proof_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a problem whose proof takes minutes."""
    monkeypatch.setattr("dagsched_env.solver.proof.WORK", 1e6)
    draw = TopcuogluGenerator(n_tasks=20, n_processors=16, ccr=10.0)
    instance = draw(np.random.default_rng(3))
    for limits in ({}, {"budget_s": 3600.0}):
        assert solve(instance, patience_s=0.2, **limits).elapsed_s < 40.0


def test_without_a_budget_of_seconds_the_result_is_the_same_again() -> None:
    instance = problem(30, 4, seed=3)
    one, two = (solve(instance, max_evaluations=300, seed=5) for _ in range(2))
    assert one.schedule == two.schedule
    both = [solve(instance, max_evaluations=9000, seed=5, threads=2).makespan for _ in range(2)]
    assert both[0] == both[1]
    others = {solve(instance, max_evaluations=20, seed=seed).makespan for seed in range(6)}
    assert len(others) > 1, "the seed matters"


@pytest.mark.parametrize("shape", [(60, 4), (1500, 16)])
def test_a_budget_of_seconds_is_used_up(shape: tuple[int, int]) -> None:
    instance = problem(*shape)
    result = solve(instance, budget_s=0.3)
    check(instance, result)
    assert result.elapsed_s >= 0.3
    assert result.stopped_by == "budget"


def test_schedulers_for_which_there_is_no_time_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """HEFT and PEFT always run; of the others none for which the share of all may not suffice."""
    ran: list[str] = []

    def recording(name: str) -> Any:
        def scheduler(instance: Instance) -> Any:
            ran.append(name)
            return CONSTRUCTIVE[name](instance)

        return scheduler

    monkeypatch.setattr(lists, "CONSTRUCTIVE", {name: recording(name) for name in CONSTRUCTIVE})
    instance = problem(30, 4)
    lists.run_list_schedulers(Best(instance))
    assert sorted(ran) == sorted(CONSTRUCTIVE)
    assert ran[:2] == ["heft", "peft"]
    assert ran[2:4] == ["sufferage", "ppts"]
    ran.clear()
    lists.run_list_schedulers(Best(instance, budget_s=1e-6))
    assert ran == ["heft"], "the time is over"


def test_a_target_ends_it() -> None:
    instance = problem(60, 4, 2)
    target = 1.02 * solve(instance).makespan
    result = solve(instance, budget_s=3600.0, target=target)
    check(instance, result)
    assert result.stopped_by == "target"
    assert result.makespan <= target
    assert all(finding.makespan > target for finding in result.trace[:-1])


def test_patience_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dagsched_env.solver.solving.may_prove", lambda *_: False)
    result = solve(problem(30, 4, 2), budget_s=3600.0, patience_s=0.3)
    assert result.stopped_by == "patience"
    assert result.elapsed_s - result.trace[-1].elapsed_s >= 0.3


def test_arguments_of_a_wrong_type_are_named() -> None:
    with pytest.raises(DAGSchedError, match="budget_s is '2': give a number > 0"):
        solve(problem(6, 2, 0), budget_s="2")  # type: ignore[arg-type]
    with pytest.raises(DAGSchedError, match="callback is 3: give a function"):
        solve(problem(6, 2, 0), callback=3)  # type: ignore[arg-type]


def test_the_callback_sees_every_state_and_may_fail() -> None:
    seen: list[tuple[Finding, float]] = []
    instance = problem(60, 4, 2)
    result = solve(
        instance, budget_s=0.5, callback=lambda finding, bound: seen.append((finding, bound))
    )
    assert len(seen) >= 4
    assert seen[-1] == (result.trace[-1], result.lower_bound)
    assert {finding for finding, _ in seen} <= set(result.trace)

    def fail(finding: Finding, bound: float) -> None:
        raise ArithmeticError("in the callback")

    with pytest.raises(ArithmeticError, match="in the callback"):
        solve(instance, budget_s=3600.0, callback=fail)


def test_a_known_schedule_is_not_lost() -> None:
    instance = problem(60, 4, 2)
    known = solve(instance).schedule
    result = solve(instance, max_evaluations=1, start=known)
    assert result.makespan == known.makespan
    with pytest.raises(InvalidScheduleError):
        solve(problem(30, 4), start=known)


def test_trivial_problems() -> None:
    for comp, makespan in ([[3.0]], 3.0), ([[5.0, 2.0, math.inf]], 2.0), ([[0.0, 0.0]], 0.0):
        instance = Instance(comp, [], [])
        result = solve(instance, budget_s=3600.0)
        check(instance, result)
        assert (result.makespan, result.gap, result.optimal) == (makespan, 0.0, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget_s": 0.0}, "budget_s is 0.0: give a number > 0"),
        ({"budget_s": math.nan}, "budget_s is nan"),
        ({"max_evaluations": 0}, "max_evaluations is 0: give a whole number >= 1"),
        ({"threads": 0}, "threads is 0: give a whole number >= 1"),
        ({"target": -1.0}, "target is -1.0"),
        ({"patience_s": 0}, "patience_s is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"start": 3}, "start is of type int: write solve.instance, start=schedule"),
    ],
)
def test_bad_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DAGSchedError, match=message):
        solve(problem(), **{"max_evaluations": 10, **options})


SCRIPT = """
import signal
from helpers.small_runs import problem
from dagsched_env.solver import solve

signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell says "&"
shown = []
def tell(finding, bound):
    if finding.found_by in {"annealing", "descents", "genetic"} and not shown:
        shown.append(print("here", flush=True))
instance = problem(60, 4)
result = solve(instance, budget_s=3600.0, threads=2, callback=tell)
result.schedule.validate(instance)
print(result.stopped_by)
"""


def test_ctrl_c_gives_the_best_so_far(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    with subprocess.Popen(
        [sys.executable, script],
        env=os.environ | {"PYTHONPATH": str(TESTS)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "here\n"
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, output, errors) == (0, "interrupt\n", "")
