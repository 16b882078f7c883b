"""Values of a checkpoint and the bytes of their files: safetensors and npz, never pickle."""

import io
import re
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import safetensors.torch
import torch

from dagsched_env.problem.errors import DAGSchedError

ARRAYS = "arrays.npz"
SUFFIX = ".safetensors"
GROUP = re.compile(r"\w[\w-]*", re.ASCII)

LARGEST = 1e9
"""Of numbers in tensors: products of a few of them are finite."""

Tensors = dict[str, torch.Tensor]
Module = TypeVar("Module", bound=torch.nn.Module)


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


def take_module(saved: Checkpoint, group: str, make: Callable[[], Module], layers: int) -> Module:
    """A trained module; one of another size than the checkpoint says is never given memory.

    Args:
        saved: the checkpoint.
        group: of the tensors.
        make: a new module.
        layers: of it, at least one tensor each.

    Raises:
        CheckpointError: a tensor is missing or does not fit.
    """
    size = len(saved.tensors.get(group, ()))
    if layers > size:
        raise CheckpointError(f"{layers} layers do not fit {size} tensors")
    with torch.device("meta"):
        like = make().state_dict()
    tensors = take(saved, group, like)
    module = make()
    module.load_state_dict(tensors)
    return module


def encode(
    tensors: Mapping[str, Mapping[str, torch.Tensor]], arrays: Mapping[str, npt.NDArray[Any]]
) -> dict[str, bytes]:
    """File name → bytes, for everything but the manifest.

    Raises:
        CheckpointError: a group has a name that no file can have, or an array holds objects.
    """
    contents = {}
    for group, values in tensors.items():
        if not is_name_of_group(group):
            raise CheckpointError(f"{group!r} is no name for a file of tensors")
        copies = {k: v.detach().to("cpu", copy=True).contiguous() for k, v in values.items()}
        contents[group + SUFFIX] = safetensors.torch.save(copies)
    contents[ARRAYS] = _encode_arrays(arrays)
    return contents


def decode_tensors(path: Path, content: bytes) -> Tensors:
    """A group of tensors.

    Raises:
        CheckpointError: the bytes are no safetensors file; names ``path``, where they were read.
    """
    try:
        return safetensors.torch.load(content)
    except Exception as error:  # a parser may raise anything on bytes that were made up
        raise CheckpointError(f"{path}: not a safetensors file: {_reason(error)}") from None


def decode_arrays(path: Path, content: bytes) -> dict[str, npt.NDArray[Any]]:
    """Name → array, as ``decode_tensors``.

    Raises:
        CheckpointError: the bytes are no npz file, or an array in it is of objects or compressed.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {i.filename.removesuffix(".npy"): _array(archive, i) for i in archive.infolist()}
    except Exception as error:  # as above: numpy, zipfile and the parser of headers
        reason = _reason(error)
        raise CheckpointError(f"{path}: not an npz file of plain arrays: {reason}") from None


def is_name_of_group(name: str) -> bool:
    """Whether a group of tensors may have it, as a part of the name of a file."""
    return GROUP.fullmatch(name) is not None


def _encode_arrays(arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for key, array in arrays.items():
            if array.dtype.hasobject:
                raise CheckpointError(f"{ARRAYS}: array {key!r} holds Python objects")
            with archive.open(f"{key}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
    return buffer.getvalue()


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
