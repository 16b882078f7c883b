"""The ways in which this project compiles: kernels, some of which borrow, and parts of kernels."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["borrowing", "inlined", "kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])

BORROWING: dict[str, Any] = {"cache": True, "nogil": True, "_nrt": False}
"""The last is numba's, though not of its documents: no reference counts in this function."""


def kernel(function: Function) -> Function:
    """Compile on first call, cache the machine code on disk, and release the GIL while running."""
    return cast(Function, numba.njit(cache=True, nogil=True)(function))


def borrowing(function: Function) -> Function:
    """A ``kernel`` that does not count references to the arrays it is given.

    Counting takes longer than the work where a short loop reads a struct of many arrays. Such a
    kernel allocates nothing, which the compiler checks, and must not call what returns a new array,
    which it does not: that would never be freed.
    """
    return cast(Function, numba.njit(**BORROWING)(function))


def inlined(function: Function) -> Function:
    """Compile as a part of every kernel that calls it.

    For helpers of inner loops that take a struct of arrays: a call counts references to all of
    them, which costs more than a short helper does.
    """
    return cast(Function, numba.njit(inline="always")(function))
