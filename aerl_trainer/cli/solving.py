"""``aerl solve``: short schedules of problems in files."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import tyro

from aerl_trainer import __version__
from aerl_trainer.cli.options import UNSAID, Machines, as_json, check_limits, described
from aerl_trainer.config.run import MOST_ACTORS
from aerl_trainer.solving.batch import solve_here, solve_there
from aerl_trainer.solving.solutions import Solution, print_solution, print_solutions, record_of
from dagsched_env.cli.machines import read_problems, say_machines
from dagsched_env.cli.outputs import (
    CHARTS,
    JSON,
    check_distinct,
    check_not_read,
    check_output,
    output_places,
)
from dagsched_env.io.atomic import write_text
from dagsched_env.io.journal import Journal, digest
from dagsched_env.kernels.interrupts import interrupts
from dagsched_env.problem.errors import DAGSchedError


class Outputs(NamedTuple):
    """Where the results go."""

    schedules: list[Path]
    """One for each problem, or none."""
    charts: list[Path]
    table: Path | None


@described
def solve(
    files: tyro.conf.Positional[Annotated[tuple[str, ...], tyro.conf.arg(metavar="FILE ...")]],
    checkpoint: str = "auto",
    simulations: int | None = None,
    budget: float | None = None,
    target: float | None = None,
    patience: float | None = None,
    actors: int = 1,
    anneal: bool = True,
    seed: int = 0,
    ray: str | None = None,
    journal: Path | None = None,
    out: Path | None = None,
    gantt: Path | None = None,
    json: Path | None = None,
    machines: Machines = UNSAID,
) -> None:
    """Find short schedules. Ctrl-C gives the best schedule so far.

    Args:
        files: of any format that dagsched reads, folders of them, or names of bundled traces
            (montage, ...) or classic job shops (ta21, ...).
        checkpoint: a run directory, a checkpoint in it, a .safetensors file, or the name of a
            shipped policy, such as default or cholesky; auto takes the shipped policy that fits the
            problem best, none takes none.
        simulations: stop each after this many (default 10000, unless --budget is given).
        budget: stop each after this many seconds.
        target: stop when the makespan is at most this.
        patience: stop after this many seconds without an improvement.
        actors: races at the same time, one core each, and processes that share a long search.
        anneal: improve the tree's best schedule by a race of searches in most of the time.
        seed: of all randomness.
        ray: solve all at once on a Ray cluster, one on a core: HOST:PORT, auto, or local:N for N
            nodes on this machine.
        journal: append each result to this file as it comes; a later call with the same options
            goes on with it.
        out: write the schedule as JSON; of several problems into this folder, one file each.
        gantt: write its Gantt chart as PNG, SVG, PDF or HTML; of several problems PNG into this
            folder.
        json: write results of all problems to this file: makespans, bounds, traces.
        machines: for files that describe no processors.
    """
    if not files:
        raise DAGSchedError("no FILE to solve: name one, or a bundled trace such as montage")
    if ray is not None and actors > 1:
        raise DAGSchedError("--actors is for one machine: on a cluster each FILE has one core")
    if actors > MOST_ACTORS:
        raise DAGSchedError(f"--actors is {actors}: give at most {MOST_ACTORS}")
    if seed < 0:
        raise DAGSchedError(f"--seed is {seed}: give a whole number >= 0")
    check_limits(
        budget=budget, simulations=simulations, target=target, patience=patience, actors=actors
    )
    inputs = (*files, machines.machines, machines.times)
    check_output("--json", json, JSON, inputs)
    if journal is not None:
        check_not_read("--journal", journal, inputs)
    read = read_problems(files, machines)
    problems = [(problem.path, problem.instance) for problem in read]
    names = [problem.path for problem in read]
    outputs = Outputs(
        output_places("--out", out, names, JSON, inputs),
        output_places("--gantt", gantt, names, CHARTS, inputs),
        json,
    )
    check_distinct(
        ("--json", json),
        ("--journal", journal),
        *(("--out", place) for place in outputs.schedules),
        *(("--gantt", place) for place in outputs.charts),
    )
    say_machines(read, machines, program="aerl")
    options: dict[str, Any] = {
        "budget_s": budget,
        "simulations": simulations,
        "target": target,
        "patience_s": patience,
        "anneal": anneal,
        "seed": seed,
    }
    chosen = None if checkpoint == "none" else checkpoint
    of_results = {**options, "checkpoint": checkpoint, "actors": actors}
    contents = digest(Path(checkpoint))
    record = Journal(journal, {**of_results, "contents": contents, "version": __version__})
    if ray is None:
        found = solve_here(problems, record, checkpoint=chosen, actors=actors, **options)
    else:
        found = solve_there(ray, problems, record, checkpoint=chosen, **options)
    solutions, interrupted = _until_interrupted(found)
    if not solutions:
        raise KeyboardInterrupt
    solutions.sort(key=lambda solution: names.index(solution.name))
    _show(solutions, names, outputs)
    if interrupted:
        if left := [name for name in names if name not in {s.name for s in solutions}]:
            print(f"aerl: interrupted: not solved: {', '.join(left)}", file=sys.stderr)
        raise KeyboardInterrupt


def _until_interrupted(found: Iterable[Solution]) -> tuple[list[Solution], bool]:
    """The solutions, and whether Ctrl-C has come; what it has ended is the last one."""
    solutions: list[Solution] = []
    try:
        with interrupts():
            for solution in found:
                solutions.append(solution)
                if solution.result.stopped_by == "interrupt":
                    return solutions, True
    except KeyboardInterrupt:
        return solutions, True
    return solutions, False


def _show(solutions: Sequence[Solution], names: Sequence[str], outputs: Outputs) -> None:
    """On the terminal and in files; ``names`` are those of all problems, in their order."""
    if len(names) == 1:
        print_solution(solutions[0])
    else:
        print_solutions(solutions)
    if outputs.table is not None:
        write_text(outputs.table, as_json([record_of(solution) for solution in solutions]))
    for solution in solutions:
        schedule, i = solution.result.schedule, names.index(solution.name)
        if outputs.schedules:
            write_text(outputs.schedules[i], schedule.to_json(solution.instance))
            print(f"schedule      {outputs.schedules[i]}")
        if outputs.charts:
            schedule.plot(outputs.charts[i], solution.instance)
            print(f"Gantt chart   {outputs.charts[i]}")
