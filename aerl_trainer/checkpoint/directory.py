"""Checkpoints as directories: written all or nothing, in generations, and found again."""

import contextlib
import os
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy.typing as npt
import torch

from aerl_trainer.checkpoint.contents import (
    ARRAYS,
    SUFFIX,
    Checkpoint,
    CheckpointError,
    Tensors,
    decode_arrays,
    decode_tensors,
    encode,
)
from aerl_trainer.checkpoint.manifest import (
    MANIFEST,
    encode_manifest,
    read_checked,
    read_manifest,
)
from dagsched_env.io.atomic import naming, write_new

GENERATIONS = ("last", "previous", "best")

Read = TypeVar("Read")


def save(
    directory: Path,
    *,
    tensors: Mapping[str, Mapping[str, torch.Tensor]],
    arrays: Mapping[str, npt.NDArray[Any]],
    state: Mapping[str, Any],
    previous: Path | None = None,
) -> None:
    """Write a checkpoint, or replace the one at ``directory``; a crash leaves the old or the new.

    Args:
        directory: its place; missing parents are made.
        tensors: groups of named tensors, one ``<group>.safetensors`` each.
        arrays: numpy arrays of plain types, in ``arrays.npz``.
        state: JSON values, no NaN or infinity, in ``state.json`` beside all files' digests.
        previous: where the one that is replaced stays, beside ``directory``; None = it is removed.

    Raises:
        CheckpointError: a value cannot be stored, or the disk refuses.
    """
    contents = encode(tensors, arrays)
    contents[MANIFEST] = encode_manifest(contents, state)
    fresh, old = _siblings(directory)
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        if old.is_dir() and not directory.is_dir():
            put_back(directory)  # the last save was cut off between its two renames
        _put_away(old, previous)
        _remove(fresh)
        fresh.mkdir()
        for name, content in contents.items():
            with naming(directory / name):
                write_new(fresh / name, content)
        _sync_directory(fresh)
        if os.path.lexists(directory):
            directory.rename(old)
        fresh.rename(directory)
        _sync_directory(directory.parent)
        _put_away(old, previous)
    except OSError as error:
        with contextlib.suppress(OSError):
            _remove(fresh)
        what = error.strerror or error
        raise CheckpointError(f"{error.filename or directory}: {what}") from None


def load(directory: Path, groups: Collection[str] | None = None) -> Checkpoint:
    """Read the checkpoint at ``directory``, or the one that a cut-off save has moved aside.

    Args:
        directory: its place.
        groups: the groups of tensors to read, and no arrays: other files may be damaged; None
            reads everything.

    Raises:
        CheckpointError: there is none; a file is missing, truncated or altered; or it has another
            format or version.
    """
    source = _find(directory)
    record = read_manifest(source / MANIFEST)
    tensors: dict[str, Tensors] = {}
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, (size, digest) in record["files"].items():
        group = name.removesuffix(SUFFIX)
        if groups is not None and group not in groups:
            continue
        content = read_checked(source / name, size, digest)
        if name == ARRAYS:
            arrays = decode_arrays(source / name, content)
        else:
            tensors[group] = decode_tensors(source / name, content)
    return Checkpoint(tensors, arrays, record["state"])


def read_first(
    candidates: Sequence[Path], read: Callable[[Path], Read], warn: Callable[[str], object]
) -> Read:
    """What can be read from the first of several checkpoints that is not damaged.

    Args:
        candidates: their places, the best one first.
        read: reads one; raises CheckpointError where it is damaged.
        warn: told what is damaged, and what is used instead.

    Raises:
        CheckpointError: none can be read; says why for each.
    """
    failures: list[str] = []
    for place in candidates:
        try:
            result = read(place)
        except CheckpointError as error:
            if exists(place) or not failures:
                failures.append(str(error))
            continue
        if failures:
            warn(f"{'; '.join(failures)}; {place} is used instead")
        return result
    raise CheckpointError("; ".join(failures))


def generations(folder: Path) -> tuple[Path, ...]:
    """The checkpoints of a run in their folder, the one to read first.

    The second one is what a save that was cut off has moved aside, where there is such a one.
    """
    last, *others = (folder / name for name in GENERATIONS)
    return last, _siblings(last)[1], *others


def put_back(directory: Path) -> None:
    """Put what a save that was cut off has moved aside in the place of a damaged checkpoint."""
    _remove(directory)
    _siblings(directory)[1].rename(directory)


def exists(directory: Path) -> bool:
    """Whether ``load`` has something to read, if only what a cut-off save has moved aside."""
    return directory.is_dir() or _siblings(directory)[1].is_dir()


def _siblings(directory: Path) -> tuple[Path, Path]:
    """Where the next checkpoint is written, and where the last one waits for its removal."""
    return (
        directory.with_name(f".{directory.name}.new"),
        directory.with_name(f".{directory.name}.old"),
    )


def _find(directory: Path) -> Path:
    for candidate in (directory, _siblings(directory)[1]):
        if candidate.is_dir():
            return candidate
    raise CheckpointError(f"{directory}: no checkpoint here")


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _put_away(old: Path, previous: Path | None) -> None:
    """End of a replacement: what was replaced becomes the older generation, or is removed.

    A link or a file is no generation to keep.
    """
    if previous is not None and _is_folder(old):
        _remove(previous)
        old.rename(previous)
    else:
        _remove(old)


def _remove(place: Path) -> None:
    """Remove what is there; of a link not what it names."""
    if _is_folder(place):
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


def _is_folder(place: Path) -> bool:
    return place.is_dir() and not place.is_symlink()
