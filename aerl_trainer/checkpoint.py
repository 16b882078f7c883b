"""Checkpoint directories of safetensors, npz and JSON, never pickle, replaced all or nothing.

A checkpoint is written to ``.<name>.new`` beside it and synced; the old one is renamed to
``.<name>.old``, the new one takes its place, the old one is removed or becomes the older
generation. So at every moment either ``<name>`` or ``.<name>.old`` is complete. One process may
write; one that reads at the moment of a replacement may get an error, and a complete checkpoint on
the next try.
"""

import hashlib
import io
import json
import os
import re
import shutil
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors.torch
import torch
from safetensors import SafetensorError

from dagsched_env.errors import DAGSchedError
from dagsched_env.io.atomic import write_new

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "exists",
    "flatten_optimizer",
    "load",
    "load_or_previous",
    "save",
    "unflatten_optimizer",
]

FORMAT = "aerl-checkpoint"
VERSION = 3
MANIFEST = "state.json"
ARRAYS = "arrays.npz"

Tensors = dict[str, torch.Tensor]


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
        if old.exists() and not directory.exists():
            old.rename(directory)  # the last save was cut off between its two renames
        _put_away(old, previous)
        _remove(fresh)
        fresh.mkdir()
        for name, content in contents.items():
            write_new(fresh / name, content)
        _sync_directory(fresh)
        if directory.exists():
            directory.rename(old)
        fresh.rename(directory)
        _sync_directory(directory.parent)
        _put_away(old, previous)
    except OSError as error:
        raise CheckpointError(f"{error.filename or directory}: {error.strerror}") from None


def load(directory: Path) -> Checkpoint:
    """Read the checkpoint at ``directory``, or the one that a cut-off save has moved aside.

    Raises:
        CheckpointError: there is none; a file is missing, truncated or altered; or it has another
            format or version.
    """
    source = _find(directory)
    record = _read_manifest(source / MANIFEST)
    tensors: dict[str, Tensors] = {}
    arrays: dict[str, npt.NDArray[Any]] = {}
    for name, (size, digest) in record["files"].items():
        content = _read_checked(source / name, size, digest)
        if name == ARRAYS:
            arrays = _decode_arrays(source / name, content)
        else:
            tensors[Path(name).stem] = _decode_tensors(source / name, content)
    return Checkpoint(tensors, arrays, record["state"])


def load_or_previous(directory: Path, previous: Path, warn: Callable[[str], object]) -> Checkpoint:
    """Read the checkpoint at ``directory``, or the one before it where it is damaged.

    Args:
        directory: its place.
        previous: as of ``save``.
        warn: told what is damaged, and what is read instead.

    Raises:
        CheckpointError: neither can be read; says why the first cannot.
    """
    try:
        return load(directory)
    except CheckpointError as error:
        try:
            older = load(previous)
        except CheckpointError:
            raise error from None
        warn(f"{error}; the checkpoint before it is used: {previous}")
        return older


def exists(directory: Path) -> bool:
    """Whether ``load`` has something to read, if only what a cut-off save has moved aside."""
    return directory.is_dir() or _siblings(directory)[1].is_dir()


def flatten_optimizer(state_dict: Mapping[str, Any]) -> tuple[Tensors, dict[str, Any]]:
    """Split the ``state_dict`` of a torch optimiser such as AdamW into tensors and JSON values.

    Returns:
        tensors: ``"<parameter>.<key>"`` → tensor, for every tensor of the state.
        record: the parameter groups, and what else the state holds.
    """
    tensors: Tensors = {}
    scalars: dict[str, dict[str, Any]] = {}
    for parameter, values in state_dict["state"].items():
        for key, value in values.items():
            if isinstance(value, torch.Tensor):
                tensors[f"{parameter}.{key}"] = value
            else:
                scalars.setdefault(str(parameter), {})[key] = value
    return tensors, {"param_groups": state_dict["param_groups"], "scalars": scalars}


def unflatten_optimizer(tensors: Tensors, record: Mapping[str, Any]) -> dict[str, Any]:
    """The inverse of ``flatten_optimizer``, also after the record has been through JSON.

    Raises:
        CheckpointError: the record is not one of ``flatten_optimizer``.
    """
    try:
        state = {int(p): dict(values) for p, values in record["scalars"].items()}
        for name, tensor in tensors.items():
            parameter, key = name.split(".", 1)
            state.setdefault(int(parameter), {})[key] = tensor
        groups = [
            {
                key: tuple(value) if isinstance(value, list) and key != "params" else value
                for key, value in group.items()
            }
            for group in record["param_groups"]
        ]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CheckpointError(f"not the state of an optimiser: {error!r}") from None
    return {"state": state, "param_groups": groups}


# -- contents ------------------------------------------------------------------------------------


def _encode(
    tensors: Mapping[str, Mapping[str, torch.Tensor]], arrays: Mapping[str, npt.NDArray[Any]]
) -> dict[str, bytes]:
    """File name → bytes, for everything but the manifest."""
    contents = {}
    for group, values in tensors.items():
        if not re.fullmatch(r"\w[\w-]*", group):
            raise CheckpointError(f"{group!r} is no name for a file of tensors")
        copies = {k: v.detach().to("cpu", copy=True).contiguous() for k, v in values.items()}
        contents[f"{group}.safetensors"] = safetensors.torch.save(copies)
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
    files = {name: [len(data), hashlib.sha256(data).hexdigest()] for name, data in contents.items()}
    record = {"format": FORMAT, "version": VERSION, "files": files, "state": dict(state)}
    try:
        return json.dumps(record, allow_nan=False, indent=1).encode()
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{MANIFEST}: {error}; only finite JSON values are stored") from None


def _read_manifest(path: Path) -> dict[str, Any]:
    content = _read(path)
    try:
        record = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise CheckpointError(f"{path}: truncated or not JSON: {error}") from None
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise CheckpointError(f'{path}: no checkpoint, "format" is not "{FORMAT}"')
    if record.get("version") != VERSION:
        raise CheckpointError(
            f"{path}: version {record.get('version')!r} is not {VERSION}: written by another "
            "release of aerl-ds; use that release, or train again"
        )
    if not isinstance(record.get("files"), dict) or not isinstance(record.get("state"), dict):
        raise CheckpointError(f"{path}: keys 'files' and 'state' must be objects")
    for name, entry in record["files"].items():
        if name != Path(name).name or not isinstance(entry, list) or len(entry) != 2:
            raise CheckpointError(f"{path}: entry {name!r} of 'files' is not valid")
    return record


def _decode_tensors(path: Path, content: bytes) -> Tensors:
    try:
        return safetensors.torch.load(content)
    except (SafetensorError, ValueError, KeyError) as error:
        raise CheckpointError(f"{path}: not a safetensors file: {error}") from None


def _decode_arrays(path: Path, content: bytes) -> dict[str, npt.NDArray[Any]]:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise CheckpointError(f"{path}: not an npz file of plain arrays: {error}") from None


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
        return path.read_bytes()
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing") from None
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}") from None


def _read_checked(path: Path, size: int, digest: str) -> bytes:
    content = _read(path)
    if len(content) != size:
        raise CheckpointError(f"{path}: truncated: {len(content)} bytes of {size}")
    if hashlib.sha256(content).hexdigest() != digest:
        raise CheckpointError(f"{path}: altered: its digest is not the one in {MANIFEST}")
    return content


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _put_away(old: Path, previous: Path | None) -> None:
    """End of a replacement: what was replaced becomes the older generation, or is removed."""
    if previous is None:
        _remove(old)
    elif old.exists():
        _remove(previous)
        old.rename(previous)


def _remove(directory: Path) -> None:
    if directory.exists():
        shutil.rmtree(directory)
