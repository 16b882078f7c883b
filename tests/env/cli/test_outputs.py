"""Files that cannot be written are refused before the work, whatever the command."""

import subprocess
import sys
from pathlib import Path

import pytest

from dagsched_env import Instance, io
from dagsched_env.cli import main, outputs
from dagsched_env.problem.errors import DAGSchedError
from helpers.isolation import BLOCK, obey_permissions

COMMANDS = {
    "schedule --out": ["schedule", "one.json", "--out", "{}"],
    "schedule --gantt": ["schedule", "one.json", "--gantt", "{}"],
    "plot --out": ["plot", "one.json", "--out", "{}"],
    "compare --csv": ["compare", "--suite", "paper", "--csv", "{}"],
    "compare --png": ["compare", "--suite", "paper", "--png", "{}"],
    "compare --html": ["compare", "--suite", "paper", "--html", "{}"],
    "generate --out": ["generate", "--out", "{}"],
    "convert OUT": ["convert", "one.json", "{}"],
}


@pytest.fixture(autouse=True)
def no_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder with an instance; whatever would be the work fails the test."""

    def work(*_: object, **__: object) -> None:
        pytest.fail("the work has begun")

    monkeypatch.chdir(tmp_path)
    io.save(Instance([[1.0]], [], []), "one.json")
    for place in ("scheduling.read_problem", "files.read_problem", "files.specs.make_family"):
        monkeypatch.setattr(f"dagsched_env.cli.{place}", work)
    monkeypatch.setattr("dagsched_env.cli.comparison.suites.load", work)


def refusal(capsys: pytest.CaptureFixture[str], command: str, path: str) -> str:
    assert main([word.format(path) for word in COMMANDS[command]]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    return line.removeprefix("dagsched: error: ")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_that_is_missing(capsys: pytest.CaptureFixture[str], command: str) -> None:
    suffix = {"--out": "json", "--gantt": "svg", "--csv": "csv", "--png": "png", "--html": "html"}
    name = f"no/x.{suffix.get(command.split()[1], 'json')}"
    option = command.split()[1]
    message = f"{name}: there is no folder no: make it, or name another with {option}"
    assert refusal(capsys, command, name) == message


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("schedule --out", "x.bmp: the suffix is '.bmp': --out writes .json"),
        ("schedule --gantt", "x.bmp: the suffix is '.bmp': --gantt writes .png, .svg, .pdf, .html"),
        ("plot --out", "x.bmp: the suffix is '.bmp': --out writes .png, .svg, .pdf, .html, .htm"),
        ("compare --csv", "x.bmp: the suffix is '.bmp': --csv writes .csv"),
        ("compare --png", "x.bmp: the suffix is '.bmp': --png writes .png, .svg, .pdf"),
        ("compare --html", "x.bmp: the suffix is '.bmp': --html writes .html, .htm"),
        ("generate --out", "x.bmp: unknown suffix: name a format of chrome_trace, csv, dot"),
        ("convert OUT", "x.bmp: unknown suffix: name a format of chrome_trace, csv, dot"),
    ],
)
def test_a_suffix_that_is_unknown(
    capsys: pytest.CaptureFixture[str], command: str, message: str
) -> None:
    assert refusal(capsys, command, "x.bmp").startswith(message)


def test_a_format_that_is_only_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(capsys, "convert OUT", "x.stg").startswith("x.stg: STG is only read: name a fo")


def test_a_folder_in_place_of_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("x.json").mkdir()
    assert refusal(capsys, "schedule --out", "x.json").startswith("x.json is a folder: name a file")


def test_a_device_is_written_as_it_is() -> None:
    outputs.check_output("--out", "/dev/null", outputs.CHARTS)
    outputs.check_output("--out", None, outputs.CHARTS)


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o555)
    code = "import sys; from dagsched_env.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, "generate", "--out", "locked/x.json"],
        preexec_fn=obey_permissions,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == (
        "dagsched: error: locked/x.json: the folder locked cannot be written: name another with "
        "--out\n"
    )


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no /proc")
def test_a_folder_that_takes_no_files_whatever_its_permissions() -> None:
    with pytest.raises(DAGSchedError, match="the folder /proc cannot be written: name another"):
        outputs.check_output("--out", "/proc/x.json", outputs.JSON)


def test_two_options_that_name_one_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "one.json", "--csv", "x.csv", "--journal", "./x.csv"]) == 2
    error = capsys.readouterr().err
    assert "x.csv is an output of --csv and of --journal: name two files" in error


def test_two_files_that_would_be_one(tmp_path: Path) -> None:
    files = ["a/g.dot", "b/g.dot"]
    with pytest.raises(
        DAGSchedError, match=r"^a/g\.dot and b/g\.dot would both be .*g\.json: take"
    ):
        outputs.output_places("--out", tmp_path / "all", files, outputs.JSON)
    assert not (tmp_path / "all").exists()


def test_a_picture_without_matplotlib() -> None:
    code = f"""{BLOCK}
from dagsched_env.cli import main
sys.exit(main(["schedule", "one.json", "--gantt", "x.png"]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "needs 'matplotlib': install it with pip install 'aerl-ds[plot]'" in done.stderr
    assert "makespan" not in done.stdout
