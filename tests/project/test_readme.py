"""The README's Python blocks and shell commands, as a newcomer would type them, and its figures."""

import configparser
import csv
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

from dagsched_env import Schedule
from helpers import ROOT
from helpers.snippets import EXAMPLE, blocks, run, run_here

README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON_BLOCKS = [block for block in blocks(README) if block.language == "python"]
COMMANDS = [c for block in blocks(README) if block.language == "sh" for c in block.commands]


def test_the_readme_has_what_it_promises() -> None:
    assert len(README.encode()) <= 9000
    assert len(PYTHON_BLOCKS) == 2
    assert len(COMMANDS) == 3
    (picture,) = re.findall(r"!\[[^\]]+\]\((.+?)\)", README)
    assert picture == "docs/solve_and_heft.png"
    assert README.index(picture) < README.index("## Install") < README.index("make train ")


def test_the_second_block_prints_a_result(tmp_path: Path) -> None:
    (command,) = PYTHON_BLOCKS[1].commands
    out = run(command, tmp_path)
    assert re.search(r"\d+\.\d+", out.splitlines()[-1])


def test_the_first_block_prints_what_stands_below_it(tmp_path: Path) -> None:
    """But for the figures, which a search on other hardware may miss by a little."""
    (below,) = (block.content for block in blocks(README) if block.language == "text")
    (command,) = PYTHON_BLOCKS[0].commands
    printed, figure = run(command, tmp_path), re.compile(r"\d+\.\d+")
    assert figure.sub("", printed) == figure.sub("", below)
    (makespan, bound, saved), (said, said_bound, said_saved) = (
        map(float, figure.findall(text)) for text in (printed, below)
    )
    assert bound == said_bound
    assert makespan == pytest.approx(said, rel=0.01)
    assert saved == pytest.approx(said_saved, abs=1.0)


def test_the_picture_shows_what_its_commands_find(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And the text beside it has the figures; a search on other hardware may end a little apart."""
    monkeypatch.chdir(tmp_path)
    for command in COMMANDS:
        run_here(command, tmp_path, capsys)
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


# -- figures -------------------------------------------------------------------------------------


def test_the_table_of_rivals_is_that_of_the_benchmarks() -> None:
    rows = re.findall(r"^\|[^|]+\| (0\.\d+) \| (0\.\d+) \| (\d+ / \d+ / \d+) \|$", README, re.M)
    measured = (ROOT / "BENCHMARKS.md").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 7
    for early, late, meetings in rows:
        lines = [line for line in measured if f"| {meetings.replace(' ', '')} | 0." in line]
        found = [re.findall(r"\| (0\.\d{4}) ", line)[:2] for line in lines]
        assert [early, late] in [[f"{float(x):.3f}" for x in ratios] for ratios in found]


def test_the_figures_of_a_policy_are_what_the_command_finds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With standard errors over the graphs; a search on a busy machine ends a little apart."""
    monkeypatch.chdir(tmp_path)
    (command,) = re.findall(r"`(dagsched compare --suite heldout [^`]+)`", README)
    run_here(command.split(), tmp_path, capsys)
    makespans: dict[str, dict[str, float]] = defaultdict(dict)
    with Path("heldout.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            makespans[row["scheduler"]][row["instance"]] = float(row["makespan"])
    said = re.findall(r"at\s(0\.\d+) ± (0\.\d+)", README)
    for name, (mean, error) in zip(("policy", "policy_sampled", "solve"), said, strict=False):
        ratios = np.array([makespans[name][i] / heft for i, heft in makespans["heft"].items()])
        near, close = (0.02, 0.002) if name == "solve" else (0.001, 0.001)
        assert ratios.mean() == pytest.approx(float(mean), abs=near)
        assert ratios.std(ddof=1) / len(ratios) ** 0.5 == pytest.approx(float(error), abs=close)


def test_where_solve_gains_little_is_what_the_guide_shows() -> None:
    said = re.search(
        r"ends 0 to ([\d.]+) %\s+before HEFT on ten of the eleven recorded workflows, within "
        r"([\d.]+) % of the bound, and (\d+) % before it",
        README,
    )
    assert said is not None
    guide = (ROOT / "docs" / "guide" / "solving.md").read_text(encoding="utf-8")
    (table,) = (block.content for block in blocks(guide) if block.title == EXAMPLE)
    rows = re.findall(r"^\w+ +\d+ +[\d.]+ +([\d.]+) +[\d.]+ +([\d.]+(?=%)|optimal)", table, re.M)
    gains = {100 * (1 - float(ratio)): gap.replace("optimal", "0") for ratio, gap in rows}
    *others, largest = sorted(gains)
    assert len(rows) == 11
    assert [f"{max(others):.1f}", max(gains[gain] for gain in others)] == list(said.groups()[:2])
    assert f"{largest:.0f}" == said[3]


# -- what it names -------------------------------------------------------------------------------


def test_the_table_of_extras_is_complete() -> None:
    page = (ROOT / "docs" / "getting-started.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([\w, .-]+) \|$", page, re.MULTILINE)
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


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"\bmake ([a-z]+)", README):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
