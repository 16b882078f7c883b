"""The one way in which this project compiles a kernel."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile on first call, cache the machine code on disk, and release the GIL while running."""
    return cast(Function, numba.njit(cache=True, nogil=True)(function))
