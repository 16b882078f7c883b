"""Checkpoint directories of safetensors, npz and JSON, never pickle, replaced all or nothing.

A checkpoint is written to ``.<name>.new`` beside it and synced; the old one is renamed to
``.<name>.old``, the new one takes its place, the old one is removed or becomes the older
generation. So at every moment either ``<name>`` or ``.<name>.old`` is complete. One process may
write; one that reads at the moment of a replacement may get an error, and a complete checkpoint on
the next try.

A link at one of these names, or at that of the older generation, makes way like a directory: it is
never followed by what writes, and what it names stays as it is.

Everything in it is checked before it is used: ``state.json`` holds a digest of each other file and
one of its own contents, and ``take`` compares tensors with those that are expected.
"""

import contextlib
import hashlib
import io
import json
import os
import re
import shutil
import zipfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import safetensors.torch
import torch

from dagsched_env.errors import DAGSchedError
from dagsched_env.io.atomic import naming, write_new

__all__ = [
    "MANIFEST",
    "Checkpoint",
    "CheckpointError",
    "exists",
    "generations",
    "put_back",
    "load",
    "read_first",
    "save",
    "take",
]

FORMAT = "aerl-checkpoint"
VERSION = 4
WITHOUT_DIGEST = 3
"""The version before: ``state.json`` had no digest of its own."""
MANIFEST = "state.json"
ARRAYS = "arrays.npz"

LARGEST = 1e9
"""Of numbers in tensors: products of a few of them are finite."""
GENERATIONS = ("last", "previous", "best")
SUFFIX = ".safetensors"
GROUP = re.compile(r"\w[\w-]*", re.ASCII)

Tensors = dict[str, torch.Tensor]
Read = TypeVar("Read")


class CheckpointError(DAGSchedError):
    """A checkpoint cannot be written or read; the message names the file."""


@dataclass(frozen=True)
class Checkpoint:
    """What ``save`` was given."""

    tensors: dict[str, Tensors]
    """Groups of named tensors, on the CPU."""
    arrays: dict[str, npt.NDArray[Any]]
    state: dict[str, Any]
    """JSON values; tuples have become lists."""


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
    contents = _encode(tensors, arrays)
    contents[MANIFEST] = _manifest(contents, state)
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
    record = _read_manifest(source / MANIFEST)
    tensors: dict[str, Tensors] = {}
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, (size, digest) in record["files"].items():
        group = name.removesuffix(SUFFIX)
        if groups is not None and group not in groups:
            continue
        content = _read_checked(source / name, size, digest)
        if name == ARRAYS:
            arrays = _decode_arrays(source / name, content)
        else:
            tensors[group] = _decode_tensors(source / name, content)
    return Checkpoint(tensors, arrays, record["state"])


def take(saved: Checkpoint, group: str, like: Mapping[str, torch.Tensor]) -> Tensors:
    """A group of tensors, which are as they should be.

    Args:
        saved: the checkpoint.
        group: its name.
        like: tensors of the names, types and shapes that it must have.

    Raises:
        CheckpointError: the group or a tensor is missing, of another type or shape, or holds
            numbers that are not finite or beyond ``LARGEST``.
    """
    found = saved.tensors.get(group, {})
    if odd := sorted(found.keys() ^ like.keys()):
        what = "is missing" if odd[0] in like else "is not expected"
        raise CheckpointError(f"tensor {odd[0]!r} of {group!r} {what}")
    for name, expected in like.items():
        tensor = found[name]
        if tensor.dtype != expected.dtype or tensor.shape != expected.shape:
            raise CheckpointError(
                f"tensor {name!r} of {group!r} is {tensor.dtype}{list(tensor.shape)}, expected "
                f"{expected.dtype}{list(expected.shape)}"
            )
        if not (tensor.abs() <= LARGEST).all():
            raise CheckpointError(
                f"tensor {name!r} of {group!r} holds numbers that are not finite, or too large"
            )
    return found


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


# -- contents ------------------------------------------------------------------------------------


def _encode(
    tensors: Mapping[str, Mapping[str, torch.Tensor]], arrays: Mapping[str, npt.NDArray[Any]]
) -> dict[str, bytes]:
    """File name → bytes, for everything but the manifest."""
    contents = {}
    for group, values in tensors.items():
        if not GROUP.fullmatch(group):
            raise CheckpointError(f"{group!r} is no name for a file of tensors")
        copies = {k: v.detach().to("cpu", copy=True).contiguous() for k, v in values.items()}
        contents[group + SUFFIX] = safetensors.torch.save(copies)
    contents[ARRAYS] = _encode_arrays(arrays)
    return contents


def _encode_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for key, array in arrays.items():
            if array.dtype.hasobject:
                raise CheckpointError(f"{ARRAYS}: array {key!r} holds Python objects")
            with archive.open(f"{key}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
    return buffer.getvalue()


def _manifest(contents: Mapping[str, bytes], state: Mapping[str, Any]) -> bytes:
    files = {name: [len(data), _digest(data)] for name, data in contents.items()}
    try:
        body = json.loads(json.dumps({"files": files, "state": dict(state)}, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{MANIFEST}: {error}; only finite JSON values are stored") from None
    record = {"format": FORMAT, "version": VERSION, "digest": _digest_of(body), **body}
    return json.dumps(record, indent=1).encode()


def _read_manifest(path: Path) -> dict[str, Any]:
    content = _read(path)
    try:
        record = json.loads(content, parse_constant=_refuse)
        digest = _digest_of(record) if isinstance(record, dict) else None
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: truncated or not JSON: {error}") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise CheckpointError(f'{path}: no checkpoint, "format" is not "{FORMAT}"')
    version = record.get("version")
    if version not in (VERSION, WITHOUT_DIGEST):
        raise CheckpointError(
            f"{path}: version {version!r} is not {VERSION}: written by another "
            "release of aerl-ds; use that release, or train again"
        )
    if not isinstance(record.get("files"), dict) or not isinstance(record.get("state"), dict):
        raise CheckpointError(f"{path}: keys 'files' and 'state' must be objects")
    if version == VERSION and record.get("digest") != digest:
        raise CheckpointError(f"{path}: altered: its digest is not that of its contents")
    for name, entry in record["files"].items():
        plain = name == ARRAYS or (
            name.endswith(SUFFIX) and GROUP.fullmatch(name.removesuffix(SUFFIX))
        )
        if not plain or not isinstance(entry, list) or len(entry) != 2:
            raise CheckpointError(f"{path}: entry {name!r} of 'files' is not valid")
    return record


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON value")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _digest_of(record: Mapping[str, Any]) -> str:
    """Of a parsed manifest, however it is written; what else it holds is a constant."""
    body = [record.get("files"), record.get("state")]
    return _digest(json.dumps(body, sort_keys=True, separators=(",", ":")).encode())


def _decode_tensors(path: Path, content: bytes) -> Tensors:
    try:
        return safetensors.torch.load(content)
    except Exception as error:  # a parser may raise anything on bytes that were made up
        raise CheckpointError(f"{path}: not a safetensors file: {_reason(error)}") from None


def _decode_arrays(path: Path, content: bytes) -> dict[str, npt.NDArray[Any]]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {i.filename.removesuffix(".npy"): _array(archive, i) for i in archive.infolist()}
    except Exception as error:  # as above: numpy, zipfile and the parser of headers
        reason = _reason(error)
        raise CheckpointError(f"{path}: not an npz file of plain arrays: {reason}") from None


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> npt.NDArray[Any]:
    """One array; a compressed one, which this module never writes, could be of any size."""
    if entry.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{entry.filename} is compressed")
    with archive.open(entry) as file:
        array: npt.NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    return array


def _reason(error: Exception) -> str:
    """The first line of a message, or the name of an error without one."""
    return next(iter(str(error).splitlines()), type(error).__name__)


# -- files ---------------------------------------------------------------------------------------


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


def _read(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise CheckpointError(f"{path}: not a file")  # a pipe would never end
        return path.read_bytes()
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing") from None
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror or error}") from None


def _read_checked(path: Path, size: int, digest: str) -> bytes:
    content = _read(path)
    if len(content) != size:
        what = "truncated" if len(content) < size else "too long"
        raise CheckpointError(f"{path}: {what}: {len(content)} bytes instead of {size}")
    if _digest(content) != digest:
        raise CheckpointError(f"{path}: altered: its digest is not the one in {MANIFEST}")
    return content


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
