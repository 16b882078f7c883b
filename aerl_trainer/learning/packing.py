"""Experiences as a dictionary of plain numeric arrays and back, for checkpoints without pickle.

Ragged data is concatenated, with its lengths beside it. Instances that experiences share are stored
once, and are shared again after reading.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from aerl_trainer.records import Experience
from aerl_trainer.replay.arrays import Arrays, read
from dagsched_env.errors import DAGSchedError, FormatError
from dagsched_env.instance import Instance
from dagsched_env.kernels.arrays import Ints

__all__ = ["pack", "unpack"]

Item = TypeVar("Item")

SCALARS = ("reward", "weight", "makespan")
NAMES = ("name", "task_names", "processor_names")


def pack(experiences: Sequence[Experience]) -> Arrays:
    """Arrays from which ``unpack`` restores the experiences exactly.

    ``instance_*`` describe the I distinct instances, ``experience_*`` the E experiences.
    """
    instances, instance_of = _distinct([e.instance for e in experiences])
    return {
        **_pack_instances(instances),
        "experience_instance": instance_of,
        "experience_actions": _join([e.actions for e in experiences], np.int32).reshape(-1, 2),
        "experience_searched": _ints(e.visited.shape[0] for e in experiences),
        "experience_visited": _join([e.visited for e in experiences], np.int32),
        "experience_candidates": _join([e.candidates for e in experiences], np.int32),
        "experience_policy": _join([e.policy for e in experiences], np.float32),
        "experience_imitated_from": _ints(e.imitated_from for e in experiences),
        **{
            f"experience_{name}": np.array([getattr(e, name) for e in experiences], np.float64)
            for name in SCALARS
        },
    }


def unpack(arrays: Arrays) -> list[Experience]:
    """The inverse of ``pack``; other keys in ``arrays`` are left alone.

    Raises:
        FormatError: an array is missing, of a wrong type or length, or a number is out of range.
    """
    instances = _unpack_instances(arrays)
    instance_of = read(arrays, "experience_instance", np.int64, (-1,))
    _check_range("experience_instance", instance_of, len(instances))
    n = _ints(instances[i].n_tasks for i in instance_of)
    searched, imitated_from = (
        read(arrays, f"experience_{name}", np.int64, n.shape)
        for name in ("searched", "imitated_from")
    )
    _check_range("experience_searched", searched, n + 1)
    _check_range("experience_imitated_from", imitated_from, n + 1)
    visited = _split(arrays, "experience_visited", np.int32, searched)
    _check_range("experience_visited", arrays["experience_visited"], np.iinfo(np.int32).max)
    total = _ints(int(counts.sum(dtype=np.int64)) for counts in visited)
    columns = zip(
        (instances[i] for i in instance_of),
        _split(arrays, "experience_actions", np.int32, n, width=2),
        visited,
        _split(arrays, "experience_candidates", np.int32, total),
        _split(arrays, "experience_policy", np.float32, total),
        imitated_from.tolist(),
        *(read(arrays, f"experience_{name}", np.float64, n.shape).tolist() for name in SCALARS),
        strict=True,
    )
    return [Experience(*column) for column in columns]


def _pack_instances(instances: Sequence[Instance]) -> Arrays:
    texts = [json.dumps({name: getattr(i, name) for name in NAMES}).encode() for i in instances]
    return {
        "instance_shapes": _ints(
            size for i in instances for size in (i.n_tasks, i.n_processors, i.n_edges)
        ).reshape(-1, 3),
        "instance_comp": _join([i.comp for i in instances], np.float64),
        "instance_edges": _join([i.edges for i in instances], np.int64).reshape(-1, 2),
        "instance_data": _join([i.data for i in instances], np.float64),
        "instance_inv_bandwidth": _join([i.inv_bandwidth for i in instances], np.float64),
        "instance_latency": _join([i.latency for i in instances], np.float64),
        "instance_name_lengths": _ints(len(text) for text in texts),
        "instance_names": np.frombuffer(b"".join(texts), dtype=np.uint8),
    }


def _unpack_instances(arrays: Arrays) -> list[Instance]:
    shapes = read(arrays, "instance_shapes", np.int64, (-1, 3))
    n, p, m = shapes.T
    columns = zip(
        shapes.tolist(),
        _split(arrays, "instance_comp", np.float64, n * p),
        _split(arrays, "instance_edges", np.int64, m, width=2),
        _split(arrays, "instance_data", np.float64, m),
        _split(arrays, "instance_inv_bandwidth", np.float64, p * p),
        _split(arrays, "instance_latency", np.float64, p * p),
        _split(
            arrays,
            "instance_names",
            np.uint8,
            read(arrays, "instance_name_lengths", np.int64, n.shape),
        ),
        strict=True,
    )
    return [_instance(i, *column) for i, column in enumerate(columns)]


def _instance(
    index: int,
    shape: tuple[int, int, int],
    comp: npt.NDArray[Any],
    edges: npt.NDArray[Any],
    data: npt.NDArray[Any],
    inv_bandwidth: npt.NDArray[Any],
    latency: npt.NDArray[Any],
    names: npt.NDArray[Any],
) -> Instance:
    n, p, _ = shape
    try:
        return Instance(
            comp.reshape(n, p),
            edges,
            data,
            inv_bandwidth=inv_bandwidth.reshape(p, p),
            latency=latency.reshape(p, p),
            **json.loads(names.tobytes()),
        )
    except (DAGSchedError, ValueError, TypeError) as error:
        raise FormatError(f"replay: instance {index} is not valid: {error}") from None


def _distinct(items: Sequence[Item]) -> tuple[list[Item], Ints]:
    """The different objects in order of appearance, and the index of each item among them."""
    index: dict[int, int] = {}
    for item in items:
        index.setdefault(id(item), len(index))
    by_id = {id(item): item for item in items}
    return [by_id[key] for key in index], _ints(index[id(item)] for item in items)


def _ints(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int64)


def _join(parts: Sequence[npt.NDArray[Any]], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """All entries of all parts, flat; of ``dtype`` even when there are none."""
    return np.concatenate([np.empty(0, dtype), *(part.ravel() for part in parts)], dtype=dtype)


def _split(
    arrays: Arrays, key: str, dtype: npt.DTypeLike, lengths: Ints, width: int = 0
) -> list[npt.NDArray[Any]]:
    """The array at ``key`` cut into parts; ``width`` > 0: its rows hold that many numbers."""
    whole = read(arrays, key, dtype, (-1, width) if width else (-1,))
    if (lengths < 0).any() or lengths.sum() != whole.shape[0]:
        raise FormatError(
            f"replay: array {key!r} has {whole.shape[0]} rows, its lengths say {lengths.sum()}"
        )
    return np.split(whole, np.cumsum(lengths)[:-1]) if lengths.size else []


def _check_range(key: str, values: npt.NDArray[Any], limit: int | Ints) -> None:
    if ((values < 0) | (values >= limit)).any():
        raise FormatError(f"replay: array {key!r} holds a number that is out of range")
