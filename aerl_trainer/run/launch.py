"""From a source of problems to the settings of a run, and to the run."""

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from aerl_trainer import config as settings
from aerl_trainer.config import Config, LevelConfig
from aerl_trainer.run.problems import PYTHON
from aerl_trainer.run.records import TrainingResult
from aerl_trainer.run.reporting import RunDirectory
from aerl_trainer.run.training import train as run_training
from dagsched_env import io
from dagsched_env.io import MachineOptions
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.workflow import Workflow
from dagsched_env.sources import SUITE_PREFIX, Draw, Instances, names_function, specs

__all__ = ["TrainedRun", "new_run_directory", "train", "with_machines", "with_specs"]

ONLY_LEVEL = 1.0
"""Threshold of a level that is never left."""


class TrainedRun(NamedTuple):
    """A run, and how it ended."""

    directory: Path
    """Of the run; ``solve`` takes it as its checkpoint."""
    result: TrainingResult


def train(
    source: Instances | None = None,
    *,
    minutes: float | None = None,
    run_dir: str | Path | None = None,
    config: Config | None = None,
    validate: Instances | None = None,
    actors: int | None = None,
    seed: int | None = None,
    resume: bool = False,
) -> TrainedRun:
    """Train a policy on any problems, as ``aerl train --instances`` does, without its tables.

    SPECs and instances are recorded in the run, so that it can be resumed without them. Functions
    cannot be recorded: a run with one is resumed with the same ``source`` again. With more than one
    actor, call this under ``if __name__ == "__main__"``, as the processes import the main module.

    Args:
        source: an ``Instance``, a SPEC, a function ``rng -> Instance``, or a list of them; see
            ``dagsched_env.sources``. None: the levels of ``config``.
        minutes: training time.
        run_dir: where everything is written; default runs/aerl-DATE-TIME.
        config: all other settings; default: those of the run that is resumed, or the defaults.
        validate: validation set, in the forms of ``source``; None splits it off.
        actors: search processes, or threads that draw schedules where no trees are searched.
        seed: of all randomness.
        resume: go on from the last checkpoint of ``run_dir``.

    Raises:
        DAGSchedError: the source cannot be resolved, or a setting is wrong.
    """
    directory = RunDirectory(new_run_directory() if run_dir is None else run_dir)
    if directory.holds_run != resume:
        raise DAGSchedError(
            f"{directory.path} holds no run to resume"
            if resume
            else f"{directory.path} holds a run already: resume it, or choose another directory"
        )
    with directory.hold():
        if config is None:
            config = settings.load(directory.config_file) if resume else Config()
        given = {"minutes": minutes, "actors": actors, "seed": seed}
        changes = {name: value for name, value in given.items() if value is not None}
        config = dataclasses.replace(config, run=dataclasses.replace(config.run, **changes))  # type: ignore[arg-type]
        functions: dict[str, Draw] = {}
        config = with_specs(
            config,
            _specs_of(source, directory.path, functions),
            _specs_of(validate, directory.path, functions),
        )
        result = run_training(config, directory, resume=resume, functions=functions)
    return TrainedRun(directory.path, result)


def with_specs(config: Config, instances: Sequence[str], validate: Sequence[str] = ()) -> Config:
    """The settings with these problems; files by their absolute paths.

    Args:
        config: all other settings.
        instances: SPECs, which become the only level; without any the levels stay.
        validate: SPECs of the validation set; without any it stays, or is split off.
    """
    chosen = tuple(map(_absolute, validate))
    if instances:
        problems = tuple(map(_absolute, instances))
        levels: tuple[LevelConfig, ...] = (
            LevelConfig(threshold=ONLY_LEVEL, instances=problems, validate=chosen),
        )
    elif chosen:
        levels = tuple(dataclasses.replace(x, validate=chosen) for x in config.curriculum.levels)
    else:
        return config
    return dataclasses.replace(
        config, curriculum=dataclasses.replace(config.curriculum, levels=levels)
    )


def with_machines(
    sources: Sequence[Sequence[str]], options: MachineOptions
) -> list[tuple[str, ...]]:
    """SPECs with these machines behind files that describe none, and behind folders.

    SPECs that say something of the machines themselves stay as they are.

    Args:
        sources: lists of SPECs, of which any may be empty.
        options: what is said of the machines.

    Raises:
        DAGSchedError: something is said, but no SPEC needs it; or a file cannot be read.
    """
    if not options.given:
        return [tuple(specs_) for specs_ in sources]
    options.check()
    changed = [tuple(_on(spec, options) for spec in specs_) for specs_ in sources]
    if changed == [tuple(specs_) for specs_ in sources]:
        name = options.label(next(iter(options.given)))
        raise DAGSchedError(
            f"{name} is for files that describe no processors, and none of the SPECs is one: "
            f"leave {name} out"
        )
    return changed


def new_run_directory() -> Path:
    """``runs/aerl-DATE-TIME``."""
    return Path("runs") / time.strftime("aerl-%Y%m%d-%H%M%S")


def _names_file(spec: str) -> bool:
    """Whether a SPEC is that of a file, a folder or a bundled trace."""
    return not (spec.startswith((specs.PREFIX, SUITE_PREFIX, PYTHON)) or names_function(spec))


def _on(spec: str, options: MachineOptions) -> str:
    """The SPEC with these machines, where it needs some."""
    if not _names_file(spec):
        return spec
    path, own = specs.parse_file(spec)
    if own.given or not (Path(path).is_dir() or isinstance(io.read(path), Workflow)):
        return spec
    return specs.file_spec(path, options)


def _absolute(spec: str) -> str:
    """Files as absolute paths; other SPECs, and names of bundled traces, as they are."""
    if not _names_file(spec):
        return spec
    path, options = specs.parse_file(spec)
    files = (options.machines, options.times)
    machines, times = (None if file is None else str(Path(file).resolve()) for file in files)
    options = dataclasses.replace(options, machines=machines, times=times)
    return specs.file_spec(str(Path(path).resolve()) if Path(path).exists() else path, options)


def _specs_of(
    source: Instances | None, directory: Path, functions: dict[str, Draw]
) -> tuple[str, ...]:
    """SPECs of a source; instances are written into the directory, functions are collected."""
    if source is None:
        return ()
    alone = isinstance(source, Instance | str | Path) or not isinstance(source, Sequence)
    entries = [source] if alone else source
    return tuple(_spec_of(entry, directory, functions) for entry in entries)  # type: ignore[union-attr]


def _spec_of(entry: object, directory: Path, functions: dict[str, Draw]) -> str:
    if isinstance(entry, str | Path):
        return str(entry)
    if isinstance(entry, Instance):
        path = directory / "instances" / f"{entry.fingerprint[:16]}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        io.save(entry, path)
        return str(path)
    if callable(entry):
        name = getattr(entry, "__name__", type(entry).__name__)
        spec = f"{PYTHON}{name}-{len(functions)}"
        functions[spec] = entry
        return spec
    raise DAGSchedError(
        f"{type(entry).__name__} is no source of problems: give an Instance, a SPEC, a function "
        "rng -> Instance, or a list of them"
    )
