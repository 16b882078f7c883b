"""The checkpoints of one run: ``last``, the ``previous`` one, and the ``best``."""

from pathlib import Path
from typing import Any

from aerl_trainer import checkpoint
from aerl_trainer import config as settings
from aerl_trainer.checkpoint import Checkpoint, CheckpointError
from aerl_trainer.config import Config, ConfigError
from aerl_trainer.config.stored import stored
from dagsched_env.problem.errors import DAGSchedError

NO_BEST: dict[str, Any] = {"level": -1, "slr_vs_heft": None}
"""Of a run without a validation so far."""


class Generations:
    """Writes the checkpoints of a run.

    Args:
        folder: where they lie.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._source: Path | None = None

    def restored(self, source: Path) -> None:
        """The run goes on from this one: another one that should have been read is damaged."""
        self._source = source

    def save(self, name: str, saved: Checkpoint) -> None:
        """Write the checkpoint ``name``; the ``last`` one so far becomes ``previous``.

        A ``last`` that was damaged is no generation to keep.
        """
        last, aside, *_ = checkpoint.generations(self._folder)
        if name == "last" and self._source == aside:
            checkpoint.put_back(last)
            self._source = last
        damaged = self._source not in (None, last)
        checkpoint.save(
            self._folder / name,
            tensors=saved.tensors,
            arrays=saved.arrays,
            state=saved.state,
            previous=self._folder / "previous" if name == "last" and not damaged else None,
        )
        if name == "last":
            self._source = None


def to_go_on(source: Path, config: Config, problems: str) -> tuple[Checkpoint, Config]:
    """Read a checkpoint from which a run is to go on, with the settings that it was saved under.

    Args:
        source: its place.
        config: present settings of the run.
        problems: fingerprint of the present ones.

    Raises:
        CheckpointError: it is damaged.
        DAGSchedError: the run cannot go on from it with these settings or problems.
    """
    saved = checkpoint.load(source)
    try:
        before = settings.from_dict(stored(saved.state, "config", dict))
        found = stored(saved.state, "problems", str)
        level = stored(stored(saved.state, "curriculum", dict), "level", int)
    except DAGSchedError as error:
        raise CheckpointError(f"{source / checkpoint.MANIFEST}: {error}") from None
    if before.run.algorithm != config.run.algorithm:
        raise ConfigError(
            f"{source}: the run has begun with --algorithm {before.run.algorithm}, and can only go "
            "on with it"
        )
    same_specs = before.curriculum.levels == config.curriculum.levels
    if same_specs and found != problems:
        raise DAGSchedError(
            f"{source}: the problems of the run have changed since it was saved: put the files "
            "back, or begin a new run"
        )
    if len(config.curriculum.levels) <= level < len(before.curriculum.levels):
        raise ConfigError(f"{source}: the run is on level {level}, which is no more there")
    return saved, before


def read_best(record: dict[str, Any]) -> dict[str, Any]:
    """The best validation as it was saved; there is none at first."""
    if record == NO_BEST:
        return NO_BEST
    return {
        "level": stored(record, "level", int),
        "slr_vs_heft": stored(record, "slr_vs_heft", float),
    }


def better(new: dict[str, Any], old: dict[str, Any]) -> bool:
    """Whether a validation is better than another: a higher level first, then shorter schedules."""
    if new["level"] != old["level"]:
        return bool(new["level"] > old["level"])
    return old["slr_vs_heft"] is None or bool(new["slr_vs_heft"] < old["slr_vs_heft"])
