"""``dagsched compare`` with files and schedulers of users; each wrong name is one clear line."""

import csv
import importlib
import re
import shutil
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType

import pytest

from dagsched_env import Instance, io
from dagsched_env.cli import main
from dagsched_env.schedulers import SCHEDULERS
from dagsched_env.sources import plugins

GRAPH = "digraph g { a [Weight=2]; b [Weight=3]; c [Weight=3]; a -> b [Weight=1]; a -> c; }"
MODULE = """
from dagsched_env.schedulers import cpop, hill_climbing

def other(instance):
    return cpop(instance)

def slow(instance, *, budget_s=None):
    print("budget", budget_s)
    return hill_climbing(instance, max_evaluations=1)

def sleeps(instance):
    import time
    time.sleep(0.2)
    return cpop(instance)

def nothing(instance):
    return 7

def fails(instance):
    raise ValueError("kaboom")

def early(instance):
    from dataclasses import replace
    made = cpop(instance)
    return replace(made, start=made.start - 1.0, finish=made.finish - 1.0)

number = 3
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with two graphs, an instance and modules of a user, which becomes the current."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.path", ["/nowhere", *__import__("sys").path])
    graphs = tmp_path / "graphs"
    graphs.mkdir()
    for name in ("one.dot", "two.dot"):
        (graphs / name).write_text(GRAPH)
    io.save(Instance([[2.0, 4.0], [3.0, 1.0]], [(0, 1)], [6.0], name="pair"), "pair.json")
    Path("mine_for_tests.py").write_text(MODULE)
    Path("broken_for_tests.py").write_text("import no_such_package\n")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[str], str]:
    """Exit code, lines on stdout, text on stderr."""
    code = main(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out.splitlines(), captured.err


def declare(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    """Entry points of the group of schedulers, in place of the installed ones."""
    points = [EntryPoint(name, value, plugins.SCHEDULERS) for name, value in values.items()]
    monkeypatch.setattr(plugins, "entry_points", lambda group: points)


@pytest.mark.parametrize("command", [["compare", "--schedulers"], ["schedule", "--scheduler"]])
def test_what_goes_wrong_in_a_function_is_one_line_with_its_place(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    name, option = command
    code, _, err = run(capsys, name, "pair.json", option, "mine_for_tests:fails")
    assert code == 2
    problem = "pair.json" if name == "compare" else "pair"
    assert err.startswith(
        f"dagsched: error: mine_for_tests:fails on {problem} raised ValueError: kaboom ("
    )
    assert err.endswith("mine_for_tests.py, line 20)\n")
    code, _, err = run(capsys, name, "pair.json", option, "mine_for_tests:early")
    assert code == 2
    assert err.startswith("dagsched: error: mine_for_tests:early")
    assert "runs from -1.0 to" in err


def test_a_declared_name_that_this_package_has_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(monkeypatch, heft="mine_for_tests:fails", other="mine_for_tests:other")
    code, _, err = run(capsys, "compare", "pair.json", "--schedulers", "heft", "other")
    assert code == 0
    said = (
        "dagsched: heft is that of dagsched_env, not heft (mine_for_tests:fails), which needs "
        "another name"
    )
    assert err.splitlines().count(said) == 1


def test_who_takes_longer_than_the_time_limit_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    names = ["heft", "mine_for_tests:sleeps", "hill_climbing"]
    limit = ["--time-limit", "0.1", "--html", "late.html"]
    code, out, _ = run(capsys, "compare", "pair.json", "--schedulers", *names, *limit)
    assert code == 0
    (line,) = [line for line in out if "longer than" in line]
    assert re.fullmatch(
        r"longer than --time-limit: mine_for_tests:sleeps, up to \d+\.\d times", line
    )
    assert line.partition(": ")[2] in Path("late.html").read_text(encoding="utf-8")


def test_files_with_schedulers_of_all_kinds(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["pair.json", "montage", "--schedulers", "heft", "mine_for_tests:other", "cpop"]
    arguments += ["solve", "cp_sat", "--time-limit", "0.1", "--csv", "all.csv"]
    arguments += ["--html", "all.html"]
    code, out, _ = run(capsys, "compare", *arguments)
    assert code == 0
    assert out[0].startswith("2 files: 2 instances, 0.1 s per schedule")
    rows = {line.split()[0]: line.split()[1:6] for line in out[3:8]}
    assert list(rows) == ["heft", "mine_for_tests:other", "cpop", "solve", "cp_sat"]
    assert rows["mine_for_tests:other"] == rows["cpop"]
    with open("all.csv", encoding="utf-8") as stream:
        instances = [row["instance"] for row in csv.DictReader(stream)]
    assert instances[::5] == ["pair.json", "montage"]
    assert out[-1] == "wrote all.html"
    page = Path("all.html").read_text(encoding="utf-8")
    facts, _ = page.split("</dl>")
    for fact in ("2 files: 2 instances", "0.1 s per schedule", "numpy", "mine_for_tests:other, c"):
        assert fact in facts
    assert f"<dd>dagsched compare {' '.join(arguments)}</dd>" in page
    assert page.count("data-scheduler=") == 2 * 5


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["sizes"], ["a-10.json", "a-100.json"]),
        (["sizes", "pair.json"], ["a-10.json", "a-100.json", "pair.json"]),
        (["sizes/a-10.json", "a-10.json"], ["sizes/a-10.json", "a-10.json"]),
        (["pair.json", "pair.json"], ["pair.json #0", "pair.json #1"]),
    ],
)
def test_tables_show_the_names_of_the_files(
    capsys: pytest.CaptureFixture[str], arguments: list[str], names: list[str]
) -> None:
    """Not those that the files hold, which are often all the same."""
    Path("sizes").mkdir()
    for path in ("sizes/a-10.json", "sizes/a-100.json", "a-10.json"):
        shutil.copy("pair.json", path)
    tables = ["--csv", "names.csv", "--html", "names.html"]
    code, _, _ = run(capsys, "compare", *arguments, "--schedulers", "heft", *tables)
    assert code == 0
    with open("names.csv", encoding="utf-8") as stream:
        assert [row["instance"] for row in csv.DictReader(stream)] == names
    page = Path("names.html").read_text(encoding="utf-8")
    assert re.findall('<span title="([^"]+)">[^<]+[.]json', page) == names


def test_files_and_folders_on_machines_of_choice(capsys: pytest.CaptureFixture[str]) -> None:
    machines = ["--platform", "identical", "--processors", "2", "--bandwidth", "1"]
    code, out, err = run(
        capsys, "compare", "graphs", "graphs/one.dot", *machines, "--schedulers", "peft"
    )
    assert (code, err.count("no processors")) == (0, 0)
    assert out[0].startswith("2 files: 3 instances (")
    assert [line.split()[0] for line in out[3:]] == ["heft", "peft"]
    code, _, err = run(capsys, "compare", "graphs", "graphs/one.dot", "--schedulers", "heft")
    (line,) = [line for line in err.splitlines() if "no processors" in line]
    assert "one.dot and 2 other files describe no processors: " in line
    assert "change it with --platform" in line


def test_a_file_of_a_folder_that_keeps_its_processors_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("mixed").mkdir()
    for path in ("graphs/one.dot", "pair.json"):
        shutil.copy(path, "mixed")
    machines = ["--platform", "identical", "--processors", "3", "--bandwidth", "1"]
    code, _, err = run(capsys, "compare", "mixed", *machines, "--schedulers", "heft")
    own = "mixed/pair.json describes its processors: --platform does not change them"
    assert (code, err.splitlines()[0]) == (0, f"dagsched: {own}")
    _, _, err = run(capsys, "compare", "mixed", "--ccr", "2", "--schedulers", "heft")
    assert "does not change them" not in err


def test_a_policy_that_is_named_comes_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {"policy": SCHEDULERS["cpop"], "policy_sampled": SCHEDULERS["peft"]}
    monkeypatch.setattr("dagsched_env.cli.comparison.read_policies", lambda *_: found)
    arguments = ["compare", "pair.json", "--checkpoint", "run", "--schedulers", "heft"]
    assert [line.split()[0] for line in run(capsys, *arguments, "policy")[1][3:]] == [
        "heft",
        "policy",
    ]
    assert len(run(capsys, *arguments)[1][3:]) == 3


def test_the_scheduler_of_an_entry_point(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(monkeypatch, theirs="mine_for_tests:slow", lost="broken_for_tests:x")
    monkeypatch.syspath_prepend(".")
    schedule = ["schedule", "pair.json", "--scheduler"]
    code, out, _ = run(capsys, *schedule, "theirs", "--time-limit", "2")
    assert (code, out[0]) == (0, "budget 2.0")
    assert out[2].startswith("theirs ")
    assert run(capsys, *schedule, "theirs")[1][0] == "budget None"
    code, _, err = run(capsys, *schedule, "their")
    assert code == 2
    assert "no scheduler 'their': did you mean 'theirs'? There are heft, " in err
    # An entry point that cannot be loaded does no harm until somebody asks for it.
    code, _, err = run(capsys, *schedule, "lost")
    assert (code, err.count("\n")) == (2, 1)
    assert "lost (broken_for_tests:x) cannot be loaded: ModuleNotFoundError: No mod" in err


def test_a_declared_name_does_not_hide_one_of_the_package(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(monkeypatch, heft="broken_for_tests:x")
    assert run(capsys, "schedule", "pair.json", "--scheduler", "heft")[0] == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hift", "no scheduler 'hift': did you mean 'heft'? There are heft, "),
        ("no_such_module:f", "cannot be loaded: ModuleNotFoundError: No module named 'no_such"),
        ("broken_for_tests:f", "ModuleNotFoundError: No module named 'no_such_package'"),
        ("mine_for_tests:none", "has no attribute 'none'"),
        ("mine_for_tests:number", "mine_for_tests:number is int: name a function"),
        ("mine_for_tests:nothing", "nothing returned int: a scheduler returns a Schedule"),
        ("mine_for_tests:", "'mine_for_tests:' is not of the form module:function"),
        ("policy", "policy needs a trained policy: name one with --checkpoint"),
    ],
)
def test_wrong_names_are_one_line(
    capsys: pytest.CaptureFixture[str], name: str, message: str
) -> None:
    code, _, err = run(capsys, "compare", "pair.json", "--schedulers", name)
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("dagsched: error: ")
    assert message in err


def test_a_function_of_a_module_without_a_file_may_be_in_a_journal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = ModuleType("made_up_for_tests")
    vars(module)["mine"] = SCHEDULERS["heft"]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    command = ["compare", "pair.json", "--schedulers", "made_up_for_tests:mine"]
    code, _, err = run(capsys, *command, "--journal", "all.jsonl")
    assert (code, err) == (0, "")


@pytest.mark.parametrize("name", ["edited_for_tests:mine", "declared"])
def test_a_journal_forgets_what_a_function_gave_before_it_was_edited(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(monkeypatch, declared="edited_for_tests:mine")
    monkeypatch.syspath_prepend(str(Path.cwd()))
    source = "from dagsched_env.schedulers import SCHEDULERS\nmine = SCHEDULERS['{}']\n"
    found = []
    for scheduler in ("heft", "met", "met"):
        Path("edited_for_tests.py").write_text(source.format(scheduler))
        monkeypatch.delitem(sys.modules, "edited_for_tests", raising=False)
        importlib.invalidate_caches()
        command = ["compare", "pair.json", "--schedulers", name, "--journal", "all.jsonl"]
        code, out, err = run(capsys, *command)
        assert code == 0, err
        (row,) = [line for line in out if line.startswith(name)]
        found.append(row.split()[1])
    assert found[0] != found[1] == found[2]
    assert len(Path("all.jsonl").read_text().splitlines()) == 2
