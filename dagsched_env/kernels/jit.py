"""The two ways in which this project compiles: as a kernel of its own, or into its callers."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["inlined", "kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile on first call, cache the machine code on disk, and release the GIL while running."""
    return cast(Function, numba.njit(cache=True, nogil=True)(function))


def inlined(function: Function) -> Function:
    """Compile as a part of every kernel that calls it.

    For helpers of inner loops that take a struct of arrays: a call counts references to all of
    them, which costs more than a short helper does.
    """
    return cast(Function, numba.njit(inline="always")(function))
