"""``state.json``: the state, the size and digest of every other file, and a digest of its own."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aerl_trainer.checkpoint.contents import ARRAYS, SUFFIX, CheckpointError, is_name_of_group

MANIFEST = "state.json"
"""Name of the file."""
FORMAT = "aerl-checkpoint"
VERSION = 4
WITHOUT_DIGEST = 3
"""The version before: ``state.json`` had no digest of its own."""


def encode_manifest(contents: Mapping[str, bytes], state: Mapping[str, Any]) -> bytes:
    """The file's bytes.

    Args:
        contents: name → bytes, of the other files.
        state: JSON values.

    Raises:
        CheckpointError: a value of the state is none.
    """
    files = {name: [len(data), _digest(data)] for name, data in contents.items()}
    try:
        body = json.loads(json.dumps({"files": files, "state": dict(state)}, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise CheckpointError(f"{MANIFEST}: {error}; only finite JSON values are stored") from None
    record = {"format": FORMAT, "version": VERSION, "digest": digest_of(body), **body}
    return json.dumps(record, indent=1).encode()


def read_manifest(path: Path) -> dict[str, Any]:
    """``{"files": {name: [size, digest]}, "state": …}``, checked.

    Raises:
        CheckpointError: it cannot be read, is damaged, or has another format or version.
    """
    content = _read(path)
    try:
        record = json.loads(content, parse_constant=_refuse)
        digest = digest_of(record) if isinstance(record, dict) else None
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
            name.endswith(SUFFIX) and is_name_of_group(name.removesuffix(SUFFIX))
        )
        if not plain or not isinstance(entry, list) or len(entry) != 2:
            raise CheckpointError(f"{path}: entry {name!r} of 'files' is not valid")
    return record


def read_checked(path: Path, size: int, digest: str) -> bytes:
    """The contents of another file, which are what the manifest says.

    Args:
        size: its bytes.
        digest: of its contents.

    Raises:
        CheckpointError: they are not, or cannot be read.
    """
    content = _read(path)
    if len(content) != size:
        what = "truncated" if len(content) < size else "too long"
        raise CheckpointError(f"{path}: {what}: {len(content)} bytes instead of {size}")
    if _digest(content) != digest:
        raise CheckpointError(f"{path}: altered: its digest is not the one in {MANIFEST}")
    return content


def digest_of(record: Mapping[str, Any]) -> str:
    """The digest of a parsed manifest, however it is written; what else it holds is a constant."""
    body = [record.get("files"), record.get("state")]
    return _digest(json.dumps(body, sort_keys=True, separators=(",", ":")).encode())


def _read(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise CheckpointError(f"{path}: not a file")  # a pipe would never end
        return path.read_bytes()
    except FileNotFoundError:
        raise CheckpointError(f"{path}: missing") from None
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror or error}") from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON value")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
