"""``aerl``: train, evaluate, solve."""

import contextlib
import dataclasses
import sys
import tomllib
import warnings
from collections.abc import Iterator, Sequence
from json import dumps
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import tyro
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from aerl_trainer import __version__
from aerl_trainer import config as settings
from aerl_trainer.batch import solve_here, solve_there
from aerl_trainer.config import Config, ConfigError, CurriculumConfig
from aerl_trainer.evaluation import Evaluation, example_of, examples
from aerl_trainer.evaluation import evaluate as evaluate_policy
from aerl_trainer.launch import new_run_directory, with_machines, with_specs
from aerl_trainer.policies import DamageWarning, Trained, load_trained
from aerl_trainer.problems import listed
from aerl_trainer.reporting import (
    RunDirectory,
    Section,
    learning_curve,
    print_table,
    write_report,
)
from aerl_trainer.runtime.fleet import FleetError
from aerl_trainer.runtime.supervisor import SearchPoolError
from aerl_trainer.runtime.warm_up import warm_up as compile_kernels
from aerl_trainer.solutions import Solution, print_solution, print_solutions, record_of
from aerl_trainer.training import TrainingResult
from aerl_trainer.training import train as run_training
from dagsched_env import io, specs
from dagsched_env.cli.compilation import announced_compilation
from dagsched_env.cli.machines import MachineFlags, assumptions_on_stderr, read_problem
from dagsched_env.cli.outputs import CHARTS, JSON, check_not_read, check_output, output_places
from dagsched_env.cli.terminal import leave_unread, print_any_text
from dagsched_env.errors import DAGSchedError
from dagsched_env.instance import Instance
from dagsched_env.io.atomic import write_text
from dagsched_env.io.journal import Journal, digest
from dagsched_env.render.labels import one_line

__all__ = ["main"]

EXIT_ERROR, EXIT_INTERRUPTED = 2, 130
REPEATED = ("--instances", "--set", "--validate")
"""Options of many values, which may be given more than once."""
GANTT_TRACE = "montage"
HELDOUT = "suite:heldout"
UNSAID = MachineFlags()
Machines = tyro.conf.OmitArgPrefixes[MachineFlags]
LIST = ("list", f"{specs.PREFIX}list")
Specs = Annotated[tuple[str, ...], tyro.conf.arg(metavar="SPEC ...")]

app = tyro.extras.SubcommandApp()


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: the arguments without the program's name; ``sys.argv`` when None.

    Returns:
        The exit code: 0, or 2 after a one-line error on stderr, or 130 after Ctrl-C.
    """
    print_any_text()
    arguments = joined(sys.argv[1:] if argv is None else argv)
    try:
        with _damage_on_stderr(), assumptions_on_stderr("aerl"), announced_compilation("aerl"):
            if arguments == ["--version"]:
                print(f"aerl {__version__}")
            else:
                app.cli(
                    prog="aerl",
                    description="AERL-DS: search and learning for DAG scheduling. "
                    "aerl --version prints the version.",
                    args=arguments,
                    sort_subcommands=False,
                )
            sys.stdout.flush()  # within reach of the errors below
    except BrokenPipeError:
        leave_unread()
    except (DAGSchedError, OSError, FleetError, SearchPoolError) as error:
        print(f"aerl: error: {_one_line(error)}", file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return 0


def joined(arguments: Sequence[str]) -> list[str]:
    """The arguments with a repeated option of many values once, with the values of all.

    ``--set a=1 --set b=2`` is ``--set a=1 b=2``; otherwise the last one alone would count.
    """
    kept: list[str] = []
    values: dict[str, list[str]] = {}
    current = kept
    for argument in arguments:
        if argument.startswith("--"):
            option, _, value = argument.partition("=")
            if option not in REPEATED:
                current = kept
                kept.append(argument)
                continue
            current = values.setdefault(option, [])
            current += [value] if value else []
        else:
            current.append(argument)
    return [*kept, *(word for option, these in values.items() for word in (option, *these))]


@app.command
def train(
    config: Path | None = None,
    algorithm: Literal["aerl", "reinforce"] | None = None,
    minutes: float | None = None,
    run_dir: Path | None = None,
    resume: bool = False,
    actors: int | None = None,
    seed: int | None = None,
    ray: str | None = None,
    instances: Specs = (),
    validate: Specs = (),
    set: Annotated[tuple[str, ...], tyro.conf.arg(metavar="KEY=VALUE ...")] = (),
    machines: Machines = UNSAID,
) -> None:
    """Train a policy, then compare it with classic schedulers on problems it has not seen.

    Args:
        config: TOML file of settings; what it leaves out keeps its default.
        algorithm: aerl trains the fast policy, and a network if the settings say so; reinforce
            trains an attention model (Kool et al. 2019), for a comparison.
        minutes: training time.
        run_dir: where everything is written; default runs/aerl-DATE-TIME.
        resume: go on from the last checkpoint of --run-dir, with its settings.
        actors: search processes.
        seed: of all randomness.
        ray: search and roll out on a Ray cluster: HOST:PORT, auto, or local:N for N nodes on this
            machine.
        instances: the problems: files, folders, suite:NAME, family:NAME?parameter=value&...; "list"
            prints all families and their parameters. Parts of them are kept for validation and for
            the tables at the end. Default: a mixture of families.
        validate: problems for validation, instead of a part of --instances.
        set: any setting, as in: --set search.budget=300 learner.learning_rate=0.0003; "list" prints
            all settings.
        machines: for files that describe no processors.
    """
    if any(spec in LIST for spec in instances + validate):
        print(specs.table())
        return
    if "list" in set:
        print(settings.listing())
        return
    directory = RunDirectory(run_dir or new_run_directory())
    if resume and not directory.holds_run:
        raise DAGSchedError(f"{directory.path} holds no run to resume; give its --run-dir")
    source = directory.config_file if resume and config is None else config
    flags = {"algorithm": algorithm, "minutes": minutes, "actors": actors, "seed": seed}
    chosen = _settings(source, set, {k: v for k, v in flags.items() if v is not None})
    if ray is not None:
        chosen = dataclasses.replace(chosen, ray=dataclasses.replace(chosen.ray, address=ray))
    chosen = with_specs(chosen, *with_machines([instances, validate], machines))
    console = Console(markup=False)
    with directory.hold():
        result = run_training(chosen, directory, resume=resume)
        if result.interrupted:
            console.print(f"interrupted at step {result.steps}; a checkpoint is saved")
        else:
            _final_report(chosen, directory, result, console)
    _say_what_next(directory, chosen, console)


@app.command
def evaluate(
    checkpoint: Path,
    instances: Specs = (HELDOUT,),
    count: int = 40,
    simulations: int = 1000,
    budget: float = 0.1,
    seed: int = 0,
    out: Annotated[Path | None, tyro.conf.arg(name="json")] = None,
    machines: Machines = UNSAID,
) -> None:
    """Compare a trained policy with classic schedulers and with search and solve without it.

    Args:
        checkpoint: a run directory or a checkpoint in it.
        instances: the problems, as for `aerl train`: files, folders, suite:NAME,
            family:NAME?parameter=value&..., all in one table.
        count: problems to draw of each family.
        simulations: of a search, per instance.
        budget: seconds of solve, per instance, with the policy and without.
        seed: of families, samples and searches.
        out: write the table to this file.
        machines: for files that describe no processors.
    """
    check_output("--json", out, JSON, (*instances, machines.machines))
    policy = load_trained(checkpoint)
    (chosen_specs,) = with_machines([instances], machines)
    problems = listed(chosen_specs, count=count, seed=seed)
    chosen = Settings(simulations, budget, seed)
    evaluation = _compare(" ".join(instances), problems, policy, chosen, Console(markup=False))
    if out is not None:
        write_text(out, _as_json(_record(evaluation)))


@app.command
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
        files: of any format that dagsched reads, or names of bundled traces (montage, ...).
        checkpoint: a run directory or a checkpoint in it, or the name of a shipped policy; auto
            takes the shipped policy that fits the problem best, none takes none.
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
        out: write the schedule as JSON; with several FILEs into this folder, one file each.
        gantt: write its Gantt chart as PNG, SVG, PDF or HTML; with several FILEs PNG into this
            folder.
        json: write results of all problems to this file: makespans, bounds, traces.
        machines: for files that describe no processors.
    """
    inputs = (*files, machines.machines)
    if not files:
        raise DAGSchedError("no FILE to solve: name one, or a bundled trace such as montage")
    schedules = output_places("--out", out, files, JSON, inputs)
    charts = output_places("--gantt", gantt, files, CHARTS, inputs)
    check_output("--json", json, JSON, inputs)
    if journal is not None:
        check_not_read("--journal", journal, inputs)
    if ray is not None and actors > 1:
        raise DAGSchedError("--actors is for one machine: on a cluster each FILE has one core")
    problems = [(file, read_problem(file, machines, program="aerl")[0]) for file in files]
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
    record = Journal(journal, {**of_results, "contents": digest(Path(checkpoint))})
    if ray is None:
        found = solve_here(problems, record, checkpoint=chosen, actors=actors, **options)
    else:
        found = solve_there(ray, problems, record, checkpoint=chosen, **options)
    solutions: list[Solution] = []
    interrupted = False
    try:
        for solution in found:
            solutions.append(solution)
            if interrupted := solution.result.stopped_by == "interrupt":
                break
    except KeyboardInterrupt:
        interrupted = True
    if not solutions:
        raise KeyboardInterrupt
    solutions.sort(key=lambda solution: files.index(solution.name))
    if len(files) == 1:
        print_solution(solutions[0])
    else:
        print_solutions(solutions)
    if json is not None:
        write_text(json, _as_json([record_of(solution) for solution in solutions]))
    for solution in solutions:
        schedule, place = solution.result.schedule, files.index(solution.name)
        if schedules:
            write_text(schedules[place], schedule.to_json())
            print(f"schedule      {schedules[place]}")
        if charts:
            schedule.plot(charts[place], solution.instance)
            print(f"Gantt chart   {charts[place]}")
    if interrupted:
        if left := [file for file in files if file not in {s.name for s in solutions}]:
            print(f"aerl: interrupted: not solved: {', '.join(left)}", file=sys.stderr)
        raise KeyboardInterrupt


@app.command(name="warm-up")
def warm_up() -> None:
    """Compile all numeric kernels into the cache on disk, so that later commands start at once."""
    compile_kernels()


def _settings(source: Path | None, overrides: tuple[str, ...], flags: dict[str, Any]) -> Config:
    """Defaults, then the file, then ``--set``, then the flags of ``[run]``."""
    record = settings.to_dict(Config() if source is None else settings.load(source))
    for override in overrides:
        key, separator, text = override.partition("=")
        section, _, name = key.partition(".")
        if not separator or name not in record.get(section, {}):
            raise ConfigError(
                f"--set {override}: no such setting; write section.key=value "
                "(--set list prints all)"
            )
        try:
            record[section][name] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            record[section][name] = text
    record["run"].update(flags)
    return settings.from_dict(record)


def _final_report(
    config: Config, directory: RunDirectory, result: TrainingResult, console: Console
) -> None:
    """Tables, the learning curve, a Gantt chart and the report, on screen and in the run.

    The problems are those that the SPECs of the run have left for the test, or both suites.
    """
    policy, run = load_trained(directory.path), config.run
    sets = {"test": result.test} if result.test else {}
    if not sets or config.curriculum == CurriculumConfig():
        sets[HELDOUT] = tuple(listed([HELDOUT], count=1, seed=0))
    chosen = Settings(run.evaluation_simulations, run.evaluation_budget_s, run.seed)
    evaluations = {
        name: _compare(name, instances, policy, chosen, console) for name, instances in sets.items()
    }
    results = {name: _record(evaluation) for name, evaluation in evaluations.items()}
    write_text(directory.results_file, _as_json(results))
    learning_curve(directory.metrics_file, directory.learning_curve)
    trace = result.test[0] if result.test else io.load(GANTT_TRACE, platform=io.RandomPlatform())
    best = example_of(trace, policy, simulations=run.evaluation_simulations, seed=run.seed)
    best.plot(directory.gantt, trace)
    sections = [
        Section(
            _title(name, instances, chosen),
            evaluations[name].rows,
            examples(
                instances,
                evaluations[name],
                policy,
                simulations=chosen.simulations,
                seed=chosen.seed,
            ),
        )
        for name, instances in sets.items()
    ]
    write_report(directory, config, result.steps, sections)
    console.print(f"learning curve  {directory.learning_curve}")
    console.print(f"Gantt chart     {directory.gantt}  ({one_line(trace.name or '-')})")
    console.print(f"report          {directory.report}")


class Settings(NamedTuple):
    """Of an evaluation."""

    simulations: int
    budget_s: float
    seed: int


def _compare(
    name: str,
    instances: Sequence[Instance],
    policy: Trained,
    chosen: Settings,
    console: Console,
) -> Evaluation:
    """Evaluate with a progress bar, and print the table."""
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(escape(f"evaluating on {one_line(name)}"))
        evaluation = evaluate_policy(
            instances,
            policy,
            **chosen._asdict(),
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    print_table(evaluation.rows, _title(name, instances, chosen), console=console)
    return evaluation


def _title(name: str, instances: Sequence[Instance], chosen: Settings) -> str:
    """Of a table."""
    return (
        f"{name}: {len(instances)} instances; search {chosen.simulations} simulations, "
        f"solve {chosen.budget_s:g} s each"
    )


def _record(evaluation: Evaluation) -> dict[str, Any]:
    """As it is written to files."""
    return {"rows": [dataclasses.asdict(row) for row in evaluation.rows]}


def _as_json(value: object) -> str:
    return dumps(value, indent=2) + "\n"


def _say_what_next(directory: RunDirectory, config: Config, console: Console) -> None:
    path = directory.path
    use = f"aerl solve montage --checkpoint {path} --gantt montage.png"
    if config.run.algorithm == "reinforce":  # which guides no search
        use = f"dagsched schedule montage --scheduler policy --checkpoint {path}"
    console.print("next:", style="bold")
    for command in (
        f"aerl train --resume --run-dir {path} --minutes 10",
        f"aerl evaluate --checkpoint {path}",
        use,
        f"tensorboard --logdir {path / 'tb'}",
    ):
        console.print(f"  {command}", highlight=False, soft_wrap=True)


@contextlib.contextmanager
def _damage_on_stderr() -> Iterator[None]:
    """Within, a ``DamageWarning`` is one line on stderr."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", DamageWarning)
        show = warnings.showwarning

        def show_on_stderr(message: Warning | str, *others: Any, **named: Any) -> None:
            if isinstance(message, DamageWarning):
                print(f"aerl: {message}", file=sys.stderr)
            else:
                show(message, *others, **named)

        warnings.showwarning = show_on_stderr
        yield


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())
