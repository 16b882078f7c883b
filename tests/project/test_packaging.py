"""What is installed, pinned, documented and enforced agrees with the source."""

import ast
import configparser
import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import dagsched_env
from aerl_trainer.online.shipped import learned
from aerl_trainer.solving.schedulers import from_checkpoint
from dagsched_env.cli import dispatchers, policies
from helpers import ROOT

PACKAGES = ("dagsched_env", "aerl_trainer")
EXTRAS = {
    "trainer",
    "plot",
    "exact",
    "formats",
    "compare",
    "workflows",
    "jobshop",
    "llvm",
    "ray",
    "tools",
    "tsp",
    "human",
    "docs",
    "dev",
}
SETTINGS = ("MINUTES", "RUN", "ACTORS", "SEED", "CONFIG", "RESUME")
TARGETS = {
    "install",
    "train",
    "test",
    "baseline",
    "bench",
    "docs",
    "lint",
    "type",
    "check",
    "clean",
}


def setup_cfg() -> configparser.ConfigParser:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    return config


def declared() -> dict[str, list[Requirement]]:
    """Name of the extra → requirements; the base requirements under the empty name."""
    config = setup_cfg()
    lists = {"": config["options"]["install_requires"], **config["options.extras_require"]}
    return {extra: [Requirement(line) for line in lines.split()] for extra, lines in lists.items()}


def pins() -> dict[str, Version]:
    """Distribution → pinned version; every line that is no comment must be one pin."""
    versions = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        requirement = Requirement(line)
        (specifier,) = requirement.specifier
        assert specifier.operator == "==", line
        assert requirement.url is None, line
        versions[canonicalize_name(requirement.name)] = Version(specifier.version)
    return versions


def sources(package: str) -> Iterator[Path]:
    """Modules of a package without ``__init__.py``, relative to it."""
    for path in sorted((ROOT / package).rglob("*.py")):
        if path.name != "__init__.py":
            yield path.relative_to(ROOT / package)


def third_party(path: Path) -> set[str]:
    """Top-level packages that a file imports anywhere, without the standard library and ours."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names) - set(PACKAGES)


def run(*command: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run without what a surrounding ``make`` or the user has put into the environment."""
    hidden = {*SETTINGS, "MAKEFLAGS", "MAKELEVEL", "MFLAGS", "MAKEOVERRIDES"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    environment |= {"PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )


# -- metadata ------------------------------------------------------------------------------------


def test_installed_metadata_is_that_of_setup_cfg() -> None:
    config, installed = setup_cfg(), importlib.metadata.metadata("aerl-ds")
    assert installed["Version"] == config["metadata"]["version"]
    assert dagsched_env.__version__ == installed["Version"]
    assert "MIT" in (installed.get("License"), installed.get("License-Expression"))
    assert installed["Requires-Python"] == config["options"]["python_requires"] == ">=3.11"
    assert set(installed.get_all("Provides-Extra") or []) == set(declared()) - {""} == EXTRAS
    listed = {Requirement(line).name for line in importlib.metadata.requires("aerl-ds") or []}
    assert listed == {r.name for requirements in declared().values() for r in requirements}


def test_console_scripts_can_be_loaded() -> None:
    points = importlib.metadata.distribution("aerl-ds").entry_points
    scripts = {point.name: point.load() for point in points if point.group == "console_scripts"}
    assert set(scripts) == {"aerl", "dagsched"}
    assert all(callable(script) for script in scripts.values())


def test_policies_are_declared_where_the_command_looks_for_them() -> None:
    """In setup.cfg: what is installed may be older."""
    (line,) = setup_cfg()["options.entry_points"][policies.GROUP].strip().splitlines()
    name, value = line.split(" = ")
    point = importlib.metadata.EntryPoint(name, value, policies.GROUP)
    assert point.load() is from_checkpoint


def test_dispatchers_are_declared_where_the_command_looks_for_them() -> None:
    (line,) = setup_cfg()["options.entry_points"][dispatchers.GROUP].strip().splitlines()
    name, value = line.split(" = ")
    point = importlib.metadata.EntryPoint(name, value, dispatchers.GROUP)
    assert (name, point.load()) == ("learned", learned)


def test_the_changelog_ends_with_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    releases = re.findall(r"^## \[(\d.*)$", text, re.MULTILINE)
    dated = [re.fullmatch(r"(\d+\.\d+\.\d+)\] - \d{4}-\d\d-\d\d", line) for line in releases]
    assert all(dated), "every release has its date"
    assert dated[0] is not None
    assert dated[0][1] == setup_cfg()["metadata"]["version"]


def test_pyproject_holds_the_build_system_alone() -> None:
    record = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert set(record) == {"build-system"}


@pytest.mark.parametrize("package", PACKAGES)
def test_types_and_data_are_shipped(package: str) -> None:
    assert (ROOT / package / "py.typed").exists()
    assert "py.typed" in setup_cfg()["options.package_data"][package]


def test_bundled_data_is_shipped() -> None:
    patterns = setup_cfg()["options.package_data"]["dagsched_env"].split(", ")
    data = {path for path in (ROOT / "dagsched_env" / "data").rglob("*") if path.is_file()}
    shipped = {path for pattern in patterns for path in (ROOT / "dagsched_env").glob(pattern)}
    assert len(data) >= 4
    assert data <= shipped


def test_every_folder_with_modules_is_a_package() -> None:
    for package in PACKAGES:
        for module in sources(package):
            assert (ROOT / package / module).with_name("__init__.py").exists(), module


# -- requirements --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("package", "extras"),
    [
        ("dagsched_env", ("", *sorted(EXTRAS - {"trainer", "docs", "dev"}), "trainer")),
        ("aerl_trainer", ("", "trainer", "ray")),
    ],
)
def test_whatever_is_imported_is_declared(package: str, extras: tuple[str, ...]) -> None:
    known = {canonicalize_name(r.name) for extra in extras for r in declared()[extra]}
    homes = importlib.metadata.packages_distributions()
    imported = {n for path in sources(package) for n in third_party(ROOT / package / path)}
    assert "numpy" in imported
    missing = {
        name
        for name in imported
        if not known & {canonicalize_name(home) for home in homes.get(name, [name])}
    }
    assert not missing


def test_constraints_pin_torch_and_satisfy_every_range() -> None:
    versions = pins()
    assert versions["torch"] == Version("2.13.0")
    for extra, requirements in declared().items():
        for requirement in requirements:
            version = versions.get(canonicalize_name(requirement.name))
            assert version is not None, f"{requirement.name} [{extra}] is not pinned"
            assert version in requirement.specifier, f"{requirement} [{extra}] refuses {version}"


# -- Makefile and continuous integration ---------------------------------------------------------


def test_make_targets_exist_and_are_listed_by_help() -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    rules = set(re.findall(r"^([a-z]+):", text, re.MULTILINE))
    assert rules >= TARGETS
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert phony is not None
    assert set(phony[1].split()) == rules
    listing = run("make", "help")
    assert listing.returncode == 0, listing.stderr
    assert set(re.findall(r"^  ([a-z]+) ", listing.stdout, re.MULTILINE)) == rules


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (("train",), ".venv/bin/aerl train"),
        (
            ("train", "MINUTES=60", "RUN=long", "ACTORS=4", "SEED=7", "CONFIG=a b.toml"),
            ".venv/bin/aerl train --run-dir 'runs/long' --minutes '60' --actors '4' --seed '7' "
            "--config 'a b.toml'",
        ),
        (
            ("train", "RUN=long", "RESUME=1"),
            ".venv/bin/aerl train --run-dir 'runs/long' --resume",
        ),
        (("train", "RESUME=0"), ".venv/bin/aerl train"),
        (
            ("baseline", "MINUTES=3"),
            ".venv/bin/python -m aerl_trainer.baselines.maskable_ppo --minutes '3'",
        ),
        (
            ("test",),
            ".venv/bin/python -m pytest -n auto --maxprocesses 4 --dist loadscope "
            "--no-loadscope-reorder",
        ),
    ],
)
def test_make_passes_its_settings_on(command: tuple[str, ...], expected: str) -> None:
    result = run("make", "--dry-run", *command)
    assert result.returncode == 0, result.stderr
    last = result.stdout.splitlines()[-1]
    assert last.split() == expected.split()


def test_every_command_installs_first_where_nothing_is_installed(tmp_path: Path) -> None:
    for name in ("Makefile", "setup.cfg", "pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    for target in sorted(TARGETS - {"clean"}):
        result = run("make", "--dry-run", target, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
        assert "pip install" in result.stdout, target
        assert "-c constraints.txt" in result.stdout, target
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "trainer").touch()
    assert "pip install" not in run("make", "--dry-run", "train", cwd=tmp_path).stdout
    assert "pip install" in run("make", "--dry-run", "test", cwd=tmp_path).stdout
    (tmp_path / ".venv" / "installed").touch()
    assert "pip install" not in run("make", "--dry-run", "install", cwd=tmp_path).stdout


def test_continuous_integration_runs_every_check() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    text = script.read_text(encoding="utf-8")
    assert "set -euo pipefail" in text
    for step in ("make -j2 install", "make docs", "in lint type imports;", "in test bounds;"):
        assert step in text


# -- architecture --------------------------------------------------------------------------------


def test_import_contracts_hold() -> None:
    result = run(str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "0 broken" in result.stdout


def test_import_contracts_see_imports_inside_functions(tmp_path: Path) -> None:
    """Without its exceptions the configuration is refused: the contracts are not asleep."""
    text = (ROOT / "setup.cfg").read_text(encoding="utf-8")
    allowed = (
        "aerl_trainer.run.training -> aerl_trainer.runtime.cluster.ray_run",
        "dagsched_env.pictures.* -> matplotlib",
    )
    for line in allowed:
        assert text.count(f"    {line}\n") == 1
        text = text.replace(f"    {line}\n", "")
    (tmp_path / "setup.cfg").write_text(text, encoding="utf-8")
    result = run(
        str(Path(sys.executable).with_name("lint-imports")), "--no-cache", "--no-logo", cwd=tmp_path
    )
    assert result.returncode == 1, result.stdout + result.stderr
    assert "2 broken" in result.stdout
