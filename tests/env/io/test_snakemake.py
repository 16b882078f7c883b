"""Finished runs of the real Snakemake: small pipelines of shell commands."""

import base64
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from dagsched_env import io
from dagsched_env.io.recognise import is_problem_folder
from dagsched_env.problem.errors import DAGSchedError, FormatError

pytest.importorskip("snakemake")
pytestmark = pytest.mark.filterwarnings("ignore::dagsched_env.AssumptionWarning")

PIPELINE = """
rule all:
    input: "joined.txt"
rule make:
    output: "data/{i}.txt"
    benchmark: "bench/{i}.tsv"
    threads: 2
    resources: mem_mb=100, io=1
    shell: "sleep 0.3; echo {wildcards.i} > {output}"
rule split:
    input: "data/{i}.txt"
    output: a="split/{i}.a", b=temp("split/{i}.b")
    resources: mem_mb=200
    shell: "cp {input} {output.a}; sleep 0.2; cp {input} {output.b}"
rule join:
    input: expand("split/{i}.{s}", i=range(2), s=["a", "b"])
    output: "joined.txt"
    shell: "cat {input} > {output}"
"""


def snakemake(folder: Path, *arguments: str, ok: bool = True) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--nocolor", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode == 0) == ok, done.stderr[-2000:]


def pipeline(folder: Path, text: str = PIPELINE) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Snakefile").write_text(text)
    return folder


def times(run):
    return dict(zip(run.workflow.tasks, run.start.tolist(), strict=True))


def edges(run):
    pairs = [(run.workflow.tasks[u], run.workflow.tasks[v]) for u, v in run.workflow.edges]
    return dict(zip(pairs, run.workflow.data.tolist(), strict=True))


def record_of(folder: Path, output: str) -> Path:
    name = base64.urlsafe_b64encode(output.encode()).decode()
    return folder / ".snakemake" / "metadata" / name


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder in which the pipeline ran once, on three cores."""
    folder = pipeline(tmp_path_factory.mktemp("snakemake") / "pipeline")
    snakemake(folder, "--cores", "3", "--resources", "io=1")
    return folder


@pytest.fixture
def copied(finished, tmp_path):
    """The same, to be changed."""
    return Path(shutil.copytree(finished, tmp_path / "pipeline"))


def test_a_run_has_jobs_files_and_times(finished):
    run = io.read_run(finished)
    assert (run.tool, run.workflow.name) == ("snakemake", "pipeline")
    assert sorted(run.workflow.tasks) == [
        "join: joined.txt",
        "make: data/0.txt",
        "make: data/1.txt",
        "split: split/0.a",
        "split: split/1.a",
    ]
    assert set(run.workflow.kinds) == {"make", "split", "join"}
    assert edges(run) == {
        ("make: data/0.txt", "split: split/0.a"): 2,
        ("make: data/1.txt", "split: split/1.a"): 2,
        ("split: split/0.a", "join: joined.txt"): 2,  # of two files, one of which is gone
        ("split: split/1.a", "join: joined.txt"): 2,
    }
    assert run.ran.all()
    assert run.start.min() == 0
    assert 0.8 < run.makespan < 20  # the limit of io lets one make run at a time
    assert run.remarks == ("the sizes of 2 of 6 files between tasks are not known, and taken as 0",)


def test_cores_and_memory_come_from_log_files_and_benchmarks(finished):
    run = io.read_run(finished)
    tasks = list(run.workflow.tasks)
    make, split, join = (
        tasks.index(t) for t in ("make: data/0.txt", "split: split/0.a", tasks[-1])
    )
    assert run.machines.n_processors == 1
    assert run.machines.capacities["cores"].tolist() == [3]
    assert run.machines.capacities["io"].tolist() == [1]
    assert run.workflow.recorded("cores")[[make, split, join]].tolist() == [2, 1, 1]
    assert run.workflow.recorded("io")[[make, split, join]].tolist() == [1, 0, 0]
    memory = run.workflow.recorded("memory")
    assert memory[split] == 200e6
    assert np.isnan(memory[join])
    assert 0 < memory[make] < 100e6  # measured, not asked for
    assert run.workflow.note("memory") == (
        "max_rss of the benchmarks of 2 tasks, mem_mb as asked for of 2"
    )
    measured = float((finished / "bench" / "0.tsv").read_text().splitlines()[1].split("\t")[0])
    assert run.workflow.runtimes[make] == measured
    assert run.input_bytes is not None
    assert run.input_bytes[split] == 2
    assert np.isnan(run.input_bytes[join])


def test_a_folder_is_a_problem_everywhere(finished):
    assert is_problem_folder(finished)
    problem = io.load(finished)
    assert problem.n_tasks == 5
    assert problem == io.load(finished / ".snakemake") == io.load(finished, format="snakemake")
    assert io.load_folder(finished) == [problem]
    assert [i.name for i in io.load_folder(finished.parent)] == ["pipeline"]
    other = io.load(finished, platform=io.MachineOptions(nodes=2, cores=4, bandwidth=1e6))
    assert other.n_processors == 2
    assert io.reads(finished, record_of(finished, "joined.txt"))
    assert not io.reads(finished, finished / "joined.txt")


def test_a_run_survives_its_own_format(finished, tmp_path):
    run = io.read_run(finished)
    io.save_run(run, tmp_path / "first.run.json")
    assert io.read_run(tmp_path / "first.run.json").instance() == run.instance()


def test_long_names_are_cut_into_folders(tmp_path):
    name = "/".join(["long" * 30] * 3) + ".txt"
    folder = pipeline(
        tmp_path, f'rule one:\n    output: "{name}"\n    shell: "echo 1 > {{output}}"\n'
    )
    snakemake(folder, "--cores", "1")
    assert any(entry.name.startswith("@") for entry in (folder / ".snakemake/metadata").iterdir())
    assert io.read_run(folder).workflow.tasks == (f"one: {name}",)


def test_a_later_call_runs_a_part(copied):
    (copied / "data" / "0.txt").unlink()
    snakemake(copied, "--cores", "1", "--forcerun", "split", "--until", "split")
    run = io.read_run(copied)
    assert run.machines.capacities["cores"].tolist() == [1]
    assert "2 of 5 jobs ran in an earlier call: their results were there already" in run.remarks
    started = times(run)
    assert np.isnan(started["join: joined.txt"])
    assert np.isnan(started["make: data/1.txt"])
    assert started["make: data/0.txt"] == 0
    assert started["split: split/0.a"] > 0
    assert not np.isnan(run.workflow.runtimes).any()
    assert run.instance().n_tasks == 5  # two threads of the earlier call are scaled down
    assert len(run.executed().workflow.tasks) == 3


def test_the_log_decides_in_whatever_time_zone_its_name_is(copied):
    for log in (copied / ".snakemake" / "log").iterdir():
        log.rename(log.with_name(f"2999-01-01T000000{log.name[-24:]}"))
    assert io.read_run(copied).ran.all()


def test_a_start_that_was_not_recorded_is_that_of_the_log(copied):
    """As of rules with ``run:``, see findings/snakemake_run_directive_times.sh."""
    path = record_of(copied, "joined.txt")
    record = json.loads(path.read_text())
    for start in (-86400.0, 0.003):  # of the run before, and a little late
        path.write_text(json.dumps(record | {"starttime": record["endtime"] + start}))
        run = io.read_run(copied)
        joined = run.workflow.tasks.index("join: joined.txt")
        assert run.ran.all()
        assert run.workflow.runtimes[joined] == round(run.workflow.runtimes[joined]) < 20
        assert run.finish[joined] == run.makespan
    shutil.rmtree(copied / ".snakemake" / "log")
    run = io.read_run(copied)
    assert np.flatnonzero(np.isnan(run.workflow.runtimes)).tolist() == [joined]
    assert any(remark.startswith("1 of 5 jobs are not measured") for remark in run.remarks)


def test_what_touch_did_is_no_measurement(copied):
    snakemake(copied, "--cores", "2", "--touch", "--forceall")
    run = io.read_run(copied)
    assert (
        "5 of 5 jobs are not measured: --touch overwrote the times of their records" in run.remarks
    )
    assert not run.ran.any()
    assert not np.isnan(run.workflow.runtimes[1])  # its benchmark is there still
    with pytest.raises(DAGSchedError, match="3 tasks were never measured"):
        run.instance()


def test_jobs_without_records_are_said(copied):
    snakemake(copied, "--cores", "2", "--drop-metadata", "--forcerun", "join")
    said = "is of an earlier run of their jobs: the last was with --drop-metadata"
    assert any(said in remark for remark in io.read_run(copied).remarks)
    record_of(copied, "joined.txt").unlink()
    run = io.read_run(copied)
    assert len(run.workflow.tasks) == 4
    assert any("1 outputs, such as joined.txt, have no record" in text for text in run.remarks)


def test_without_log_files_cores_are_those_seen_in_use(copied):
    shutil.rmtree(copied / ".snakemake" / "log")
    run = io.read_run(copied)
    assert run.ran.all()
    assert "no log files: all jobs are taken for those of one run" in run.remarks
    assert run.machines.capacities["cores"].tolist() <= [3]
    assert run.workflow.resource_names == ("cores",)


def test_results_that_nobody_wants_any_more_are_left_out(copied):
    (copied / "joined.txt").unlink()
    assert len(io.read_run(copied).workflow.tasks) == 5  # the last call wanted it
    snakemake(copied, "--cores", "3", "--forcerun", "split", "--until", "split")
    run = io.read_run(copied)
    assert len(run.workflow.tasks) == 4
    assert (
        "1 recorded jobs are left out: their outputs are gone, and no job reads them" in run.remarks
    )


TROUBLE = """
rule all:
    input: "bad.txt", "again.txt", "quiet.txt"
rule bad:
    output: "bad.txt"
    shell: "echo 1 > bad.txt; exit 1"
rule again:
    output: "again.txt"
    retries: 1
    shell: "if [ -e tried ]; then echo 1 > again.txt; else touch tried; exit 1; fi"
rule quiet:
    output: "quiet.txt"
    message: "hello"
    benchmark: repeat("quiet.tsv", 2)
    shell: "sleep 0.1; echo 1 > quiet.txt"
rule slow:
    output: "slow.txt"
    shell: "echo 1 > slow.txt; sleep 60"
"""


@pytest.mark.slow
def test_failures_restarts_and_interruptions(tmp_path):
    folder = pipeline(tmp_path / "trouble", TROUBLE)
    snakemake(folder, "--cores", "2", "--keep-going", ok=False)
    assert record_of(folder, "bad.txt").exists()  # like that of a job that succeeded
    run = io.read_run(folder)
    assert sorted(run.workflow.tasks) == ["again: again.txt", "quiet: quiet.txt"]
    assert any(
        "jobs of 1 outputs failed and are left out, such as bad.txt" in t for t in run.remarks
    )
    assert any("1 of 2 jobs failed before they succeeded" in text for text in run.remarks)
    assert any("the threads of 1 of 2 jobs are in no log file" in text for text in run.remarks)
    (folder / "Snakefile").write_text(TROUBLE.replace("; exit 1", ""))
    snakemake(folder, "--cores", "2", "--quiet", "all", "--", "bad.txt")
    run = io.read_run(folder)
    assert run.workflow.tasks[np.flatnonzero(run.ran)[0]] == "bad: bad.txt"  # good now
    _interrupt(folder, "slow.txt")
    run = io.read_run(folder)
    assert any("1 outputs are incomplete, such as slow.txt" in text for text in run.remarks)
    assert run.ran.sum() == 1  # in the call before, because the last one ended no job


def _interrupt(folder: Path, target: str) -> None:
    """Kill Snakemake and its job, once the job runs and, a little later, is marked."""
    marks = folder / ".snakemake" / "incomplete"
    process = subprocess.Popen(
        [sys.executable, "-m", "snakemake", "--cores", "1", target],
        cwd=folder,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and not (
            (folder / target).exists() and any(path.is_file() for path in marks.rglob("*"))
        ):
            time.sleep(0.05)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


CHECKPOINT = """
rule all:
    input: "all.txt"
checkpoint parts:
    output: directory("parts")
    shell: "mkdir parts; for i in 1 2; do echo $i > parts/$i.txt; done"
rule double:
    input: "parts/{k}.txt"
    output: "double/{k}.txt"
    shell: "cat {input} {input} > {output}"
def doubled(wildcards):
    folder = checkpoints.parts.get().output[0]
    return expand("double/{k}.txt", k=glob_wildcards(folder + "/{k,[0-9]+}.txt").k)
rule all_of:
    input: doubled
    output: "all.txt"
    shell: "cat {input} > {output}"
"""


@pytest.mark.slow
def test_a_checkpoint_and_the_database(tmp_path):
    folder = pipeline(tmp_path / "checkpoint", CHECKPOINT)
    snakemake(folder, "--cores", "2", "--persistence-backend", "db")
    run = io.read_run(folder)
    assert len(run.workflow.tasks) == 4
    assert edges(run)[("parts: parts", "double: double/1.txt")] == 2  # of a folder
    assert any(text.startswith("checkpoint parts: ") for text in run.remarks)
    moved = folder.rename(tmp_path / "elsewhere")
    assert io.read_run(moved).workflow.tasks == run.workflow.tasks
    with sqlite3.connect(moved / ".snakemake" / "metadata.db") as database:
        database.execute("UPDATE snakemake_metadata SET starttime = 'soon'")
    with pytest.raises(FormatError, match=r"metadata\.db, target .*\.starttime is str"):
        io.read_run(moved)
    (moved / ".snakemake" / "metadata.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(FormatError, match=r"metadata\.db: file is not a database"):
        io.read_run(moved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"starttime": "soon"}, r"of joined\.txt\)\.starttime is str, not a number"),
        ({"endtime": None}, r"of joined\.txt\)\.endtime is NoneType"),
        ({"input": "x"}, r"of joined\.txt\)\.input is not a list"),
        ({"rule": 3}, r"of joined\.txt\)\.rule is int"),
    ],
)
def test_errors_name_the_file_and_the_key(copied, change, message):
    record = record_of(copied, "joined.txt")
    record.write_text(json.dumps(json.loads(record.read_text()) | change))
    with pytest.raises(FormatError, match=message):
        io.read_run(copied)


def test_other_broken_files(copied):
    record = record_of(copied, "joined.txt")
    record.write_text("{")
    with pytest.raises(FormatError, match=r"metadata/\S+ \(of joined\.txt\) is not JSON"):
        io.read_run(copied)
    record.write_text("")
    assert "1 records were cut off and are left out" in io.read_run(copied).remarks
    stray = record.with_name("notes.txt")
    stray.write_text("{}")
    with pytest.raises(FormatError, match=r"metadata/notes\.txt: the name of this file"):
        io.read_run(copied)
    stray.unlink()
    (copied / "bench" / "0.tsv").write_text("s\tmax_rss\nlong\t1\n")
    with pytest.raises(FormatError, match=r"bench/0\.tsv, row 1, s: 'long' is not a number"):
        io.read_run(copied)


def test_a_folder_without_a_finished_job(tmp_path):
    (tmp_path / ".snakemake").mkdir()
    with pytest.raises(FormatError, match="no record of a finished job"):
        io.read_run(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(FormatError, match="name the working folder of Snakemake"):
        io.read_run(tmp_path / "empty", format="snakemake")
