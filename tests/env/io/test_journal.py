"""Results that a later call goes on with."""

import json
from pathlib import Path

import numpy as np
import pytest

from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.io.journal import Journal, digest
from dagsched_env.problem.instance import Instance


def problem(seed: int) -> Instance:
    return TopcuogluGenerator(n_tasks=5, n_processors=2)(np.random.default_rng(seed))


def test_a_record_is_found_by_its_problem_and_options(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    first, second = problem(1), problem(2)
    journal = Journal(path, {"seed": 1, "budget": None})
    assert journal.find(first) is None
    journal.add(first, {"makespan": 3.5})
    again = Journal(path, {"budget": None, "seed": 1})
    found = again.find(problem(1))
    assert found is not None
    assert found["makespan"] == 3.5
    assert again.find(second) is None
    assert Journal(path, {"seed": 2, "budget": None}).find(first) is None


def test_a_torn_line_costs_its_own_record_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    journal = Journal(path, {})
    for seed in range(3):
        journal.add(problem(seed), {"number": seed})
    path.write_text(path.read_text()[:-20])
    cut = Journal(path, {})
    assert [cut.find(problem(seed)) is not None for seed in range(3)] == [True, True, False]
    cut.add(problem(2), {"number": 2})
    whole = Journal(path, {})
    assert [(whole.find(problem(seed)) or {})["number"] for seed in range(3)] == [0, 1, 2]


@pytest.mark.parametrize("line", ["[]", "null", '{"key": 3}', "\x00\xff", '"text"'])
def test_lines_of_others_are_left_alone(tmp_path: Path, line: str) -> None:
    path = tmp_path / "journal"
    path.write_text(line + "\n")
    journal = Journal(path, {})
    journal.add(problem(1), {"number": 1})
    assert Journal(path, {}).find(problem(1)) is not None
    assert path.read_text().startswith(line)
    assert json.loads(path.read_text().splitlines()[-1])["number"] == 1


def test_without_a_file_nothing_is_kept() -> None:
    journal = Journal(None, {})
    journal.add(problem(1), {})
    assert journal.find(problem(1)) is None


def test_an_error_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=str(tmp_path)):
        Journal(tmp_path, {})


def test_a_digest_changes_with_any_file_below(tmp_path: Path) -> None:
    assert digest(tmp_path / "nothing") == ""
    (tmp_path / "run" / "last").mkdir(parents=True)
    seen = set()
    for name, text in [("a", "1"), ("last/b", "1"), ("last/b", "2"), ("c", "")]:
        (tmp_path / "run" / name).write_text(text)
        seen.add(digest(tmp_path / "run"))
        assert digest(tmp_path / "run") in seen
    assert len(seen) == 4
    assert digest(tmp_path / "run" / "a") not in seen
