"""The documentation site: its navigation, its tables made from code, and the blocks of its pages.

The strict build, which checks links and references, is ``make docs``. Lines of blocks that do not
run here are in ``test_commands.py``.
"""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from aerl_trainer.config import settings
from aerl_trainer.run import validator
from dagsched_env import SCHEDULERS, io, records, suites
from dagsched_env.environment.actions import ACTIONS
from dagsched_env.environment.features import FEATURES
from dagsched_env.environment.rewards import REWARDS
from dagsched_env.generators import GENERATORS
from dagsched_env.io import FORMATS
from dagsched_env.problem.platforms import PLATFORMS
from dagsched_env.sources.parameters import parameters
from helpers import ROOT
from helpers.snippets import EXAMPLE, OUTPUT, blocks, run_here

DOCS = ROOT / "docs"
CONFIG: dict[str, Any] = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
WITHOUT_SNIPPETS = {
    *("algorithm.md", "decisions.md", "glossary.md", "api/index.md"),
    *("notes/learning.md", "notes/search.md"),
}
ON_RAY = "scaling.md"
PAGES = sorted(
    path.relative_to(DOCS).as_posix()
    for path in DOCS.glob("**/*.md")
    if path.relative_to(DOCS).as_posix() not in WITHOUT_SNIPPETS
)


def hook(name: str) -> ModuleType:
    """A module of ``docs/hooks``, loaded as MkDocs does it."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "hooks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    return hook("tables")


def pages_in(nav: Any) -> list[str]:
    """All pages that a part of the navigation names."""
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav
    return [page for part in parts for page in pages_in(part)]


# -- navigation ----------------------------------------------------------------------------------


def test_the_navigation_names_every_page_once() -> None:
    pages = hook("pages")
    written = [path.relative_to(DOCS).as_posix() for path in DOCS.glob("**/*.md")]
    made = [pages.HOME.get(name, name) for name in pages.DOCUMENTS]
    assert sorted(pages_in(CONFIG["nav"])) == sorted([*written, *made])
    assert {path.name for path in ROOT.glob("*.md")} <= set(pages.DOCUMENTS)


def test_the_navigation_of_the_api_names_what_users_may_use() -> None:
    pages = hook("pages")
    config = pages.on_config(type("Config", (), {"nav": [{"API": ["api/index.md"]}]})())
    named = set(pages_in(config.nav)) - {"api/index.md"}
    files = [path for p in pages.PACKAGES for path in (ROOT / p).rglob("*.py")]
    packages = [path for path in files if path.name == "__init__.py"]
    public = [
        path.relative_to(ROOT).with_suffix(".md").as_posix().replace("__init__", "index")
        for path in (*packages, *pages.public_modules())
    ]
    assert named == {f"api/{path}" for path in public}
    assert {"api/dagsched_env/problem/instance.md", "api/dagsched_env/schedulers/heft.md"} <= named
    assert "api/aerl_trainer/tree/selection.md" not in named


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        ("guide/solving.md", "../../BENCHMARKS.md", "../BENCHMARKS.md"),
        ("guide/solving.md", "../algorithm.md#solving", "../algorithm.md#solving"),
        ("algorithm.md", "../ARCHITECTURE.md", "ARCHITECTURE.md"),
        ("ARCHITECTURE.md", "docs/algorithm.md", "algorithm.md"),
        ("CONTRIBUTING.md", "README.md", "index.md"),
        ("index.md", "docs/guide/solving.md#job-shops", "guide/solving.md#job-shops"),
        ("index.md", "BENCHMARKS.md", "BENCHMARKS.md"),
        ("examples/README.md", "../docs/glossary.md#terms", "../glossary.md#terms"),
        ("notes/search.md", "../../BENCHMARKS.md", "../BENCHMARKS.md"),
        ("index.md", "https://example.org/a.md", "https://example.org/a.md"),
    ],
)
def test_links_between_files_become_links_between_pages(
    page: str, link: str, expected: str
) -> None:
    file = type("File", (), {"src_uri": page})()
    made = hook("pages").on_page_markdown(f"[text]({link})", page=type("Page", (), {"file": file}))
    assert made == f"[text]({expected})"


def test_the_build_is_strict_and_takes_nothing_from_the_web() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"/mkdocs build --strict$", makefile, re.MULTILINE), "--quiet hides warnings"
    assert all(level == "warn" for level in CONFIG["validation"].values())
    assert CONFIG["theme"]["font"] is False
    for file in [*CONFIG["extra_css"], *CONFIG["extra"]["polyfills"]]:
        assert (DOCS / file).exists(), file


# -- tables made from code -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "names"),
    [
        ("observations", [feature.name for feature in FEATURES]),
        ("actions", ACTIONS),
        ("rewards", REWARDS),
        ("families", GENERATORS),
        ("platforms", PLATFORMS),
        ("schedulers", SCHEDULERS),
        ("settings", [setting.name for setting in settings()]),
        ("machine_options", list(io.MachineOptions.__dataclass_fields__)),
    ],
)
def test_a_table_has_every_name_and_no_empty_meaning(
    tables: ModuleType, table: str, names: list[str]
) -> None:
    text = tables.made(table)
    assert [name for name in names if f"`{name}`" not in text] == []
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    meaning = -2 if table == "schedulers" else -1  # its last column are options
    assert all(row[meaning].strip() for row in rows)


def test_the_tables_of_docstrings_have_every_format_and_suite(tables: ModuleType) -> None:
    assert [name for name in FORMATS if f"| {name} " not in tables.made("formats")] == []
    assert [name for name in suites.SUITES if f"| {name} " not in tables.made("suites")] == []


def test_every_record_is_a_row_of_a_table_that_can_be_sorted(tables: ModuleType) -> None:
    text = tables.made("archive")
    sections = re.split(r"^### `(\w+)`\n", text, flags=re.MULTILINE)[1:]
    shown = dict(zip(sections[::2], sections[1::2], strict=True))
    for found in records.read_folder(DOCS / "records"):
        rows = re.findall(r"<tr><td>(.*?)</td>", shown[found.name])
        assert rows == list(found.entries)
        assert f"(../records/{found.name}.json)" in shown[found.name]
        assert shown[found.name].count('<table class="sortable') == 1
    assert text.count("table.sortable") == 1, "one script sorts all"


@pytest.mark.parametrize(
    ("table", "registry"), [("families", GENERATORS), ("platforms", PLATFORMS)]
)
def test_a_section_has_a_row_for_each_parameter(
    tables: ModuleType, table: str, registry: dict[str, Any]
) -> None:
    sections = re.split(r"^### `(\w+)`\n", tables.made(table), flags=re.MULTILINE)[1:]
    found = dict(zip(sections[::2], sections[1::2], strict=True))
    assert list(found) == list(registry)
    for name, text in found.items():
        keys = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
        assert keys == list(parameters(registry[name])), name


def test_every_marker_names_a_table_and_every_table_is_used(tables: ModuleType) -> None:
    texts = [path.read_text(encoding="utf-8") for path in DOCS.glob("**/*.md")]
    used = {name for text in texts for name in tables.MARKER.findall(text)}
    assert used == set(tables.TABLES)


# -- blocks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", sorted(WITHOUT_SNIPPETS))
def test_other_pages_have_nothing_to_run(page: str) -> None:
    found = blocks((DOCS / page).read_text(encoding="utf-8"))
    assert {block.language for block in found} <= {"text"}


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=pytest.mark.slow if p == ON_RAY else []) for p in PAGES],
)
def test_blocks_of_a_page_run_in_their_order(
    page: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They print something; what stands under ``Output`` is what they print.

    What takes minutes is shortened, see ``helpers.snippets.LONG``, and so is the last validation.
    """
    if page == ON_RAY:
        pytest.importorskip("ray", reason="the extra ray is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.setattr(validator, "MORE_AT_END", 1)
    printed = ""
    for block in blocks((DOCS / page).read_text(encoding="utf-8")):
        if block.title == OUTPUT:
            assert_like(printed, block.content)
        elif block.title == EXAMPLE:
            assert labels(block.content) <= labels(printed)
        elif block.is_file:
            (tmp_path / block.title).write_text(block.content, encoding="utf-8")
        if block.commands:
            outputs = [run_here(command, tmp_path, capsys) for command in block.commands]
            assert all(outputs), block.content
            printed = "".join(outputs)


def assert_like(printed: str, expected: str) -> None:
    """Equal but for the ends of lines; … stands for anything within a line."""
    lines = [line.rstrip() for line in printed.rstrip().splitlines()]
    wanted = expected.rstrip().splitlines()
    assert len(lines) == len(wanted), printed
    for line, want in zip(lines, wanted, strict=True):
        pattern = ".*".join(map(re.escape, want.rstrip().split("…")))
        assert re.fullmatch(pattern, line), f"{line!r} is printed, {want!r} is documented"


def labels(text: str) -> set[str]:
    """First words of all lines."""
    return set(re.findall(r"^\w+", text, re.MULTILINE))
