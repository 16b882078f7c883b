"""All anytime solvers at equal wall time, one core each, on the frozen suites.

    python benchmarks/solvers.py [--quick] [--suites NAME …] [--budgets SECONDS …] [--stride N]
        [--json FILE] [--csv FILE] [--picture FILE] [--curve FILE]

The contestants take turns on each problem, directly after each other, so that a busy machine
disturbs all alike; who begins changes from problem to problem. Each has a fresh copy of the
problem, and kernels are loaded before. All schedules are validated. Of the suite ``test`` every
third problem takes part, and no problem of more than 1000 tasks. With ``--json`` each finished
problem is kept, and a second call goes on where the first one stopped.

``portfolio`` has no budget: it ends when all constructive schedulers have run. ``cp_sat`` takes
part where OR-Tools is installed. The best known makespan of a problem is the shortest of its
published reference and of everything found here.
"""

import argparse
import csv
import gc
import importlib.util
import io
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import torch
from problems import draw
from rival import RIVALS

import aerl_trainer
from dagsched_env import Instance, exact, solver, suites
from dagsched_env.compare import count_wins, ratios, wilcoxon_p
from dagsched_env.io.atomic import write_bytes, write_text
from dagsched_env.schedule import Schedule
from dagsched_env.schedulers import (
    annealing,
    best_of_portfolio,
    genetic,
    hill_climbing,
    noisy_heft,
)
from dagsched_env.suites.recipes import renamed

SUITES = ("test", "structured", "workflows", "jobshop")
BUDGETS, QUICK_BUDGETS = (0.1, 1.0, 10.0), (0.1, 1.0)
QUICK_STRIDE = 3
STRIDES = {"test": 3}
"""Every how many-th problem of a large suite takes part at all."""
MAX_TASKS = 1000
WIDEST = 1.25
"""Right end of the performance profiles."""
LABEL_GAP = 0.058
"""Least distance of two labels at the ends of lines, in heights of the picture."""
COLUMNS = ("solve / rival", "problems", "mean", "worst", "wins/ties/losses", "p", "time / budget")
OURS, PORTFOLIO, EXACT = "solve", "portfolio", "cp_sat"
VARIANTS = ("solve_env", "solve_untrained")
"""Of ``solve``: no rivals."""

Solver = Callable[[Instance, float], tuple[Schedule, bool]]
"""Problem and budget (s) → its schedule, and whether that is proved optimal."""


class Turn(TypedDict):
    """What one contestant did on one problem."""

    makespan: float
    seconds: float
    """Wall time."""
    cpu_seconds: float
    proved: bool


class Meeting(TypedDict):
    """The turns of all contestants on one problem with one budget."""

    problem: str
    """Suite and name."""
    budget_s: float
    reference: float | None
    """The published makespan, if there is one."""
    turns: dict[str, Turn]


def contestants() -> dict[str, Solver]:
    """Name → solver, those that are installed."""
    found: dict[str, Solver] = {
        PORTFOLIO: lambda instance, _: (best_of_portfolio(instance), False),
        "noisy_heft": searcher(noisy_heft),
        "hill_climbing": searcher(hill_climbing),
        "annealing": searcher(annealing),
        "annealing_same_moves": searcher(annealing, **RIVALS["same-moves"]),
        "genetic": searcher(genetic),
        EXACT: cp_sat,
        "solve_env": anytime(solver.solve),
        "solve_untrained": anytime(aerl_trainer.solve, checkpoint=None),
        OURS: anytime(aerl_trainer.solve, checkpoint="auto"),
    }
    if importlib.util.find_spec("ortools") is None:
        del found[EXACT]
    return found


def searcher(scheduler: Callable[..., Schedule], **options: Any) -> Solver:
    """A scheduler that searches for as long as its budget."""

    def run(instance: Instance, budget_s: float) -> tuple[Schedule, bool]:
        return scheduler(instance, budget_s=budget_s, **options), False

    return run


def anytime(solve: Callable[..., solver.SolveResult], **options: Any) -> Solver:
    """A ``solve`` of one of the packages."""

    def run(instance: Instance, budget_s: float) -> tuple[Schedule, bool]:
        result = solve(instance, budget_s=budget_s, **options)
        return result.schedule, result.optimal

    return run


def cp_sat(instance: Instance, budget_s: float) -> tuple[Schedule, bool]:
    """CP-SAT with one worker."""
    result = exact.solve(instance, time_limit_s=budget_s, workers=1)
    return result.schedule, result.optimal


def get_ready(solvers: dict[str, Solver]) -> None:
    """Load all kernels and policies, as in a process that has solved before; keep to one core."""
    torch.set_num_threads(1)
    for n in (12, 100):
        for solve in solvers.values():
            solve(draw(n, 4, 1.0), 0.1)


def entries(chosen: Sequence[str], stride: int) -> Iterator[tuple[str, Instance, float | None]]:
    """Name, problem and published makespan.

    Args:
        chosen: names of suites.
        stride: every how many-th of the problems that take part.
    """
    for suite in chosen:
        references = suites.reference(suite)
        for name in suites.names(suite)[:: stride * STRIDES.get(suite, 1)]:
            instance = suites.instance(suite, name)
            known = references.get(name)
            published = known is not None and known.fingerprint == instance.fingerprint
            if instance.n_tasks <= MAX_TASKS:
                yield f"{suite}/{name}", instance, known.makespan if known and published else None


def take_turn(solve: Solver, instance: Instance, budget_s: float) -> Turn:
    """One contestant's time, and its schedule after a check.

    Args:
        solve: the contestant.
        instance: of which it gets a copy, because a problem keeps what has been computed from it.
        budget_s: its wall time (s).
    """
    copy = renamed(instance, instance.name or "")
    gc.collect()  # what an earlier contestant has left, too
    cpu, wall = time.process_time(), time.perf_counter()
    schedule, proved = solve(copy, budget_s)
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    schedule.validate(instance)
    return Turn(
        makespan=float(schedule.makespan),
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        proved=bool(proved),
    )


def rotated(names: Sequence[str], start: int) -> list[str]:
    """The same names from another one on."""
    start %= len(names)
    return [*names[start:], *names[:start]]


class Record:
    """The finished meetings, in a file if there is one.

    Args:
        path: of the file; None keeps them in memory only.
        settings: of this run.

    Raises:
        ValueError: the file is of other settings.
    """

    def __init__(self, path: Path | None, settings: dict[str, Any]) -> None:
        self._path = path
        self._settings = settings
        self.meetings: list[Meeting] = []
        if path is not None and path.exists():
            content = json.loads(path.read_text())
            if content["settings"] != settings:
                raise ValueError(f"{path} holds a run of other settings: take another file")
            self.meetings = content["meetings"]

    def has(self, problem: str, budget_s: float) -> bool:
        """This meeting is finished."""
        return any((m["problem"], m["budget_s"]) == (problem, budget_s) for m in self.meetings)

    def keep(self, meeting: Meeting) -> None:
        """Add it."""
        self.meetings.append(meeting)
        if self._path is not None:
            content = {"settings": self._settings, "meetings": self.meetings}
            write_text(self._path, json.dumps(content))


def play(record: Record, chosen: Sequence[str], budgets: Sequence[float], stride: int) -> None:
    """All meetings that are not finished yet.

    Args:
        record: gets them.
        chosen: names of suites.
        budgets: wall times (s).
        stride: every how many-th problem.
    """
    solvers = contestants()
    pending = [
        (i, entry, budget_s)
        for i, entry in enumerate(entries(chosen, stride))
        for budget_s in budgets
        if not record.has(entry[0], budget_s)
    ]
    if pending:
        get_ready(solvers)
    for i, (problem, instance, reference), budget_s in pending:
        order = rotated(list(solvers), i)
        turns = {name: take_turn(solvers[name], instance, budget_s) for name in order}
        record.keep(
            Meeting(
                problem=problem,
                budget_s=budget_s,
                reference=reference,
                turns={name: turns[name] for name in solvers},
            )
        )
        print(f"{problem}, {budget_s:g} s", flush=True)


def with_budget(meetings: Sequence[Meeting], budget_s: float) -> list[Meeting]:
    """Those of one budget."""
    return [meeting for meeting in meetings if meeting["budget_s"] == budget_s]


def makespans(meetings: Sequence[Meeting], name: str) -> list[float]:
    """Of a contestant."""
    return [meeting["turns"][name]["makespan"] for meeting in meetings]


def best_of_rivals(meeting: Meeting) -> float:
    """The shortest makespan of all but ``solve`` and its variants."""
    ours = (OURS, *VARIANTS)
    return min(turn["makespan"] for name, turn in meeting["turns"].items() if name not in ours)


def best_known(meetings: Sequence[Meeting]) -> dict[str, float]:
    """Problem → the shortest makespan of the reference and of all contestants and budgets."""
    known: dict[str, float] = {}
    for meeting in meetings:
        found = [turn["makespan"] for turn in meeting["turns"].values()]
        reference = [] if meeting["reference"] is None else [meeting["reference"]]
        before = [known[meeting["problem"]]] if meeting["problem"] in known else []
        known[meeting["problem"]] = min(found + reference + before)
    return known


def mean_to_known(meetings: Sequence[Meeting], known: dict[str, float], name: str) -> float:
    """Mean of a contestant's makespan / the best known one.

    Args:
        meetings: of one budget.
        known: problem → best known makespan.
        name: of the contestant.
    """
    of_problems = [known[meeting["problem"]] for meeting in meetings]
    return float(np.mean(ratios(makespans(meetings, name), of_problems)))


def overruns(meetings: Sequence[Meeting], name: str) -> list[float]:
    """Wall time / budget of a contestant."""
    return [meeting["turns"][name]["seconds"] / meeting["budget_s"] for meeting in meetings]


def row(label: str, ours: Sequence[float], theirs: Sequence[float], times: Sequence[float]) -> str:
    """``solve`` against one rival, a line of the table.

    Args:
        label: name of the rival.
        ours: makespans of ``solve``.
        theirs: makespans of the rival on the same problems.
        times: wall time / budget of the rival; may be empty.
    """
    gains = ratios(ours, theirs)
    wins, ties, losses = count_wins(ours, theirs)
    p = wilcoxon_p(gains) if wins + losses else None
    cells = [
        label,
        str(len(gains)),
        f"{np.mean(gains):.4f}",
        f"{max(gains):.4f}",
        f"{wins}/{ties}/{losses}",
        "-" if p is None else f"{p:.1g}",
        f"{np.mean(times):.2f} ({max(times):.2f})" if times else "-",
    ]
    return f"| {' | '.join(cells)} |"


def table(meetings: Sequence[Meeting]) -> str:
    """``solve`` against each rival, in Markdown.

    Args:
        meetings: of one budget, at least one.
    """
    lines = [f"| {' | '.join(COLUMNS)} |", "|---|" + "---:|" * (len(COLUMNS) - 1)]

    def add(label: str, rival: str, of: Sequence[Meeting]) -> None:
        lines.append(row(label, makespans(of, OURS), makespans(of, rival), overruns(of, rival)))

    for rival in meetings[0]["turns"]:
        if rival != OURS:
            add(rival, rival, meetings)
        if rival == EXACT and (proved := [m for m in meetings if m["turns"][EXACT]["proved"]]):
            add(f"{EXACT}, where it proves", EXACT, proved)
    best = [best_of_rivals(meeting) for meeting in meetings]
    lines.append(row("best of all rivals", makespans(meetings, OURS), best, []))
    return "\n".join(lines)


def findings(meetings: Sequence[Meeting], known: dict[str, float]) -> str:
    """What the table does not say.

    Args:
        meetings: of one budget, at least one.
        known: problem → best known makespan.
    """
    ours = makespans(meetings, OURS)
    gains = ratios(ours, [best_of_rivals(meeting) for meeting in meetings])
    worst = int(np.argmax(gains))
    worse = count_wins(ours, makespans(meetings, PORTFOLIO))[2]
    times = overruns(meetings, OURS)
    turns = [turn for meeting in meetings for turn in meeting["turns"].values()]
    core = sum(turn["cpu_seconds"] for turn in turns) / sum(turn["seconds"] for turn in turns)
    return (
        f"Worst problem of solve against the best of all rivals: {gains[worst]:.4f} "
        f"({meetings[worst]['problem']}). Worse than the portfolio: {worse} of {len(ours)}. "
        f"Mean ratio to the best known: {mean_to_known(meetings, known, OURS):.4f}. "
        f"Wall time of solve / budget: mean {np.mean(times):.3f}, largest {max(times):.3f}. "
        f"CPU time / wall time of all turns: {core:.2f}."
    )


def show(meetings: Sequence[Meeting], budgets: Sequence[float]) -> None:
    """A table for each budget."""
    known = best_known(meetings)
    for budget_s in budgets:
        chosen = with_budget(meetings, budget_s)
        print(f"\n### {budget_s:g} s\n\n{table(chosen)}\n\n{findings(chosen, known)}")


def to_csv(meetings: Sequence[Meeting]) -> str:
    """One line per problem, budget and contestant (RFC 4180, header)."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    fields = ["makespan", "seconds", "cpu_seconds", "proved"]
    writer.writerow(["suite", "instance", "budget_s", "contestant", *fields])
    for meeting in meetings:
        place = [*meeting["problem"].split("/", 1), meeting["budget_s"]]
        for name, turn in meeting["turns"].items():
            writer.writerow([*place, name, *turn.values()])
    return stream.getvalue()


def styles_of(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Name → how its line looks; ``solve`` stands out."""
    rivals = [name for name in names if name != OURS]
    styles: dict[str, dict[str, Any]] = {
        name: {"color": f"C{i}", "lw": 1.4, "ls": ("-", "--", ":")[i % 3], "label": name}
        for i, name in enumerate(rivals)
    }
    return {**styles, OURS: {"color": "black", "lw": 2.4, "ls": "-", "label": OURS}}


def draw_profiles(axes: Any, meetings: Sequence[Meeting], styles: dict[str, Any]) -> None:
    """Share of the problems on which each contestant is within a factor of the best one.

    Args:
        axes: of matplotlib.
        meetings: of one budget.
        styles: name → how its line looks.
    """
    best = [min(turn["makespan"] for turn in m["turns"].values()) for m in meetings]
    for name, style in styles.items():
        factors = np.sort(ratios(makespans(meetings, name), best))
        shares = np.arange(len(factors) + 1) / len(factors)
        ends = max(factors[-1], WIDEST)
        axes.step([1.0, *factors, ends], [*shares, 1.0], where="post", **style)
    axes.set_xlabel("makespan / best of all contestants")
    axes.set_xlim(1.0 - 0.01 * (WIDEST - 1.0), WIDEST)
    axes.set_ylim(0.0, 1.02)


def draw_means(
    axes: Any,
    of_budget: dict[float, list[Meeting]],
    known: dict[str, float],
    styles: dict[str, Any],
) -> None:
    """Mean ratio of each contestant to the best known makespan, against the budget.

    Args:
        axes: of matplotlib.
        of_budget: budget (s) → its meetings.
        known: problem → best known makespan.
        styles: name → how its line looks.
    """
    for name, style in styles.items():
        means = [mean_to_known(meetings, known, name) for meetings in of_budget.values()]
        axes.plot(list(of_budget), means, marker="o", ms=4, **style)
    axes.set_title("mean makespan / best known", loc="left", fontsize=10)
    axes.set_xlabel("seconds for each problem, one core")
    axes.set_xscale("log")
    axes.set_xticks(list(of_budget), [f"{budget_s:g}" for budget_s in of_budget])
    axes.minorticks_off()


def picture(meetings: Sequence[Meeting], budgets: Sequence[float]) -> bytes:
    """PNG: performance profiles of each budget, and mean ratios to the best known makespans."""
    from matplotlib.figure import Figure

    styles = styles_of(list(meetings[0]["turns"]))
    of_budget = {budget_s: with_budget(meetings, budget_s) for budget_s in sorted(budgets)}
    figure = Figure(figsize=(4 * (len(budgets) + 1), 4.6), layout="constrained")
    *panels, last = figure.subplots(1, len(budgets) + 1)
    for axes, (budget_s, chosen) in zip(panels, of_budget.items(), strict=True):
        draw_profiles(axes, chosen, styles)
        axes.set_title(f"share of problems, {budget_s:g} s", loc="left", fontsize=10)
    draw_means(last, of_budget, best_known(meetings), styles)
    for axes in (*panels, last):
        axes.grid(alpha=0.25)
    figure.legend(*last.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=110)
    return stream.getvalue()


def apart(heights: Sequence[float], gap: float) -> list[float]:
    """Heights of labels: the given ones, moved until none is too close to the next.

    Args:
        heights: from the top down, in [0, 1].
        gap: least distance.
    """
    placed = list(heights)
    for i in range(1, len(placed)):
        placed[i] = min(placed[i], placed[i - 1] - gap)
    placed[-1] = max(placed[-1], 0.0)
    for i in reversed(range(len(placed) - 1)):
        placed[i] = max(placed[i], placed[i + 1] + gap)
    return placed


def label_ends(axes: Any, styles: dict[str, Any]) -> None:
    """Names beside the right ends of the lines.

    Args:
        axes: of matplotlib; its lines have the names as labels.
        styles: name → how its line looks.
    """
    ends = {line.get_label(): line.get_ydata()[-1] for line in axes.lines}
    names = sorted(ends, key=lambda name: -ends[name])
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = [to_axes.transform((1.0, ends[name]))[1] for name in names]
    x = to_axes.transform((max(axes.lines[0].get_xdata()), 1.0))[0]
    for name, height, placed in zip(names, heights, apart(heights, LABEL_GAP), strict=True):
        axes.annotate(
            name,
            (x, height),
            xytext=(1.05, placed),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            weight="bold" if name == OURS else "normal",
            arrowprops={
                "arrowstyle": "-",
                "color": styles[name]["color"],
                "linewidth": 0.8,
                "relpos": (0.0, 0.5),
            },
        )


def curve(meetings: Sequence[Meeting], budgets: Sequence[float]) -> bytes:
    """PNG: mean ratios to the best known makespans against the budget, names at the lines."""
    from matplotlib.figure import Figure

    styles = styles_of(list(meetings[0]["turns"]))
    of_budget = {budget_s: with_budget(meetings, budget_s) for budget_s in sorted(budgets)}
    figure = Figure(figsize=(8, 4.4), layout="constrained")
    axes = figure.add_subplot()
    known = best_known(meetings)
    draw_means(axes, of_budget, known, styles)
    axes.set_title(f"mean makespan / best known, {len(known)} problems", loc="left", fontsize=10)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    label_ends(axes, styles)
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=160)
    return stream.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="few problems, 0.1 and 1 s: 10 minutes"
    )
    parser.add_argument("--suites", nargs="+", default=SUITES, choices=suites.SUITES)
    parser.add_argument("--budgets", type=float, nargs="+", metavar="SECONDS")
    parser.add_argument("--stride", type=int, metavar="N", help="every N-th problem only")
    parser.add_argument("--json", type=Path, help="keep what is finished, and go on from there")
    parser.add_argument("--csv", type=Path, help="write one line per problem, budget, contestant")
    parser.add_argument("--picture", type=Path, help="write a PNG: profiles and mean ratios")
    parser.add_argument("--curve", type=Path, help="write a PNG: mean ratios against time")
    options = parser.parse_args()
    budgets = options.budgets or list(QUICK_BUDGETS if options.quick else BUDGETS)
    stride = options.stride if options.stride is not None else QUICK_STRIDE if options.quick else 1
    if stride < 1 or min(budgets) <= 0:
        parser.error("a stride is a whole number >= 1, a budget is a number > 0")
    settings = {
        "suites": list(options.suites),
        "budgets": budgets,
        "stride": stride,
        "contestants": list(contestants()),
    }
    try:
        record = Record(options.json, settings)
    except ValueError as error:
        parser.error(str(error))
    play(record, options.suites, budgets, stride)
    show(record.meetings, budgets)
    if options.csv is not None:
        write_text(options.csv, to_csv(record.meetings))
    if options.picture is not None:
        write_bytes(options.picture, picture(record.meetings, budgets))
    if options.curve is not None:
        write_bytes(options.curve, curve(record.meetings, budgets))


if __name__ == "__main__":
    main()
