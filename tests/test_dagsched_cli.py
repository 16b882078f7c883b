"""The ``dagsched`` command: what it prints and writes, and one clear line when it cannot."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dagsched_env import Instance, Schedule, io
from dagsched_env.cli import main
from dagsched_env.schedulers import SCHEDULERS, heft


@pytest.fixture
def instance_file(tmp_path):
    instance = Instance(
        [[2, 4], [3, 1], [2, 2]], [(0, 1), (0, 2)], [1, 1], name="fork", task_names=["a", "b", "c"]
    )
    io.save(instance, tmp_path / "fork.json")
    return tmp_path / "fork.json"


def run(capsys, *arguments):
    """Exit code, lines on stdout, text on stderr."""
    code = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return code, captured.out.splitlines(), captured.err


def assert_refused(capsys, *arguments, message):
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert err.startswith("dagsched: error: ")
    assert err.count("\n") == 1
    assert message in err
    return out


def test_info_prints_the_characteristics(capsys, instance_file):
    code, out, _ = run(capsys, "info", instance_file)
    facts = dict(line.split("  ", 1) for line in out)
    facts = {key: value.strip() for key, value in facts.items()}
    assert code == 0
    assert facts["name"] == "fork"
    assert (facts["tasks"], facts["processors"], facts["edges"]) == ("3", "2", "2")
    assert facts["levels"] == "2"
    assert float(facts["critical path"]) == 4
    assert float(facts["CCR"]) == pytest.approx(1 / (7 / 3), rel=1e-3)
    assert facts["fingerprint"] == io.load(instance_file).fingerprint


def test_info_on_a_bundled_trace_and_on_one_task(capsys, tmp_path):
    assert run(capsys, "info", "montage")[1][1].split() == ["tasks", "58"]
    io.save(Instance([[0.0]], [], []), tmp_path / "one.json")
    code, out, _ = run(capsys, "info", tmp_path / "one.json")
    assert code == 0
    assert [line.split() for line in out if line.startswith(("levels", "CCR"))] == [
        ["levels", "1"],
        ["CCR", "-"],
    ]


def test_a_file_goes_before_a_bundled_name(capsys, tmp_path, monkeypatch, instance_file):
    monkeypatch.chdir(tmp_path)
    instance_file.rename("montage")
    assert run(capsys, "info", "montage")[1][1].split() == ["tasks", "3"]


def test_schedule_writes_what_verify_accepts(capsys, tmp_path, instance_file):
    out_file = tmp_path / "schedule.json"
    code, out, _ = run(capsys, "schedule", instance_file, "--out", out_file)
    instance = io.load(instance_file)
    assert code == 0
    assert out[1].split()[:2] == ["heft", f"{heft(instance).makespan:g}"]
    assert out[2] == f"wrote {out_file} (heft)"
    assert Schedule.from_json(out_file.read_text()) == heft(instance)
    code, out, _ = run(capsys, "verify", instance_file, out_file)
    assert code == 0
    assert out == [f"valid: makespan {heft(instance).makespan:g}, SLR 1.000"]


def test_schedule_all_writes_the_best(capsys, tmp_path):
    out_file = tmp_path / "s.json"
    code, out, _ = run(capsys, "schedule", "epigenomics", "--scheduler", "all", "--out", out_file)
    instance = io.load(io.bundled("epigenomics"))
    makespans = {name: scheduler(instance).makespan for name, scheduler in SCHEDULERS.items()}
    assert code == 0
    assert {line.split()[0] for line in out[1:-1]} == set(SCHEDULERS)
    schedule = Schedule.from_json(out_file.read_text())
    assert schedule.makespan == min(makespans.values())
    assert schedule.algorithm == min(makespans, key=makespans.get)


def test_schedule_draws_a_gantt_chart(capsys, tmp_path, instance_file):
    pytest.importorskip("matplotlib")
    code, out, _ = run(capsys, "schedule", instance_file, "--gantt", tmp_path / "g.png")
    assert code == 0
    assert out[-1] == f"wrote {tmp_path / 'g.png'} (heft)"
    assert (tmp_path / "g.png").read_bytes().startswith(b"\x89PNG")


def test_verify_names_the_violation(capsys, tmp_path, instance_file):
    record = json.loads(heft(io.load(instance_file)).to_json())
    record["start"][1] = record["finish"][1] = 0.5
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(record))
    out = assert_refused(capsys, "verify", instance_file, bad, message=f"{bad}: task 1 takes 0.0")
    assert out == []


def test_generate_is_reproducible_and_loads(capsys, tmp_path):
    arguments = ["generate", "--tasks", 12, "--processors", 3, "--ccr", 2, "--seed", 7, "--out"]
    for name in ("a.json", "b.json"):
        assert run(capsys, *arguments, tmp_path / name)[0] == 0
    instance = io.load(tmp_path / "a.json")
    assert instance == io.load(tmp_path / "b.json")
    assert instance.comp.shape == (12, 3)
    assert instance.data.mean() == pytest.approx(2 * instance.comp.mean())
    arguments[arguments.index(7)] = 8
    run(capsys, *arguments, tmp_path / "c.json")
    assert io.load(tmp_path / "c.json") != instance


def test_compare_always_has_the_reference(capsys):
    code, out, _ = run(capsys, "compare", "--suite", "workflows", "--schedulers", "eft_greedy")
    assert code == 0
    assert out[0] == "workflows: 3 instances"
    assert [line.split()[0] for line in out[3:]] == ["heft", "eft_greedy"]
    assert out[3].split()[2:] == ["1.0000", "0", "3", "0"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "none.json"], "none.json: No such file or directory"),
        (["info", "."], "Is a directory"),
        (["info", "broken.json"], "broken.json: not JSON"),
        (["info", "schedule.json"], "schedule.json: unknown format"),
        (["schedule", "cycle.json"], "cycle.json: the tasks form a cycle"),
        (["schedule", "montage", "--out", "no/s.json"], "no/s.json: No such file or directory"),
        (["verify", "montage", "broken.json"], "broken.json: not JSON"),
        (["verify", "montage", "latin.json"], "latin.json: not UTF-8"),
        (["verify", "montage", "schedule.json"], "schedule.json: 1 tasks"),
        (["verify", "none.json", "schedule.json"], "none.json: No such file"),
        (["generate", "--tasks", "0", "--out", "x.json"], "n_tasks is 0"),
        (["generate", "--ccr", "nan", "--out", "x.json"], "ccr is nan"),
        (["generate", "--seed", "-1", "--out", "x.json"], "--seed is -1"),
        (["generate", "--out", "no/x.json"], "no/x.json: No such file or directory"),
    ],
)
def test_errors_are_one_line(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    Path("broken.json").write_text('{"format": "dagsched-')
    Path("latin.json").write_bytes(b"\xe9")
    Path("schedule.json").write_text(Schedule([0], [0], [1]).to_json())
    record = json.loads(Instance([[1], [1]], [(0, 1)], [0]).to_json())
    record |= {"edges": [[0, 1], [1, 0]], "data": [0, 0]}
    Path("cycle.json").write_text(json.dumps(record))
    assert_refused(capsys, *arguments, message=message)
    assert not Path("x.json").exists()


def test_names_that_the_terminal_cannot_show_are_no_traceback(tmp_path):
    record = json.loads(Instance([[1]], [], [], name="x").to_json()) | {"name": "\ud800"}
    (tmp_path / "odd.json").write_text(json.dumps(record))
    result = dagsched("info", tmp_path / "odd.json")
    assert result.returncode == 2
    assert result.stderr.startswith("dagsched: error: ")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fly"],
        ["info"],
        ["schedule", "montage", "--scheduler", "magic"],
        ["compare", "--suite", "x"],
    ],
)
def test_wrong_usage_exits_with_2(capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: dagsched" in capsys.readouterr().err


def test_help_has_examples(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    assert "dagsched schedule montage" in capsys.readouterr().out


def dagsched(*arguments):
    script = Path(sys.executable).with_name("dagsched")
    return subprocess.run(
        [str(script), *map(str, arguments)], capture_output=True, text=True, timeout=120
    )


def test_installed_script(tmp_path):
    result = dagsched("schedule", "montage", "--out", tmp_path / "s.json")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[1].startswith("heft")
    assert (tmp_path / "s.json").is_file()
