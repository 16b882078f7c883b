"""The README's Python blocks and shell commands, as a newcomer would type them."""

import configparser
import re
import shutil
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from dagsched_env import Schedule
from helpers import ROOT
from helpers.snippets import Block, blocks, run, run_here, write_problems

README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON_BLOCKS = [block for block in blocks(README) if block.language == "python"]
COMMANDS = [c for block in blocks(README) if block.language == "sh" for c in block.commands]
OF_FILE, OF_PICTURE, OF_SECTIONS = COMMANDS[:1], COMMANDS[1:4], COMMANDS[4:]


def test_the_readme_has_what_it_promises() -> None:
    assert len(PYTHON_BLOCKS) == 6
    assert len(COMMANDS) == 11
    pictures = re.findall(r"!\[[^\]]+\]\((.+?)\)", README)
    assert pictures == [
        "docs/solve_and_heft.png",
        "docs/makespan_over_time.png",
        "docs/learning_curve.png",
    ]
    assert README.index(pictures[-1]) < README.index("## Install") < README.index("make train ")


def workflow_file(folder: Path) -> None:
    """Put the reader's file there: a recorded workflow."""
    (trace,) = (ROOT / "dagsched_env" / "data").glob("1000genome-*.json")
    shutil.copyfile(trace, folder / "workflow.json")


@pytest.mark.parametrize(
    "block",
    PYTHON_BLOCKS,
    ids=["own_file", "gymnasium", "maskable_ppo", "policy", "vector", "own_problem"],
)
def test_python_blocks_print_a_result(block: Block, tmp_path: Path) -> None:
    workflow_file(tmp_path)
    (command,) = block.commands
    out = run(command, tmp_path)
    assert re.search(r"\d+\.\d+", out.splitlines()[-1])


def test_the_first_block_prints_what_stands_below_it(tmp_path: Path) -> None:
    """But for the figures, which a search on other hardware may miss by a little."""
    (below,) = (block.content for block in blocks(README) if block.language == "text")
    workflow_file(tmp_path)
    (command,) = PYTHON_BLOCKS[0].commands
    printed, figure = run(command, tmp_path), re.compile(r"\d+\.\d+")
    assert figure.sub("", printed) == figure.sub("", below)
    (makespan, bound, saved), (said, said_bound, said_saved) = (
        map(float, figure.findall(text)) for text in (printed, below)
    )
    assert bound == said_bound
    assert makespan == pytest.approx(said, rel=0.01)
    assert saved == pytest.approx(said_saved, abs=1.0)


def test_a_file_is_solved_in_one_command(tmp_path: Path) -> None:
    workflow_file(tmp_path)
    (command,) = OF_FILE
    out = run(command, tmp_path)
    assert re.search(r"^lower bound +346\.4", out, re.MULTILINE)
    for name in ("schedule.json", "chart.html"):
        assert (tmp_path / name).stat().st_size > 1000


def test_shell_commands_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The training on the reader's problems takes seconds here, not ten minutes."""
    monkeypatch.chdir(tmp_path)
    write_problems(tmp_path)
    for command in OF_SECTIONS:
        assert run_here(command, tmp_path, capsys)
    for name in ("gantt.png", "paper.html"):
        assert (tmp_path / name).stat().st_size > 10_000


def test_the_first_picture_shows_what_its_commands_find(tmp_path: Path) -> None:
    """And the text beside it has the figures; a search on other hardware may end a little apart."""
    for command in OF_PICTURE:
        run(command, tmp_path)
    assert (tmp_path / "solve_and_heft.png").stat().st_size > 10_000
    heft, solve = (
        Schedule.from_json((tmp_path / name).read_text(encoding="utf-8")).makespan
        for name in ("heft.json", "solve.json")
    )
    said = re.search(
        r"HEFT's schedule ends at ([\d.]+), that of `solve` at ([\d.]+): it is\s(\d+) % shorter",
        README,
    )
    assert said is not None
    said_heft, said_solve, shorter = map(float, said.groups())
    assert heft == pytest.approx(said_heft, abs=0.05)
    assert solve == pytest.approx(said_solve, rel=0.02)
    assert 100 * (1 - solve / heft) == pytest.approx(shorter, abs=2)


def test_the_table_of_extras_is_complete() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([\w, .-]+) \|$", README, re.MULTILINE)
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    declared = {
        extra: [Requirement(line).name for line in lines.split()]
        for extra, lines in config["options.extras_require"].items()
    }
    assert {extra: packages.split(", ") for extra, _, packages in rows} == declared
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    parts = re.findall(r"^(?:TRAINING|OTHERS) := ([\w,]+)$", makefile, re.MULTILINE)
    assert len(parts) == 2
    assert sorted(",".join(parts).split(",")) == sorted(declared)


def test_links_and_pictures_exist() -> None:
    for target in re.findall(r"\[[^\]\"]+\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"make ([a-z]+)", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
