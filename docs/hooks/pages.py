"""Pages that are made when the site is built: documents of the repository, and the API reference.

Documents outside of ``docs/`` become pages under their own path, the README the first page. Links
of all documents, which lead from file to file in the repository, are turned into links from page to
page.
"""

import ast
import functools
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
DOCUMENTS = (
    "README.md",
    "ARCHITECTURE.md",
    "BENCHMARKS.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "examples/README.md",
    "examples/llvm_passes/README.md",
    "examples/tsp/README.md",
)
HOME = {"README.md": "index.md"}
"""Document → its page, where that has another path."""
PICTURES = "examples/*/*.png"
PACKAGES = ("dagsched_env", "aerl_trainer")
API = "api"
BELOW_THE_GUIDE = "---\nsearch:\n  boost: 0.3\n---\n\n"
"""In the results of a search."""
LINK = re.compile(r"(\]\()([^)\s#:]+)(#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the modules to the section of the navigation that holds ``api/index.md``."""
    for entry in config.nav or ():
        for content in entry.values():
            if content and f"{API}/index.md" in content:
                content += [{package: _nav(ROOT / package)} for package in PACKAGES]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not in ``docs/``, and the pictures of the applications."""
    for name in DOCUMENTS:
        page = HOME.get(name, name)
        files.append(File.generated(config, page, abs_src_path=str(ROOT / name)))
    for path in sorted(ROOT.glob(PICTURES)):
        name = path.relative_to(ROOT).as_posix()
        files.append(File.generated(config, name, abs_src_path=str(path)))
    for package in PACKAGES:
        for path in _modules(ROOT / package):
            files.append(File.generated(config, _page_of(path), content=_reference(path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Turn links to files into links to pages."""
    uri = page.file.src_uri
    if uri.startswith(f"{API}/"):
        return markdown
    source = next((name for name in DOCUMENTS if HOME.get(name, name) == uri), f"docs/{uri}")

    def translated(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link[2]))
        target = HOME.get(target, target.removeprefix("docs/"))
        return (
            f"{link[1]}{posixpath.relpath(target, posixpath.dirname(uri) or '.')}{link[3] or ''})"
        )

    return LINK.sub(translated, markdown)


# -- the API reference -------------------------------------------------------------------------


def _modules(package: Path) -> Iterator[Path]:
    """Packages, each before what it contains, and the modules that users may use."""
    yield package / "__init__.py"
    for path in sorted(package.iterdir()):
        if (path / "__init__.py").exists():
            yield from _modules(path)
        elif path in public_modules():
            yield path


@functools.cache
def public_modules() -> frozenset[Path]:
    """Modules with an ``__all__``, and those that hold what a package takes into its own."""
    found = set()
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            names = _exported(_parsed(path))
            if path.name == "__main__.py":
                continue
            if path.name != "__init__.py":
                found |= {path} if names else set()
                continue
            module = ".".join(path.parent.relative_to(ROOT).parts)
            homes = {_home(module, name).rpartition(".")[0] for name in names}
            found |= {ROOT.joinpath(*home.split(".")).with_suffix(".py") for home in homes}
    return frozenset(path for path in found if path.exists())


def _nav(package: Path) -> list[Any]:
    """The package's own page, then its modules; packages among them are sections."""
    entries: list[Any] = [_page_of(package / "__init__.py")]
    for path in sorted(package.iterdir()):
        if (path / "__init__.py").exists():
            entries.append({path.name: _nav(path)})
        elif path in public_modules():
            entries.append({path.stem: _page_of(path)})
    return entries


def _page_of(path: Path) -> str:
    page = path.relative_to(ROOT).with_suffix(".md").as_posix()
    return f"{API}/{page.replace('__init__', 'index')}"


def _reference(path: Path) -> str:
    """What mkdocstrings makes the page of: all that is public, in the order of the file.

    What a package takes from its modules is described there; its own page links to it.
    """
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    page = f"{BELOW_THE_GUIDE}# `{name}`\n\n::: {name}\n"
    if path.name != "__init__.py":
        return page
    tree = _parsed(path)
    names = [n for n in _exported(tree) if not n.startswith("_")]
    own = [n for n in names if n in _defined(tree)]
    page += f"    options:\n      members: {own}\n"
    links = [f"[`{n}`][{_home(name, n)}]" for n in names if n not in own]
    return f"{page}\nFrom its modules it takes {', '.join(links)}.\n" if links else page


def _home(module: str, name: str) -> str:
    """Where a name that can be imported from a module is defined."""
    path = ROOT.joinpath(*module.split("."))
    tree = _parsed(path / "__init__.py" if path.is_dir() else path.with_suffix(".py"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _home(node.module, alias.name)
    return f"{module}.{name}"


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _defined(tree: ast.Module) -> set[str]:
    """Names that the statements of a module define."""
    found = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            found.add(ast.unparse(node.target))
        elif isinstance(node, ast.Assign):
            found |= {ast.unparse(target) for target in node.targets}
    return found


def _exported(tree: ast.Module) -> list[str]:
    """``__all__``."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return names
    return []
