"""Training on any problems: from Python and from the shell, resumed from what the run records."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import tomli_w

import aerl_trainer
from aerl_trainer import config as settings
from aerl_trainer.cli import main
from aerl_trainer.config import Config
from aerl_trainer.run.launch import with_machines, with_specs
from aerl_trainer.run.problems import listed
from aerl_trainer.run.reporting import read_metrics
from aerl_trainer.run.training import TrainingResult
from dagsched_env import io
from dagsched_env.generators import CholeskyGenerator
from dagsched_env.io import MachineOptions
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.sources import Instances
from dagsched_env.sources.specs import parse_file
from helpers import TESTS
from helpers.small_runs import lockstep_config, problem, small_config

TINY = {"validator": {"interval": 4, "instances": 3, "guided_simulations": 5}}
STEPS = {"actors": 1, "max_steps": 4, "evaluation_simulations": 3}
FAMILY = "family:cholesky?tiles=2..3&platform=cpu-gpu&cpus=2&gpus=1&ccr=1,2"


def tiny(steps: int = 4) -> Config:
    return lockstep_config(**TINY, run={**STEPS, "max_steps": steps})


def train(source: Instances | None, path: Path, **options: object) -> TrainingResult:
    run = aerl_trainer.train(source, run_dir=path, **{"config": tiny(), **options})  # type: ignore[arg-type]
    assert run.directory == path
    return run.result


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / f"{i}.json" for i in range(4)]
    for i, path in enumerate(paths):
        io.save(problem(6 + i, 2, seed=i), path)
    return paths


# -- from the shell ------------------------------------------------------------------------------


def test_aerl_train_on_files_runs_and_resumes(
    files: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(tomli_w.dumps(settings.to_dict(tiny())))
    flags = ["--run-dir", "run", "--config", "tiny.toml", "--set", "run.seed=4"]
    assert main(["train", "--instances", *[f.name for f in files], *flags]) == 0
    output = capsys.readouterr().out
    assert "problems: 1 for validation, 1 for the test" in output
    assert "test: 1 instances; search 3 simulations" in output
    assert "heldout" not in output
    saved = settings.load(tmp_path / "run" / "config.toml")
    assert saved.curriculum.levels[0].instances == tuple(map(str, files))
    monkeypatch.chdir("/")
    flags = ["--resume", "--run-dir", str(tmp_path / "run"), "--set", "run.max_steps=8"]
    assert main(["train", *flags]) == 0
    found = read_metrics(tmp_path / "run" / "metrics.jsonl")
    assert [r["step"] for r in found if r["kind"] == "train"] == list(range(1, 9))
    assert [r["step"] for r in found if r["kind"] == "validation"] == [0, 4, 8]


def test_aerl_train_on_machines_of_choice(
    files: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They are part of the SPECs that the run records, so that it can go on with them."""
    monkeypatch.chdir(tmp_path)
    graph = tmp_path / "graph.dot"
    graph.write_bytes((TESTS / "data" / "formats" / "weight_style.dot").read_bytes())
    machines = {"format": "dagsched-machines", "processors": [{"name": "x"}, {"name": "y"}]}
    Path("m.json").write_text(json.dumps(machines | {"bandwidth": 1}))
    Path("tiny.toml").write_text(tomli_w.dumps(settings.to_dict(tiny())))
    flags = ["--instances", "graph.dot", files[0].name, FAMILY, "--config", "tiny.toml"]
    assert main(["train", *flags, "--run-dir", "run", "--machines", "m.json"]) == 0
    assert capsys.readouterr().err == ""
    saved = settings.load(tmp_path / "run" / "config.toml").curriculum.levels[0].instances
    assert saved == (f"{graph}?machines={tmp_path / 'm.json'}", str(files[0]), FAMILY)
    monkeypatch.chdir("/")
    again = ["--resume", "--run-dir", str(tmp_path / "run"), "--set", "run.max_steps=8"]
    assert main(["train", *again]) == 0


def test_aerl_train_says_which_machines_it_assumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tiny.toml").write_text(tomli_w.dumps(settings.to_dict(tiny())))
    flags = ["--instances", "montage", "--config", "tiny.toml", "--run-dir", "run"]
    assert main(["train", *flags, "--platform", "identical"]) == 0
    line, loud = capsys.readouterr().err.splitlines()
    assert line.startswith("aerl: montage describes no processors: 4 identical processors, costs")
    assert line.endswith("; change it with --processors, --bandwidth, --ccr")
    assert loud.startswith("aerl: WARNING: montage: a transfer takes 1.3e+06 times as long as a ta")
    assert loud.endswith("write --bandwidth 1Gbit/s or --ccr 1")
    (said,) = json.loads(Path("run/results.json").read_text())["trained on"]["assumptions"]
    assert "trained on: 1 instances" in Path("run/report.html").read_text()
    assert "machines: 4 identical processors, bandwidth 1; not given: processors, bandw" in said
    assert said in Path("run/report.html").read_text()


def test_machines_stay_where_a_spec_says_them(tmp_path: Path) -> None:
    options = MachineOptions(platform="identical", processors=2, bandwidth="1")
    own = "epigenomics?platform=related"
    lists = [("montage", own, FAMILY, "suite:paper", str(tmp_path)), ("blast",)]
    said = "platform=identical&processors=2&bandwidth=1"
    assert with_machines(lists, options) == [
        (f"montage?{said}", own, FAMILY, "suite:paper", f"{tmp_path}?{said}"),
        (f"blast?{said}",),
    ]
    assert with_machines(lists, MachineOptions()) == lists


def test_tables_of_a_spec_are_recorded_by_their_absolute_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("graph.dot").write_text("digraph { a -> b }")
    options = MachineOptions(machines="m.json", times="t.csv")
    (given,) = with_machines([["graph.dot"]], options)
    assert given == ("graph.dot?machines=m.json&times=t.csv",)
    saved = with_specs(Config(), given).curriculum.levels[0].instances
    tables = f"machines={tmp_path / 'm.json'}&times={tmp_path / 't.csv'}"
    assert saved == (f"{tmp_path / 'graph.dot'}?{tables}",)
    (given,) = with_machines([["graph.dot"]], MachineOptions(unit_times=True))
    assert parse_file(given[0]) == ("graph.dot", MachineOptions(unit_times=True))


@pytest.mark.parametrize("word", ["list", "family:list"])
def test_the_list_of_families(
    word: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", "--instances", word]) == 0
    output = capsys.readouterr().out
    assert "cholesky" in output
    assert "acceleration=0.5..30" in output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("family:choleski", "did you mean 'cholesky'"),
        ("suite:x", "no suite 'x'"),
        ("nothing.json", "nothing.json"),
        ("python:draw", "come from the Python function 'draw'"),
    ],
)
def test_wrong_specs_are_named_and_nothing_is_made(
    spec: str,
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    for option in ("--instances", "--validate"):
        assert main(["train", option, spec]) == 2
        error = capsys.readouterr().err
        assert message in error
        assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


# -- from Python ---------------------------------------------------------------------------------


def test_a_run_goes_on_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    at_once = train(FAMILY, tmp_path / "once", config=tiny(8))
    train(FAMILY, tmp_path / "twice", config=tiny(4))
    again = train(None, tmp_path / "twice", resume=True, config=None, minutes=3)
    assert again.steps == 4
    settings_file = tmp_path / "twice" / "config.toml"
    longer = settings_file.read_text().replace("max_steps = 4", "max_steps = 8")
    settings_file.write_text(longer)
    again = train(None, tmp_path / "twice", resume=True, config=None)
    assert again.test == at_once.test
    assert (again.steps, again.jobs) == (at_once.steps, at_once.jobs)
    last = "checkpoints/last/model.safetensors"
    assert (tmp_path / "once" / last).read_bytes() == (tmp_path / "twice" / last).read_bytes()


def test_instances_are_kept_in_the_run(tmp_path: Path) -> None:
    instances = [problem(5 + i, 2, seed=i) for i in range(3)]
    result = train([*instances, FAMILY], tmp_path / "run", validate=problem(9, 3))
    assert result.test
    assert len(list((tmp_path / "run" / "instances").iterdir())) == 4
    assert train(None, tmp_path / "run", resume=True, config=tiny(5)).steps == 5


def test_functions_train_but_resume_only_with_the_function(tmp_path: Path) -> None:
    def draw(rng: np.random.Generator) -> Instance:
        return CholeskyGenerator(tiles=2)(rng)

    train(draw, tmp_path / "run")
    with pytest.raises(DAGSchedError, match="come from the Python function 'draw-0'"):
        train(None, tmp_path / "run", resume=True, config=None)
    assert train(draw, tmp_path / "run", resume=True, config=tiny(5)).steps == 5


def test_a_function_named_in_a_spec_trains_and_resumes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    Path("graphs_of_mine.py").write_text(
        "from dagsched_env.generators import CholeskyGenerator\n"
        "def draw(rng):\n    return CholeskyGenerator(tiles=2)(rng)\n"
    )
    result = train("graphs_of_mine:draw", tmp_path / "run")
    assert {instance.n_tasks for instance in result.test} == {4}
    assert train(None, tmp_path / "run", resume=True, config=tiny(5)).steps == 5
    machines = MachineOptions(platform="identical", processors=2)
    with pytest.raises(DAGSchedError, match="none of the SPECs is one"):
        with_machines([["graphs_of_mine:draw"]], machines)
    raised = r"the generator loads raised TypeError: .* \(.*json/__init__\.py, line \d+\)"
    for use in (
        lambda: train("json:loads", tmp_path / "b"),
        lambda: listed(["json:loads"], count=1, seed=0),
    ):
        with pytest.raises(DAGSchedError, match=raised):
            use()


def test_processes_have_room_for_the_largest_problem(tmp_path: Path) -> None:
    config = small_config(**TINY, run={**STEPS, "actors": 1})
    result = train(
        ["family:chains?chains=2&length=20", problem(44, 2)], tmp_path / "a", config=config
    )
    assert result.steps == 4
    with pytest.raises(DAGSchedError, match="set its attribute max_tasks"):
        train(lambda rng: problem(seed=int(rng.integers(99))), tmp_path / "b", config=config)


def test_problems_may_grow_in_processors_and_edges_in_mid_run(tmp_path: Path) -> None:
    """Of a function, which states the largest number of tasks alone."""
    drawn = []

    def draw(rng: np.random.Generator) -> Instance:
        drawn.append(1)
        n, p = 9, 2 + len(drawn) // 2
        pairs = [(u, v) for v in range(n) for u in range(v)][: 2 * len(drawn)]
        return Instance(rng.uniform(1, 9, (n, p)), pairs, rng.uniform(0, 5, len(pairs)))

    draw.max_tasks = 9  # type: ignore[attr-defined]
    config = small_config(**TINY, run={**STEPS, "actors": 1, "max_steps": 8})
    assert train(draw, tmp_path / "run", config=config).steps == 8
    assert len(drawn) > 18, "the last ones have all edges, and many processors"


@pytest.mark.parametrize(
    ("source", "message"), [(3, "int is no source of problems"), ([None], "NoneType is no source")]
)
def test_what_is_no_source(source: Instances, message: str, tmp_path: Path) -> None:
    with pytest.raises(DAGSchedError, match=message):
        train(source, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_directories_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(DAGSchedError, match="holds no run to resume"):
        train(FAMILY, tmp_path, resume=True)
    (tmp_path / "config.toml").write_text("")
    with pytest.raises(DAGSchedError, match="holds a run already"):
        train(problem(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["config.toml"]
