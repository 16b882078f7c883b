"""Flexible job-shop text files, as used for the instances of Brandimarte and of Hurink.

P. Brandimarte, Routing and scheduling in a flexible job shop by tabu search, Annals of Operations
Research 41, 1993. The first line gives jobs, machines and, optionally, the mean number of machines
of an operation. Then there is a line for each job: the number of its operations, and for each of
them the number of machines that can run it, followed by so many pairs of machine and time. Machines
are numbered from 1, or from 0 if the file mentions machine 0.
"""

from dagsched_env.generators.job_shop import chains
from dagsched_env.io.numbers import MOST_MACHINES, amount, check_processors, lines, whole
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.instance import Instance

__all__ = ["parse"]


def parse(text: str, *, name: str | None = None) -> Instance:
    """Read a flexible job shop: a chain of tasks for each job, each with its own eligible machines.

    There is no communication: all edges carry no data. Tasks are named ``J0.0`` (job, operation),
    processors ``M0``, both from 0.

    Args:
        text: the file.
        name: a label for the instance.

    Raises:
        FormatError: a count does not fit the numbers that follow, a machine is unknown or listed
            twice for an operation, or a time is not a number; the message names the line.
    """
    rows = lines(text)
    if not rows or len(rows[0][1]) not in (2, 3):
        raise FormatError("no flexible job shop: the first line gives jobs and machines")
    line, header = rows[0]
    n_jobs, n_machines = (whole(word, f"line {line}") for word in header[:2])
    if len(header) == 3:
        amount(header[2], f"line {line}")
    check_processors(n_machines, f"line {line}", most=MOST_MACHINES)
    if len(rows) - 1 != n_jobs or not n_jobs:
        raise FormatError(
            f"line {line} announces {n_jobs} jobs, but {len(rows) - 1} lines follow: it takes one "
            "for each job"
        )
    jobs = [_job(words, f"line {line}") for line, words in rows[1:]]
    first = 0 if any(q == 0 for job in jobs for operation in job for q, _ in operation) else 1
    for (line, _), job in zip(rows[1:], jobs, strict=True):
        for k, operation in enumerate(job):
            _check_machines([q for q, _ in operation], f"line {line}", k, first, n_machines)
    shifted = [[[(q - first, time) for q, time in pairs] for pairs in job] for job in jobs]
    return chains(shifted, n_machines, name=name)


def _job(words: list[str], where: str) -> list[list[tuple[int, float]]]:
    """Operations of one line, with the machine numbers of the file."""
    count, at = whole(words[0], where), 1
    if not 1 <= count <= len(words):
        raise FormatError(f"{where} announces {count} operations in {len(words)} numbers")
    job = []
    for k in range(count):
        n_pairs = whole(words[at], where) if at < len(words) else 0
        end = at + 1 + 2 * n_pairs
        if not n_pairs or end > len(words):
            raise FormatError(f"{where} ends within operation {k}, or it lists no machine")
        pairs = zip(words[at + 1 : end : 2], words[at + 2 : end : 2], strict=True)
        job.append([(whole(machine, where), amount(time, where)) for machine, time in pairs])
        at = end
    if at < len(words):
        raise FormatError(f"{where} has {len(words) - at} numbers after its {count} operations")
    return job


def _check_machines(machines: list[int], where: str, k: int, first: int, n_machines: int) -> None:
    for q in machines:
        if not first <= q < first + n_machines:
            last = first + n_machines - 1
            raise FormatError(f"{where}: operation {k} names machine {q}, not in {first}..{last}")
    if len(set(machines)) < len(machines):
        raise FormatError(f"{where}: operation {k} lists a machine twice")
