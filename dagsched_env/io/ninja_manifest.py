r"""The commands of a ``build.ninja``: ninja-build.org/manual.html, "Ninja file reference".

Read are ``build``, ``rule``, variables, ``include``, ``subninja`` and dyndep files that are there;
pools and defaults change no dependency. Nothing is run, and no ninja is needed: its own
``ninja -t graph`` shows the default targets alone, and draws a command of one input and one output
as an edge.
"""

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from dagsched_env.io.source import decoded
from dagsched_env.problem.errors import FormatError

MANIFEST = "build.ninja"
PHONY = "phony"

LOGICAL = re.compile(r"[ ]*\#[^\n]*(?:\n|$) | (?:[^$\n]|\$.)* (?:\n|$)", re.VERBOSE | re.DOTALL)
"""A comment, or a line with those that ``$`` at its end adds to it."""
BINDING = re.compile(r"([\w.-]+) *= *(.*)", re.ASCII | re.DOTALL)
ESCAPE = re.compile(
    r"\$(?: \{(?P<braced>[\w.-]+)\} | (?P<plain>[\w-]+) | (?P<break>\n[ ]*) | (?P<itself>[$ :|]) )",
    re.VERBOSE | re.ASCII,
)
WORD = re.compile(
    r"(?P<space> [ ]+ | \$\n[ ]* ) | (?P<mark> \|\| | \|@ | \| | : )"
    r" | (?P<path> (?: \$\{[^}]*\} | \$. | [^$ :|] )+ )",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Command:
    """One ``build`` statement; all paths are normal, and relative to the build folder."""

    rule: str
    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    """Explicit and implicit ones: files that it reads."""
    order_only: tuple[str, ...]
    """What has to be there before it starts."""
    own_times: bool
    """Whether its outputs keep their times of change (``restat``, ``generator``)."""
    where: str
    """File and line of the statement."""


@dataclass
class Manifest:
    """What was read."""

    commands: list[Command] = field(default_factory=list)
    """All statements, the phony ones as well."""
    made_anew: frozenset[str] = frozenset()
    """``build.ninja`` and what its command makes with it, if there is one."""
    builddir: str = "."
    """Where ninja keeps its log."""
    lost: list[str] = field(default_factory=list)
    """Dyndep files that are not there: ninja makes them in a build."""


class _Scope:
    """Variables and rules, and those of the file that includes this one."""

    def __init__(self, parent: "_Scope | None" = None) -> None:
        self.parent = parent
        self.variables: dict[str, str] = {}
        self.rules: dict[str, dict[str, str]] = {}

    def look_up(self, name: str) -> str:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.variables:
                return scope.variables[name]
            scope = scope.parent
        return ""

    def rule(self, name: str) -> dict[str, str] | None:
        scope: _Scope | None = self
        while scope is not None:
            if name in scope.rules:
                return scope.rules[name]
            scope = scope.parent
        return {} if name == PHONY else None


def parse(folder: Path) -> Manifest:
    """Read ``build.ninja`` of a folder and what it includes.

    Raises:
        FormatError: not as the manual says; the message names file and line.
        OSError: a file cannot be read.
    """
    reader = _Reader(folder)
    top = _Scope()
    reader.read(MANIFEST, top)
    builddir = top.look_up("builddir")
    reader.manifest.builddir = posixpath.normpath(builddir) if builddir else "."
    of_itself = [c.outputs for c in reader.manifest.commands if MANIFEST in c.outputs]
    reader.manifest.made_anew = frozenset().union(*of_itself)
    return reader.manifest


class _Reader:
    """Files of a manifest, statement by statement."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.manifest = Manifest()
        self.dyndeps: dict[str, dict[str, tuple[list[str], list[str]]]] = {}

    def read(self, name: str, scope: _Scope) -> None:
        """All statements of a file; those of files that it includes stand in their place."""
        open_files = [(name, scope, self._statements(name))]
        while open_files:
            name, scope, statements = open_files[-1]
            found = next(statements, None)
            if found is None:
                open_files.pop()
                continue
            where, text, indented = found
            word, _, rest = text.partition(" ")
            if word in ("include", "subninja"):
                path = _expand(rest.strip(" "), scope.look_up, where)
                if path in (name for name, _, _ in open_files):
                    raise FormatError(f"{where}: {path} includes itself")
                inner = scope if word == "include" else _Scope(scope)
                open_files.append((path, inner, self._statements(path, where)))
            else:
                self._statement(word, rest, indented, scope, (where, text))

    def _statement(
        self, word: str, rest: str, indented: dict[str, str], scope: _Scope, at: tuple[str, str]
    ) -> None:
        where, text = at
        if word == "rule":
            scope.rules[rest.strip(" ")] = indented
        elif word == "build":
            self._build(rest, indented, scope, where)
        elif word not in ("pool", "default"):
            name, value = _binding(text, where)
            scope.variables[name] = _expand(value, scope.look_up, where)

    def _statements(self, name: str, why: str = "") -> Iterator[tuple[str, str, dict[str, str]]]:
        """Place, text and indented bindings of each statement of a file."""
        path = self.folder / name
        if why and not path.is_file():
            raise FormatError(f"{why}: there is no {name}, which it includes")
        where, text, indented = "", "", dict[str, str]()
        for line, logical in _logical_lines(decoded(path.read_bytes())):
            if logical.startswith(" "):
                if not text:
                    raise FormatError(f"{name}: line {line}: is indented, but begins nothing")
                key, value = _binding(logical.strip(" "), f"{name}: line {line}")
                indented[key] = value
                continue
            if text:
                yield where, text, indented
            where, text, indented = f"{name}: line {line}", logical, {}
        if text:
            yield where, text, indented

    def _build(self, text: str, indented: dict[str, str], scope: _Scope, where: str) -> None:
        own = _Scope(scope)
        for key, value in indented.items():
            own.variables[key] = _expand(value, scope.look_up, where)
        parts, rule = _parts(text, own, where)
        found = scope.rule(rule)
        if found is None:
            raise FormatError(f"{where}: there is no rule {rule!r}")
        outputs, inputs = parts["out"] + parts["out|"], parts["in"] + parts["|"]

        def bound(name: str) -> str:
            special = {"out": " ".join(parts["out"]), "in": " ".join(parts["in"])}
            if name in special or name in own.variables or name not in found:
                return special.get(name) or own.look_up(name)
            return _expand(found[name], lambda n: special.get(n) or own.look_up(n), where)

        if dyndep := bound("dyndep"):
            more_outputs, more_inputs = self._dyndep(posixpath.normpath(dyndep), outputs)
            outputs, inputs = outputs + more_outputs, inputs + more_inputs
        self.manifest.commands.append(
            Command(
                rule,
                tuple(dict.fromkeys(outputs)),
                tuple(dict.fromkeys(inputs)),
                tuple(dict.fromkeys(parts["||"])),
                bool(bound("restat") or bound("generator")),
                where,
            )
        )

    def _dyndep(self, name: str, outputs: list[str]) -> tuple[list[str], list[str]]:
        """Outputs and inputs that a dyndep file adds to the command of these outputs."""
        if name not in self.dyndeps:
            self.dyndeps[name] = self._read_dyndep(name)
        nothing: tuple[list[str], list[str]] = ([], [])
        return next((self.dyndeps[name][o] for o in outputs if o in self.dyndeps[name]), nothing)

    def _read_dyndep(self, name: str) -> dict[str, tuple[list[str], list[str]]]:
        added: dict[str, tuple[list[str], list[str]]] = {}
        if not (self.folder / name).is_file():
            self.manifest.lost.append(name)
            return {}
        for where, text, _ in self._statements(name):
            word, _, rest = text.partition(" ")
            if word == "build":
                parts, _ = _parts(rest, _Scope(), where)
                added |= dict.fromkeys(parts["out"], (parts["out|"], parts["|"]))
        return added


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Number, from 1, and text of each line that says something; lines end in ``\\n`` or CR LF."""
    line, text = 1, text.replace("\r\n", "\n")
    for match in LOGICAL.finditer(text):
        logical = match.group()
        content = logical.removesuffix("\n")
        if content.strip(" ") and not content.lstrip(" ").startswith("#"):
            yield line, content
        line += logical.count("\n")


def _binding(text: str, where: str) -> tuple[str, str]:
    found = BINDING.fullmatch(text)
    if found is None:
        raise FormatError(f"{where}: {text[:40]!r} is no statement of ninja")
    return found[1], found[2]


def _parts(text: str, scope: _Scope, where: str) -> tuple[dict[str, list[str]], str]:
    """Paths of a ``build`` statement by the marks before them, and its rule."""
    parts: dict[str, list[str]] = {"out": [], "out|": [], "in": [], "|": [], "||": [], "|@": []}
    now, rule, at = "out", "", 0
    while at < len(text):
        word = WORD.match(text, at)
        if word is None:
            raise FormatError(f"{where}: {text[at : at + 20]!r} is no path")
        at = word.end()
        if word["mark"] == ":" and not now.startswith("out"):
            raise FormatError(f"{where}: a second colon: write $: within a path")
        if word["mark"] is not None:
            now = {":": "rule", "|": "out|" if now == "out" else "|"}.get(
                word["mark"], word["mark"]
            )
        elif now == "rule" and word["path"] is not None:
            rule, now = word["path"], "in"
        elif word["path"] is not None:
            path = _expand(word["path"], scope.look_up, where)
            parts[now] += [posixpath.normpath(path)] if path else []
    if not rule or not (parts["out"] or parts["out|"]):
        raise FormatError(f"{where}: not build OUTPUTS: RULE INPUTS")
    return parts, rule


def _expand(text: str, look_up: Callable[[str], str], where: str) -> str:
    """Text with its variables put in."""
    if "$" not in text:
        return text

    def value(escape: re.Match[str]) -> str:
        name = escape["braced"] or escape["plain"]
        return look_up(name) if name else escape["itself"] or ""

    wrong = text.replace("$$", "")
    if ESCAPE.sub("", wrong).count("$"):
        raise FormatError(f"{where}: a $ that is no variable: write $$ for the character")
    return ESCAPE.sub(value, text)
