"""``aerl train``: a run, the tables and pictures that it ends with, and what to do next."""

import dataclasses
import shlex
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console

from aerl_trainer import config as settings
from aerl_trainer.cli.evaluating import HELDOUT, Settings, compare, record, title
from aerl_trainer.cli.online_training import train_dispatcher
from aerl_trainer.cli.options import UNSAID, Machines, Specs, as_json, described
from aerl_trainer.config import Config, ConfigError, CurriculumConfig
from aerl_trainer.run.launch import new_run_directory, with_machines, with_specs
from aerl_trainer.run.problems import listed
from aerl_trainer.run.records import TrainingResult
from aerl_trainer.run.reporting import RunDirectory, Section, learning_curve, write_report
from aerl_trainer.run.training import train as run_training
from aerl_trainer.solving.evaluation import example_of, examples
from aerl_trainer.solving.loading import load_trained
from dagsched_env import io
from dagsched_env.io.atomic import write_text
from dagsched_env.pictures.labels import one_line
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.sources import specs

GANTT_TRACE = "montage"
TRAINED_ON = "trained on"
"""Names the problems where there are too few for a test."""
LIST = ("list", f"{specs.PREFIX}list")


@described
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
    online: bool = False,
) -> None:
    """Train a policy, then compare it with classic schedulers on problems it has not seen.

    Args:
        config: TOML file of settings; what it leaves out keeps its default.
        algorithm: aerl trains the fast policy, and a network if the settings say so; reinforce
            trains an attention model (Kool et al. 2019), for a comparison. Default: as in --config,
            or aerl.
        minutes: training time; default: as in --config, or 5.
        run_dir: where everything is written; default runs/aerl-DATE-TIME.
        resume: go on from the last checkpoint of --run-dir, with its settings.
        actors: search processes, or threads that draw schedules where no trees are searched;
            default: as in --config, or 2.
        seed: of all randomness; default: as in --config, or 0.
        ray: search and roll out on a Ray cluster: HOST:PORT, auto, or local:N for N nodes on this
            machine.
        instances: the problems: files, folders, suite:NAME, family:NAME?parameter=value&..., or
            module:function, a generator of yours; "list" prints all families and their parameters.
            Parts of them are kept for validation and for the tables at the end. Default: a mixture
            of families.
        validate: problems for validation, instead of a part of --instances.
        set: any setting, as in: --set search.budget=300 learner.learning_rate=0.0003; "list" prints
            all settings.
        machines: for files that describe no processors.
        online: train the dispatcher "learned" of dagsched simulate instead, for runs that go on by
            events; it takes --minutes, --run-dir, --seed and --resume alone.
    """
    if online:
        others = {
            "config": config,
            "algorithm": algorithm,
            "actors": actors,
            "ray": ray,
            "instances": instances,
            "validate": validate,
            "set": set,
            "machines": None if machines == UNSAID else machines,
        }
        _refuse([name for name, value in others.items() if value not in (None, ())])
        train_dispatcher(minutes, run_dir, resume, seed)
        return
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


def _refuse(options: list[str]) -> None:
    """Raise an error that names an option which ``--online`` does not take, if there is one."""
    if options:
        raise DAGSchedError(
            f"--{options[0]} does not go with --online, which takes --minutes, --run-dir, --seed "
            "and --resume"
        )


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

    The problems are those that the SPECs of the run have left for the test, or the suite.
    """
    policy, run = load_trained(directory.path), config.run
    sets = {"test" if result.test_is_new else TRAINED_ON: result.test} if result.test else {}
    if not sets or config.curriculum == CurriculumConfig():
        sets[HELDOUT] = tuple(listed([HELDOUT], count=1, seed=0))
    chosen = Settings(run.evaluation_simulations, run.evaluation_budget_s, run.seed)
    evaluations = {
        name: compare(name, instances, policy, chosen, console) for name, instances in sets.items()
    }
    results = {name: record(evaluation) for name, evaluation in evaluations.items()}
    write_text(directory.results_file, as_json(results))
    learning_curve(directory.metrics_file, directory.learning_curve)
    trace = result.test[0] if result.test else io.load(GANTT_TRACE, platform=io.RandomPlatform())
    best = example_of(trace, policy, simulations=run.evaluation_simulations, seed=run.seed)
    best.plot(directory.gantt, trace)
    sections = [
        Section(
            title(name, instances, chosen),
            evaluations[name].rows,
            examples(
                instances,
                evaluations[name],
                policy,
                simulations=chosen.simulations,
                seed=chosen.seed,
            ),
            evaluations[name].assumptions,
        )
        for name, instances in sets.items()
    ]
    write_report(directory, config, result.steps, sections)
    console.print(f"learning curve  {directory.learning_curve}")
    console.print(f"Gantt chart     {directory.gantt}  ({one_line(trace.name or '-')})")
    console.print(f"report          {directory.report}")


def _say_what_next(directory: RunDirectory, config: Config, console: Console) -> None:
    path = shlex.quote(str(directory.path))
    use = f"aerl solve montage --checkpoint {path} --gantt montage.png"
    if config.run.algorithm == "reinforce":  # which guides no search
        use = f"dagsched schedule montage --scheduler policy --checkpoint {path}"
    console.print("next:", style="bold")
    for command in (
        f"aerl train --resume --run-dir {path} --minutes 10",
        f"aerl evaluate --checkpoint {path}",
        use,
        f"tensorboard --logdir {shlex.quote(str(directory.tensorboard))}",
    ):
        console.print(f"  {command}", highlight=False, soft_wrap=True)
