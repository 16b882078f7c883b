"""Projects with limited resources (RCPSP), as PSPLIB and its generator ProGen write them: ``.sm``.

R. Kolisch, A. Sprecher, PSPLIB: a project scheduling problem library, EJOR 96, 1997. Sections have
titles: after ``PRECEDENCE RELATIONS`` a line for each job has its number, from 1, its modes, the
number of its successors, and these; after ``REQUESTS/DURATIONS`` a line has its number, its mode,
its duration, and what it uses of each resource; after ``RESOURCEAVAILABILITIES`` a line has how
much there is of each. Lines of words are skipped, whatever their spacing.

The problem is one processor, ``project``, with the resources ``R1``, ``R2`` …, on which jobs
overlap. There is no communication. Tasks have the numbers of the jobs, source and sink among them.
Several modes or projects, and resources that are used up, are refused. Due dates are not read.
"""

import itertools
import re
from collections.abc import Sequence

from dagsched_env.io.numbers import amount, lines, whole
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.instance import Instance

Row = tuple[int, list[str]]
"""Number of a line, from 1, and its words."""

PRECEDENCE, REQUESTS, AVAILABLE = "precedence", "requests/durations", "resourceavailabilities"
SECTIONS = {
    "precedence relations": PRECEDENCE,
    "requests/durations": REQUESTS,
    "resourceavailabilities": AVAILABLE,
    "resource availabilities": AVAILABLE,
}
"""How the title of a section begins, in lower case, with single spaces → the section."""
RELEASE = "rel.date"
"""The column of the head that says when a project may begin."""
TITLE = re.compile(r"^[ \t]*precedence[ \t]+relations\b", re.IGNORECASE | re.MULTILINE)
REFUSED = {
    "projects": (1, "projects at the same time"),
    "nonrenewable": (0, "resources that are used up"),
    "doubly constrained": (0, "resources that are used up"),
}
"""What the head counts → the most that is read, and what more of it would be."""


def recognises(text: str) -> bool:
    """Whether text has the section that all such files have."""
    return TITLE.search(text) is not None


def parse(text: str, *, name: str | None = None) -> Instance:
    """Read a project.

    Args:
        text: the file.
        name: a label for the instance.

    Raises:
        FormatError: a section is missing, a count does not fit the lines, a number is wrong, or
            there are several modes or projects, or resources that are used up; the message names
            the line.
        InvalidInstanceError: the jobs form a cycle, or one needs more than there is.
    """
    _check_head(text)
    rows = _sections(text)
    for section, found in rows.items():
        if not found:
            raise FormatError(f"no section {section.upper()} with lines of numbers: add it")
    line, available = rows[AVAILABLE][0]
    capacities = [amount(word, f"line {line}") for word in available]
    successors = [_successors(row, i) for i, row in enumerate(rows[PRECEDENCE], start=1)]
    if len(rows[REQUESTS]) != len(successors):
        raise FormatError(
            f"{len(successors)} jobs have successors, but {len(rows[REQUESTS])} have durations: "
            "each job has one line in both sections"
        )
    jobs = [_request(row, i, len(capacities)) for i, row in enumerate(rows[REQUESTS], start=1)]
    return project(jobs, successors, capacities, name=name)


def project(
    jobs: Sequence[tuple[float, list[float]]],
    successors: Sequence[Sequence[tuple[int, int]]],
    capacities: Sequence[float],
    *,
    name: str | None,
) -> Instance:
    """A project as an instance on one processor.

    Args:
        jobs: duration of each, and what it uses of each resource.
        successors: of each job: line, for messages, and number, from 1, of each successor.
        capacities: how much there is of each resource.
        name: a label.

    Raises:
        FormatError: no resources, or a successor is no job or repeated.
        InvalidInstanceError: the jobs form a cycle, or one needs more than there is.
    """
    if not capacities:
        raise FormatError(
            "the project has no resources, so that all jobs may run as early as they can: there is "
            "nothing to schedule"
        )
    edges: dict[tuple[int, int], None] = {}
    for i, found in enumerate(successors):
        for line, job in found:
            if not 1 <= job <= len(jobs):
                raise FormatError(f"line {line} names job {job}, not in 1..{len(jobs)}")
            if (i, job - 1) in edges:
                raise FormatError(f"line {line} repeats the successor {job}: remove it")
            edges[(i, job - 1)] = None
    return Instance(
        [[duration] for duration, _ in jobs],
        list(edges),
        [0.0] * len(edges),
        task_names=[str(i + 1) for i in range(len(jobs))],
        processor_names=["project"],
        name=name,
        demands=[uses for _, uses in jobs],
        capacities=[list(capacities)],
        resource_names=[f"R{r + 1}" for r in range(len(capacities))],
    )


def _check_head(text: str) -> None:
    """Refuse what the lines before the first section count."""
    head = text[: found.start()] if (found := TITLE.search(text)) else text
    for i, (titles, values) in enumerate(itertools.pairwise(head.splitlines()), start=2):
        row = dict(zip(titles.lower().split(), values.split(), strict=False))
        if (released := row.get(RELEASE, "0")) != "0":
            raise FormatError(
                f"line {i}: the project may begin at {released}, and is read as one that may begin "
                "at 0: write 0, and add it to all times"
            )
    for i, words in lines(head):
        counted, _, value = " ".join(words).partition(":")
        most, what = REFUSED.get(counted.strip(" -").lower(), (None, ""))
        if most is None:
            continue
        count = whole((value.split() or [""])[0], f"line {i}")
        if count > most:
            raise FormatError(f"line {i}: {count} {what}, which the model does not have")


def _sections(text: str) -> dict[str, list[Row]]:
    """The lines of numbers of each section."""
    rows: dict[str, list[Row]] = {section: [] for section in (PRECEDENCE, REQUESTS, AVAILABLE)}
    current = None
    for line, words in lines(text):
        shown = " ".join(words).lower()
        title = next((title for title in SECTIONS if shown.startswith(title)), None)
        if title is not None:
            current = SECTIONS[title]
        elif current is not None and words[0].isdigit():
            rows[current].append((line, words))
    return rows


def _successors(row: Row, job: int) -> list[tuple[int, int]]:
    """Line and number of each successor of a job."""
    line, words = row
    numbers = [whole(word, f"line {line}") for word in words]
    if len(numbers) < 3 or numbers[0] != job:
        raise FormatError(f"line {line} needs the job {job}, its modes and its successors")
    if numbers[1] != 1:
        raise FormatError(
            f"line {line}: job {job} has {numbers[1]} modes, of which the model has one: a file "
            "with several (.mm) is not read"
        )
    if len(numbers) != 3 + numbers[2]:
        raise FormatError(
            f"line {line} announces {numbers[2]} successors, but {len(numbers) - 3} follow"
        )
    return [(line, number) for number in numbers[3:]]


def _request(row: Row, job: int, k: int) -> tuple[float, list[float]]:
    """Duration of a job, and what it uses of each of k resources."""
    line, words = row
    if len(words) != 3 + k or words[0] != str(job):
        raise FormatError(
            f"line {line} needs the job {job}, its mode, its duration and what it uses of {k} "
            "resources"
        )
    duration, *uses = (amount(word, f"line {line}") for word in words[2:])
    return duration, uses
