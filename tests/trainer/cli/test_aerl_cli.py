"""``aerl``: every command on real files, and one line on stderr when something is wrong."""

import html
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from rich.status import Status

from aerl_trainer import config as settings
from aerl_trainer.cli import joined, main, training
from aerl_trainer.config import Config, RunConfig
from aerl_trainer.policy.shipped import shipped_names
from aerl_trainer.run.reporting import RunDirectory, read_metrics
from aerl_trainer.runtime.errors import SearchPoolError
from aerl_trainer.solving import batch
from dagsched_env import io
from dagsched_env.cli.progress import live
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import best_of_portfolio
from dagsched_env.solver import Finding
from helpers import ROOT, TESTS
from helpers.full_disk import full_disk
from helpers.small_runs import problem, small_config

SMALL = small_config(
    run={"actors": 1, "max_steps": 6, "evaluation_simulations": 5}, validator={"interval": 3}
)
PNG = b"\x89PNG\r\n\x1a\n"
ALONE = "inference.backend=inline"
"""With one actor, no process is started."""


def write_config(path: Path, config: Config = SMALL) -> Path:
    path.write_text(tomli_w.dumps(settings.to_dict(config)), encoding="utf-8")
    return path


def fails(capsys: pytest.CaptureFixture[str], *argv: object) -> str:
    """The one-line error of a command that fails."""
    assert main([str(word) for word in argv]) == 2
    output = capsys.readouterr()
    lines = output.err.splitlines()
    assert len(lines) == 1, output.err
    assert lines[0].startswith("aerl: error: ")
    return lines[0].removeprefix("aerl: error: ")


def succeeds(capsys: pytest.CaptureFixture[str], *argv: object) -> str:
    assert main([str(word) for word in argv]) == 0
    return capsys.readouterr().out


ROWS = [
    "heft",
    "best_single",
    "portfolio",
    "policy",
    "policy_sampled_32",
    "network",
    "search_untrained",
    "search_trained",
    "solve_untrained",
    "solve_trained",
]


@pytest.fixture
def instance_file(tmp_path: Path) -> tuple[Path, Instance]:
    instance = problem(12, 3, seed=4)
    path = tmp_path / "problem.json"
    path.write_text(instance.to_json(), encoding="utf-8")
    return path, instance


# -- train ---------------------------------------------------------------------------------------


@pytest.fixture
def few_to_report_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables at the end of a run are of 8 problems, not of the 40 of the suite heldout."""
    monkeypatch.setattr(training, "HELDOUT", "suite:paper")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run from start to end as a user sees it: its directory and what it printed."""
    folder = tmp_path_factory.mktemp("cli")
    command = [sys.executable, "-m", "aerl_trainer", "train", "--run-dir", "a run"]
    command += ["--config", str(write_config(folder / "small.toml")), "--seed", "5"]
    command += ["--set", "learner.learning_rate=0.002", "search.noise_fraction=0"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr in (
        "",
        "aerl: compiling kernels, once: it may take minutes (aerl warm-up compiles all of them)\n",
    )
    return folder / "a run", done.stdout


def test_train_prints_the_tables(trained: tuple[Path, str]) -> None:
    _, output = trained
    assert "suite:heldout: 40 instances; search 5 simulations, solve 0.01 s each" in output
    for row in ROWS:
        assert len(re.findall(rf"^{row}\b", output, re.MULTILINE)) == 1


def test_train_says_what_can_be_done_next(trained: tuple[Path, str]) -> None:
    _, output = trained
    for command in (
        "aerl train --resume --run-dir 'a run' --minutes 10",
        "aerl evaluate --checkpoint 'a run'",
        "aerl solve montage --checkpoint 'a run' --gantt montage.png",
        "tensorboard --logdir 'a run/tb'",
    ):
        assert f"  {command}\n" in output


def test_the_command_of_the_report_can_be_pasted(trained: tuple[Path, str]) -> None:
    directory, _ = trained
    report = html.unescape((directory / "report.html").read_text(encoding="utf-8"))
    assert "train --run-dir 'a run' --config " in report


def test_train_leaves_results_and_pictures(trained: tuple[Path, str]) -> None:
    directory, _ = trained
    results = json.loads((directory / "results.json").read_text(encoding="utf-8"))
    assert results.keys() == {"suite:heldout"}
    rows = results["suite:heldout"]["rows"]
    assert [row["scheduler"] for row in rows] == ROWS
    assert all(row["wins"] + row["ties"] + row["losses"] == 40 for row in rows)
    assert all(row["losses"] == 0 for row in rows if row["scheduler"][:6] in ("search", "solve_"))
    for picture in ("learning_curve.png", "gantt.png"):
        assert (directory / picture).read_bytes().startswith(PNG)
    found = read_metrics(directory / "metrics.jsonl")
    assert [r["step"] for r in found if r["kind"] == "train"] == list(range(1, 7))


def test_train_leaves_a_report(trained: tuple[Path, str]) -> None:
    directory, output = trained
    page = (directory / "report.html").read_text(encoding="utf-8")
    assert f"report          {Path('a run') / 'report.html'}" in output
    assert "suite:heldout: 40 instances; search 5 simulations" in page
    assert re.findall(r"<tr[^>]*><td>(\w+)", page.partition("Learning curve")[0]) == ROWS
    assert page.count("<svg ") == 6
    assert "<td>run.seed</td><td>5</td><td>0</td>" in page


def test_flags_override_set_overrides_the_file(trained: tuple[Path, str]) -> None:
    directory, _ = trained
    saved = settings.load(directory / "config.toml")
    assert saved.run.seed == 5
    assert saved.learner.learning_rate == 0.002
    assert saved.search.noise_fraction == 0
    assert saved.network == SMALL.network
    assert saved.curriculum == SMALL.curriculum


@pytest.mark.usefixtures("few_to_report_on")
def test_train_resumes(trained: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    """With the settings of the run, but for those given anew."""
    directory, _ = trained
    flags = ("--set", "run.max_steps=9", "run.evaluation_simulations=1", ALONE)
    output = succeeds(capsys, "train", "--resume", "--run-dir", directory, *flags)
    assert "suite:paper: 8 instances; search 1 simulations" in output
    found = read_metrics(directory / "metrics.jsonl")
    assert [r["step"] for r in found if r["kind"] == "train"] == list(range(1, 10))
    saved = settings.load(RunDirectory(directory).config_file)
    assert (saved.run.seed, saved.run.max_steps) == (5, 9)


def test_train_to_the_letter(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The settings of ``configs/paper.toml`` but for the sizes, in one process."""
    small = [
        *("search.budget=20", "search.min_trajectories=4", "search.max_children=32"),
        *("network.width=8", "network.layers=1", "learner.batch_size=4", "replay.min_size=4"),
        *("policy.instances=2", "policy.schedules=4", "inference.backend=inline"),
        *("validator.instances=2", "validator.fresh_instances=30"),
        *("validator.guided_simulations=5", "run.max_steps=4"),
        *("run.evaluation_simulations=2", "run.evaluation_budget_s=0.01"),
    ]
    output = succeeds(
        *(capsys, "train", "--config", ROOT / "configs" / "paper.toml", "--run-dir", tmp_path),
        *("--actors", 1, "--instances", "family:topcuoglu?tasks=5..7&processors=2..3"),
        *("--set", *small),
    )
    assert "search_trained" in output
    found = read_metrics(tmp_path / "metrics.jsonl")
    assert [r["step"] for r in found if r["kind"] == "train"] == [1, 2, 3, 4]
    searches = [r for r in found if r["kind"] == "search"]
    assert all(r["best_makespan"] > 0 for r in searches)
    assert all(r["terminal_paths"] >= 4 for r in searches)


def test_set_list_prints_all_settings(capsys: pytest.CaptureFixture[str]) -> None:
    out = succeeds(capsys, "train", "--set", "list")
    assert "  search.budget = 128  (int)\n      Simulations per job" in out
    assert "``" not in out


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--set", "search.bugdet=3"], "--set search.bugdet=3: no such setting"),
        (["--set", "budget"], "--set budget: no such setting; write section.key=value (--set list"),
        (["--set", "search.budget=many"], "search.budget is 'many', of a wrong type"),
        (["--set", "search.budget=0"], "search.budget must be at least 1"),
        (["--set", "run.actors=65"], "run.actors must lie in [1, 64]"),
        (["--minutes", "0"], "run.minutes must be positive"),
        (["--minutes", "inf"], "run.minutes must be a finite number"),
        (["--set", "learner.learning_rate=inf"], "learner.learning_rate must be a finite number"),
        (["--actors", "-1"], "run.actors must lie in"),
        (["--seed", "-1"], "run.seed must not be negative"),
        (["--config", "missing.toml"], "missing.toml: "),
        (["--resume", "--run-dir", "nowhere"], "nowhere holds no run to resume"),
    ],
)
def test_bad_settings(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    flags: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in fails(capsys, "train", *flags)
    assert list(tmp_path.iterdir()) == [], "nothing has been made"


@pytest.mark.parametrize("content", ["[search", "[search]\nbudget = 'x'", "[tree]\n", "\xff"])
def test_bad_config_files_are_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str
) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(content.encode("latin-1"))
    assert str(path) in fails(capsys, "train", "--config", path, "--run-dir", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_run_is_not_overwritten(
    trained: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    directory, _ = trained
    message = fails(capsys, "train", "--run-dir", directory)
    assert "holds a run already: resume it, or choose another directory" in message


def test_a_run_does_not_resume_with_another_network(
    trained: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    directory, _ = trained
    flags = ("--set", "network.width=12", "inference.backend=inline")
    message = fails(capsys, "train", "--resume", "--run-dir", directory, *flags)
    assert "its network is of another size" in message


# -- evaluate ------------------------------------------------------------------------------------


def test_evaluate_on_suites(trained: tuple[Path, str], capsys: pytest.CaptureFixture[str]) -> None:
    directory, _ = trained
    for checkpoint in (directory, directory / "checkpoints" / "last"):
        command = ("evaluate", "--checkpoint", checkpoint, "--simulations", 5)
        output = succeeds(capsys, *command, "--instances", "suite:workflows_small")
        assert "suite:workflows_small: 3 instances; search 5 simulations" in output
        assert "heldout" not in output
        assert "search_trained" in output


def test_evaluate_on_files(
    trained: tuple[Path, str],
    instance_file: tuple[Path, Instance],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    directory, _ = trained
    path, _ = instance_file
    command = (
        "evaluate",
        "--checkpoint",
        directory,
        "--simulations",
        5,
        "--instances",
        path,
        "montage",
        "family:chains?chains=2&length=3",
        "--count",
        3,
        "--budget",
        0.01,
        "--json",
        tmp_path / "table.json",
    )
    output = succeeds(capsys, *command)
    assert "5 instances; search 5 simulations, solve 0.01 s each" in " ".join(output.split())
    rows = json.loads((tmp_path / "table.json").read_text())["rows"]
    assert [row["scheduler"] for row in rows] == ROWS
    wanted = {"scheduler", "vs_heft", "vs_portfolio", "wins", "ties", "losses", "ms"}
    assert all(wanted <= row.keys() for row in rows)


def test_evaluate_on_machines_of_choice(
    trained: tuple[Path, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    command = ["evaluate", "--checkpoint", trained[0], "--simulations", 2, "--budget", 0.01]
    command += ["--instances", "montage", "epigenomics", "suite:paper"]
    machines = ["--platform", "identical", "--processors", "3", "--bandwidth", "1Gbit/s"]
    assert main([*map(str, command), *machines]) == 0
    assert capsys.readouterr().err == ""
    assert main([*map(str, command), "--json", str(tmp_path / "table.json")]) == 0
    output = capsys.readouterr()
    (line,) = output.err.splitlines()
    assumed = json.loads((tmp_path / "table.json").read_text())["assumptions"]
    assert output.out.splitlines()[-1] == f"assumed: {assumed[0]}"
    assert "machines: 4 unrelated processors (beta 0.5) drawn with seed 0, CCR 1" in assumed[0]
    assert line == (
        "aerl: montage and 1 other file describe no processors: 4 unrelated processors (beta 0.5) "
        "drawn with seed 0, communication rescaled to CCR 1; change it with --platform, "
        "--processors, --beta, --platform-seed, --bandwidth, --ccr, or --machines FILE"
    )
    alone = [*command[:7], "--instances", "suite:paper", "--processors", 3]
    message = "--processors is for files that describe no processors, and none of the SPECs is one"
    assert fails(capsys, *alone).startswith(message)


def test_evaluate_needs_what_it_is_given(
    trained: tuple[Path, str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    directory, _ = trained
    nowhere, empty = tmp_path / "nowhere", tmp_path / "empty"
    empty.mkdir()
    error = fails(capsys, "evaluate", "--checkpoint", nowhere)
    assert error == (
        f"no run, file or shipped policy '{nowhere}': shipped are {', '.join(shipped_names())}"
    )
    neither = f"{empty}: neither a run of aerl train nor a checkpoint: it has no state.json"
    assert fails(capsys, "evaluate", "--checkpoint", empty) == neither
    given = ("evaluate", "--checkpoint", directory)
    assert "nothing.json" in fails(capsys, *given, "--instances", tmp_path / "nothing.json")
    traces = ("--instances", "suite:workflows_small")
    for option in ("--simulations", "--count", "--budget"):
        assert fails(capsys, *given, *traces, option, 0).startswith(f"{option} is 0")
    damaged = tmp_path / "checkpoints" / "last"
    damaged.mkdir(parents=True)
    (damaged / "state.json").write_text("{}")
    assert "state.json" in fails(capsys, "evaluate", "--checkpoint", tmp_path)


# -- solve ---------------------------------------------------------------------------------------


def test_solve_writes_schedule_and_gantt(
    instance_file: tuple[Path, Instance], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path, instance = instance_file
    out = tmp_path / "schedule.json"
    for gantt in (tmp_path / "gantt.png", tmp_path / "gantt.svg"):
        output = succeeds(
            capsys, "solve", path, "--simulations", 50, "--out", out, "--gantt", gantt
        )
        schedule = Schedule.from_json(out.read_text(encoding="utf-8"))
        schedule.validate(instance)
        assert schedule.algorithm == "solve"
        assert f"makespan      {schedule.makespan:.6g}" in output
        assert f"SLR {schedule.slr(instance):.4f}" in output
        bound = float(output.split("lower bound")[1].split()[0])
        assert instance.lower_bound * (1 - 1e-5) <= bound <= schedule.makespan * (1 + 1e-5)
        assert str(out) in output
        assert str(gantt) in output
    assert (tmp_path / "gantt.png").read_bytes().startswith(PNG)
    assert "<svg" in (tmp_path / "gantt.svg").read_text(encoding="utf-8")


def test_solve_several_files_in_one_table(
    instance_file: tuple[Path, Instance], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path, instance = instance_file
    assert main(["solve"]) == 2
    assert "no FILE to solve" in capsys.readouterr().err
    out = tmp_path / "results.json"
    output = succeeds(capsys, "solve", path, "epigenomics", "--simulations", 50, "--json", out)
    assert "epigenomics" in output
    first, second = json.loads(out.read_text())
    used = Counter(record["policy"] or "none" for record in (first, second))
    assert all(f"{name} on {count}" in output for name, count in used.items())
    assert (first["problem"], second["problem"]) == (str(path), "epigenomics")
    assert first["tasks"] == instance.n_tasks
    for record in (first, second):
        assert f"{record['makespan']:.6g}" in output
        assert record["lower_bound"] <= record["makespan"] <= record["portfolio"] <= record["heft"]
        assert record["trace"][0][1:] == [record["heft"], "heft"]
        assert record["trace"][-1][1:] == [record["makespan"], record["found_by"]]
    assert (
        second["portfolio"]
        == best_of_portfolio(io.load("epigenomics", platform=io.RandomPlatform())).makespan
    )


def test_a_live_line_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    with live("montage") as callback:
        assert callback is None, "no terminal"
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr(Status, "update", lambda _, text: shown.append(text))
    with live("montage") as callback:
        assert callback is not None
        callback(Finding(0.5, 200.0, "annealing"), 150.0)
    assert shown == ["montage: makespan 200 (annealing), bound 150, gap 25.0%"]


def test_solve_a_bundled_trace_with_and_without_a_network(
    trained: tuple[Path, str], capsys: pytest.CaptureFixture[str]
) -> None:
    directory, _ = trained
    heft = io.load("montage", platform=io.RandomPlatform())
    for guide in ((), ("--checkpoint", directory)):
        output = succeeds(capsys, "solve", "montage", "--simulations", 20, "--seed", 3, *guide)
        makespan = float(output.split()[1])
        assert heft.lower_bound * 0.999 <= makespan


def test_solve_takes_the_checkpoint_before_a_damaged_one_and_says_so(
    trained: tuple[Path, str],
    instance_file: tuple[Path, Instance],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    checkpoints = tmp_path / "run" / "checkpoints"
    shutil.copytree(trained[0] / "checkpoints", checkpoints)
    shutil.copytree(checkpoints / "last", checkpoints / "previous", dirs_exist_ok=True)
    damaged = checkpoints / "last" / "model.safetensors"
    damaged.unlink()
    command = ["solve", str(instance_file[0]), "--simulations", "5", "--checkpoint"]
    assert main([*command, str(tmp_path / "run")]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"aerl: {damaged}: missing; {checkpoints / 'previous'} is used instead"
    for name in ("previous", "best"):
        shutil.rmtree(checkpoints / name, ignore_errors=True)
    assert fails(capsys, *command, tmp_path / "run") == f"{damaged}: missing"


def test_solve_on_machines_of_choice(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    graph = TESTS / "data" / "formats" / "weight_style.dot"
    command = ["solve", str(graph), "--simulations", "200", "--checkpoint", "none"]
    machines = ["--platform", "identical", "--processors", "2", "--bandwidth", "1"]
    assert main([*command, *machines]) == 0
    output = capsys.readouterr()
    assert float(output.out.split()[1]) == 15
    assert output.err == ""
    assert "assumed" not in output.out
    files = ["--json", str(tmp_path / "r.json"), "--out", str(tmp_path / "s.json")]
    assert main([*command, *files]) == 0
    output = capsys.readouterr()
    drawn = "4 unrelated processors (beta 0.5) drawn with seed 0"
    assert output.err.startswith(f"aerl: {graph} describes no processors: {drawn}")
    sentence = f"machines: {drawn}, CCR 1; not given: platform, processors, beta, platform_seed, "
    (line,) = [line for line in output.out.splitlines() if line.startswith("assumed       ")]
    assert line.startswith(f"assumed       {sentence}")
    (record,) = json.loads((tmp_path / "r.json").read_text())
    schedule = json.loads((tmp_path / "s.json").read_text())
    assert record["assumptions"] == schedule["assumptions"] == [line.split("       ", 1)[1]]


def test_solve_graphs_without_times(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    graphs, table, results = tmp_path / "graphs", tmp_path / "graphs" / "t.csv", tmp_path / "r.json"
    graphs.mkdir()
    table.write_text("name,seconds\na,2\nb,4\n")
    for name in ("x", "y"):
        (graphs / f"{name}.dot").write_text("digraph { a -> b }")
    command = ["solve", graphs, "--simulations", 10, "--checkpoint", "none", "--processors", 1]
    remedy = "--times names a table of name or label and seconds, --unit-times gives each task 1"
    assert fails(capsys, *command).endswith(f"task 'a' has no time (2 tasks have none): {remedy}")
    for options, makespan in ((["--times", table], 6.0), (["--unit-times"], 2.0)):
        succeeds(capsys, *command, *options, "--platform", "identical", "--json", results)
        assert [x["makespan"] for x in json.loads(results.read_text())] == [makespan] * 2
    out = succeeds(capsys, *command, "--unit-times")
    assert out.splitlines()[-1].startswith("assumed: machines: 1 unrelated processors")


def test_solve_keeps_to_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    output = succeeds(capsys, "solve", "epigenomics", "--budget", 2)
    assert int(output.split("simulations")[1].split()[0]) > 0


def test_solve_is_the_same_for_the_same_seed(
    instance_file: tuple[Path, Instance], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path, _ = instance_file
    texts = set()
    for out in (tmp_path / "a.json", tmp_path / "b.json"):
        succeeds(capsys, "solve", path, "--simulations", 100, "--seed", 7, "--out", out)
        texts.add(out.read_text(encoding="utf-8"))
    assert len(texts) == 1


def test_solve_with_several_processes(instance_file: tuple[Path, Instance]) -> None:
    """From the console script, whose main module the children import again."""
    path, instance = instance_file
    script = Path(sys.executable).parent / "aerl"
    command = [script, "solve", path, "--simulations", "200", "--actors", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert float(done.stdout.split()[1]) >= instance.lower_bound * 0.999


def test_schedules_and_charts_of_several_files_go_into_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        io.save(problem(n=6, seed=len(name)), f"{name}.json")
    command = "solve one.json two.json --simulations 20 --checkpoint none "
    command += "--out plans --gantt charts"
    assert main(command.split()) == 0
    assert sorted(path.name for path in Path("plans").iterdir()) == ["one.json", "two.json"]
    assert sorted(path.name for path in Path("charts").iterdir()) == ["one.png", "two.png"]
    for name in ("one", "two"):
        Schedule.from_json(Path(f"plans/{name}.json").read_text()).validate(io.load(f"{name}.json"))
    assert main(["solve", "one.json", "./one.json", "--out", "plans"]) == 2, "two of one name"


def test_a_folder_of_files_with_and_without_machines_is_solved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "files").mkdir()
    monkeypatch.chdir(tmp_path / "files")
    io.save(own := problem(n=6, p=3, seed=1), "own.json")
    Path("graph.dot").write_text("digraph { a [weight=2]; b [weight=3]; a -> b [weight=1]; }")
    flags = "--processors 2 --platform identical --bandwidth 1 --simulations 20 --checkpoint none"
    for inputs in (".", "graph.dot own.json"):
        assert main(f"solve {inputs} {flags} --json ../all.json".split()) == 0
        solved = json.loads(Path("../all.json").read_text())
        assert [entry["problem"] for entry in solved] == ["graph.dot", "own.json"]
        assert [entry["processors"] for entry in solved] == [2, own.n_processors]
        kept = "own.json describes its processors: --platform does not change them"
        assert f"aerl: {kept}" in capsys.readouterr().err
    assert "own.json is read by this command" in fails(capsys, "solve", ".", "--json", "own.json")
    name = "montag: No such file or directory; did you mean the bundled trace 'montage'?"
    assert fails(capsys, "solve", "montag") == name


def test_what_evaluate_reads_by_a_spec_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("graph.json").write_text("{}")
    command = ["evaluate", "--checkpoint", "default", "--instances", "graph.json?processors=2"]
    assert "graph.json is read by" in fails(capsys, *command, "--json", "graph.json")
    Path("machines.json").write_text('{"processors": [{"name": "a"}]}')
    command[-1] = "graph.json?machines=machines.json"
    assert "machines.json is read by" in fails(capsys, *command, "--json", "machines.json")
    command[-1] = "family:topcuoglu?tasks=" + ",".join(map(str, range(10, 110))) + "&nothing=1"
    assert "has no parameter 'nothing'" in fails(capsys, *command, "--json", "table.json")


def test_schedules_do_not_go_into_the_folder_of_the_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("one", "two"):
        Path("in").mkdir(exist_ok=True)
        io.save(problem(n=6, p=2, seed=len(name)), f"in/{name}.dot")
    error = fails(capsys, "solve", "in", "--simulations", 5, "--out", "in")
    assert error.startswith("in/one.json: the next call would take it for a problem in in")
    assert sorted(path.name for path in Path("in").iterdir()) == ["one.dot", "two.dot"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--target", "-1"], "--target is -1.0: give a number > 0"),
        (["montage", "--out", "one.json"], "one.json: of several files --out names a folder"),
        (["--actors", "65"], "--actors is 65: give at most 64"),
        (["--seed", "-1"], "--seed is -1: give a whole number >= 0"),
        (["--out", "x.json", "--json", "./x.json"], "x.json is an output of --json and of --out"),
        (["--simulations", "0"], "--simulations is 0: give a whole number >= 1"),
        (["--budget", "-1"], "--budget is -1.0: give a number > 0"),
        (["--patience", "0"], "--patience is 0.0: give a number > 0"),
        (["--actors", "0"], "--actors is 0"),
        (["--checkpoint", "nowhere"], "no run, file or shipped policy 'nowhere': shipped are"),
        (["--simulations", "5", "--gantt", "gantt.xyz"], "gantt.xyz"),
        (["--speeds", "1,2"], "the file describes its processors itself: leave --speeds out"),
        (["--speeds", "1", "--processors", "2"], "write one speed for each processor"),
        (["--platform", "magic"], "--platform is 'magic': write one of clustered"),
        (["--simulations", "5", "--out", "no/such/folder/x.json"], "no/such/folder"),
    ],
)
def test_bad_arguments_of_solve(
    instance_file: tuple[Path, Instance],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    flags: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in fails(capsys, "solve", instance_file[0], *flags)


@pytest.mark.parametrize("budget", [0, -1, "nan"])
def test_a_bad_budget_is_refused_before_machines_are_assumed(
    capsys: pytest.CaptureFixture[str], budget: float | str
) -> None:
    message = f"--budget is {float(budget)}: give a number > 0, finite"
    assert fails(capsys, "solve", "montage", "--budget", budget) == message


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["solve", "montage", "--out", "no/x.json"], "no/x.json: there is no folder no: make it"),
        (["solve", "montage", "--out", "x.png"], "x.png: the suffix is '.png': --out writes .json"),
        (["solve", "montage", "--gantt", "x.bmp"], "x.bmp: the suffix is '.bmp': --gantt writes"),
        (["evaluate", "--checkpoint", "default", "--json", "no/x.json"], "no/x.json: there is no"),
        (["evaluate", "--checkpoint", "default", "--json", "x.csv"], "--json writes .json"),
    ],
)
def test_files_to_be_written_are_checked_before_the_work(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    command: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for work in ("solving.solve_here", "evaluating.load_trained"):
        begun = f"aerl_trainer.cli.{work}"
        monkeypatch.setattr(begun, lambda *_, **__: pytest.fail("the work has begun"))
    assert message in fails(capsys, *command)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "problem"),
        ("", "not JSON"),
        ("{}", "problem"),
        ('{"format": "dagsched-instance", "version": 1, "edges": []}', "'comp'"),
        (
            '{"format": "dagsched-instance", "version": 1, "comp": [[1], [1]],'
            ' "edges": [[0, 1], [1, 0]], "data": [1, 1]}',
            "cycle",
        ),
        ("\x00\xff", "problem"),
    ],
)
def test_bad_files_are_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: str | None, message: str
) -> None:
    path = tmp_path / "problem.json"
    if content is not None:
        path.write_bytes(content.encode("latin-1"))
    found = fails(capsys, "solve", path)
    assert message in found
    assert "problem.json" in found


# -- the rest ------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [[], ["train"], ["evaluate"], ["solve"], ["warm-up"]])
def test_help(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    assert ended.value.code == 0
    output = capsys.readouterr().out
    assert " ".join(["aerl", *command]) in output
    if command == ["train"]:
        for flag in ("--config", "--minutes", "--run-dir", "--resume", "--actors", "--set"):
            assert flag in output


@pytest.mark.parametrize(
    ("command", "texts"),
    [
        (
            "train",
            [
                f"training time; default: as in --config, or {RunConfig().minutes:g}.",
                f"no trees are searched; default: as in --config, or {RunConfig().actors}.",
                f"of all randomness; default: as in --config, or {RunConfig().seed}.",
                "--algorithm {aerl,reinforce} aerl trains",
            ],
        ),
        (
            "evaluate",
            [
                "--checkpoint PATH a run directory, a checkpoint in it, a .safetensors file, or "
                "the name of a shipped policy, such as default or cholesky. (required)",
                "bundled traces (montage, ...) or classic job shops (ta21, ...), suite:NAME,",
                "(default: suite:heldout)",
                "their number; default: 4. --nodes",
            ],
        ),
        ("solve", ["classic job shops (ta21, ...).", "--budget FLOAT stop each after this many"]),
    ],
)
def test_help_says_each_default_once(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    texts: list[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit):
        main([command, "--help"])
    output = " ".join(capsys.readouterr().out.replace("│", " ").split())
    assert "None" not in output
    assert "(default: )" not in output
    for text in texts:
        assert text in output


@pytest.mark.parametrize(
    "argv", [[], ["trian"], ["train", "--minutes", "soon"], ["solve", "x", "--fast"]]
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], argv: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(argv)
    assert ended.value.code not in (0, None)
    output = capsys.readouterr()
    assert output.out == ""
    assert "Traceback" not in output.err
    assert output.err


@pytest.mark.usefixtures("few_to_report_on")
def test_a_full_disk_at_a_file_of_the_end_is_one_line_and_the_run_goes_on(
    trained: tuple[Path, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run that has reached its last step: what is left to do is the report."""
    run = tmp_path / "run"
    shutil.copytree(trained[0], run)
    quick = ("run.evaluation_budget_s=0.001", "run.evaluation_simulations=1", ALONE)
    resume = ("train", "--resume", "--run-dir", run, "--set", *quick)
    for name in ("system.json", "results.json", "report.html"):
        with full_disk(monkeypatch, name.partition(".")[0]):
            error = fails(capsys, *resume)
        assert error == f"{run / name}: No space left on device"
        assert not [path for path in run.rglob("*") if path.name.endswith(".tmp")]
    succeeds(capsys, *resume)


def test_processes_that_keep_dying_are_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise SearchPoolError("actor-0 was killed by SIGKILL, death number 11")

    monkeypatch.setattr("aerl_trainer.cli.training.run_training", fail)
    assert main(["train", "--run-dir", str(tmp_path / "run")]) == 2
    assert capsys.readouterr().err == (
        "aerl: error: actor-0 was killed by SIGKILL, death number 11\n"
    )


def test_ctrl_c_leaves_quietly(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(batch, "solve", interrupted)
    assert main(["solve", "montage", "--processors", "4"]) == 130
    assumed, doubt = capsys.readouterr().err.splitlines()
    assert assumed.startswith("aerl: montage describes no processors: 4 unrelated processors")
    assert doubt.startswith("aerl: WARNING: montage: a transfer takes ")


def test_options_of_many_values_may_be_repeated() -> None:
    arguments = "train --set a=1 --seed 3 --instances x y --set=b=2 c=3 --resume --instances z"
    expected = "train --seed 3 --resume --set a=1 b=2 c=3 --instances x y z"
    assert joined(arguments.split()) == expected.split()
