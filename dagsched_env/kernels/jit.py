"""The decorators by which this project compiles functions."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from dagsched_env.kernels.indexing import FromStart
from dagsched_env.kernels.machine_code import keep

Function = TypeVar("Function", bound=Callable[..., Any])

DEFAULTS: dict[str, Any] = {
    "_nrt": True,
    "error_model": "python",
    "fastmath": False,
    "forceinline": False,
}
"""What numba takes over from the kernel that calls first where it is not said.

Then the machine code of a kernel, and by ``fastmath`` its results, would depend on the order in
which a process compiles.
"""
BORROWING: dict[str, Any] = {"nogil": True, "_nrt": False}
"""``_nrt`` is an option of numba that its manual does not mention: no reference counts."""


def kernel(function: Function) -> Function:
    """Compile on first call, cache the machine code on disk, and release the GIL while running.

    A kernel that returns a NamedTuple is for other kernels only: an interrupt while numba hands one
    over to Python ends the process. Python makes its own and has a kernel fill the arrays.
    """
    return _compiled(function, nogil=True)


def borrowing(function: Function) -> Function:
    """A ``kernel`` that does not count references to its arrays.

    Where a short loop reads a struct of many arrays, counting takes longer than the work. Such a
    kernel must not allocate, which the compiler checks. It must not call a function that returns a
    new array either, which the compiler does not check: the array would never be freed.
    """
    return _compiled(function, **BORROWING)


def embedded(function: Function) -> Function:
    """A ``borrowing`` kernel whose machine code is copied into every kernel that calls it.

    For the steps of a long loop: to pass structs of sixty arrays takes 0.1 µs a call.
    """
    return _compiled(function, **BORROWING, forceinline=True)


def inlined(function: Function) -> Function:
    """Compile as a part of every kernel that calls it.

    For short helpers of inner loops that take a struct of arrays: a call counts references to all
    of them, which takes longer than the helper itself.
    """
    return cast(Function, numba.njit(inline="always")(function))


def summing(function: Function) -> Function:
    """A ``kernel`` in which the compiler may change the order of additions.

    Only then a sum over a row uses vector instructions. Results differ by rounding, and from one
    kind of processor to another.
    """
    reordering = {"reassoc", "nsz"}
    return _compiled(function, nogil=True, fastmath=reordering)


def _compiled(function: Function, **options: Any) -> Function:
    """Compile on first call; the machine code is kept on disk, wherever that is possible."""
    compiled = numba.njit(pipeline_class=FromStart, **{**DEFAULTS, **options})(function)
    keep(compiled)
    return cast(Function, compiled)
