"""``aerl``: train, evaluate, solve."""

import dataclasses
import json
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, cast

import tyro
from rich.console import Console
from rich.progress import track

from aerl_trainer import __version__
from aerl_trainer import config as settings
from aerl_trainer.config import Config, ConfigError
from aerl_trainer.evaluation import SUITES
from aerl_trainer.evaluation import evaluate as evaluate_policies
from aerl_trainer.launch import new_run_directory, with_specs
from aerl_trainer.learning.learner import make_network
from aerl_trainer.policies import Policy, load_policy
from aerl_trainer.reporting import RunDirectory, learning_curve, print_table
from aerl_trainer.runtime.warm_up import warm_up as compile_kernels
from aerl_trainer.solver import solve as solve_instance
from aerl_trainer.training import TrainingResult
from aerl_trainer.training import train as run_training
from dagsched_env import io, specs, suites
from dagsched_env.compare import Row
from dagsched_env.errors import DAGSchedError
from dagsched_env.instance import Instance
from dagsched_env.io.atomic import write_text

__all__ = ["main"]

EXIT_ERROR, EXIT_INTERRUPTED = 2, 130
GANTT_TRACE = "montage"
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
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments == ["--version"]:
        print(f"aerl {__version__}")
        return 0
    try:
        app.cli(
            prog="aerl",
            description="AERL-DS: search and learning for DAG scheduling. "
            "aerl --version prints the version.",
            args=arguments,
            sort_subcommands=False,
        )
    except (DAGSchedError, OSError) as error:
        print(f"aerl: error: {_one_line(error)}", file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return 0


@app.command
def train(
    config: Path | None = None,
    minutes: float | None = None,
    run_dir: Path | None = None,
    resume: bool = False,
    actors: int | None = None,
    seed: int | None = None,
    instances: Specs = (),
    validate: Specs = (),
    set: Annotated[tuple[str, ...], tyro.conf.arg(metavar="KEY=VALUE ...")] = (),
) -> None:
    """Train a network, then compare it with classic schedulers on problems it has not seen.

    Args:
        config: TOML file of settings; what it leaves out keeps its default.
        minutes: training time.
        run_dir: where everything is written; default runs/aerl-DATE-TIME.
        resume: go on from the last checkpoint of --run-dir, with its settings.
        actors: search processes.
        seed: of all randomness.
        instances: the problems: files, folders, suite:NAME, family:NAME?parameter=value&...; "list"
            prints all families and their parameters. Parts of them are kept for validation and for
            the tables at the end. Default: random graphs of growing size.
        validate: problems for validation, instead of a part of --instances.
        set: any setting, as in: --set search.budget=300 learner.learning_rate=0.0003
    """
    if any(spec in LIST for spec in instances + validate):
        print(specs.table())
        return
    directory = RunDirectory(run_dir or new_run_directory())
    if resume and not directory.holds_run:
        raise DAGSchedError(f"{directory.path} holds no run to resume; give its --run-dir")
    source = directory.config_file if resume and config is None else config
    flags = {"minutes": minutes, "actors": actors, "seed": seed}
    chosen = _settings(source, set, {k: v for k, v in flags.items() if v is not None})
    chosen = with_specs(chosen, instances, validate)
    result = run_training(chosen, directory, resume=resume)
    console = Console()
    if result.interrupted:
        console.print(f"interrupted at step {result.steps}; a checkpoint is saved")
    else:
        _final_report(chosen, directory, result, console)
    _say_what_next(directory, console)


@app.command
def evaluate(
    checkpoint: Path,
    suite: tuple[str, ...] = SUITES,
    simulations: int = 1000,
    seed: int = 0,
) -> None:
    """Compare a trained network with classic schedulers and with its untrained self.

    Args:
        checkpoint: a run directory or a checkpoint in it.
        suite: names of suites, or files of instances.
        simulations: per instance.
        seed: of the searches.
    """
    policy = load_policy(checkpoint)
    names = [name for name in suite if name in suites.SUITES]
    files = [name for name in suite if name not in suites.SUITES]
    sets = {name: suites.load(name) for name in names}
    if files:
        sets["files"] = [io.load(file) for file in files]
    console = Console()
    for name, instances in sets.items():
        rows = _compare(name, instances, policy, simulations, seed, console)
        print_table(rows, _title(name, len(instances), simulations), console=console)


@app.command
def solve(
    file: tyro.conf.Positional[str],
    checkpoint: Path | None = None,
    simulations: int | None = None,
    budget: float | None = None,
    actors: int = 1,
    anneal: bool = True,
    seed: int = 0,
    out: Path | None = None,
    gantt: Path | None = None,
) -> None:
    """Find a short schedule for one problem.

    Args:
        file: own JSON, a WfFormat trace, or the name of a bundled trace (montage, ...).
        checkpoint: a run directory or a checkpoint in it; without one the search is unguided.
        simulations: stop after this many (default 10000, unless --budget is given).
        budget: stop after this many seconds.
        actors: processes that share the search tree, and chains of annealing after it.
        anneal: improve the tree's best schedule by annealing in part of the time.
        seed: of all randomness.
        out: write the schedule as JSON.
        gantt: write a Gantt chart as PNG, SVG, PDF or HTML.
    """
    instance = io.load(file)
    result = solve_instance(
        instance,
        budget_s=budget,
        simulations=simulations,
        actors=actors,
        checkpoint=checkpoint,
        anneal=anneal,
        seed=seed,
    )
    result.schedule.validate(instance)
    print(f"makespan      {result.makespan:.6g}  (SLR {result.schedule.slr(instance):.4f})")
    proved = "  (optimal: proved)" if result.optimal else ""
    print(f"lower bound   {result.lower_bound:.6g}{proved}")
    print(f"simulations   {result.simulations} in {result.elapsed_s:.2f} s")
    if out is not None:
        write_text(out, result.schedule.to_json())
        print(f"schedule      {out}")
    if gantt is not None:
        result.schedule.plot(gantt, instance)
        print(f"Gantt chart   {gantt}")


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
            raise ConfigError(f"--set {override}: no such setting; write section.key=value")
        try:
            record[section][name] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            record[section][name] = text
    record["run"].update(flags)
    return settings.from_dict(record)


def _final_report(
    config: Config, directory: RunDirectory, result: TrainingResult, console: Console
) -> None:
    """Tables, the learning curve and a Gantt chart, on screen and in the run.

    The problems are those that the SPECs of the run have left for the test, or both suites.
    """
    policy = load_policy(directory.path)
    simulations = config.run.evaluation_simulations
    names = ["test"] if result.test else SUITES
    results = {}
    for name in names:
        instances = result.test or suites.load(name)
        rows = _compare(name, instances, policy, simulations, config.run.seed, console)
        print_table(rows, _title(name, len(instances), simulations), console=console)
        results[name] = [dataclasses.asdict(row) for row in rows]
    write_text(directory.path / "results.json", json.dumps(results, indent=2) + "\n")
    learning_curve(directory.metrics_file, directory.path / "learning_curve.png")
    trace = result.test[0] if result.test else io.load(GANTT_TRACE)
    best = solve_instance(trace, simulations=simulations, checkpoint=policy, seed=config.run.seed)
    best.schedule.plot(directory.path / "gantt.png", trace)
    console.print(f"learning curve  {directory.path / 'learning_curve.png'}")
    console.print(f"Gantt chart     {directory.path / 'gantt.png'}  ({trace.name})")


def _compare(
    name: str,
    instances: Sequence[Instance],
    policy: Policy,
    simulations: int,
    seed: int,
    console: Console,
) -> list[Row]:
    """The rows of one table, with a progress bar while they are made."""
    untrained = Policy(make_network(policy.config), policy.config, 1.0)
    policies = {"untrained network + search": untrained, "trained network + search": policy}
    steps = iter(
        track(
            range(len(instances) * (len(policies) + 2)),
            description=f"evaluating {name}",
            console=console,
            transient=True,
        )
    )
    return evaluate_policies(
        instances,
        policies,
        simulations=simulations,
        seed=seed,
        progress=lambda _done, _total: cast(None, next(steps, None)),
    )


def _title(suite: str, count: int, simulations: int) -> str:
    return f"{suite}: {count} instances, {simulations} simulations each"


def _say_what_next(directory: RunDirectory, console: Console) -> None:
    path = directory.path
    console.print("next:", style="bold")
    for command in (
        f"aerl train --resume --run-dir {path} --minutes 10",
        f"aerl evaluate --checkpoint {path}",
        f"aerl solve montage --checkpoint {path} --gantt montage.png",
        f"tensorboard --logdir {path / 'tb'}",
    ):
        console.print(f"  {command}", highlight=False, soft_wrap=True)


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    return " ".join(str(error).split())
