"""Builds of ninja: the log of a build folder, and the graph of its ``build.ninja``.

Every command that is not ``phony`` is a task, named after its first output; its kind is its rule.
It waits for the commands that make its inputs, implicit and order-only ones too, and for what
stands behind phony ones. Data on edges, and what a task reads, are the sizes that its files have
now. Headers that the compiler found (``.ninja_deps``) are not read: a source is no task, and for a
generated header a build that works from the start has an order-only dependency. The command that
makes ``build.ninja`` itself is no task.

``.ninja_log`` has a line for each output. The clock of each build starts at 0, and nothing stands
between builds: a new one begins where a time of end falls, an output comes back, or the outputs
changed long after those before. ``ninja -t recompact``, which CMake runs whenever it writes
``build.ninja``, puts the last line of each output where its first one was; then the last build is
told by the times of change alone. Only the last build has times of start; other commands keep
their runtimes from earlier ones. Commands that failed or were interrupted are not in the log.
"""

import math
import stat
from collections.abc import Callable, Collection, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dagsched_env.io import ninja_manifest
from dagsched_env.io.ninja_manifest import MANIFEST, PHONY, Command, Manifest
from dagsched_env.io.numbers import whole
from dagsched_env.io.source import decoded
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.run import Run, observed_node
from dagsched_env.problem.workflow import Workflow

TOOL = "ninja"
LOG = ".ninja_log"
TITLE = "# ninja log v"
VERSIONS = (5, 6, 7)
"""Of ninja 1.7 to 1.11, 1.12, and 1.13."""
SLACK = 0.25
"""Seconds by which the clocks of files and of ninja may differ within a build."""
REORDERED = (
    "ninja has rewritten its log (-t recompact), which mixes builds: the last one is told by the "
    "times at which outputs changed"
)

Span = tuple[float, float]
"""When a build began, at the earliest and at the latest."""


class Entry(NamedTuple):
    """One line of the log."""

    start: float
    """Seconds since ninja was started."""
    finish: float
    changed: float
    """When its output changed, or since version 6 when the command started; 0 = no output."""
    output: str
    hash: str


def recognises(text: str) -> bool:
    """Whether text is a log of ninja."""
    return text.startswith(TITLE)


def parse(path: Path) -> Run:
    """Read a build folder, or the log in it.

    Raises:
        FormatError: there is no log or no manifest, or one is malformed; the message names file
            and line.
        OSError: a file cannot be read.
    """
    folder = path if path.is_dir() else path.parent
    if not (folder / MANIFEST).is_file():
        raise FormatError(
            f"there is no {MANIFEST} in {folder}, which says what depends on what: name the build "
            f"folder, with {MANIFEST} and {LOG}"
        )
    manifest = ninja_manifest.parse(folder)
    log = folder / manifest.builddir / LOG if path.is_dir() else path
    if not log.is_file():
        raise FormatError(f"there is no {log} yet: build it once with ninja")
    version, entries, cut = read_log(decoded(log.read_bytes()), log.name)
    return _run(folder, manifest, version, entries, cut)


def read_log(text: str, name: str = LOG) -> tuple[int, list[Entry], bool]:
    """Version and lines of a log, and whether its last line is cut: ninja was killed.

    Raises:
        FormatError: the message names the line.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    number = lines[0].removeprefix(TITLE).strip()
    if not recognises(text) or number not in map(str, VERSIONS):
        known = ", ".join(f"v{v}" for v in VERSIONS)
        raise FormatError(f"{name}: line 1: {lines[0][:40]!r} is no log that is read: {known}")
    cut = bool(lines.pop())
    entries = [
        _entry(line.split("\t"), f"{name}: line {i}")
        for i, line in enumerate(lines[1 : -1 if cut else None], start=2)
        if line and not line.startswith("#")
    ]
    return int(number), entries, cut


def _entry(fields: list[str], where: str) -> Entry:
    if len(fields) != 5:
        raise FormatError(f"{where}: {len(fields)} fields between tabs, not 5")
    start, finish = (whole(word, where) for word in fields[:2])
    changed = whole(fields[2], where, most=2**63)
    if start > finish:
        raise FormatError(f"{where}: from {start} to {finish} ms is no time")
    return Entry(start / 1e3, finish / 1e3, changed / 1e9, fields[3], fields[4])


def _run(folder: Path, manifest: Manifest, version: int, entries: list[Entry], cut: bool) -> Run:
    graph = _Graph([c for c in manifest.commands if MANIFEST not in c.outputs])
    entries = [e for e in entries if e.output not in manifest.made_anew]
    exact = _exact(graph, version, entries)
    last, reordered = last_build(entries, exact)
    seen = {graph.maker[e.output]: i for i, e in enumerate(entries) if e.output in graph.maker}
    kept = graph.needed(seen)  # the latest line of a command counts
    if not kept:
        raise FormatError(f"{LOG}: none of its outputs is made by {MANIFEST}: build it once")
    ran = np.array([c in seen and seen[c] in last for c in kept])
    times = np.array([entries[seen[c]][:2] if c in seen else (math.nan,) * 2 for c in kept])
    start, finish = (np.where(ran, column, np.nan) for column in times.T)
    size = cache(lambda name: _size(folder / name))
    workflow, lost = _workflow(folder.resolve().name, graph, kept, times[:, 1] - times[:, 0], size)
    orphans = sorted({entry.output for entry in entries if entry.output not in graph.maker})
    return Run(
        TOOL,
        workflow,
        start,
        finish,
        np.where(ran, 0, -1),
        observed_node("machine", start, finish, np.full(len(kept), np.nan)),
        np.array([math.fsum(map(size, graph.files(graph.commands[c].inputs))) for c in kept]),
        (
            *_of_earlier_builds(len(kept), sum(c in seen for c in kept), int(ran.sum())),
            *_left_out(sum(c.rule != PHONY for c in graph.commands) - len(kept), orphans),
            *lost,
            *(f"{name} is not there: what it adds is unknown" for name in manifest.lost),
            *(("the last line of the log is cut: ninja was killed",) if cut else ()),
            *((REORDERED,) if reordered else ()),
        ),
    )


class _Graph:
    """Commands, without the phony ones between them."""

    def __init__(self, commands: list[Command]) -> None:
        self.commands = commands
        self.maker = {
            output: c
            for c, command in enumerate(commands)
            for output in command.outputs
            if command.rule != PHONY
        }
        self.phony = {o: c for c in commands if c.rule == PHONY for o in c.outputs}
        self.behind: dict[str, tuple[str, ...]] = {}

    def files(self, names: Sequence[str]) -> list[str]:
        """The files that names stand for, each once: those that are phony stand for others."""
        found = dict.fromkeys(f for name in names for f in self._stands_for(name))
        return list(found)

    def _stands_for(self, name: str) -> tuple[str, ...]:
        """Without recursion, because phony commands may form a long chain."""
        if name not in self.phony:
            return (name,)
        open_names, entered = [name], set[str]()
        while open_names:
            top = open_names[-1]
            command = self.phony[top]
            inner = [n for n in (*command.inputs, *command.order_only) if n in self.phony]
            missing = [n for n in inner if n not in self.behind and n not in entered]
            if top not in self.behind and missing:
                entered.add(top)
                open_names += missing
                continue
            open_names.pop()
            self.behind.setdefault(top, self._joined(command))
        return self.behind[name]

    def _joined(self, command: Command) -> tuple[str, ...]:
        names = (*command.inputs, *command.order_only)
        parts = (self.behind.get(n, ()) if n in self.phony else (n,) for n in names)
        return tuple(dict.fromkeys(f for part in parts for f in part))

    def predecessors(self, c: int) -> dict[int, list[str]]:
        """Commands that one waits for, and what it reads of each."""
        command = self.commands[c]
        found: dict[int, list[str]] = {}
        for name in self.files(command.inputs):
            if name in self.maker:
                found.setdefault(self.maker[name], []).append(name)
        for name in self.files(command.order_only):
            if name in self.maker:
                found.setdefault(self.maker[name], [])
        return found

    def needed(self, seen: Collection[int]) -> list[int]:
        """Commands in the log, and all that they wait for; the others never ran."""
        found, todo = set(seen), list(seen)
        while todo:
            new = self.predecessors(todo.pop()).keys() - found
            found |= new
            todo += new
        return sorted(found)


def _workflow(
    name: str, graph: _Graph, kept: list[int], runtimes: Floats, size: Callable[[str], float]
) -> tuple[Workflow, list[str]]:
    """The workflow, and what is to be said of its data."""
    index = {c: t for t, c in enumerate(kept)}
    edges = {(index[u], t): f for t, c in enumerate(kept) for u, f in graph.predecessors(c).items()}
    read = {name for names in edges.values() for name in names}
    lost = sorted(name for name in read if math.isnan(size(name)))
    says_data = len(lost) < len(read)
    sizes = [math.fsum(s for s in map(size, files) if s == s) for files in edges.values()]
    commands = [graph.commands[c] for c in kept]
    workflow = Workflow(
        tuple(command.outputs[0] for command in commands),
        runtimes,
        tuple(edges),
        np.array(sizes) if says_data else np.ones(len(edges)),
        name=name or None,
        kinds=tuple(command.rule for command in commands),
        says_data=says_data,
        says_units=True,
    )
    if not lost or not says_data:
        return workflow, []
    return workflow, [
        f"not there, taken as 0 bytes: {_count(len(lost), 'output')}, such as {lost[0]}"
    ]


def _size(path: Path) -> float:
    """Bytes of a file; NaN where it is none."""
    try:
        found = path.stat()
    except OSError:
        return math.nan
    return float(found.st_size) if stat.S_ISREG(found.st_mode) else math.nan


def _of_earlier_builds(n: int, logged: int, ran: int) -> list[str]:
    said = []
    if ran < logged:
        said.append(f"{logged - ran} of {n} commands ran in earlier builds, which gives their time")
    if logged < n:
        said.append(f"{n - logged} of {n} commands never ran to their end: they have no time")
    return said


def _left_out(unused: int, orphans: list[str]) -> list[str]:
    said = []
    if unused:
        said.append(f"left out, because never run: {_count(unused, 'command')} of {MANIFEST}")
    if orphans:
        outputs = _count(len(orphans), "output")
        said.append(f"no longer in {MANIFEST}: {outputs} of the log, such as {orphans[0]}")
    return said


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"


def _exact(graph: _Graph, version: int, entries: list[Entry]) -> list[bool]:
    """Whether the time of change is that of the start of the command."""
    if version < 6:
        return [False] * len(entries)
    makers = [graph.maker.get(entry.output) for entry in entries]
    return [c is not None and not graph.commands[c].own_times for c in makers]


def last_build(entries: Sequence[Entry], exact: Sequence[bool]) -> tuple[set[int], bool]:
    """Positions of the lines of the last build, and whether ninja has changed their order.

    Args:
        entries: the lines, in order.
        exact: for each whether ``changed`` is when the command started; else its outputs changed
            at any time while it ran, or not at all.
    """
    spans = [_beginning(entry, e) for entry, e in zip(entries, exact, strict=True)]
    builds = _builds(entries, spans)
    if _in_order(builds, entries, spans, exact):
        return set(builds[-1] if builds else ()), False
    reached = max(span[0] for span in spans if span is not None)
    latest = {i for i, span in enumerate(spans) if span is not None and span[1] >= reached - SLACK}
    return latest, True


def _in_order(
    builds: list[list[int]],
    entries: Sequence[Entry],
    spans: Sequence[Span | None],
    exact: Sequence[bool],
) -> bool:
    """Whether each build can have begun when those before it had ended, and began only once."""
    ended = -math.inf
    for build in builds:
        known = [(i, span) for i in build if (span := spans[i]) is not None]
        if not known:
            continue
        if max(high for _, (_, high) in known) < ended - SLACK:
            return False
        begun = max(low for _, (low, _) in known)
        if min((high for i, (_, high) in known if exact[i]), default=begun) < begun - SLACK:
            return False
        ended = max(ended, begun + max(entries[i].finish for i in build))
    return True


def _builds(entries: Sequence[Entry], spans: Sequence[Span | None]) -> list[list[int]]:
    """Positions of the lines of each build, if they are in order."""
    builds: list[list[int]] = []
    outputs: set[str] = set()
    latest = math.inf  # when the current build can have begun at the latest
    for i, (entry, span) in enumerate(zip(entries, spans, strict=True)):
        fell = i > 0 and entry.finish < entries[i - 1].finish
        later = span is not None and span[0] > latest + SLACK
        if not builds or fell or later or entry.output in outputs:
            builds.append([])
            outputs, latest = set(), math.inf
        builds[-1].append(i)
        outputs.add(entry.output)
        if span is not None:
            latest = span[1] if latest == math.inf else max(latest, span[1])
    return builds


def _beginning(entry: Entry, exact: bool) -> Span | None:
    """When its build began: at the earliest and at the latest; None = its output is not there."""
    if entry.changed == 0:
        return None
    begun = entry.changed - entry.start
    return (begun if exact else entry.changed - entry.finish), begun
