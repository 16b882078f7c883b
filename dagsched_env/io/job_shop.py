"""Job-shop text files: the standard layout of the OR-Library, and Taillard's.

Standard (J. E. Beasley, OR-Library: people.brunel.ac.uk/~mastjjb/jeb/orlib/jobshopinfo.html): jobs
and machines in the first line, then a line for each job with machine and time of each of its
operations in order. A job may visit a machine several times, or not at all, and its line may end
with ``-1 -1`` (G. Da Col, E. C. Teppan, Industrial-size job shop scheduling with constraint
programming, Operations Research Perspectives 9, 2022). Taillard (E. Taillard, Benchmarks for basic
scheduling problems, EJOR 64, 1993): after the first line a line of times for each job, then a line
of machines for each job.

Machines are numbered from 0 where the file names machine 0, from 1 where it does not and its
highest number is that of the machines; where neither holds, because some machine is never used,
from 0 in the standard layout and from 1 in Taillard's. Lines that do not start with a digit, such
as titles and rules, are skipped; ``#`` starts a comment. Setup times are refused.
"""

from collections.abc import Sequence

from dagsched_env.generators.job_shop import Operation, chains
from dagsched_env.io.numbers import MOST_MACHINES, amount, check_processors, lines, whole
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.instance import Instance

Row = tuple[int, list[str]]
"""Number of a line, from 1, and its words."""

END = ["-1", "-1"]


def parse(text: str, *, name: str | None = None) -> Instance:
    """Read a job shop: a chain of tasks for each job, one eligible processor each.

    There is no communication: all edges carry no data. Tasks are named ``J0.0`` (job, operation),
    processors ``M0``, both from 0.

    Args:
        text: the file.
        name: a label for the instance.

    Raises:
        FormatError: a count does not fit the rows, a machine is unknown, a time is not a number, or
            there are setup times; the message names the line.
    """
    rows = [row for row in lines(text) if row[1][0][0].isdigit()]
    if not rows or len(rows[0][1]) < 2:
        raise FormatError("no job shop: the first line of numbers gives jobs and machines")
    line, header = rows[0]
    n_jobs, n_machines = (whole(word, f"line {line}") for word in header[:2])
    check_processors(n_machines, f"line {line}", most=MOST_MACHINES)
    rows = rows[1:]
    if n_jobs and len(rows) == n_jobs:
        first, jobs = 0, [(row[0], _standard(row)) for row in rows]
    elif n_jobs and len(rows) == 2 * n_jobs:
        pairs = zip(rows[:n_jobs], rows[n_jobs:], strict=True)
        first, jobs = 1, [(row[0], _taillard(times, row, n_machines)) for times, row in pairs]
    else:
        n_operations = sum(len(words) // 2 for _, words in rows[:n_jobs])
        check_no_setups(rows[n_jobs:], n_jobs, n_machines, n_operations)
        raise FormatError(
            f"line {line} announces {n_jobs} jobs, but {len(rows)} lines of numbers follow: it "
            "takes one line for each job, or two in Taillard's layout"
        )
    return chains(from_zero(jobs, n_machines, usual=first), n_machines, name=name)


def announced(rows: Sequence[Row]) -> Sequence[Row]:
    """The rows below the first, as many as it announces; all where it has no such number."""
    try:
        return rows[1 : 1 + whole(rows[0][1][0], "")]
    except FormatError:
        return rows[1:]


def from_zero(
    jobs: Sequence[tuple[int, Sequence[Operation]]], n_machines: int, *, usual: int
) -> list[list[Operation]]:
    """The operations of each job, with machines numbered from 0 instead of as in the file.

    ``usual`` is the number of the first machine, 0 or 1, where the numbers do not tell it. A
    machine that is unknown, or listed twice for an operation, raises a FormatError.
    """
    seen = {q for _, job in jobs for operation in job for q, _ in operation}
    first = 0 if 0 in seen else 1 if n_machines in seen else usual
    for line, job in jobs:
        for k, operation in enumerate(job):
            where = f"line {line}: operation {k}"
            machines = [q for q, _ in operation]
            for q in machines:
                if not first <= q < first + n_machines:
                    last = first + n_machines - 1
                    raise FormatError(f"{where} names machine {q}, not in {first}..{last}")
            if len(set(machines)) < len(machines):
                raise FormatError(f"{where} lists a machine twice")
    return [[[(q - first, time) for q, time in pairs] for pairs in job] for _, job in jobs]


def check_no_setups(more: Sequence[Row], n_jobs: int, n_machines: int, n_operations: int) -> None:
    """Refuse setup times after the jobs: a matrix for each machine, over jobs or operations."""
    count = sum(len(words) for _, words in more)
    if count and count in (n_machines * n_jobs**2, n_machines * n_operations**2):
        raise FormatError(
            f"lines {more[0][0]} to {more[-1][0]} are setup times, which the model does not "
            "have: remove these lines to schedule without them"
        )


def _standard(row: Row) -> list[Operation]:
    line, words = row
    if words[-2:] == END:
        words = words[:-2]
    if len(words) % 2:
        raise FormatError(
            f"line {line} has {len(words)} numbers: machine and time of each operation are two; "
            "a flexible job shop has the suffix .fjs"
        )
    pairs = zip(words[::2], words[1::2], strict=True)
    return [
        [(whole(machine, f"line {line}"), amount(time, f"line {line}"))] for machine, time in pairs
    ]


def _taillard(times: Row, machines: Row, n_machines: int) -> list[Operation]:
    for line, words in (times, machines):
        if len(words) != n_machines:
            raise FormatError(f"line {line} has {len(words)} numbers, not one for each machine")
    return [
        [(whole(machine, f"line {machines[0]}"), amount(time, f"line {times[0]}"))]
        for machine, time in zip(machines[1], times[1], strict=True)
    ]
