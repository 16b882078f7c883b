"""The solver: valid, never worse than a classic scheduler, and the same again for the same seed."""

import dataclasses
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import aerl_trainer
from aerl_trainer import checkpoint
from aerl_trainer.checkpoint import CheckpointError
from aerl_trainer.network.evaluator import flat_weights
from aerl_trainer.run.reporting import RunDirectory
from aerl_trainer.run.training import train
from aerl_trainer.run.validator import greedy_schedule
from aerl_trainer.runtime.crew import Crew
from aerl_trainer.solving import evaluation, joint_search, solver
from aerl_trainer.solving.evaluation import evaluate, examples
from aerl_trainer.solving.learned import Policy, evaluator_of
from aerl_trainer.solving.loading import load_policy
from aerl_trainer.solving.solver import SolveResult, solve
from aerl_trainer.tree.tree import SIMS_DONE, WRITER
from aerl_trainer.tree.worker import SearchWorker
from dagsched_env import exact
from dagsched_env.comparison.compare import mean_ratio
from dagsched_env.problem.bounds import lower_bounds
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.schedulers import CONSTRUCTIVE, SCHEDULERS, best_of_portfolio
from dagsched_env.sources import resolve_source
from helpers import ROOT, TESTS
from helpers.oracles import GRAPHS, paper_instance
from helpers.small_runs import lockstep_config, problem, shared_memory_of
from helpers.strategies import instances


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> RunDirectory:
    """A run of a few steps with a ``best`` and a ``last`` checkpoint that differ."""
    directory = RunDirectory(tmp_path_factory.mktemp("solver") / "run")
    train(lockstep_config(run={"max_steps": 8}), directory)
    return directory


def check(instance: Instance, result: SolveResult) -> None:
    result.schedule.validate(instance)
    assert result.makespan == result.schedule.makespan
    assert instance.lower_bound * (1 - 1e-12) <= result.lower_bound <= result.makespan
    assert result.optimal == (result.lower_bound >= result.makespan * (1 - 1e-7))
    assert result.elapsed_s > 0
    for scheduler in CONSTRUCTIVE.values():
        assert result.makespan <= scheduler(instance).makespan * (1 + 1e-12)


# -- quality -------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(
    instance=instances(max_tasks=9),
    simulations=st.sampled_from([1, 7, 60]),
    seed=st.integers(0, 2**31 - 1),
)
def test_any_problem_is_solved_at_least_as_well_as_by_any_scheduler(
    instance: Instance, simulations: int, seed: int
) -> None:
    result = solve(instance, simulations=simulations, seed=seed)
    check(instance, result)
    assert result.simulations >= 1 or result.optimal


@pytest.mark.parametrize("n", [10, 30, 60])
def test_more_simulations_are_worth_it(n: int) -> None:
    """Over several problems of a size: never worse than HEFT, on average clearly better."""
    ratios = []
    for seed in range(5):
        instance = problem(n, 4, seed)
        result = solve(instance, simulations=500, seed=seed)
        check(instance, result)
        ratios.append(result.makespan / CONSTRUCTIVE["heft"](instance).makespan)
    assert max(ratios) <= 1.0
    assert np.mean(ratios) < 0.97


@pytest.mark.parametrize("name", GRAPHS)
def test_published_graphs_are_solved_to_their_proven_optimum(name: str) -> None:
    instance = paper_instance(name)
    result = solve(instance, simulations=10_000)
    check(instance, result)
    assert result.makespan == pytest.approx(GRAPHS[name]["makespan"]["optimum"])


@pytest.mark.parametrize("n", [12, 60])
def test_a_search_too_short_to_help_is_no_worse_than_the_best_scheduler(n: int) -> None:
    for seed in range(25):
        instance = problem(n, 4, seed)
        check(instance, solve(instance, simulations=1, seed=seed))


def test_a_proved_optimum_is_one() -> None:
    """Whether by a bound or by the whole tree; and most small problems are proved."""
    proved = 0
    for seed in range(12):
        instance = problem(4 + seed % 4, 3, seed)
        result = solve(instance, simulations=20_000)
        check(instance, result)
        best = exact.solve(instance, time_limit_s=60)
        assert best.optimal
        if result.optimal:
            proved += 1
            assert result.makespan == pytest.approx(best.schedule.makespan)
    assert proved >= 10


@pytest.mark.parametrize(
    "limits", [{"budget_s": 0.6}, {"budget_s": 0.6, "anneal": False}, {"simulations": 1}]
)
def test_every_result_has_the_best_lower_bound(limits: dict[str, Any]) -> None:
    """Whether or not a tree is grown, and whatever the seed."""
    spec = "family:wfcommons?application=bwa&tasks=300&platform=identical&processors=16"
    instance = resolve_source(spec)(np.random.default_rng(0))
    known = lower_bounds(instance).best
    assert known > 1.01 * instance.lower_bound
    for seed in range(2):
        assert solve(instance, seed=seed, **limits).lower_bound >= known


def test_nothing_is_claimed_of_a_search_that_ends_early() -> None:
    result = solve(problem(40, 4), simulations=10)
    assert not result.optimal
    assert result.lower_bound < result.makespan


def test_trivial_problems() -> None:
    for comp, makespan in ([[3.0]], 3.0), ([[5.0, 2.0, np.inf]], 2.0), ([[0.0, 0.0]], 0.0):
        instance = Instance(comp, [], [])
        result = solve(instance, simulations=10)
        check(instance, result)
        assert result.makespan == makespan


# -- budgets -------------------------------------------------------------------------------------


def test_the_number_of_simulations_is_kept() -> None:
    result = solve(problem(40, 4), simulations=300)
    assert 300 <= result.simulations < 300 + 64


def test_a_budget_of_seconds_ends_the_search() -> None:
    """However large the problem; a problem that is solved to the end does not use it up."""
    instance = problem(60, 4)
    result = solve(instance, budget_s=1.0)
    check(instance, result)
    assert result.simulations > 0
    assert result.elapsed_s >= 1.0
    tiny = Instance([[1.0, 2.0]], [], [])
    assert solve(tiny, budget_s=3600.0).simulations < 10


def test_the_smaller_of_two_budgets_counts() -> None:
    """Of the search, and of the annealing behind it."""
    instance = problem(40, 4)
    assert solve(instance, budget_s=3600.0, simulations=200).simulations < 300
    assert solve(instance, budget_s=0.2, simulations=10**9).simulations < 10**9


def test_the_default_budget() -> None:
    result = solve(problem(30, 4))
    assert 10_000 <= result.simulations < 10_100


def test_one_actor_is_deterministic() -> None:
    instance = problem(30, 4, seed=3)
    one, two = (solve(instance, simulations=300, seed=5) for _ in range(2))
    assert one.schedule == two.schedule
    assert one.simulations == two.simulations
    others = {solve(instance, simulations=20, seed=seed).makespan for seed in range(6)}
    assert len(others) > 1, "the seed matters"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget_s": 0.0}, "budget_s is 0.0: give a number > 0"),
        ({"budget_s": float("nan")}, "budget_s is nan"),
        ({"simulations": 0}, "simulations is 0: give a whole number >= 1"),
        ({"actors": 0}, "actors is 0: give a whole number >= 1"),
        ({"actors": 65}, "actors is 65: give at most 64"),
        ({"seed": -1}, "seed is -1: give a whole number >= 0"),
        ({"seed": 1.5}, "seed is 1.5: give a whole number >= 0"),
        ({"checkpoint": 3}, "checkpoint is int: give a path, a name, a Policy or None"),
        ({"checkpoint": "/nowhere"}, "no run, file or shipped policy '/nowhere'"),
    ],
)
def test_bad_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(DAGSchedError, match=message):
        solve(problem(), **{"simulations": 10, **options})


@pytest.mark.parametrize("other", ["montage", None, [Instance([[1.0]], [], [])]])
def test_what_is_no_instance_is_named(other: Any) -> None:
    kind = type(other).__name__
    message = f"^instance is of type {kind}: write solve.instance., with instance = dagsched_env.io"
    with pytest.raises(DAGSchedError, match=message):
        solve(other, budget_s=1)


# -- checkpoints ---------------------------------------------------------------------------------


def test_a_trained_network_guides_the_search(trained: RunDirectory) -> None:
    for seed in range(3):
        instance = problem(12, 3, seed)
        result = solve(instance, simulations=40, checkpoint=trained.path)
        check(instance, result)
        assert result.schedule == solve(instance, simulations=40, checkpoint=trained.path).schedule


def test_where_checkpoints_are_found(trained: RunDirectory) -> None:
    """A run and its folder give the last one; a checkpoint gives itself."""
    best = load_policy(trained.checkpoints / "best")
    last = load_policy(trained.checkpoints / "last")
    steps = [
        checkpoint.load(trained.checkpoints / name).state["learner"]["steps"]
        for name in ("best", "last")
    ]
    assert steps[0] < steps[1] == 8
    for directory in (trained.path, str(trained.path), trained.checkpoints):
        assert same_weights(load_policy(directory), last)
    assert not same_weights(last, best)
    assert best.config == lockstep_config(run={"max_steps": 8})


def same_weights(one: Policy, other: Policy) -> bool:
    pairs = zip(one.network.parameters(), other.network.parameters(), strict=True)
    return all(bool((a == b).all()) for a, b in pairs)


def test_a_loaded_policy_can_be_used_again(trained: RunDirectory) -> None:
    instance, policy = problem(12, 3, 1), load_policy(trained.path)
    by_policy, by_path = (
        solve(instance, simulations=40, checkpoint=source) for source in (policy, trained.path)
    )
    assert by_policy.schedule == by_path.schedule


def test_a_checkpoint_that_holds_no_policy_is_named(trained: RunDirectory, tmp_path: Path) -> None:
    """Settings that do not fit the weights, and no settings at all."""
    saved = checkpoint.load(trained.checkpoints / "last")
    for name, change in (
        ("wider", lambda state: state["config"]["network"].update(width=12)),
        ("bare", lambda state: state.pop("config")),
    ):
        change(saved.state)
        checkpoint.save(
            tmp_path / name, tensors=saved.tensors, arrays=saved.arrays, state=saved.state
        )
        with pytest.raises(CheckpointError, match=f"{name}: not the checkpoint of a run") as error:
            load_policy(tmp_path / name)
        assert "\n" not in str(error.value)


# -- several processes ---------------------------------------------------------------------------


SCRIPT = """
import sys
from helpers.small_runs import problem
from aerl_trainer import solve

if __name__ == "__main__":
    instance = problem(30, 4, 1)
    for checkpoint in (None, sys.argv[1]):
        for budget in ({"simulations": 400}, {"budget_s": 4.0}):
            result = solve(instance, actors=2, checkpoint=checkpoint, **budget)
            result.schedule.validate(instance)
            print(result.makespan, result.simulations)
"""


def test_several_actors_from_a_script(trained: RunDirectory, tmp_path: Path) -> None:
    """Without a policy, and guided by one."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = os.environ | {"PYTHONPATH": f"{ROOT}{os.pathsep}{TESTS}"}
    with subprocess.Popen(
        [sys.executable, script, trained.path],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert errors == ""
    best = best_of_portfolio(problem(30, 4, 1)).makespan
    lines = [line.split() for line in output.splitlines()]
    assert len(lines) == 4
    assert all(float(makespan) <= best for makespan, _ in lines)
    assert all(400 <= int(simulations) < 500 for _, simulations in lines[::2])
    assert all(int(simulations) > 0 for _, simulations in lines[1::2])
    assert shared_memory_of(process.pid) == []


def test_the_other_actors_get_the_network_and_the_incumbent(
    trained: RunDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    published, instance = [], problem(30, 4, 1)
    publish, strong = Crew.publish, solve(instance, simulations=5000).schedule

    def recording(crew: Crew, weights: np.ndarray) -> None:
        published.append(weights.copy())
        publish(crew, weights)

    monkeypatch.setattr(Crew, "publish", recording)
    monkeypatch.setattr(solver, "_sample", lambda *_: strong)  # what the policy found
    policy = load_policy(trained.path)
    result = solve(instance, simulations=1, actors=2, checkpoint=policy)
    assert result.makespan <= strong.makespan
    assert len(published) == 1
    assert np.array_equal(published[0], flat_weights(policy.network))


def test_a_tree_that_breaks_is_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if another actor had died in the middle of a change."""
    broken = []

    class Unlucky(SearchWorker):
        def run_batch(self, rollout_weight: float, spent: float = 0.0) -> int:
            done = super().run_batch(rollout_weight, spent)
            if not broken and self.tree.counter(SIMS_DONE) > 100:
                with self.tree.lock:
                    self.tree.arrays.counters[WRITER] = 1
                    self.tree.arrays.incumbent_start[:] = -1.0
                broken.append(self.tree.counter(SIMS_DONE))
            return done

    monkeypatch.setattr(joint_search, "SearchWorker", Unlucky)
    instance = problem(30, 4, 1)
    result = solve(instance, simulations=300, actors=2)
    assert len(broken) == 1
    check(instance, result)
    assert result.simulations >= 300


# -- the comparison that ends a run --------------------------------------------------------------


def test_evaluation_table(trained: RunDirectory) -> None:
    policy = load_policy(trained.path)
    problems = [problem(12, 3, seed) for seed in range(4)]
    progress: list[tuple[int, int]] = []
    evaluation = evaluate(
        problems,
        policy,
        simulations=40,
        budget_s=0.01,
        progress=lambda done, total: progress.append((done, total)),
    )
    rows = evaluation.rows
    assert [row.scheduler for row in rows[:5]] == [
        *("heft", "best_single", "portfolio", "policy", "policy_sampled_32")
    ]
    total = 4 * (len(CONSTRUCTIVE) + 7)
    assert progress == [(done, total) for done in range(1, total + 1)]
    heft, single, portfolio, greedy, sampled, network, *searches = rows
    assert (heft.ties, heft.vs_heft, heft.member) == (4, 1.0, None)
    assert single.member in CONSTRUCTIVE
    assert (portfolio.vs_portfolio, portfolio.portfolio_error) == (1.0, 0.0)
    assert portfolio.vs_heft <= single.vs_heft <= 1.0
    assert sampled.vs_heft <= greedy.vs_heft
    by_network = [greedy_schedule(i, evaluator_of(policy), policy.config) for i in problems]
    heft_makespans = [SCHEDULERS["heft"](i).makespan for i in problems]
    assert network.scheduler == "network"
    assert network.vs_heft == mean_ratio([s.makespan for s in by_network], heft_makespans)
    assert all(row.ms > 0 for row in rows)
    for row in searches:
        assert row.losses == 0
        if not row.scheduler.startswith("solve"):  # on a busy machine too short for all schedulers
            assert row.vs_portfolio <= 1.0
    searched = next(row for row in rows if row.scheduler == "search_trained")
    assert searched.vs_heft == evaluation.shown_vs_heft.mean()
    assert searched.heft_error == pytest.approx(statistics.stdev(evaluation.shown_vs_heft) / 2)


def test_ctrl_c_ends_an_evaluation(trained: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: Any, **options: Any) -> SolveResult:
        return dataclasses.replace(solve(*arguments, **options), stopped_by="interrupt")

    monkeypatch.setattr(evaluation, "solve", interrupted)
    with pytest.raises(KeyboardInterrupt):
        evaluate([problem(12, 3)], load_policy(trained.path), simulations=8, budget_s=0.01)


def test_examples_are_the_extremes_of_the_table(trained: RunDirectory) -> None:
    policy = load_policy(trained.path)
    problems = [problem(12, 3, seed) for seed in range(4)]
    evaluation = evaluate(problems, policy, simulations=40, budget_s=0.01, seed=3)
    shown = examples(problems, evaluation, policy, simulations=40, seed=3)
    assert [example.title for example in shown] == ["largest gain", "smallest gain"]
    ratios = []
    for example in shown:
        for schedule in example.schedules.values():
            schedule.validate(example.instance)
        heft, _, searched = (schedule.makespan for schedule in example.schedules.values())
        ratios.append(searched / heft)
    assert ratios == [evaluation.shown_vs_heft.min(), evaluation.shown_vs_heft.max()]
    alone = evaluate(problems[:1], policy, simulations=40, budget_s=0.01)
    (only,) = examples(problems[:1], alone, policy, simulations=40)
    assert (only.title, only.instance) == ("largest gain", problems[0])


def test_the_package_offers_the_solver() -> None:
    assert aerl_trainer.solve is solve
    assert aerl_trainer.SolveResult is SolveResult
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = aerl_trainer.nonsense
    assert dataclasses.is_dataclass(aerl_trainer.Config)


LOADED = """
import sys
import numpy as np
from numba.core.dispatcher import Dispatcher
import dagsched_env.solver
from aerl_trainer import solve
from aerl_trainer.solving import solver
from dagsched_env.generators import TopcuogluGenerator

def loaded():
    modules = [m for name, m in sys.modules.items() if name.startswith(("dagsched", "aerl"))]
    kernels = {v for m in modules for v in vars(m).values() if isinstance(v, Dispatcher)}
    return {f"{k.py_func.__module__}.{k.py_func.__name__}": len(k.signatures) for k in kernels}

late = set()
for n in (60, 10):  # the race; CP-SAT
    instance = TopcuogluGenerator(n_tasks=n, n_processors=4)(np.random.default_rng(n))
    dagsched_env.solver.load_for(instance, 1.0)
    solver._load_kernels()
    for run in (solve, dagsched_env.solver.solve):
        before = loaded()
        run(instance, budget_s=1.0)
        late |= {name for name, count in loaded().items() if count > before.get(name, 0)}
print(*sorted(late))
"""


def test_no_kernel_is_loaded_within_a_budget() -> None:
    """To compile one takes a second, to load one from the disk a few milliseconds."""
    done = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True)
    assert (done.stdout.split(), done.returncode) == ([], 0), done.stderr
