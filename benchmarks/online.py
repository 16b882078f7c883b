"""Dispatchers while runs go on: makespans under noise, completion times of streams, a lost machine.

    python benchmarks/online.py [--cells noise streams lost] [--draws 10] [--plan-time 0.01]
                                [--dispatchers fifo mct heft peft ...] [--journal FILE] [--png FILE]

``noise``: four families of graphs at three ratios of communication to computation on 4 and 16
processors, and the suite of recorded workflows, with lognormal durations of five coefficients of
variation. ``streams``: graphs of three families that arrive by Poisson at three loads. ``lost``:
one machine is lost at a random time, with and without what is kept there; a second table has the
ratios to a schedule of one who knows all durations, the machine and the time. All dispatchers see
the same draws. A table has the mean of the ratios to dynamic HEFT in each cell, and its standard
error; ``--png`` draws the makespan over the coefficient of variation. ``--journal`` keeps what is
done, and goes on from there.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dagsched_env import Instance, suites
from dagsched_env.cli.dispatchers import choose_dispatchers, schedulers_of
from dagsched_env.cli.policies import read_policies
from dagsched_env.cli.progress import bar
from dagsched_env.cli.schedulers import choose
from dagsched_env.comparison.compare import align, mean_error, mean_ratio
from dagsched_env.comparison.runs import compare_runs
from dagsched_env.online import Lognormal, OneLost, Poisson, World, Worlds
from dagsched_env.solver import load_kernels, solve

FAMILIES = ("topcuoglu?tasks=80", "cholesky?tiles=7", "fft?points=16", "layered?layers=10&width=8")
SHORT = ("topcuoglu?tasks=20..40", "fft?points=8", "chains")
CVS, CCRS, PROCESSORS, LOADS = (0.0, 0.1, 0.3, 0.6, 1.0), (0.1, 1, 5), (4, 16), (0.5, 0.8, 0.95)
DISPATCHERS = (
    *("heft", "fifo", "mct", "peft", "shortest", "plan:heft", "times:heft", "replan:heft"),
    *("plan:solve", "replan-late:solve", "replan:solve", "replan:policy", "learned"),
)
LEFT_OUT = ("heft", "mct", "peft", "shortest", "replan-late:solve")
"""Not in the picture; of one graph ``shortest`` is ``heft``."""
REFERENCE, KNOWS_ALL = "heft", "knows all"
GRAPHS = 15


class Cell(NamedTuple):
    """Worlds that are summarised together."""

    table: str
    row: str
    cv: float
    objective: str
    worlds: Worlds


def cells(tables: list[str]) -> Iterator[Cell]:
    if "noise" in tables:
        for cv in CVS:
            for ccr in CCRS:
                for p in PROCESSORS:
                    for family in FAMILIES:
                        spec = f"family:{family}&processors={p}&ccr={ccr}"
                        worlds = Worlds(spec, noise=Lognormal(cv))
                        yield Cell("noise", f"ccr {ccr:g}, p {p}", cv, "makespan", worlds)
            for instance in suites.load("workflows"):
                worlds = Worlds(instance, noise=Lognormal(cv))
                yield Cell("noise", "workflows", cv, "makespan", worlds)
    for load in LOADS if "streams" in tables else ():
        for family in SHORT:
            for cv in (0.3, 1.0):
                spec = f"family:{family}{'&' if '?' in family else '?'}processors=8"
                worlds = Worlds(spec, Poisson(GRAPHS, load), Lognormal(cv))
                yield Cell("streams", f"load {load:g}", cv, "mean_completion", worlds)
    for family in FAMILIES if "lost" in tables else ():
        for forgets in (False, True):
            worlds = Worlds(
                f"family:{family}&processors=8&ccr=1",
                noise=Lognormal(0.3),
                outages=OneLost(),
                forgets=forgets,
            )
            row = "outputs lost, too" if forgets else "outputs kept"
            yield Cell("lost", row, 0.3, "makespan", worlds)


def known_before(world: World, time_limit: float) -> float:
    """Makespan of a schedule of one who knows the durations, and which machine is lost when.

    Seen from the end M of a schedule, a machine that is lost at T becomes available M - T before
    its beginning; M is found by bisection. What is lost of outputs is left out, so that one who
    forgets them may need longer.

    Args:
        world: with one machine lost at most.
        time_limit: of each of ten searches (s).
    """
    known = world.clairvoyant()
    within = solve(known, budget_s=time_limit).schedule.makespan
    if not world.outages:
        return within
    ((lost, at, _),) = world.outages
    arguments = known.arguments() | {"edges": known.edges[:, ::-1]}

    def ends(available: float) -> float:
        backwards = arguments | {"available_from": np.zeros(known.n_processors)}
        backwards["available_from"][lost] = available
        return solve(Instance(**backwards), budget_s=time_limit).schedule.makespan

    never = known.comp.copy()
    never[:, lost] = np.inf
    without = Instance(**known.arguments() | {"comp": never})
    longest = solve(without, budget_s=time_limit).schedule.makespan
    for _ in range(8):
        middle = (within + longest) / 2
        end = ends(max(0.0, middle - at))
        within, longest = (within, end) if end <= middle else (middle, longest)
    return longest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cells", nargs="+", default=["noise", "streams", "lost"])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--plan-time", type=float, default=0.01)
    parser.add_argument("--dispatchers", nargs="+", default=DISPATCHERS)
    parser.add_argument("--checkpoint", type=Path, default=Path("default"))
    parser.add_argument("--journal", type=Path)
    parser.add_argument("--png", type=Path)
    arguments = parser.parse_args()
    names = list(dict.fromkeys([REFERENCE, *arguments.dispatchers]))
    policies = read_policies(arguments.checkpoint, samples=8)
    schedulers = choose(schedulers_of(names), arguments.plan_time, policies)
    makers = {
        objective: choose_dispatchers(names, schedulers, arguments.plan_time, objective)
        for objective in ("makespan", "mean_completion")
    }
    load_kernels()
    known = read(arguments.journal)
    found: dict[tuple[str, str, float], dict[str, list[float]]] = {}
    everything = list(cells(arguments.cells))
    with bar("runs", len(everything) * arguments.draws) as progress:
        for draw in range(arguments.draws):  # so that what is done first covers all cells
            for k, cell in enumerate(everything):
                key = f"{cell.table}/{k}/{draw}/{arguments.plan_time:g}"
                values = known.get(key, {})
                missing = {
                    name: make
                    for name, make in makers[cell.objective].items()
                    if name not in values
                }
                unknown = cell.table == "lost" and KNOWS_ALL not in values
                if missing or unknown:
                    world = cell.worlds(np.random.default_rng([k, draw]))
                    run = compare_runs([world], missing, cell.objective)
                    values = values | {name: v[0] for name, v in run.makespans.items()}
                    if unknown:
                        values[KNOWS_ALL] = known_before(world, 10 * arguments.plan_time)
                    write(arguments.journal, key, values)
                place = found.setdefault((cell.table, cell.row, cell.cv), defaultdict(list))
                for name, value in values.items():
                    place[name].append(value)
                progress(draw * len(everything) + k + 1, len(everything) * arguments.draws)
    for table in arguments.cells:
        print(
            f"\n{table}: mean of the ratios to {REFERENCE} (dynamic), {arguments.draws} draws each"
        )
        print(align([["cell", "cv", *names], *rows(table, found, names)]))
    if "lost" in arguments.cells:
        print(f"\nlost: mean of the ratios to one who {KNOWS_ALL}")
        print(align([["cell", "cv", *names], *rows("lost", found, names, KNOWS_ALL)]))
    if arguments.png:
        draw_picture(found, names, arguments.png)
        print(f"wrote {arguments.png}")


def rows(
    table: str,
    found: dict[tuple[str, str, float], dict[str, list[float]]],
    names: list[str],
    reference: str = REFERENCE,
) -> Iterator[list[str]]:
    """The rows of a table: mean ratio of each dispatcher, with its standard error.

    Args:
        table: of ``noise``, ``streams``, ``lost``.
        found: makespans, or what else is judged, by table, row and cv; then by name.
        names: of the dispatchers.
        reference: what they are divided by.
    """
    for (of, row, cv), values in sorted(found.items()):
        if of == table:
            base = values[reference]
            ratios = [
                f"{mean_ratio(values[name], base):.3f}±{mean_error(values[name], base):.3f}"
                for name in names
            ]
            yield [row, f"{cv:g}", *ratios]


def draw_picture(
    found: dict[tuple[str, str, float], dict[str, list[float]]], names: list[str], path: Path
) -> None:
    """Mean ratio to dynamic HEFT over the coefficient of variation, all cells of ``noise``."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7.5, 4.5), layout="constrained")
    for name in [name for name in names if name not in LEFT_OUT]:
        points = []
        for cv in CVS:
            chosen = [v for (table, _, c), v in found.items() if table == "noise" and c == cv]
            values = [x for v in chosen for x in v[name]]
            base = [x for v in chosen for x in v[REFERENCE]]
            points.append((mean_ratio(values, base), mean_error(values, base)))
        mean, error = np.array(points).T
        (line,) = axes.plot(CVS, mean, marker="o", label=name)
        axes.fill_between(CVS, mean - error, mean + error, alpha=0.15, color=line.get_color())
    axes.axhline(1.0, color="0.4", linestyle="--", label="heft")
    axes.set_xlabel("coefficient of variation of the durations")
    axes.set_ylabel("makespan / dynamic HEFT")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.savefig(path, dpi=150)


def read(journal: Path | None) -> dict[str, dict[str, float]]:
    """What has been done; a line that was cut short is left out."""
    found: dict[str, dict[str, float]] = {}
    if journal is not None and journal.exists():
        for line in journal.read_text("utf-8").splitlines():
            try:
                key, values = json.loads(line)
            except ValueError:
                continue
            found[key] = found.get(key, {}) | values
    return found


def write(journal: Path | None, key: str, values: dict[str, float]) -> None:
    if journal is not None:
        with journal.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps([key, values]) + "\n")


if __name__ == "__main__":
    main()
