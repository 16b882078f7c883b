"""Projects with limited resources: PSPLIB and Patterson, read exactly or refused with the line."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dagsched_env import io
from dagsched_env.io import patterson, psplib
from dagsched_env.problem.errors import FormatError, InvalidInstanceError
from dagsched_env.schedulers import CONSTRUCTIVE
from helpers.broken_files import SAMPLES

SM = (SAMPLES / "project.sm").read_text()
RCP = (SAMPLES / "project.rcp").read_text()


def test_both_layouts_are_the_same_problem() -> None:
    instance = io.load(SAMPLES / "project.sm")
    assert instance == io.load(SAMPLES / "project.rcp")
    assert instance.name == "project"
    assert instance.task_names == ("1", "2", "3", "4", "5", "6")
    assert instance.processor_names == ("project",)
    assert instance.resource_names == ("R1", "R2")
    assert instance.comp.ravel().tolist() == [0, 3, 4, 2, 1, 0]
    assert instance.demands.tolist() == [[0, 0], [2, 1], [3, 0], [2, 2], [1, 0], [0, 0]]
    assert instance.capacities.tolist() == [[4, 2]]
    pairs = [[0, 1], [0, 2], [0, 4], [1, 3], [2, 5], [3, 5], [4, 5]]
    assert instance.edges.tolist() == pairs
    assert not instance.data.any()
    assert instance.assumptions == ()
    said = io.MachineOptions().statement_of_file(instance)
    assert said.startswith("1 processors with R1, R2 as in the file")


@pytest.mark.parametrize("name", ["heft", "hlfet", "mcp", "etf", "dls"])
def test_jobs_2_3_and_4_exclude_each_other(name: str) -> None:
    instance = io.load(SAMPLES / "project.sm")
    schedule = CONSTRUCTIVE[name](instance)
    schedule.validate(instance)
    assert schedule.makespan == 9


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("R 1  R 2", "R1 R2"),
        ("   1        1          3           2   3   5", "1\t1\t3\t2 3 5 "),
        ("PRECEDENCE RELATIONS:", "Precedence  Relations"),
        ("RESOURCEAVAILABILITIES:", "RESOURCE AVAILABILITIES"),
        ("\n", "\r\n"),
        ("0   N", "0"),
        ("  - doubly constrained        :  0   D\n", ""),
        ("horizon                       :  10", "horizon : ?"),
        ("PROJECT INFORMATION:\n", ""),
        ("*", ""),
    ],
)
def test_spacing_and_titles_vary(old: str, new: str) -> None:
    assert old in SM
    assert psplib.parse(SM.replace(old, new), name="project") == io.load(SAMPLES / "project.sm")


@pytest.mark.parametrize("suffix", ["", ".txt", ".data"])
def test_the_sections_tell_the_format(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"project{suffix}"
    path.write_text(SM)
    assert io.load(path) == io.load(SAMPLES / "project.sm")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2        1          1           4", "2 2 1 4", "line 20: job 2 has 2 modes, of which"),
        ("nonrenewable              :  0", "nonrenewable : 2", "line 10: 2 resources that are us"),
        ("doubly constrained        :  0", "doubly constrained:1", "line 11: 1 resources that"),
        ("1      4      0        9", "1 4 7 9", "line 15: the project may begin at 7"),
        ("projects                      :  1", "projects : 2", "line 5: 2 projects at the same"),
        ("projects                      :  1", "projects : x", "line 5: 'x' is not a whole num"),
        ("2   3   5", "2   3", "line 19 announces 3 successors, but 2 follow"),
        ("2   3   5", "2   3   7", r"line 19 names job 7, not in 1\.\.6"),
        ("2   3   5", "2   3   0", r"line 19 names job 0, not in 1\.\.6"),
        ("2   3   5", "2   3   3", "line 19 repeats the successor 3: remove it"),
        ("2   3   5", "2   3   x", "line 19: 'x' is not a whole number"),
        ("   3        1          1           6", "4 1 1 6", "line 21 needs the job 3, its modes"),
        ("  3      1     4       3    0\n", "", "6 jobs have successors, but 5 have durations"),
        ("  3      1     4       3    0", "  3 1 4 3", "line 31 needs the job 3, its mode, its du"),
        ("  3      1     4       3    0", "  4 1 4 3 0", "line 31 needs the job 3, its mode"),
        ("  3      1     4       3    0", "  3 1 -4 3 0", "line 31: '-4' is not between 0 and"),
        ("RESOURCEAVAILABILITIES:", "", "no section RESOURCEAVAILABILITIES with lines of numb"),
        ("REQUESTS/DURATIONS:", "", "no section REQUESTS/DURATIONS with lines of numbers"),
    ],
)
def test_what_is_no_such_project_names_the_line(old: str, new: str, message: str) -> None:
    assert old in SM
    with pytest.raises(FormatError, match=message):
        psplib.parse(SM.replace(old, new, 1))


def test_what_fits_nowhere_and_cycles_are_named() -> None:
    with pytest.raises(InvalidInstanceError, match="task '3' needs 5 of 'R1': the largest proc"):
        psplib.parse(SM.replace("4       3    0", "4       5    0"))
    cyclic = SM.replace("   4        1          1           6", "4 1 1 2")
    with pytest.raises(InvalidInstanceError, match="the tasks form a cycle"):
        psplib.parse(cyclic)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "0      0      0      0\n",
            "0 0 0\n",
            "line 10 is the last, but the number of successors",
        ),
        ("0      0      0      0\n", "0 0 0 0 5\n", "line 10: 5 comes after the last job: remove"),
        ("6      2", "x 2", "line 1: the number of jobs: 'x' is not a whole number"),
        ("6      2", "999999 2", "line 1: the number of jobs: '999999' is beyond"),
        ("6      2", "0 2", "line 1: there are no jobs"),
        ("       6\n", "       9\n", r"line 7 names job 9, not in 1\.\.6"),
    ],
)
def test_what_is_no_patterson_file_names_the_line(old: str, new: str, message: str) -> None:
    assert old in RCP
    with pytest.raises(FormatError, match=message):
        patterson.parse(RCP.replace(old, new, 1))


@pytest.mark.parametrize("text", ["", "\n\n", "# nothing"])
def test_an_empty_file(text: str) -> None:
    with pytest.raises(FormatError, match="line 1 is the last, but the number of jobs is missing"):
        patterson.parse(text)
    with pytest.raises(FormatError, match="no section PRECEDENCE"):
        psplib.parse(text)


def test_without_resources_there_is_nothing_to_schedule() -> None:
    with pytest.raises(FormatError, match="the project has no resources, so that all jobs may"):
        patterson.parse("2 0\n3 1 2\n4 0\n")


@st.composite
def projects(draw: st.DrawFn) -> tuple[list[int], list[list[int]], list[int], list[list[int]]]:
    """Durations, uses, capacities, and successors from 1 of each job."""
    n, k = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    capacities = draw(st.lists(st.integers(0, 9), min_size=k, max_size=k))
    uses = [[draw(st.integers(0, capacity)) for capacity in capacities] for _ in range(n)]
    durations = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    later = [draw(st.lists(st.sampled_from(range(i + 2, n + 1)), unique=True)) if i + 1 < n else []
             for i in range(n)]  # fmt: skip
    return durations, uses, capacities, later


@given(projects(), st.sampled_from([" ", "\n", "\t", " \n "]))
def test_any_project_is_read_in_both_layouts(
    found: tuple[list[int], list[list[int]], list[int], list[list[int]]], gap: str
) -> None:
    durations, uses, capacities, later = found
    n, k = len(durations), len(capacities)
    numbers = [n, k, *capacities]
    for i in range(n):
        numbers += [durations[i], *uses[i], len(later[i]), *later[i]]
    instance = patterson.parse(gap.join(map(str, numbers)))
    rows = [
        "PRECEDENCE RELATIONS:",
        *(" ".join(map(str, (i + 1, 1, len(later[i]), *later[i]))) for i in range(n)),
        "REQUESTS/DURATIONS:",
        *(" ".join(map(str, (i + 1, 1, durations[i], *uses[i]))) for i in range(n)),
        "RESOURCEAVAILABILITIES:",
        " ".join(map(str, capacities)),
    ]
    assert psplib.parse("\n".join(rows)) == instance
    np.testing.assert_array_equal(instance.demands, uses)
    np.testing.assert_array_equal(instance.capacities, [capacities])
    assert sorted(map(tuple, (instance.edges + 1).tolist())) == sorted(
        (i + 1, j) for i in range(n) for j in later[i]
    )
