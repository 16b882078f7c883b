"""Job-shop text files: the standard layout of the OR-Library, and Taillard's.

Standard (J. E. Beasley, OR-Library: people.brunel.ac.uk/~mastjjb/jeb/orlib/jobshopinfo.html): jobs
and machines in the first line, then a line for each job with machine (from 0) and time of each of
its operations in order. Taillard (E. Taillard, Benchmarks for basic scheduling problems, EJOR 64,
1993): after the first line a line of times for each job, then a line of machines (from 1) for each
job. Lines that do not start with a digit, such as titles and rules, are skipped; ``#`` starts a
comment.
"""

from dagsched_env.generators.job_shop import Operation, chains
from dagsched_env.io.numbers import MOST_MACHINES, amount, check_processors, lines, whole
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.instance import Instance

__all__ = ["parse"]

Row = tuple[int, list[str]]
"""Number of a line, from 1, and its words."""


def parse(text: str, *, name: str | None = None) -> Instance:
    """Read a job shop: a chain of tasks for each job, one eligible processor each.

    There is no communication: all edges carry no data. Tasks are named ``J0.0`` (job, operation),
    processors ``M0``, both from 0.

    Args:
        text: the file.
        name: a label for the instance.

    Raises:
        FormatError: a count does not fit the rows, a machine is unknown or visited twice by a job,
            or a time is not a number; the message names the line.
    """
    rows = [row for row in lines(text) if row[1][0][0].isdigit()]
    if not rows or len(rows[0][1]) < 2:
        raise FormatError("no job shop: the first line of numbers gives jobs and machines")
    line, header = rows[0]
    n_jobs, n_machines = (whole(word, f"line {line}") for word in header[:2])
    check_processors(n_machines, f"line {line}", most=MOST_MACHINES)
    rows = rows[1:]
    if n_jobs and len(rows) == n_jobs:
        jobs = [_standard(row, n_machines) for row in rows]
    elif n_jobs and len(rows) == 2 * n_jobs:
        pairs = zip(rows[:n_jobs], rows[n_jobs:], strict=True)
        jobs = [_taillard(times, machines, n_machines) for times, machines in pairs]
    else:
        raise FormatError(
            f"line {line} announces {n_jobs} jobs, but {len(rows)} lines of numbers follow: it "
            "takes one line for each job, or two in Taillard's layout"
        )
    return chains(jobs, n_machines, name=name)


def _standard(row: Row, n_machines: int) -> list[Operation]:
    line, words = row
    if len(words) != 2 * n_machines:
        raise FormatError(
            f"line {line} has {len(words)} numbers: {n_machines} machines need {2 * n_machines}, "
            "machine and time of each operation"
        )
    machines = [whole(word, f"line {line}") for word in words[::2]]
    _check_machines(machines, line, n_machines, first=0)
    times = [amount(word, f"line {line}") for word in words[1::2]]
    return [[pair] for pair in zip(machines, times, strict=True)]


def _taillard(times: Row, machines: Row, n_machines: int) -> list[Operation]:
    for line, words in (times, machines):
        if len(words) != n_machines:
            raise FormatError(f"line {line} has {len(words)} numbers, not one for each machine")
    order = [whole(word, f"line {machines[0]}") for word in machines[1]]
    _check_machines(order, machines[0], n_machines, first=1)
    return [
        [(machine - 1, amount(word, f"line {times[0]}"))]
        for machine, word in zip(order, times[1], strict=True)
    ]


def _check_machines(machines: list[int], line: int, n_machines: int, first: int) -> None:
    seen: set[int] = set()
    for machine in machines:
        if not first <= machine < first + n_machines:
            last = first + n_machines - 1
            raise FormatError(f"line {line}: machine {machine} is not in {first}..{last}")
        if machine in seen:
            raise FormatError(f"line {line} visits machine {machine} twice")
        seen.add(machine)
