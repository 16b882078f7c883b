"""``dagsched simulate``."""

import csv
from types import SimpleNamespace

import numpy as np
import pytest

from dagsched_env.cli import dispatchers, main
from dagsched_env.cli.dispatchers import DEFAULT, choose_dispatchers
from dagsched_env.comparison.runs import compare_runs
from dagsched_env.io import save_run
from dagsched_env.online import Fifo, Lognormal, Worlds, simulate, specs
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms import Platform
from dagsched_env.problem.run import Run
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.workflow import Workflow
from dagsched_env.schedulers import heft
from dagsched_env.solver import SolveResult

FAMILY = "family:fft?points=4&processors=3"


def test_all_dispatchers_in_a_table_a_page_and_a_chart(tmp_path, capsys):
    page, chart, table = tmp_path / "a.html", tmp_path / "a.png", tmp_path / "a.csv"
    names = [*DEFAULT, "times:peft", "replan-late:heft", "replan-changes:heft", "clairvoyant"]
    arguments = ["simulate", FAMILY, "--draws", "2", "--dispatchers", *names]
    files = ["--html", str(page), "--gantt", str(chart), "--csv", str(table)]
    assert main([*arguments, *files, "--reference", "heft"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2 runs, noise lognormal (")
    assert [line.split()[0] for line in lines[3 : 3 + len(names)]] == names
    assert lines[3 + names.index("heft")].split()[2:4] == ["1.0000", "0.0000"]
    with table.open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 2 * len(names)
    known = {r["instance"]: float(r["makespan"]) for r in rows if r["scheduler"] == "clairvoyant"}
    best = {
        name: min(float(r["makespan"]) for r in rows if r["instance"] == name) for name in known
    }
    assert known == pytest.approx(best, rel=0.05)
    assert b"replan-late:heft" in page.read_bytes()
    assert chart.stat().st_size > 10_000


def test_streams_outages_and_deadlines(capsys):
    arguments = ["simulate", FAMILY, "--arrivals", "poisson?graphs=3&load=0.5", "--draws", "2"]
    more = ["--outages", "one-lost", "--forgets", "--slack", "2", "--objective", "tardiness"]
    assert main([*arguments, *more, "--dispatchers", "heft", "shortest"]) == 0
    out = capsys.readouterr().out
    assert "arrivals poisson?graphs=3&load=0.5, outages one-lost" in out
    assert "tardiness" in out


def test_where_runs_are_in_time_means_are_compared(capsys):
    """A ratio to a tardiness of 0 says nothing."""
    arguments = ["simulate", FAMILY, "--arrivals", "poisson?graphs=4&load=0.8", "--draws", "6"]
    more = ["--slack", "3", "--objective", "tardiness", "--dispatchers", "replan:heft", "heft"]
    assert main([*arguments, *more]) == 0
    *_, reference, heft = (line.split() for line in capsys.readouterr().out.splitlines())
    assert reference[1:7] == [reference[1], "1.0000", "0.0000", "0", "6", "0"]
    assert float(heft[2]) == pytest.approx(float(heft[1]) / float(reference[1]), rel=1e-2)
    assert float(heft[3]) > 0.0
    assert heft[4:8] == ["0", "0", "6", "0.03"]


def test_what_was_assumed_stands_below_the_table_and_on_the_page(tmp_path, capsys):
    page = tmp_path / "a.html"
    machines = ["--nodes", "2", "--cores", "8", "--memory", "32GB", "--bandwidth", "1Gbit/s"]
    command = ["simulate", "montage", *machines, "--draws", "1", "--dispatchers", "heft"]
    assert main([*command, "--html", str(page)]) == 0
    *_, row, assumed, _ = capsys.readouterr().out.splitlines()
    assert row.split()[3] == "-"  # one run has no error
    assert assumed.startswith("assumed: resources: ")
    assert "cores not recorded" in page.read_text()


def test_nobody_is_charged_for_loading_a_kernel():
    asked = []

    class Recorded(Fifo):
        def starts(self, situation):
            asked.append(situation.now)
            return super().starts(situation)

    world = Worlds(FAMILY)(np.random.default_rng(0))
    found = compare_runs([world], {"fifo": lambda world: Recorded()})
    decisions = simulate(world, Fifo()).decisions
    assert len(asked) == decisions + 1
    assert asked[:2] == [0.0, 0.0]
    assert found.makespans["fifo"] == [simulate(world, Fifo()).measures["makespan"]]


def test_outputs_and_deadlines_are_checked_before_the_work(tmp_path, capsys):
    command = ["simulate", FAMILY, "--draws", "1", "--dispatchers", "fifo"]
    page = str(tmp_path / "a.html")
    assert main([*command, "--html", page, "--gantt", page]) == 2
    assert "--gantt" in capsys.readouterr().err
    assert main([*command, "--objective", "tardiness"]) == 2
    assert "tardiness needs deadlines: give --slack" in capsys.readouterr().err


def test_how_late_a_run_is_before_it_is_planned_again_is_told(capsys):
    """The more so, the fewer plans: at 1e-9 as often as whenever a task is late at all."""
    plans = []

    def counted(instance):
        plans[-1] += 1
        return heft(instance)

    shares = [1e-9, 0.05, 0.5]
    names = ["replan-late:heft", *(f"replan-late:heft?late={share:g}" for share in shares)]
    makers = choose_dispatchers(names, {"heft": counted}, 0.1)
    worlds = Worlds("family:fft?points=16&processors=3", noise=Lognormal(0.5))
    for name in names:
        plans.append(0)
        for seed in range(3):
            world = worlds(np.random.default_rng(seed))
            simulate(world, makers[name](world))
    default, *told = plans
    assert default == told[1]
    assert told[0] > told[1] > told[2]
    arguments = ["--draws", "1", "--dispatchers", *names[:2]]
    assert main(["simulate", FAMILY, *arguments]) == 0
    assert "\nreplan-late:heft?late=1e-09 " in capsys.readouterr().out


def test_noise_of_a_measured_run(tmp_path, capsys):
    n = 40
    start = np.arange(float(n))
    took = np.random.default_rng(0).uniform(0.5, 2.0, n)
    workflow = Workflow(
        tasks=[f"t{i}" for i in range(n)],
        runtimes=took,
        edges=(),
        data=np.zeros(0),
        kinds=("k",) * n,
    )
    machines = Platform(np.ones(1), np.full((1, 1), np.inf))
    run = Run("test", workflow, start, start + took, np.zeros(n, dtype=np.int64), machines)
    file = tmp_path / "a.run.json"
    save_run(run, file)
    (noise,) = specs.parse_noise([f"runs?file={file}"])
    factors = noise.draw(Instance(np.ones((500, 2)), [], []), np.random.default_rng(0))
    measured = took / np.median(took)
    assert {round(x, 9) for x in factors.ravel()} <= {round(x, 9) for x in measured}
    assert factors.std() == pytest.approx(measured.std(), rel=0.1)
    assert main(["simulate", FAMILY, "--noise", f"runs?file={file}", "--draws", "1"]) == 0
    assert "replan:solve" in capsys.readouterr().out


def test_what_others_plan_is_checked():
    """One's own scheduler that forgets what arrives from other machines."""

    def careless(instance):
        good = heft(instance)
        return Schedule(good.processor, np.zeros(instance.n_tasks), instance.comp.min(axis=1))

    worlds = Worlds(FAMILY)
    make = choose_dispatchers(["plan:mine:careless"], {"mine:careless": careless}, 0.1)
    world = worlds(np.random.default_rng(0))
    with pytest.raises(DAGSchedError, match="mine:careless planned what breaks a rule"):
        simulate(world, make["plan:mine:careless"](world))


@pytest.mark.parametrize("dispatcher", ["plan:solve", "clairvoyant"])
def test_ctrl_c_ends_a_simulation(dispatcher, monkeypatch):
    def solve(instance, **_):
        return SolveResult(heft(instance), 0.0, (), 0.1, "interrupt")

    monkeypatch.setattr(dispatchers, "solve", solve)
    assert main(["simulate", FAMILY, "--draws", "1", "--dispatchers", dispatcher]) == 130


def test_mistakes_of_others_after_the_first_run_name_their_dispatcher(monkeypatch, capsys):
    class Late(Fifo):
        def starts(self, situation):
            yield from super().starts(situation)
            if situation.instance.n_tasks > 10:
                raise ZeroDivisionError("by nothing")

    point = SimpleNamespace(name="late", value="others:Late", load=lambda: lambda instance: Late())
    monkeypatch.setattr(dispatchers, "entry_points", lambda group: [point])
    assert main(["simulate", FAMILY, "--draws", "1", "--dispatchers", "late"]) == 2
    assert "the dispatcher late raised ZeroDivisionError: by nothing" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--noise", "lognorml?cv=1"], "did you mean 'lognormal'?"),
        (["--noise", "lognormal?vc=1"], "no parameter 'vc': there are cv"),
        (["--noise", "lognormal?cv=-1"], "lognormal?cv=-1: cv=-1.0 is not a number >= 0"),
        (["--noise", "runs"], "runs needs the file of a run"),
        (["--arrivals", "poisson?graphs=0"], "graphs=0 is not at least 1"),
        (["--dispatchers", "hefd"], "no dispatcher 'hefd': did you mean 'heft'?"),
        (["--dispatchers", "replan:hefd"], "no scheduler 'hefd'"),
        (["--dispatchers", "replan-late:hefd?late=1"], "no scheduler 'hefd'"),
        (["--dispatchers", "replan-late:heft?late=0"], "late=0.0 is not a number > 0"),
        (["--dispatchers", "replan-late:heft?late=x"], "late is 'x': write a number"),
        (["--dispatchers", "replan:heft?late=1"], "no parameter 'late': there is replan-late:"),
        (["--outages", "one_lost", "--dispatchers", "clairvoyant"], "plans without outages"),
        (["--processors", "3"], "--processors is for files"),
    ],
)
def test_wrong_usage_is_named(arguments, message, capsys):
    assert main(["simulate", FAMILY, "--draws", "1", *arguments]) == 2
    assert message in capsys.readouterr().err
