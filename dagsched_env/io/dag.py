"""Task graphs with a time for each processor, as Santiago et al. publish them: ``.dag``.

A. Santiago et al., GRASP and iterated local search-based cellular processing algorithm for
precedence-constraint task list scheduling on heterogeneous systems, Applied Sciences 10, 2020;
github.com/AASantiago/SchedulingInstances. A line ``#tasks``, then one for each task: its number
from 0, a colon, and its time on each processor; a line ``#edges``, then one for each edge: its
number, a colon, the task from which it comes, that to which it goes, and its cost; ``#end``. Words
are apart by commas. What stands under ``#critical`` is skipped.

The cost of an edge is the time of its transfer between any two processors; within one it is free.
"""

from collections.abc import Sequence

from dagsched_env.io.numbers import amount, check_processors, whole
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.instance import Instance

TASKS, EDGES, END = "#tasks", "#edges", "#end"
SECTIONS = ("#critical", TASKS, EDGES, END)

Row = tuple[int, list[str]]
"""A line: its number, from 1, and its words, the number of the task or edge first."""


def recognises(text: str) -> bool:
    """Whether there are lines that begin the tasks and the edges."""
    titles = {line.strip() for line in text.splitlines() if line.startswith("#")}
    return {TASKS, EDGES} <= titles


def parse(text: str, *, name: str | None = None) -> Instance:
    """Read a problem; tasks have their numbers as names.

    Args:
        text: the file.
        name: a label for the instance.

    Raises:
        FormatError: a section is missing, tasks are not numbered in turn or have times on different
            numbers of processors, an edge names no task, or a number is none; the message names the
            line.
        InvalidInstanceError: there is a cycle, or an edge twice.
    """
    sections = _sections(text)
    rows = sections[TASKS]
    if not rows:
        raise FormatError(f"there are no tasks under {TASKS}: a problem has at least one")
    first, words = rows[0]
    check_processors(len(words) - 1, f"line {first}")
    comp = [
        _times(words, f"line {line}", i, len(rows[0][1])) for i, (line, words) in enumerate(rows)
    ]
    edges = [_edge(words, f"line {line}", len(comp)) for line, words in sections[EDGES]]
    return Instance(comp, [(u, v) for u, v, _ in edges], [cost for *_, cost in edges], name=name)


def _sections(text: str) -> dict[str, list[Row]]:
    """Title → the lines below it."""
    found: dict[str, list[Row]] = {}
    title = ""
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.strip()
        if content in SECTIONS:
            if content in found:
                raise FormatError(f"line {number} is a second {content}: remove one")
            found[content], title = [], content
        elif title in (TASKS, EDGES) and content:
            found[title].append((number, _words(content, f"line {number}")))
    for title in (TASKS, EDGES, END):
        if title not in found:
            raise FormatError(f"there is no line {title}: the file seems to end early")
    return found


def _words(content: str, where: str) -> list[str]:
    label, colon, rest = content.partition(":")
    if not colon:
        raise FormatError(f"{where} has no colon behind the number of its task or edge")
    return [label.strip(), *(word.strip() for word in rest.split(","))]


def _times(words: Sequence[str], where: str, number: int, width: int) -> list[float]:
    if whole(words[0], where) != number:
        raise FormatError(f"{where} is task {words[0]}: tasks are numbered in turn, here {number}")
    if len(words) != width:
        raise FormatError(
            f"{where} has {len(words) - 1} times, but the first task has {width - 1}: it takes one "
            "for each processor"
        )
    return [amount(word, where) for word in words[1:]]


def _edge(words: Sequence[str], where: str, n: int) -> tuple[int, int, float]:
    if len(words) != 4:
        raise FormatError(f"{where} has {len(words) - 1} numbers: an edge is two tasks and a cost")
    u, v = (whole(word, where) for word in words[1:3])
    if max(u, v) >= n:
        raise FormatError(f"{where}: task {max(u, v)} is not in 0..{n - 1}")
    return u, v, amount(words[3], where)
