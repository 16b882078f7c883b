"""What an ``Instance`` is made of, checked: each function raises an InvalidInstanceError that names
the argument and the index."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.problem.errors import InvalidInstanceError


def frozen(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A contiguous array that nobody can write to."""
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array


def floats(what: str, values: npt.ArrayLike) -> Floats:
    """``what`` as an array of float64; raises an InvalidInstanceError that names it."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInstanceError(f"{what} is not a rectangular array of numbers") from None


def first_index(mask: npt.ArrayLike) -> tuple[int, ...]:
    """Index of the first True entry."""
    return tuple(int(i) for i in np.argwhere(mask)[0])


def checked_comp(comp: Floats) -> Floats:
    """``[n, p]`` execution times ≥ 0, inf where a task may not run."""
    if comp.ndim != 2 or 0 in comp.shape:
        raise InvalidInstanceError(
            f"comp needs shape [tasks, processors], at least one of each, got {list(comp.shape)}"
        )
    bad = np.isnan(comp) | (comp < 0)
    if bad.any():
        t, q = first_index(bad)
        raise InvalidInstanceError(
            f"comp[{t}, {q}] is {comp[t, q]}: execution times are >= 0, inf where not allowed"
        )
    nowhere = np.isinf(comp).all(axis=1)
    if nowhere.any():
        raise InvalidInstanceError(
            f"task {first_index(nowhere)[0]} can run on no processor: its row of comp is all inf"
        )
    return frozen(comp)


def shown_task(task: int, names: Sequence[str]) -> str:
    """A task in a message: its name, or its index where no other name was given."""
    name = names[task]
    return name if name == str(task) else repr(name)


def checked_edges(
    edges: npt.ArrayLike | Iterable[tuple[int, int]], task_names: Sequence[str]
) -> Ints:
    """``[m, 2]`` pairs of task indices, none twice and none of a task with itself."""
    n = len(task_names)
    try:
        raw = np.array(edges if isinstance(edges, np.ndarray) else list(edges))  # type: ignore[arg-type]
        with np.errstate(invalid="ignore"):  # NaN and huge floats are refused below
            pairs = raw.astype(np.int64) if raw.size else np.empty((0, 2), dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInstanceError("edges is not a list of pairs of task indices") from None
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InvalidInstanceError(f"edges needs shape [edges, 2], got {list(pairs.shape)}")
    if raw.size and (raw.dtype.kind not in "iuf" or not np.array_equal(raw, pairs)):
        raise InvalidInstanceError("edges holds entries that are not whole numbers")
    bad = ((pairs < 0) | (pairs >= n)).any(axis=1)
    if bad.any():
        e = first_index(bad)[0]
        raise InvalidInstanceError(
            f"edge {e} is {pairs[e].tolist()}: task indices run from 0 to {n - 1}"
        )
    loops = pairs[:, 0] == pairs[:, 1]
    if loops.any():
        e = first_index(loops)[0]
        task = shown_task(int(pairs[e, 0]), task_names)
        raise InvalidInstanceError(f"edge {e} is a self-loop on task {task}; remove it")
    keys = pairs[:, 0] * n + pairs[:, 1]
    order = np.argsort(keys, kind="stable")
    repeated = keys[order[1:]] == keys[order[:-1]]
    if repeated.any():
        earliest = np.argmin(order[:-1][repeated])
        e = int(order[1:][repeated][earliest])
        u, v = (shown_task(task, task_names) for task in pairs[e].tolist())
        raise InvalidInstanceError(
            f"edge {e} repeats the pair ({u}, {v}); add the data up on one edge"
        )
    return frozen(pairs)


def checked_data(data: Floats, edges: Ints) -> Floats:
    """``[m]`` finite amounts ≥ 0."""
    data = data.reshape(-1) if data.size == 0 else data
    if data.shape != (edges.shape[0],):
        raise InvalidInstanceError(
            f"data needs one number per edge, shape [{edges.shape[0]}], got {list(data.shape)}"
        )
    bad = ~(np.isfinite(data) & (data >= 0))
    if bad.any():
        e = first_index(bad)[0]
        raise InvalidInstanceError(f"data[{e}] is {data[e]}: amounts are finite and >= 0")
    return frozen(data)


def checked_times(
    what: str, values: npt.ArrayLike | None, *shapes: tuple[int, ...]
) -> Floats | None:
    """Finite times ≥ 0; None stays None.

    Args:
        what: name of the argument.
        values: the argument.
        shapes: those that it may have.
    """
    if values is None:
        return None
    times = floats(what, values)
    if times.shape not in shapes:
        needed = " or ".join(str(list(shape)) for shape in shapes)
        raise InvalidInstanceError(f"{what} needs shape {needed}, got {list(times.shape)}")
    bad = ~(np.isfinite(times) & (times >= 0))
    if bad.any():
        index = first_index(bad)
        place = ", ".join(map(str, index))
        raise InvalidInstanceError(f"{what}[{place}] is {times[index]}: it is finite and >= 0")
    return frozen(times)


def checked_link(what: str, values: npt.ArrayLike | None, p: int, default: float) -> Floats:
    """``[p, p]`` finite numbers ≥ 0, with 0 from a processor to itself.

    Args:
        what: name of the argument.
        values: the argument; None = ``default`` everywhere.
        p: processors.
        default: of all pairs.
    """
    matrix = np.full((p, p), default) if values is None else floats(what, values)
    if matrix.shape != (p, p):
        raise InvalidInstanceError(f"{what} needs shape [{p}, {p}], got {list(matrix.shape)}")
    matrix[np.diag_indices(p)] = 0.0
    bad = ~(np.isfinite(matrix) & (matrix >= 0))
    if bad.any():
        a, b = first_index(bad)
        raise InvalidInstanceError(f"{what}[{a}, {b}] is {matrix[a, b]}: it is finite and >= 0")
    return frozen(matrix)


def checked_names(
    what: str, names: Sequence[str] | None, count: int, prefix: str
) -> tuple[str, ...]:
    """Distinct names.

    Args:
        what: name of the argument.
        names: the argument; None = the prefix and a number.
        count: of names.
        prefix: of those by default.
    """
    if names is None:
        return tuple(f"{prefix}{i}" for i in range(count))
    names = texts(what, names)
    if len(names) != count:
        raise InvalidInstanceError(f"{what} needs {count} names, got {len(names)}")
    seen: set[str] = set()
    for i, name in enumerate(names):
        if name in seen:
            raise InvalidInstanceError(f"{what}[{i}] repeats {name!r}; names are distinct")
        seen.add(name)
    return names


def texts(what: str, values: Sequence[str]) -> tuple[str, ...]:
    """A tuple of strings."""
    listed = isinstance(values, Iterable) and not isinstance(values, str)
    if not listed or not all(isinstance(value, str) for value in values):
        raise InvalidInstanceError(f"{what} is not a list of strings")
    return tuple(values)
