"""What docstrings promise: arguments of public functions, and the reading order of packages."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers import ROOT

LEAST_PARAMETERS = 3
"""With so many parameters, not counting ``self`` and ``cls``, a docstring has to explain them."""

PACKAGES = ("dagsched_env", "aerl_trainer")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def parameters(function: Function, *, bound: bool) -> list[str]:
    """Names of all parameters but ``self`` or ``cls``, which a bound function has."""
    signature = function.args
    names = [a.arg for a in signature.posonlyargs + signature.args][bound:]
    names += [a.arg for a in signature.kwonlyargs]
    return names + [a.arg for a in (signature.vararg, signature.kwarg) if a is not None]


def is_static(function: Function) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list)


def described(node: ast.AST) -> set[str]:
    """Names under ``Args:`` in a docstring."""
    text = ast.get_docstring(node) or ""  # type: ignore[arg-type]
    section = re.search(r"^Args:\n((?:[ ]+.*\n?|\n)*)", text, re.MULTILINE)
    return set(re.findall(r"^    \*{0,2}(\w+):", section[1], re.MULTILINE)) if section else set()


def exported(package: str) -> set[str]:
    """All names of ``__all__`` in a package: what users may use."""
    found: set[str] = set()
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                found |= set(ast.literal_eval(node.value))
    return found


def documented(tree: ast.Module, public: set[str]) -> Iterator[tuple[str, ast.AST, list[str]]]:
    """Name, node with the docstring, and parameters of what is public in a module."""
    for node in tree.body:
        if isinstance(node, Function) and node.name in public:
            yield node.name, node, parameters(node, bound=False)
        if isinstance(node, ast.ClassDef) and node.name in public:
            for method in node.body:
                if not isinstance(method, Function):
                    continue
                names = parameters(method, bound=not is_static(method))
                if method.name == "__init__":
                    yield node.name, node, names
                elif not method.name.startswith("_"):
                    yield f"{node.name}.{method.name}", method, names


def packages(package: str) -> list[Path]:
    """Folders with an ``__init__.py``."""
    return sorted(path.parent for path in (ROOT / package).rglob("__init__.py"))


@pytest.mark.parametrize("package", PACKAGES)
def test_arguments_are_described_where_there_are_three_or_more(package: str) -> None:
    missing = []
    public = exported(package)
    for path in sorted((ROOT / package).rglob("*.py")):
        for name, node, names in documented(ast.parse(path.read_text(encoding="utf-8")), public):
            if len(names) >= LEAST_PARAMETERS:
                absent = [n for n in names if n not in described(node)]
                if absent:
                    where = path.relative_to(ROOT).as_posix()
                    missing.append(f"{where}: {name}: {', '.join(absent)}")
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_lists_its_modules(package: str) -> None:
    missing = []
    for folder in packages(package):
        text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
        listed = set(re.findall(r"``(\w+)``", text))
        modules = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
        modules |= {path.parent.name for path in folder.glob("*/__init__.py")}
        missing += [
            f"{folder.relative_to(ROOT)}: {name}" for name in sorted(modules) if name not in listed
        ]
    assert not missing, "\n".join(missing)


def imported(path: Path) -> Iterator[str]:
    """Dotted names that a module imports when it is loaded."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{name.name}" for name in node.names)


@pytest.mark.parametrize("package", PACKAGES)
def test_the_reading_order_is_the_order_of_imports(package: str) -> None:
    """What a module imports from its own folder is listed before it."""
    wrong = []
    for folder in packages(package):
        text = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
        order = list(dict.fromkeys(re.findall(r"``(\w+)``", text.partition("reading order")[2])))
        name = ".".join(folder.relative_to(ROOT).parts)
        for i, module in enumerate(order):
            files = [folder / f"{module}.py", *(folder / module).rglob("*.py")]
            uses = {used for path in files if path.exists() for used in imported(path)}
            wrong += [
                f"{name}: {module} imports {later}, which is listed after it"
                for later in order[i + 1 :]
                if any(f"{used}.".startswith(f"{name}.{later}.") for used in uses)
            ]
    assert not wrong, "\n".join(wrong)
