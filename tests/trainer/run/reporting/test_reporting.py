"""Run directory, metrics, progress, tables and the learning curve."""

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from aerl_trainer import config as settings
from aerl_trainer.config import Config, RunConfig
from aerl_trainer.run.records import EvaluationRow
from aerl_trainer.run.reporting import (
    MetricsLog,
    Progress,
    RunDirectory,
    Status,
    learning_curve,
    print_table,
    read_metrics,
)
from dagsched_env.problem.errors import DAGSchedError
from helpers.full_disk import full_disk

# -- run directory -------------------------------------------------------------------------------


def test_run_directory(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "runs" / "first")
    assert not run.holds_run
    config = Config(run=RunConfig(minutes=1.5, seed=7))
    run.make_folders()
    assert not run.holds_run
    run.record(settings.to_dict(config))
    assert run.holds_run
    names = {path.name for path in run.path.iterdir()}
    assert names == {"config.toml", "system.json", "tb", "logs", "checkpoints"}
    assert settings.load(run.config_file) == config
    system = json.loads(run.system_file.read_text())
    assert system["packages"]["numpy"] == np.__version__
    assert system["python"] == sys.version.split()[0]
    assert system["cpu_count"] >= 1
    assert system["git_commit"] is None or re.match(r"[0-9a-f]{40}", system["git_commit"])


def test_a_note_is_added_to_the_system(tmp_path: Path) -> None:
    directory = RunDirectory(tmp_path / "run")
    with pytest.raises(DAGSchedError, match=r"system\.json: "):
        directory.note("inference", "inline")
    directory.make_folders()
    directory.record(settings.to_dict(Config()))
    before = json.loads(directory.system_file.read_text())
    for text in ("inline", "server"):
        directory.note("inference", text)
        assert json.loads(directory.system_file.read_text()) == {**before, "inference": text}


def test_a_run_is_not_overwritten_but_resumed(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path)
    run.record(settings.to_dict(Config()))
    run.metrics_file.write_text('{"kind": "train", "step": 1, "time_s": 0}\n')
    with pytest.raises(DAGSchedError, match="holds a run already: resume it"):
        run.make_folders()
    run.make_folders(resume=True)
    run.record(settings.to_dict(Config(run=RunConfig(minutes=2.0))))
    assert settings.load(run.config_file).run.minutes == 2.0
    assert len(read_metrics(run.metrics_file)) == 1


def test_run_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DAGSchedError, match="file"):
        RunDirectory(tmp_path / "file" / "run").make_folders()
    with pytest.raises(DAGSchedError, match="file"):
        RunDirectory(tmp_path / "file" / "run").record(settings.to_dict(Config()))
    with pytest.raises(DAGSchedError, match="file"), RunDirectory(tmp_path / "file").hold():
        pass


def test_importing_reporting_is_light() -> None:
    code = (
        "import sys, aerl_trainer.run.reporting\n"
        "print(sorted({'torch', 'matplotlib', 'tensorboard'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# -- metrics -------------------------------------------------------------------------------------


def test_records_are_on_disk_at_once(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    log = MetricsLog(path)
    log.write("train", step=3, time_s=1.5, loss=np.float32(0.5), count=np.int64(2))
    assert read_metrics(path) == [
        {"kind": "train", "step": 3, "time_s": 1.5, "loss": 0.5, "count": 2}
    ]
    log.write("search", step=3, time_s=1.6, outcome="cap", extra={"a": [1, (2.0, None)]})
    assert read_metrics(path)[1]["extra"] == {"a": [1, [2.0, None]]}
    log.close()


def test_numbers_that_are_not_finite_become_null(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with MetricsLog(path) as log:
        log.write("train", step=0, time_s=0, loss=float("nan"), best=np.inf, inner={"x": -np.inf})

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    record = json.loads(path.read_text(), parse_constant=refuse)
    assert (record["loss"], record["best"], record["inner"]) == (None, None, {"x": None})


def test_a_torn_line_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with MetricsLog(path) as log:
        log.write("train", step=1, time_s=1.0)
        log.write("train", step=2, time_s=2.0)
    path.write_text(path.read_text()[:-9])  # killed while writing
    with MetricsLog(path) as log:
        log.write("train", step=3, time_s=3.0)
    assert [record["step"] for record in read_metrics(path)] == [1, 3]


def test_abandoned_steps_of_a_resumed_run_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    with MetricsLog(path) as log:
        for step in (1, 2, 3, 4):
            log.write("train", step=step, time_s=0.0, attempt=1)
        log.write("validation", step=2, time_s=0.0, attempt=1)
        log.write("search", step=4, time_s=0.0, attempt=1)
    with MetricsLog(path) as log:
        for step in (3, 4):
            log.write("train", step=step, time_s=0.0, attempt=2)
        for _ in range(2):  # several trees may end at one step
            log.write("search", step=3, time_s=0.0, attempt=2)
    found = [(r["kind"], r["step"], r["attempt"]) for r in read_metrics(path)]
    assert ("train", 4, 1) not in found
    assert [f for f in found if f[0] == "train"][-2:] == [("train", 3, 2), ("train", 4, 2)]
    assert [f for f in found if f[0] == "validation"] == [("validation", 2, 1)]
    assert [f for f in found if f[0] == "search"] == [("search", 3, 2)] * 2


def test_missing_metrics(tmp_path: Path) -> None:
    with pytest.raises(DAGSchedError, match=r"nothing\.jsonl: No such file"):
        read_metrics(tmp_path / "nothing.jsonl")


def test_tensorboard_gets_the_numbers(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with MetricsLog(tmp_path / "metrics.jsonl", tmp_path / "tb") as log:
        for step in range(3):
            log.write("train", step=step, time_s=0.0, loss=step / 2, note="text", bad=np.nan)
        log.write("validation", step=2, time_s=0.0, extra={"gap": 0.25})
    events = EventAccumulator(str(tmp_path / "tb")).Reload()
    assert set(events.Tags()["scalars"]) == {"train/loss", "validation/extra/gap"}
    assert [(e.step, e.value) for e in events.Scalars("train/loss")] == [(0, 0), (1, 0.5), (2, 1)]


def test_a_full_disk_is_reported_with_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line of error, and nothing from a thread that nobody listens to."""
    path = tmp_path / "metrics.jsonl"
    path.symlink_to("/dev/full")
    message = rf"^{path}: No space left on device$"
    with MetricsLog(path) as log, pytest.raises(DAGSchedError, match=message):
        log.write("train", step=1, time_s=1.0)
    path.unlink()
    message = r"/tb/events\.out\.\S+: No space left on device$"
    with MetricsLog(path, tmp_path / "tb") as log, Path("/dev/full").open("wb", 0) as full:
        log.write("train", step=1, time_s=1.0, loss=0.5)
        monkeypatch.setattr(log._events._writer, "_writer", full)
        with pytest.raises(DAGSchedError, match=message):
            log.write("train", step=2, time_s=2.0, loss=0.5)
    with MetricsLog(path, tmp_path / "tb", purge_step=2) as log:
        log.write("train", step=2, time_s=2.0, loss=0.25)
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path / "tb")).Reload()
    assert [(e.step, e.value) for e in events.Scalars("train/loss")] == [(1, 0.5), (2, 0.25)]
    message = r"No space left on device: '\S*/curve\.png'"
    with full_disk(monkeypatch, "curve.png"), pytest.raises(OSError, match=message):
        learning_curve(path, tmp_path / "curve.png")
    assert not list(tmp_path.glob("*curve*"))


# -- progress ------------------------------------------------------------------------------------


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


FULL = Status(
    step=1200,
    jobs=80,
    simulations_per_s=4123.4,
    mean_batch=14.26,
    latency_ms=3.14159,
    busy=0.834,
    loss=1.23456,
    schedules=123456,
    spread=0.0512,
    policy=0.95321,
    sampled=0.93,
    guided=0.91,
    portfolio=0.94,
    level=1,
    levels=3,
)


def test_plain_lines_every_ten_seconds() -> None:
    clock, out = Clock(), io.StringIO()
    console = Console(file=out, width=80, force_terminal=False)
    with Progress(3700, console=console, clock=clock) as progress:
        for _ in range(51):
            progress.update(Status())
            clock.now += 0.5
        progress.message("level [1] mastered")
        progress.update(FULL)
    lines = out.getvalue().splitlines()
    nothing = (
        "step 0  schedules 0k  spread -  HEFT 1  portfolio -  policy -  best of 32 -  search -  "
        "level 1/1"
    )
    everything = (
        "step 1200  schedules 123k  trees 80  sims/s 4123  batch 14.3  eval ms 3.1  busy 83%  "
        "loss 1.235  spread 0.051  HEFT 1  portfolio 0.9400  policy 0.9532  best of 32 0.9300  "
        "search 0.9100  level 2/3"
    )
    assert lines == [
        f"[0:00 / 1:01:40]  {nothing}",
        f"[0:10 / 1:01:40]  {nothing}",
        f"[0:20 / 1:01:40]  {nothing}",
        "level [1] mastered",
        f"[0:26 / 1:01:40]  {everything}",
    ]


def test_panel_on_a_terminal() -> None:
    clock, out = Clock(), io.StringIO()
    console = Console(file=out, width=90, force_terminal=True, color_system=None, _environ={})
    with Progress(60, "demo", console=console, clock=clock) as progress:
        progress.update(FULL)
        clock.now += 13.0
        progress.message("promoted")
    text = out.getvalue()
    assert "promoted" in text
    last = text[text.rindex("demo") :]
    assert "0:47 left" in last
    for cell in (
        "1200",
        "80",
        "4123",
        "14.3",
        "3.1",
        "83%",
        "1.235",
        "0.9532",
        "2/3",
        "best of 32",
        "sims/s",
    ):
        assert cell in last
    assert (
        max(len(line) for line in re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]", "", last).split("\n")) <= 90
    )


class Tours:
    def rows(self) -> list[list[tuple[str, str]]]:
        return [[("tours", "5")], [("gap", "2 %")]]


@pytest.mark.parametrize("terminal", [False, True])
def test_other_problems_show_their_own_figures(terminal: bool) -> None:
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=terminal, _environ={})
    with Progress(60, console=console, clock=Clock(), figures=Tours()):
        pass
    shown = re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]", "", out.getvalue())
    if terminal:
        assert re.search(r"tours.*\n.* 5 .*\n.*gap.*\n.* 2 %", shown)
    else:
        assert shown == "[0:00 / 1:00]  tours 5  gap 2 %\n"


# The thread of Rich that draws anew ends with an error, where it happens to draw meanwhile.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("terminal", [False, True])
def test_a_run_goes_on_when_nobody_reads_its_progress(terminal: bool) -> None:
    """The terminal is closed, or the pipe."""

    class Terminal(io.StringIO):
        gone = False

        def write(self, text: str) -> int:
            if self.gone:
                raise OSError(5, "Input/output error")
            return super().write(text)

    out = Terminal()
    console = Console(file=out, width=80, force_terminal=terminal, _environ={})
    with Progress(60, console=console) as progress:
        out.gone = True
        progress.update(FULL)
        progress.message("still here")


def test_progress_ends_when_the_run_fails() -> None:
    out = io.StringIO()
    console = Console(file=out, width=90, force_terminal=True, _environ={})
    with pytest.raises(KeyError), Progress(60, console=console):
        raise KeyError
    assert out.getvalue().rstrip().endswith("\x1b[?25h")  # the cursor is back


# -- table and picture ---------------------------------------------------------------------------


def test_table() -> None:
    rows = [
        EvaluationRow("heft", None, 1.0, 0.0, 1.0812, 0.0123, 0, 40, 0, 0.0712),
        EvaluationRow("best_single", "lookahead_heft", 0.98, 0.01, 1.06, 0.002, 30, 1, 9, 0.1),
        EvaluationRow("search_trained", None, 0.87512, 0.0101, 0.95, 0.004, 39, 1, 0, 31.23),
    ]
    out = io.StringIO()
    print_table(rows, "held-out set", console=Console(file=out, width=80))
    text = out.getvalue()
    assert text.startswith("held-out set")
    assert "vs heft" in text
    cells = [re.split(r" {2,}", line.strip()) for line in text.splitlines()[3:]]
    assert cells == [
        ["heft", "1.0000 ±0.000", "1.0812 ±0.012", "0/40/0", "0.0712"],
        ["best_single: lookahead_heft", "0.9800 ±0.010", "1.0600 ±0.002", "30/1/9", "0.1"],
        ["search_trained", "0.8751 ±0.010", "0.9500 ±0.004", "39/1/0", "31.2"],
    ]


def test_of_one_instance_no_error_is_known() -> None:
    out = io.StringIO()
    row = EvaluationRow("policy", None, 0.97, 0.0, 0.98, 0.0, 1, 0, 0, 0.1)
    print_table([row], "one", console=Console(file=out, width=80))
    assert "0.9700" in out.getvalue()
    assert "±" not in out.getvalue()


def write_run(path: Path, *, validations: int, steps: int) -> None:
    rng = np.random.default_rng(0)
    with MetricsLog(path) as log:
        for step in range(steps):
            log.write("policy", step=step, time_s=0.0, relative_spread=0.1 * rng.random())
        for k in range(validations):
            ratio = 1.02 - 0.01 * k
            log.write(
                "validation",
                step=20 * k,
                time_s=0.0,
                slr_vs_heft=ratio,
                network_vs_heft=None,
                value_correlation=None,
                list_correlation=None,
                sampled_vs_heft=ratio - 0.03,
                level=k // 4,
            )
        log.write("search", step=steps, time_s=0.0, simulations=600)


@pytest.mark.parametrize(("validations", "steps"), [(0, 0), (1, 1), (9, 160), (9, 0), (0, 30)])
def test_learning_curve_is_drawn(tmp_path: Path, validations: int, steps: int) -> None:
    from matplotlib.image import imread

    metrics, picture = tmp_path / "metrics.jsonl", tmp_path / "curve.png"
    write_run(metrics, validations=validations, steps=steps)
    assert learning_curve(metrics, picture) == picture
    assert sorted(p.name for p in tmp_path.iterdir()) == ["curve.png", "metrics.jsonl"]
    image = imread(picture)[..., :3]
    assert image.shape[:2] == (720, 960)
    blue, orange = (0.122, 0.467, 0.706), (0.851, 0.373, 0.008)
    purple = (0.459, 0.439, 0.702)
    for colour, wanted in ((blue, validations), (orange, validations), (purple, 0)):
        assert (np.abs(image - colour).max(axis=-1) < 0.01).any() == (wanted > 0)


def test_the_learning_curve_shows_actors_and_replay(tmp_path: Path) -> None:
    from matplotlib.image import imread

    metrics, picture = tmp_path / "metrics.jsonl", tmp_path / "curve.png"
    write_run(metrics, validations=3, steps=0)
    with MetricsLog(metrics) as log:
        for step in range(1, 60):
            tree = {"trees": 8, "replayed": step % 3, "staleness": 0.5}
            log.write("policy", step=step, time_s=0.0, relative_spread=0.1, **tree)
            if step % 10 == 0:
                log.write("rates", step=step, time_s=0.0, actors={"0": 100.0, "1": 90.0})
    image = imread(learning_curve(metrics, picture))[..., :3]
    assert image.shape[:2] == (960, 960)
    for colour in ((0.459, 0.439, 0.702), (0.906, 0.161, 0.541)):  # share of replay, staleness
        assert (np.abs(image - colour).max(axis=-1) < 0.02).any()


def test_the_legend_hides_no_curve(tmp_path: Path) -> None:
    """A curve that ends high on the right, where the axes have room for a legend otherwise."""
    from matplotlib.image import imread

    metrics, picture = tmp_path / "metrics.jsonl", tmp_path / "curve.png"
    with MetricsLog(metrics) as log:
        for step, ratio in enumerate((0.9, 1.2, 1.2)):
            log.write("validation", step=step, time_s=0.0, slr_vs_heft=ratio)
    image = imread(learning_curve(metrics, picture))[..., :3]
    right_half = image[80:450, 520:950]  # of the axes, which leave room for the legend above
    blue = np.abs(right_half - (0.122, 0.467, 0.706)).max(axis=-1) < 0.01
    assert blue.any(axis=0).mean() > 0.8
