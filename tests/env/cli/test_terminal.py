"""Names and paths on a terminal: they are printed in one line, whatever they are."""

import io as streams
import os
import sys
from pathlib import Path

import pytest
from rich.status import Status

from dagsched_env import Instance, io
from dagsched_env.cli import main
from dagsched_env.cli.progress import bar

HOSTILE = ("\x1b[31mred", "two\nlines", "\ud800", "a" * 1_000_000, "\u202eright to left", "[/red]")


@pytest.mark.parametrize("name", HOSTILE)
def test_info_prints_any_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    io.save(Instance([[1.0]], [], [], name=name), tmp_path / "one.json")
    assert main(["info", str(tmp_path / "one.json")]) == 0
    first, second, *_ = capsys.readouterr().out.split("\n")
    assert first.startswith("name ")
    assert second.startswith("tasks ")
    assert first.isprintable()
    assert len(first) < 500


def test_a_path_that_is_not_utf8_is_printed_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    io.save(Instance([[1.0]], [], []), "one.json")
    printed = streams.BytesIO()
    monkeypatch.setattr(sys, "stdout", streams.TextIOWrapper(printed, "utf-8", write_through=True))
    assert main(["convert", "one.json", os.fsdecode(b"\xff.json")]) == 0
    assert printed.getvalue() == b"wrote \\udcff.json\n"


def test_names_in_a_progress_bar_are_no_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with bar("comparing on [/red].json", 2) as progress:
        progress(1, 2)


def test_schedule_shows_the_state_of_a_solve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[str] = []
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(Status, "update", lambda _, text: shown.append(text))
    io.save(Instance([[2.0, 3.0], [4.0, 3.0]], [(0, 1)], [5.0]), tmp_path / "one.json")
    assert main(["schedule", str(tmp_path / "one.json"), "--scheduler", "heft"]) == 0
    assert not shown
    assert main(["schedule", str(tmp_path / "one.json"), "--scheduler", "solve"]) == 0
    assert shown[0].endswith("one.json: makespan 6 (heft), bound 6, gap 0.0%")
