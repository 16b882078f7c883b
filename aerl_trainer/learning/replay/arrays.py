"""Named plain arrays, as checkpoints hold them."""

from typing import Any

import numpy as np
import numpy.typing as npt

from dagsched_env.problem.errors import FormatError

Arrays = dict[str, npt.NDArray[Any]]


def read(arrays: Arrays, key: str, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> Any:
    """One array, checked.

    Args:
        arrays: all of them.
        key: its name.
        dtype: that it must have.
        shape: that it must have; -1 stands for any length.

    Raises:
        FormatError: it is missing or has another type or shape.
    """
    array = arrays.get(key)
    if array is None:
        raise FormatError(f"replay: array {key!r} is missing")
    fits = array.ndim == len(shape) and all(
        wanted in (-1, length) for wanted, length in zip(shape, array.shape, strict=True)
    )
    if array.dtype != np.dtype(dtype) or not fits:
        raise FormatError(
            f"replay: array {key!r} is {array.dtype}{list(array.shape)}, "
            f"expected {np.dtype(dtype)}{list(shape)}"
        )
    return array
