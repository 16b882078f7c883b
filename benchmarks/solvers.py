"""All anytime solvers at equal wall time, one core each, on the frozen suites.

    python benchmarks/solvers.py [--quick] [--suites NAME …] [--budgets SECONDS …] [--stride N]
        [--seeds N] [--ray ADDRESS] [--json FILE] [--csv FILE] [--picture FILE] [--curve FILE]

The contestants take turns on each problem, directly after each other, so that a busy machine
disturbs all alike; who begins changes from problem to problem. Each has a fresh copy of the
problem, and kernels are loaded before. All schedules are validated. Of the suite ``test`` every
third problem takes part, and no problem of more than 1000 tasks. With ``--json`` each finished
problem is kept, and a second call goes on where the first one stopped. With ``--seeds`` each takes
as many turns on a problem, and its makespan is their mean: the worst problem is then less a matter
of chance. With ``--ray`` the problems are shared out to the cores of a Ray cluster, a problem with
all its contestants to one core; then all that differs between cores cancels in the ratios.

``portfolio`` has no budget: it ends when all constructive schedulers have run. ``cp_sat`` takes
part where OR-Tools is installed. The best known makespan of a problem is the shortest of its
published reference and of everything found here.
"""

import argparse
import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
from contest_pictures import curve, picture
from contestants import EXACT, OURS, PORTFOLIO, contestants
from meetings import (
    Meeting,
    Pairing,
    Record,
    best_known,
    best_of_rivals,
    makespans,
    mean_to_known,
    meet,
    overruns,
    with_budget,
)

from dagsched_env import Instance, suites
from dagsched_env.comparison.compare import count_wins, ratios, wilcoxon_p
from dagsched_env.io.atomic import write_bytes, write_text

SUITES = ("test", "structured", "workflows", "jobshop")
BUDGETS, QUICK_BUDGETS = (0.1, 1.0, 10.0), (0.1, 1.0)
QUICK_STRIDE = 3
STRIDES = {"test": 3}
"""Every how many-th problem of a large suite takes part at all."""
MAX_TASKS = 1000
COLUMNS = ("solve / rival", "problems", "mean", "worst", "wins/ties/losses", "p", "time / budget")


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


def play(
    record: Record,
    chosen: Sequence[str],
    budgets: Sequence[float],
    stride: int,
    seeds: int,
    address: str | None,
) -> None:
    """All meetings that are not finished yet.

    Args:
        record: gets them.
        chosen: names of suites.
        budgets: wall times (s).
        stride: every how many-th problem.
        seeds: of each contestant on each problem.
        address: of a Ray cluster; None plays here.
    """
    pending = [
        Pairing(i, *entry, budget_s)
        for i, entry in enumerate(entries(chosen, stride))
        for budget_s in budgets
        if not record.has(entry[0], budget_s)
    ]
    meeting = partial(meet, seeds=seeds)
    with ExitStack() as stack:
        played: Iterable[Meeting] = map(meeting, pending)
        if pending and address is not None:
            from aerl_trainer.solving.spread import cluster_of

            spread = stack.enter_context(cluster_of(address))
            played = (found for _, found in spread(meeting, pending))
        for found in played:
            record.keep(found)
            print(f"{found['problem']}, {found['budget_s']:g} s", flush=True)


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
    p = wilcoxon_p(ours, theirs)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="few problems, 0.1 and 1 s: 10 minutes"
    )
    parser.add_argument("--suites", nargs="+", default=SUITES, choices=suites.SUITES)
    parser.add_argument("--budgets", type=float, nargs="+", metavar="SECONDS")
    parser.add_argument("--stride", type=int, metavar="N", help="every N-th problem only")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="turns on each problem")
    parser.add_argument("--ray", metavar="ADDRESS", help="of a cluster: HOST:PORT, auto, local:N")
    parser.add_argument("--json", type=Path, help="keep what is finished, and go on from there")
    parser.add_argument("--csv", type=Path, help="write one line per problem, budget, contestant")
    parser.add_argument("--picture", type=Path, help="write a PNG: profiles and mean ratios")
    parser.add_argument("--curve", type=Path, help="write a PNG: mean ratios against time")
    options = parser.parse_args()
    budgets = options.budgets or list(QUICK_BUDGETS if options.quick else BUDGETS)
    stride = options.stride if options.stride is not None else QUICK_STRIDE if options.quick else 1
    if min(stride, options.seeds) < 1 or min(budgets) <= 0:
        parser.error("a stride and seeds are whole numbers >= 1, a budget is a number > 0")
    settings = {
        "suites": list(options.suites),
        "budgets": budgets,
        "stride": stride,
        "seeds": options.seeds,
        "contestants": list(contestants()),
    }
    try:
        record = Record(options.json, settings)
    except ValueError as error:
        parser.error(str(error))
    play(record, options.suites, budgets, stride, options.seeds, options.ray)
    show(record.meetings, budgets)
    if options.csv is not None:
        write_text(options.csv, to_csv(record.meetings))
    if options.picture is not None:
        write_bytes(options.picture, picture(record.meetings, budgets))
    if options.curve is not None:
        write_bytes(options.curve, curve(record.meetings, budgets))


if __name__ == "__main__":
    main()
