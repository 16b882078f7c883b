"""Experiences and rank groups as plain numeric arrays and back, without pickle.

Checkpoints hold them so, and so they travel between machines. Ragged data is concatenated, with its
lengths beside it. Instances that experiences share are stored once, and are shared again after
reading; where the reader has them already, they are left out.
"""

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from aerl_trainer.learning.records import Experience
from aerl_trainer.learning.replay.arrays import Arrays, read
from aerl_trainer.tree.records import TreeGroup
from dagsched_env.kernels.arrays import Ints
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.instance import Instance

Item = TypeVar("Item")

SCALARS = ("reward", "weight", "makespan")
NAMES = ("name", "task_names", "processor_names")
TREE = "tree_"
"""Begins the names of all arrays of ``pack_groups``."""
NOWHERE = (-1, -1)
"""In place of a place in the replay."""
TRIED: dict[str, type[np.generic]] = {
    "depths": np.int64,
    "others": np.int64,
    "inclusion": np.float64,
    "makespans": np.float64,
}
"""Of a tree group: the fields with a number for each action that was tried."""


def pack(experiences: Sequence[Experience], *, with_instances: bool = True) -> Arrays:
    """Arrays from which ``unpack`` restores the experiences exactly.

    ``instance_*`` describe the I distinct instances, ``experience_*`` the E experiences.
    """
    instances, instance_of = _distinct([e.instance for e in experiences])
    return {
        **(pack_instances(instances) if with_instances else {}),
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


def unpack(arrays: Arrays, instances: Sequence[Instance] | None = None) -> list[Experience]:
    """The inverse of ``pack``; other keys in ``arrays`` are left alone.

    Args:
        arrays: of ``pack``.
        instances: the distinct ones, where they are not in the arrays.

    Raises:
        FormatError: an array is missing, of a wrong type or length, or a number is out of range.
    """
    if instances is None:
        instances = unpack_instances(arrays)
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
    actions = _split(arrays, "experience_actions", np.int32, n, width=2)
    for i, pairs in zip(instance_of, actions, strict=True):
        _check_actions("experience_actions", instances[i], pairs[:, 0], pairs[:, 1])
    policy = _split(arrays, "experience_policy", np.float32, total)
    scalars = [read(arrays, f"experience_{name}", np.float64, n.shape) for name in SCALARS]
    for key in ("policy", *SCALARS):
        _check_finite(f"experience_{key}", arrays)
    columns = zip(
        (instances[i] for i in instance_of),
        actions,
        visited,
        _split(arrays, "experience_candidates", np.int32, total),
        policy,
        imitated_from.tolist(),
        *(values.tolist() for values in scalars),
        strict=True,
    )
    return [Experience(*column) for column in columns]


def pack_groups(groups: Sequence[TreeGroup], *, with_instances: bool = True) -> Arrays:
    """Arrays from which ``unpack_groups`` restores the groups exactly."""
    instances, instance_of = _distinct([group.instance for group in groups])
    return {
        **(pack_instances(instances, TREE) if with_instances else {}),
        f"{TREE}instance": instance_of,
        f"{TREE}actions": _join([group.actions for group in groups], np.int64),
        f"{TREE}tried": _ints(group.depths.shape[0] for group in groups),
        **{
            f"{TREE}{name}": _join([getattr(group, name) for group in groups], dtype)
            for name, dtype in TRIED.items()
        },
        f"{TREE}makespan": np.array([group.makespan for group in groups], np.float64),
        f"{TREE}step": _ints(group.step for group in groups),
        f"{TREE}known": np.array([group.known for group in groups], np.float64),
        f"{TREE}place": _ints(chain(*(group.place or NOWHERE for group in groups))).reshape(-1, 2),
    }


def unpack_groups(arrays: Arrays, instances: Sequence[Instance] | None = None) -> list[TreeGroup]:
    """The inverse of ``pack_groups``; other keys in ``arrays`` are left alone.

    Args:
        arrays: of ``pack_groups``.
        instances: the distinct ones, where they are not in the arrays.

    Raises:
        FormatError: an array is missing, of a wrong type or length, or a number is out of range.
    """
    if instances is None:
        instances = unpack_instances(arrays, TREE)
    instance_of = read(arrays, f"{TREE}instance", np.int64, (-1,))
    _check_range(f"{TREE}instance", instance_of, len(instances))
    n = _ints(instances[i].n_tasks for i in instance_of)
    tried = read(arrays, f"{TREE}tried", np.int64, n.shape)
    makespan = read(arrays, f"{TREE}makespan", np.float64, n.shape)
    step = read(arrays, f"{TREE}step", np.int64, n.shape)
    _check_range(f"{TREE}step", step, np.iinfo(np.int64).max)
    known = read(arrays, f"{TREE}known", np.float64, n.shape)
    if np.isnan(known).any():
        raise FormatError(f"replay: array '{TREE}known' holds a number that is not finite")
    places = read(arrays, f"{TREE}place", np.int64, (*n.shape, 2)).tolist()
    columns = [_split(arrays, f"{TREE}{name}", dtype, tried) for name, dtype in TRIED.items()]
    for name in ("inclusion", "makespans", "makespan"):
        _check_finite(f"{TREE}{name}", arrays)
    chances = arrays[f"{TREE}inclusion"]
    if ((chances <= 0) | (chances > 1)).any():
        raise FormatError(f"replay: array '{TREE}inclusion' holds a number that is not in (0, 1]")
    groups = []
    for k, actions in enumerate(_split(arrays, f"{TREE}actions", np.int64, n)):
        instance = instances[instance_of[k]]
        _check_actions(f"{TREE}actions", instance, *np.divmod(actions, instance.n_processors))
        depths, others, inclusion, makespans = (column[k] for column in columns)
        _check_range(f"{TREE}depths", depths, instance.n_tasks)
        _check_range(f"{TREE}others", others, instance.comp.size)
        if (np.diff(depths) < 0).any():
            raise FormatError(f"replay: array '{TREE}depths' does not increase")
        group = TreeGroup(
            instance,
            actions,
            float(makespan[k]),
            depths,
            others,
            inclusion,
            makespans,
            int(step[k]),
            float(known[k]),
            None if min(places[k]) < 0 else (places[k][0], places[k][1]),
        )
        groups.append(group)
    return groups


def pack_instances(instances: Sequence[Instance], prefix: str = "") -> Arrays:
    """Arrays from which ``unpack_instances`` restores the instances exactly."""
    texts = [json.dumps(_described(i)).encode() for i in instances]
    packed = {
        "shapes": _ints(
            size for i in instances for size in (i.n_tasks, i.n_processors, i.n_edges)
        ).reshape(-1, 3),
        "comp": _join([i.comp for i in instances], np.float64),
        "edges": _join([i.edges for i in instances], np.int64).reshape(-1, 2),
        "data": _join([i.data for i in instances], np.float64),
        "inv_bandwidth": _join([i.inv_bandwidth for i in instances], np.float64),
        "latency": _join([i.latency for i in instances], np.float64),
        "name_lengths": _ints(len(text) for text in texts),
        "names": np.frombuffer(b"".join(texts), dtype=np.uint8),
    }
    return {f"{prefix}instance_{name}": array for name, array in packed.items()}


def _described(instance: Instance) -> dict[str, Any]:
    """The arguments of an instance that are stored as text: names, resources, release dates."""
    arguments = instance.arguments()
    described = {name: arguments[name] for name in NAMES}
    if instance.n_resources:
        described["resource_names"] = instance.resource_names
        for name in ("demands", "capacities"):
            described[name] = arguments[name].tolist()
    for name in ("release", "available_from"):
        if name in arguments:
            described[name] = arguments[name].tolist()
    return described


def unpack_instances(arrays: Arrays, prefix: str = "") -> list[Instance]:
    """The inverse of ``pack_instances``; raises FormatError as ``unpack``."""
    prefix += "instance_"
    shapes = read(arrays, f"{prefix}shapes", np.int64, (-1, 3))
    n, p, m = shapes.T
    columns = zip(
        shapes.tolist(),
        _split(arrays, f"{prefix}comp", np.float64, n * p),
        _split(arrays, f"{prefix}edges", np.int64, m, width=2),
        _split(arrays, f"{prefix}data", np.float64, m),
        _split(arrays, f"{prefix}inv_bandwidth", np.float64, p * p),
        _split(arrays, f"{prefix}latency", np.float64, p * p),
        _split(
            arrays,
            f"{prefix}names",
            np.uint8,
            read(arrays, f"{prefix}name_lengths", np.int64, n.shape),
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
    except (ValueError, TypeError, RecursionError) as error:
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
    in_range = (lengths >= 0) & (lengths <= whole.shape[0])
    if not in_range.all() or lengths.sum() != whole.shape[0]:
        raise FormatError(
            f"replay: array {key!r} has {whole.shape[0]} rows, its lengths say {lengths.sum()}"
        )
    return np.split(whole, np.cumsum(lengths)[:-1]) if lengths.size else []


def _check_range(key: str, values: npt.NDArray[Any], limit: int | Ints) -> None:
    if ((values < 0) | (values >= limit)).any():
        raise FormatError(f"replay: array {key!r} holds a number that is out of range")


def _check_finite(key: str, arrays: Arrays) -> None:
    if not np.isfinite(arrays[key]).all():
        raise FormatError(f"replay: array {key!r} holds a number that is not finite")


def _check_actions(
    key: str, instance: Instance, tasks: npt.NDArray[Any], processors: npt.NDArray[Any]
) -> None:
    """They place each task once, behind its predecessors and where it can run.

    The kernels that replay them do not look.
    """
    _check_range(key, tasks, instance.n_tasks)
    _check_range(key, processors, instance.n_processors)
    position = np.full(instance.n_tasks, -1)
    position[tasks] = np.arange(instance.n_tasks)
    before, behind = position[instance.edges].T
    whole = (position >= 0).all() and (before < behind).all()
    if not whole or not np.isfinite(instance.comp[tasks, processors]).all():
        raise FormatError(f"replay: array {key!r} holds a sequence of actions that is not legal")
