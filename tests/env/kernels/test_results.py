"""What kernels hand over to Python: numbers, arrays and plain tuples of them."""

import ast
import importlib
import inspect
import pkgutil
import typing
from collections.abc import Iterator
from types import ModuleType

from numba.core.dispatcher import Dispatcher

import aerl_trainer
import dagsched_env


def modules() -> Iterator[ModuleType]:
    for package in (dagsched_env, aerl_trainer):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


def meant(node: ast.AST, module: ModuleType) -> object:
    """What a name or an attribute is in the global scope of a module, or None."""
    if isinstance(node, ast.Name):
        return vars(module).get(node.id)
    if isinstance(node, ast.Attribute):
        return getattr(meant(node.value, module), node.attr, None)
    return None


def has_named_tuple(annotation: object) -> bool:
    return hasattr(annotation, "_fields") or any(map(has_named_tuple, typing.get_args(annotation)))


def may_return_named_tuple(compiled: Dispatcher) -> bool:
    """By its annotation, or because it is a tuple that is not written out in the return."""
    annotation = typing.get_type_hints(compiled.py_func)["return"]
    if has_named_tuple(annotation) or typing.get_origin(annotation) is not tuple:
        return has_named_tuple(annotation)
    module = importlib.import_module(compiled.py_func.__module__)
    body = ast.parse(inspect.getsource(compiled.py_func))
    values = [node.value for node in ast.walk(body) if isinstance(node, ast.Return)]
    return not all(
        isinstance(value, ast.Tuple)
        or (isinstance(value, ast.Call) and isinstance(meant(value.func, module), Dispatcher))
        for value in values
    )


def named_by_python(module: ModuleType) -> Iterator[tuple[int, object]]:
    """Line and meaning of each name in a module outside its kernels."""
    for statement in ast.parse(inspect.getsource(module)).body:
        if not isinstance(vars(module).get(getattr(statement, "name", "")), Dispatcher):
            for node in ast.walk(statement):
                if isinstance(getattr(node, "ctx", None), ast.Load):
                    yield node.lineno, meant(node, module)


def test_python_calls_no_kernel_that_returns_a_named_tuple() -> None:
    """Ctrl-C while numba hands one over would end the process."""
    unsafe = {
        value
        for module in modules()
        for value in vars(module).values()
        if isinstance(value, Dispatcher) and may_return_named_tuple(value)
    }
    assert len(unsafe) > 3, "kernels that only kernels call are found"
    named = [
        f"{module.__name__}, line {line}: {meaning}"
        for module in modules()
        for line, meaning in named_by_python(module)
        if isinstance(meaning, Dispatcher) and meaning in unsafe
    ]
    assert named == []
