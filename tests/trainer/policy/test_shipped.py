"""The shipped policies: whole, small, described, found by name, and used by ``solve``."""

import json
from typing import Any

import numpy as np
import pytest

from aerl_trainer.online.shipped import FILE as ONLINE
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.policy.shipped import (
    FOLDER,
    SUFFIX,
    find_weights,
    shipped_names,
    shipped_policy,
)
from aerl_trainer.solving import solver
from aerl_trainer.solving.loading import load_policy
from aerl_trainer.solving.solver import solve
from dagsched_env.generators import JobShopGenerator
from dagsched_env.schedulers import best_of_portfolio, heft
from dagsched_env.sources import resolve_source
from helpers.small_runs import problem

GAUSSIAN = "family:gaussian_elimination?size=8&processors=8&ccr=3"


def test_there_are_a_default_and_those_of_special_problems() -> None:
    assert shipped_names()[0] == "default"
    assert {f"{name}{SUFFIX}" for name in shipped_names()} == {
        path.name for path in FOLDER.glob(f"*{SUFFIX}") if path.name != ONLINE.name
    }
    assert len(set(shipped_names())) == len(shipped_names())
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 2**20


@pytest.mark.parametrize("name", shipped_names())
def test_each_is_described_and_can_be_loaded(name: str) -> None:
    card = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert card.keys() == {
        *("trained_on", "minutes", "seed", "commit", "packages", "settings", "results"),
    }
    assert len(card["commit"]) == 40
    by_name = load_policy(name)
    assert by_name.network is None
    assert np.array_equal(by_name.fast.weights, shipped_policy(name).weights)


def test_a_name_or_a_file_is_a_policy_and_a_directory_is_none() -> None:
    file = FOLDER / f"default{SUFFIX}"
    assert find_weights("default") == find_weights(file) == file
    assert find_weights("./default") is None
    assert find_weights(FOLDER) is None


def test_the_default_is_better_than_heft_and_than_no_training() -> None:
    """On graphs whose seeds no training has used."""
    draw = resolve_source("family:topcuoglu?tasks=40..60&processors=4..8&ccr=0.5,1,2,5")
    instances = [draw(np.random.default_rng([4711, k])) for k in range(40)]
    base = np.array([heft(instance).makespan for instance in instances])

    def ratio(policy: FastPolicy) -> float:
        return float(np.mean([policy.schedule(i).makespan for i in instances] / base))

    assert ratio(shipped_policy("default")) < min(0.97, ratio(FastPolicy()) - 0.02)


def test_solve_takes_the_policy_that_fits() -> None:
    draw = resolve_source(GAUSSIAN)
    names = []
    for seed in range(6):
        instance = draw(np.random.default_rng([4711, seed]))
        result = solve(instance, simulations=20, seed=0)
        result.schedule.validate(instance)
        names.append(result.policy)
    assert names.count("gaussian_elimination") >= 3


def test_solve_leaves_out_what_does_not_help() -> None:
    """Against the list schedules no policy of zeros has a chance; the result is as without one."""
    instance = problem(12, 3)
    worst = FastPolicy()
    worst.weights[1:] = -5.0
    given = load_policy("default")._replace(fast=worst)
    result = solve(instance, simulations=30, checkpoint=given, anneal=False)
    assert result.policy is None
    plain = solve(instance, simulations=30, checkpoint=None, anneal=False)
    assert plain.policy is None
    assert result.schedule == plain.schedule
    assert result.makespan <= best_of_portfolio(instance).makespan


@pytest.mark.parametrize(("machines", "limits", "aided"), [
    (4, {"budget_s": 0.05}, False),
    (21, {"budget_s": 0.5}, False),
    (21, {"budget_s": 0.5, "checkpoint": None}, False),
    (4, {"budget_s": 0.05, "checkpoint": "default"}, True),
    (4, {"budget_s": 0.05, "anneal": False}, True),
    (4, {"simulations": 20}, True),
])  # fmt: skip
def test_no_policy_and_no_tree_take_time_from_the_race_on_a_job_shop(
    machines: int, limits: dict[str, Any], aided: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With five jobs: 20 and 105 tasks."""
    asked = []

    def watch(name: str) -> None:
        step = getattr(solver, name)
        monkeypatch.setattr(solver, name, lambda *given: asked.append(name) or step(*given))

    solver._load_kernels()  # which grows a tree, once in a process
    watch("_consult")
    watch("_search_by_itself")
    draw = JobShopGenerator(n_jobs=5, n_machines=machines)
    result = solve(draw(np.random.default_rng(3)), seed=0, **limits)
    assert bool(asked) == aided
    assert aided or (result.policy, result.simulations) == (None, 0)
