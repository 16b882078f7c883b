"""The common text format for tours: ``x1 y1 x2 y2 … output t1 t2 … t1``, one set of points a line.

It is that of the data sets of Vinyals, Fortunato, Jaitly 2015 (pointer networks), which many later
solvers share. Points are counted from 1, and a tour ends where it began. A line without ``output``
has no tour. Files that end in ``.xz`` are compressed.
"""

import lzma
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dagsched_env.io.atomic import write_bytes
from dagsched_env.problem.errors import FormatError

__all__ = ["TourSet", "read_tours", "write_tours"]

WORD = "output"


class TourSet(NamedTuple):
    """N sets of n points each."""

    points: npt.NDArray[np.float64]
    """``[N, n, 2]``."""
    tours: npt.NDArray[np.int64] | None
    """``[N, n]`` permutations of 0 … n − 1; None where a line has no tour."""


def read_tours(path: Path) -> TourSet:
    """Read a file.

    Raises:
        FormatError: it is empty, a line is not of the format, or has another number of points than
            the first; the message names file and line.
        OSError: it cannot be read.
    """
    lines = [line for line in _text_of(path).splitlines() if line.strip()]
    if not lines:
        raise FormatError(f"{path}: no points: write a line x1 y1 x2 y2 … for each set")
    points, tours = [], []
    for number, line in enumerate(lines, 1):
        try:
            found, tour = _parse(line)
            if points and found.shape != points[0].shape:
                raise FormatError(
                    f"{len(found)} points, where the first line has {len(points[0])}: put sets of "
                    "different sizes into different files"
                )
        except FormatError as error:
            raise FormatError(f"{path}, line {number}: {error}") from None
        points.append(found)
        tours.append(tour)
    whole = [tour for tour in tours if tour is not None]
    return TourSet(np.stack(points), np.stack(whole) if len(whole) == len(tours) else None)


def write_tours(path: Path, found: TourSet) -> None:
    """Write a file that ``read_tours`` reads back, number by number.

    Raises:
        OSError: it cannot be written; an old one is unchanged.
    """
    lines = []
    for i, points in enumerate(found.points):
        words = [repr(float(value)) for value in points.flatten()]
        if found.tours is not None:
            tour = [*found.tours[i].tolist(), int(found.tours[i][0])]
            words += [WORD, *(str(point + 1) for point in tour)]
        lines.append(" ".join(words) + "\n")
    content = "".join(lines).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, lzma.compress(content) if path.suffix == ".xz" else content)


def _text_of(path: Path) -> str:
    content = path.read_bytes()
    try:
        return (lzma.decompress(content) if path.suffix == ".xz" else content).decode()
    except (lzma.LZMAError, UnicodeDecodeError) as error:
        raise FormatError(f"{path}: {error}") from None


def _parse(line: str) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64] | None]:
    """Points ``[n, 2]`` and, where there is one, the tour ``[n]``."""
    before, output, after = line.partition(WORD)
    try:
        numbers = np.array([float(word) for word in before.split()])
        tour = np.array([int(word) for word in after.split()], dtype=np.int64) - 1
    except (ValueError, OverflowError) as error:
        raise FormatError(f"{error}") from None
    if len(numbers) < 6 or len(numbers) % 2 or not np.isfinite(numbers).all():
        raise FormatError(f"{len(numbers)} coordinates: x and y of three points or more are needed")
    points = numbers.reshape(-1, 2)
    if not output:
        return points, None
    count = len(points)
    if len(tour) == count + 1 and tour[0] == tour[-1]:
        tour = tour[:-1]
    if not np.array_equal(np.sort(tour), np.arange(count)):
        raise FormatError(f"the tour after {WORD!r} does not visit each of {count} points once")
    return points, tour
