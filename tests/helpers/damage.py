"""Damage to the files of a checkpoint: at random, or made up with digests that are right."""

import hashlib
import io
import json
import random
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from aerl_trainer import checkpoint
from aerl_trainer.checkpoint import Checkpoint
from aerl_trainer.checkpoint.manifest import digest_of

JUNK = (None, True, -1, 2**70, 0.5, -0.5, 1e308, "", "x", [], [1, "x"], [[0.5]], {}, {"steps": -1})


def damaged(whole: bytes, rng: random.Random) -> bytes:
    """Truncated, with flipped bits, with a piece cut out or repeated, or of other bytes."""
    at = rng.randrange(len(whole))
    end = min(len(whole), at + 1 + rng.randrange(64))
    kind = rng.randrange(5)
    if kind == 0:
        return whole[:at]
    if kind == 1:
        return whole[:at] + bytes([whole[at] ^ 1 << rng.randrange(8)]) + whole[at + 1 :]
    if kind == 2:
        return whole[:at] + whole[end:]
    if kind == 3:
        return whole[:at] + whole[at:end] * 2 + whole[end:]
    return whole[:at] + rng.randbytes(end - at) + whole[end:]


def forge(directory: Path, name: str, content: bytes) -> None:
    """Put other contents into a file of a checkpoint, with all digests that it needs."""
    (directory / name).write_bytes(content)
    path = directory / checkpoint.MANIFEST
    record = json.loads(path.read_bytes())
    record["files"][name] = [len(content), hashlib.sha256(content).hexdigest()]
    write_manifest(path, record)


def write_manifest(path: Path, record: dict[str, Any]) -> None:
    """With the digest of its contents."""
    path.write_text(json.dumps({**record, "digest": digest_of(record)}))


def states_of_another_structure(state: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Each value of the state in turn is missing, or is junk."""
    for path in _paths(state):
        for junk in (*JUNK, _Missing):
            changed = json.loads(json.dumps(state))
            place = changed
            for key in path[:-1]:
                place = place[key]
            if junk is not _Missing:
                place[path[-1]] = junk
            elif isinstance(place, dict):
                del place[path[-1]]
            yield changed


def checkpoints_of_another_structure(
    whole: Checkpoint, some: dict[str, dict[str, torch.Tensor]]
) -> Iterator[Checkpoint]:
    """Each of some tensors and each array is missing, or of other numbers, types or shapes."""
    for group, tensors in whole.tensors.items():
        others = {name: g for name, g in whole.tensors.items() if name != group}
        yield Checkpoint(others, whole.arrays, whole.state)
        for name, tensor in some[group].items():
            for changed in (None, *map(torch.from_numpy, _others(tensor.numpy()))):
                kept = {key: value for key, value in tensors.items() if key != name}
                kept |= {} if changed is None else {name: changed}
                yield Checkpoint({**others, group: kept}, whole.arrays, whole.state)
    for name, array in whole.arrays.items():
        kept = {key: value for key, value in whole.arrays.items() if key != name}
        yield Checkpoint(whole.tensors, kept, whole.state)
        for changed in _others(array):
            yield Checkpoint(whole.tensors, {**kept, name: changed}, whole.state)


def hostile_archives() -> Iterator[bytes]:
    """Archives that other programs may write, and some that none would."""
    yield _bytes_of(np.save, np.ones(3))
    yield _bytes_of(np.savez_compressed, a=np.zeros(10**6))
    yield _bytes_of(np.savez, a=np.array([{"a": 1}], dtype=object))
    yield _zip({})
    yield _zip({"a.npy": b"x"})
    yield _zip({"../../a": b"x"})
    for shape in ("(1000000000000,)", "(-1,)", "()", "x", "(" * 5000, "0" * 5000, "(1,) # '"):
        for kind in ("'<f8'", "'O'", "'|V0'", "[('a', 'O')]", "x", "'<f8"):
            header = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}}}\n".encode()
            prefix = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header))
            yield _zip({"position.npy": prefix + header})


def hostile_tensors() -> Iterator[bytes]:
    """Files whose headers say what is not so, or what no header may say."""
    for header in (
        *("", "{", "[]", "null", "{}", '{"a": 1}', "[" * 10_000, '{"__metadata__": {"a": 1}}'),
        '{"weights": {"dtype": "F32", "shape": [1000000000000], "data_offsets": [0, 4]}}',
        '{"weights": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4000000000]}}',
        '{"weights": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}',
        '{"weights": {"dtype": "F8_E4M3", "shape": [4], "data_offsets": [0, 4]}}',
        '{"weights": {"dtype": "O", "shape": [1], "data_offsets": [0, 4]}}',
        '{"weights": {"dtype": "F32", "shape": [0, 4611686018427387904], "data_offsets": [0, 0]}}',
    ):
        yield struct.pack("<Q", len(header)) + header.encode() + b"\0" * 4
    yield struct.pack("<Q", 2**63) + b"{}"


def _bytes_of(write: Callable[..., None], *arrays: np.ndarray, **named: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    write(buffer, *arrays, **named)
    return buffer.getvalue()


def _zip(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


class _Missing:
    pass


def _paths(value: Any) -> Iterator[tuple[Any, ...]]:
    """Keys that lead to each value inside of another."""
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield (key,)
        if isinstance(value[key], dict | list):
            yield from ((key, *rest) for rest in _paths(value[key]))


def _others(array: np.ndarray) -> Iterator[np.ndarray]:
    """Arrays that differ from one in shape, type, or one or all numbers."""
    yield array.reshape(-1)[: max(0, array.size - 1)].copy()
    yield np.concatenate([array.reshape(-1), array.reshape(-1)])
    yield array[None].copy()
    yield array.astype(np.int8)
    yield array.astype(np.float64 if array.dtype != np.float64 else np.float32)
    numbers: list[Any] = [0, 1, -1 if array.dtype.kind != "u" else 255]
    if array.dtype.kind == "f":
        numbers += [np.nan, np.inf, -1e30, 1e30]
    else:
        numbers += [np.iinfo(array.dtype).max, np.iinfo(array.dtype).min]
    for number in numbers:
        yield np.full_like(array, number)
        if array.size:
            changed = array.copy()
            changed.reshape(-1)[array.size // 2] = number
            yield changed
    yield array.reshape(-1)[::-1].reshape(array.shape).copy()
