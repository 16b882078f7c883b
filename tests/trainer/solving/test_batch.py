"""Many problems to solve, some of which an earlier call has solved."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from aerl_trainer.cli import main
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.solving import batch
from aerl_trainer.solving.batch import solve_here, solve_there
from dagsched_env.io.journal import Journal
from helpers.small_runs import problem

OPTIONS = {"simulations": 20, "checkpoint": None, "seed": 1}


def problems(count: int = 3) -> list[tuple[str, object]]:
    return [(f"p{seed}", problem(8, 3, seed=seed)) for seed in range(count)]


def test_a_journal_gives_back_whole_solutions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal"
    first = list(solve_here(problems(), Journal(path, OPTIONS), **OPTIONS))
    monkeypatch.setattr(batch, "solve", None)
    again = list(solve_here(problems(), Journal(path, OPTIONS), **OPTIONS))
    there = list(solve_there("local:1", problems(), Journal(path, OPTIONS), **OPTIONS))
    for one, *others in zip(first, again, there, strict=True):
        for other in others:
            assert one.name == other.name
            assert one.result.trace == other.result.trace
            assert one.result.lower_bound == other.result.lower_bound
            np.testing.assert_array_equal(one.result.schedule.start, other.result.schedule.start)
            assert other.heft == one.heft


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("schedule", {}),
        ("schedule", 3),
        ("trace", [3]),
        ("lower_bound", "none"),
        ("policy", 7),
        ("simulations", -1),
    ],
)
def test_a_record_that_is_not_whole_is_solved_again(
    tmp_path: Path, key: str, value: object
) -> None:
    path = tmp_path / "journal"
    (first,) = solve_here(problems(1), Journal(path, OPTIONS), **OPTIONS)
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, key: value}) + "\n")
    (again,) = solve_here(problems(1), Journal(path, OPTIONS), **OPTIONS)
    assert again.result.makespan == first.result.makespan
    assert len(path.read_text().splitlines()) == 2


def test_other_options_are_other_results(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    list(solve_here(problems(1), Journal(path, OPTIONS), **OPTIONS))
    list(solve_here(problems(1), Journal(path, {**OPTIONS, "seed": 2}), **OPTIONS))
    assert len(path.read_text().splitlines()) == 2


def test_a_policy_goes_to_other_processes() -> None:
    policy = FastPolicy(FastPolicy().weights * 2)
    other = pickle.loads(pickle.dumps(policy))
    np.testing.assert_array_equal(policy.weights, other.weights)
    assert other.schedule(problem()).makespan == policy.schedule(problem()).makespan


def test_a_cluster_gives_each_file_one_core(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "montage", "--ray", "local:1", "--actors", "2"]) == 2
    assert "each FILE has one core" in capsys.readouterr().err


def test_an_address_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("ray", reason="the extra ray is not installed")
    assert main(["solve", "montage", "--ray", "local:x"]) == 2
    assert "write local:N" in capsys.readouterr().err
