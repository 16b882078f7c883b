"""What the README and the documentation write but no test runs: commands that take minutes, a
package index or other machines, commands within sentences, SPECs. Each of them can be parsed.
"""

import argparse
import configparser
import functools
import importlib.util
import io
import re
import runpy
import sys
import tomllib
from contextlib import redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest
import tyro

import aerl_trainer.cli
import dagsched_env.cli
from aerl_trainer.cli import evaluating, program, solving, training
from dagsched_env.generators import GENERATORS
from dagsched_env.sources import specs
from helpers import ROOT
from helpers.snippets import OURS, blocks

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in DOCUMENTS}
PROSE = {name: re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S) for name, text in TEXTS.items()}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
FUNCTIONS = {
    "train": training.train,
    "evaluate": evaluating.evaluate,
    "solve": solving.solve,
    "warm-up": program.warm_up,
}
IN_BLOCKS = [
    pytest.param(words, id=f"{name}: {' '.join(words)}")
    for name, text in TEXTS.items()
    for block in blocks(text)
    for words in block.not_run
]
IN_SENTENCES = sorted(
    {
        re.sub(r"\s+", " ", span)
        for text in PROSE.values()
        for span in re.findall(r"`((?:aerl|dagsched|make|python|pip|ray) [^`]+)`", text)
    }
)


# -- parsers -------------------------------------------------------------------------------------


class ParsedError(Exception):
    """A script has understood its options."""


def parse(words: list[str]) -> None:
    """Raises, or exits, where the command would not understand its options."""
    words = [word for word in words if not re.fullmatch(r"\w+=\S+", word) or words[0] == "make"]
    match words:
        case [".", ".venv/bin/activate"]:
            pass
        case ["make", target, *settings]:
            assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), target
            for setting in settings:
                assert f"$({setting.partition('=')[0]})" in MAKEFILE, setting
        case ["python", "-m", "pip", *rest] | ["pip", *rest]:
            parse_pip(rest)
        case ["python", "-m", "pydoc", module]:
            assert importlib.util.find_spec(module) is not None, module
        case ["python", script, *rest]:
            parse_script(ROOT / script, rest)
        case ["ray", *rest]:
            parse_ray(rest)
        case ["aerl", command, *rest]:
            tyro.cli(only_parsed(FUNCTIONS[command]), args=program.joined(rest))
        case ["dagsched", *rest]:
            dagsched_env.cli._parser().parse_args(rest)
        case _:
            pytest.fail(f"no test runs this, and none can parse it: {words}")


def only_parsed(function):
    """A function with its arguments that does nothing."""

    @functools.wraps(function)
    def stub(*args, **kwargs):
        pass

    return stub


def parse_pip(words: list[str]) -> None:
    """What it installs is this project, in this version, with extras that it has."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    name, version = config["metadata"]["name"], config["metadata"]["version"]
    wheel = f"./dist/{name.replace('-', '_')}-{version}-py3-none-any.whl"
    command, *rest = words
    if command == "wheel":
        assert rest == ["--no-deps", "--wheel-dir", "dist", "."]
        return
    assert command == "install", words
    if rest[0] == "-c":
        assert (ROOT / rest[1]).exists(), rest[1]
        rest = rest[2:]
    (requirement,) = rest
    if requirement.startswith(("examples/", "./integrations/")):
        assert (ROOT / requirement / "pyproject.toml").exists()
        return
    found = re.fullmatch(r"(.+)\[([\w,]+)\]", requirement)
    assert found is not None, requirement
    assert found[1] in (".", name, wheel), requirement
    assert set(found[2].split(",")) <= set(config["options.extras_require"]), requirement


def parse_script(script: Path, words: list[str]) -> None:
    """Up to the end of its ``parse_args``."""
    inner = argparse.ArgumentParser.parse_args

    def parse_args(self, args=None, namespace=None):
        inner(self, args, namespace)
        raise ParsedError

    with (
        patch.object(argparse.ArgumentParser, "parse_args", parse_args),
        patch.object(sys, "argv", [script.name, *words]),
        patch.object(sys, "path", [str(script.parent), *sys.path]),
        pytest.raises(ParsedError),
    ):
        runpy.run_path(str(script), run_name="__main__")


def parse_ray(words: list[str]) -> None:
    scripts = pytest.importorskip("ray.scripts.scripts", reason="the extra ray is not installed")
    command, *rest = words
    parsed = scripts.cli.commands[command].make_context(command, list(rest))
    if command == "up":
        assert (ROOT / parsed.params["cluster_config_file"]).exists()


@functools.cache
def help_of(name: str, command: str) -> str:
    """What ``--help`` prints."""
    main = {"aerl": aerl_trainer.cli.main, "dagsched": dagsched_env.cli.main}[name]
    printed = io.StringIO()
    with redirect_stdout(printed), pytest.raises(SystemExit) as end:
        main([command, "--help"])
    assert end.value.code == 0
    return printed.getvalue()


# -- what documents say --------------------------------------------------------------------------


@pytest.mark.parametrize("words", IN_BLOCKS)
def test_a_line_of_a_block_that_no_test_runs_can_be_parsed(words: list[str]) -> None:
    parse(words)


@pytest.mark.parametrize("span", IN_SENTENCES)
def test_a_command_in_a_sentence_has_options_that_exist(span: str) -> None:
    """Its arguments may be left out, or stand for the reader's own."""
    words = span.replace("'", "").split()
    if words[0] not in OURS:
        parse(words)
    elif not words[1].isupper():
        options = set(re.findall(r"--[\w-]+", help_of(words[0], words[1])))
        assert {w for w in words[2:] if w.startswith("--")} <= options


def test_the_help_says_how_to_read_what_a_machine_file_is() -> None:
    """With ``python -m``, because ``pydoc`` need not be on the path."""
    modules = re.findall(r"(\S+)\s+pydoc\s+([\w.]+)", help_of("dagsched", "schedule"))
    assert len(modules) == 2
    for before, module in modules:
        assert before == "-m"
        parse(["python", "-m", "pydoc", module])


def test_specs_can_be_parsed() -> None:
    added = {"map_reduce"}  # by examples/family_package
    found = {
        spec
        for text in TEXTS.values()
        for spec in re.findall(r"family:[a-z]\w*(?:\?[^\s'\"`…]+)?", text)
    }
    assert len(found) > 5
    for spec in found:
        if re.split("[:?]", spec)[1] not in added:
            specs.parse_family(spec)
    assert not added & set(GENERATORS)


def test_the_entry_points_are_those_of_the_example_packages() -> None:
    (block,) = (b for b in blocks(TEXTS["docs/guide/extending.md"]) if b.language == "toml")
    documented = tomllib.loads(block.content)["project"]["entry-points"]
    declared = {}
    for path in ROOT.glob("examples/*_package/pyproject.toml"):
        record = tomllib.loads(path.read_text(encoding="utf-8"))
        declared |= record["project"]["entry-points"]
    assert documented == declared


@pytest.mark.parametrize("name", TEXTS)
def test_every_fence_belongs_to_a_block_that_tests_see(name: str) -> None:
    text = TEXTS[name]
    assert len(re.findall(r"^\s*(?:```|~~~)", text, re.MULTILINE)) == 2 * len(list(blocks(text)))
