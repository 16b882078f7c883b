"""Kernels whose indices are never negative.

Numba lets every index of an array count from the end, as Python does. Where the compiler cannot
tell the sign of an index, such as that of a task whose number comes from another array, the kernel
tests it at each use: up to a third of the instructions of an inner loop. Numba has no option
against it, but makes no test where the type of an index is unsigned. So a pass of the compiler
casts the indices of arrays to that type. A constant such as the one in ``a[-1]`` stays as it is.
"""

from typing import Any

from numba.core import ir, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.typed_passes import NopythonTypeInference


@register_pass(mutates_CFG=False, analysis_only=False)
class _CastIndices(FunctionPass):
    """After the types are known: ``a[i]`` becomes ``a[uintp(i)]``, ``a[i, j]`` alike."""

    _name = "dagsched_env_cast_indices"

    def __init__(self) -> None:
        FunctionPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        changed = False
        for block in state.func_ir.blocks.values():
            body = []
            for statement in block.body:
                access = _access_in(statement)
                if access is not None:
                    cast_of_index = _cast_index(state, block, access)
                    if cast_of_index is not None:
                        body.append(cast_of_index)
                        changed = True
                body.append(statement)
            block.body = body
        return changed


class FromStart(CompilerBase):
    """Numba's own compiler with that pass; for the option ``pipeline_class`` of ``njit``."""

    def define_pipelines(self) -> list[Any]:
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.add_pass_after(_CastIndices, NopythonTypeInference)
        pipeline.finalize()
        return [pipeline]


def _access_in(statement: Any) -> Any:
    """The read or the write by index in a statement, if there is one."""
    if isinstance(statement, ir.SetItem):
        return statement
    if isinstance(statement, ir.Assign) and isinstance(statement.value, ir.Expr):
        return statement.value if statement.value.op == "getitem" else None
    return None


def _cast_index(state: Any, block: Any, access: Any) -> Any:
    """Have an access use its index with another type; returns the cast that goes before it."""
    target = access.target if isinstance(access, ir.SetItem) else access.value
    unsigned = _unsigned(state.typemap[access.index.name])
    if unsigned is None or not isinstance(state.typemap[target.name], types.Array):
        return None
    variable = block.scope.redefine("$index", access.loc)
    state.typemap[variable.name] = unsigned
    statement = ir.Assign(ir.Expr.cast(access.index, access.loc), variable, access.loc)
    access.index = variable
    signature = state.calltypes.pop(access)
    array, _, *value = signature.args
    state.calltypes[access] = signature.replace(args=(array, unsigned, *value))
    return statement


def _unsigned(index: Any) -> Any:
    """The type that an index gets, or none if it keeps its own."""
    if isinstance(index, types.UniTuple | types.Tuple):
        parts = [_unsigned(part) for part in index.types]
        return None if None in parts or not parts else types.UniTuple(types.uintp, len(parts))
    if isinstance(index, types.IntegerLiteral) and index.literal_value < 0:
        return None
    return types.uintp if isinstance(index, types.Integer) else None
