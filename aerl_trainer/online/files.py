"""The weights of a learned dispatcher in a file: safetensors, its header says what they are for.

One tensor ``weights``, float64 ``[N_WEIGHTS]``, and whatever else the writer adds. The header's
metadata hold ``format``, ``features`` (their names, in the order of the columns), ``hidden``, and
texts of the writer.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError, safe_open

from aerl_trainer.online.features import FEATURES
from aerl_trainer.online.weights import HIDDEN, checked_weights
from dagsched_env.io.atomic import write_bytes
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.errors import DAGSchedError, FormatError

__all__ = ["OnlineFile", "load_online", "save_online"]

FORMAT = "aerl-online-1"
WEIGHTS_FILE = "online.safetensors"
"""In the directory of a run."""
TENSOR = "weights"


class OnlineFile(NamedTuple):
    """What a file holds."""

    weights: Floats  # [N_WEIGHTS]
    arrays: dict[str, Floats]  # whatever else was saved, finite
    metadata: dict[str, str]  # texts of the writer


def save_online(
    path: str | Path,
    weights: Floats,
    metadata: Mapping[str, str],
    arrays: Mapping[str, Floats] | None = None,
) -> None:
    """Write a file, or replace the one at ``path``; a crash leaves the old or the new.

    Args:
        path: its place, by custom ``*.safetensors``.
        weights: ``[N_WEIGHTS]``.
        metadata: texts to keep with them; not under the names ``format``, ``features``, ``hidden``.
        arrays: float64 arrays to keep with them; not under the name ``weights``.

    Raises:
        DAGSchedError: weights that no dispatcher has, or a name that is taken.
        OSError: the file cannot be written.
    """
    header = _header()
    if taken := (header.keys() | {TENSOR}) & (metadata.keys() | (arrays or {}).keys()):
        raise DAGSchedError(f"{min(taken)!r} is set by save_online: choose another name")
    tensors = {TENSOR: checked_weights(weights), **(arrays or {})}
    write_bytes(path, safetensors.numpy.save(tensors, {**header, **metadata}))


def load_online(path: str | Path) -> OnlineFile:
    """Read what ``save_online`` has written.

    Raises:
        FormatError: another kind of file, a damaged one, or one of another version.
        OSError: the file cannot be read.
    """
    Path(path).open("rb").close()  # safe_open reports no file as it reports a damaged one
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            _check_header(path, metadata)
            arrays: dict[str, Floats] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
    except SafetensorError as error:
        raise FormatError(f"{path}: not a whole safetensors file: {error}; copy it again") from None
    for name, array in arrays.items():
        if array.dtype != np.float64 or not np.isfinite(array).all():
            raise FormatError(f"{path}: {name!r} is not of finite float64: train again")
    try:
        weights = checked_weights(arrays.pop(TENSOR, np.zeros(0)))
    except DAGSchedError as error:
        raise FormatError(f"{path}: {error}; train it again") from None
    texts = {key: text for key, text in metadata.items() if key not in _header()}
    return OnlineFile(weights, arrays, texts)


def _header() -> dict[str, str]:
    return {"format": FORMAT, "features": ",".join(FEATURES), "hidden": str(HIDDEN)}


def _check_header(path: str | Path, metadata: Mapping[str, str]) -> None:
    found = metadata.get("format")
    if found != FORMAT:
        raise FormatError(
            f'{path}: not the weights of a learned dispatcher: its "format" is {found!r}, not '
            f"{FORMAT!r}; aerl train --online makes one"
        )
    for key, ours in _header().items():
        theirs = metadata.get(key, "")
        if theirs != ours:
            odd = ", ".join(sorted(set(theirs.split(",")) ^ set(ours.split(",")))) or "their order"
            raise FormatError(
                f"{path}: made for other {key}, which differ in {odd}: use the release of aerl-ds "
                "that wrote it, or train again"
            )
