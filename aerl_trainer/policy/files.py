"""The weights of a fast policy in a file: safetensors, with what they were made for in its header.

One tensor ``weights``, float32 ``[N_WEIGHTS]``. The header's metadata hold ``format``, ``features``
(the names of the features, in the order of their columns) and whatever texts the writer adds.
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError, safe_open

from aerl_trainer.policy.encoding.features import names_of
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.policy.weights import Weights
from dagsched_env.io.atomic import write_bytes
from dagsched_env.problem.errors import DAGSchedError, FormatError

__all__ = ["load_weights", "save_weights"]

FORMAT = "aerl-fast-policy-1"
TENSOR = "weights"


def save_weights(path: str | Path, weights: Weights, metadata: Mapping[str, str]) -> None:
    """Write a file, or replace the one at ``path``; a crash leaves the old or the new.

    Args:
        path: its place, by custom ``*.safetensors``.
        weights: ``[N_WEIGHTS]``.
        metadata: texts to keep with them, such as what they were trained on; not under the names
            ``format`` and ``features``.

    Raises:
        DAGSchedError: weights that no policy has, or a name that is taken.
        OSError: the file cannot be written.
    """
    header = _header()
    if taken := header.keys() & metadata.keys():
        raise DAGSchedError(f"metadata {min(taken)!r} is set by save_weights: choose another name")
    checked = FastPolicy(weights).weights
    write_bytes(path, safetensors.numpy.save({TENSOR: checked}, {**header, **metadata}))


def load_weights(path: str | Path) -> tuple[Weights, dict[str, str]]:
    """Read what ``save_weights`` has written.

    Returns:
        The weights, and the metadata that they were saved with.

    Raises:
        FormatError: another kind of file, a damaged one, or one for other features.
        OSError: the file cannot be read.
    """
    Path(path).open("rb").close()  # safe_open reports no file as it reports a damaged one
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            _check_header(path, metadata)
            weights: Weights = file.get_tensor(TENSOR)
    except SafetensorError as error:
        raise FormatError(f"{path}: not a whole safetensors file: {error}; copy it again") from None
    if weights.dtype != np.float32:
        raise FormatError(f"{path}: the weights are {weights.dtype}, not float32; save them again")
    try:
        FastPolicy(weights)
    except DAGSchedError as error:
        raise FormatError(f"{path}: {error}; train the policy again") from None
    return weights, {key: text for key, text in metadata.items() if key not in _header()}


def _header() -> dict[str, str]:
    return {"format": FORMAT, "features": ",".join(names_of("policy"))}


def _check_header(path: str | Path, metadata: Mapping[str, str]) -> None:
    found = metadata.get("format")
    if found != FORMAT:
        raise FormatError(
            f'{path}: not the weights of a fast policy: its "format" is {found!r}, not {FORMAT!r}; '
            "of a checkpoint, give the directory"
        )
    theirs, ours = metadata.get("features", "").split(","), list(names_of("policy"))
    if theirs != ours:
        odd = ", ".join(sorted(set(theirs) ^ set(ours))) or "their order"
        raise FormatError(
            f"{path}: made for other features, which differ in {odd}: use the release of aerl-ds "
            "that wrote it, or train the policy again"
        )
