"""Flexible job-shop text files: jobs of Brandimarte and of Hurink, graphs of Birgin et al.

P. Brandimarte, Routing and scheduling in a flexible job shop by tabu search, Annals of Operations
Research 41, 1993. The first line gives jobs, machines and, optionally, the mean number of machines
of an operation. Then there is a line for each job: the number of its operations, and for each of
them the number of machines that can run it, followed by so many pairs of machine and time.

E. G. Birgin et al., A MILP model for an extended version of the flexible job shop problem,
Optimization Letters 8, 2014 (the sets YFJS and DAFJS), where the operations of a job form any
graph. The first line gives operations, arcs and machines. Then there is a line for each arc, two
operations from 0, the first of which comes before the second; a third word, the job, is skipped.
Then there is a line for each operation: the number of machines that can run it, and the pairs.

Machines are numbered from 0 where the file names machine 0, from 1 where it does not and its
highest number is that of the machines; where neither holds, because some machine is never used,
from 1 in files of jobs and from 0 in graphs. Setup times are refused.
"""

from collections.abc import Sequence

from dagsched_env.generators.job_shop import Operation, chains, shop
from dagsched_env.io.job_shop import Row, announced, check_no_setups, from_zero
from dagsched_env.io.numbers import MOST_MACHINES, amount, check_processors, lines, whole
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.instance import Instance

ARC = (2, 3)
"""Words of a line with an arc; a job has more."""


def recognises(rows: Sequence[Row]) -> bool:
    """Whether the lines of numbers, a header first, have the form of a graph or of such jobs."""
    if not rows or len(rows[0][1]) not in (2, 3):
        return False
    try:
        return _is_graph(rows) or all(_job(words, "") for _, words in announced(rows))
    except FormatError:
        return False


def parse(text: str, *, name: str | None = None) -> Instance:
    """Read a flexible job shop: tasks with an order, each with its own eligible machines.

    There is no communication: all edges carry no data. Tasks are named ``J0.0`` (job, operation),
    or ``O0`` in a graph, processors ``M0``, all from 0.

    Args:
        text: the file.
        name: a label for the instance.

    Raises:
        FormatError: a count does not fit the numbers that follow, a machine is unknown or listed
            twice for an operation, a time is not a number, or there are setup times; the message
            names the line.
        InvalidInstanceError: a graph has a cycle, or an arc twice.
    """
    rows = lines(text)
    if not rows or len(rows[0][1]) not in (2, 3):
        raise FormatError("no flexible job shop: the first line gives jobs and machines")
    if _is_graph(rows):
        return _graph(rows, name)
    line, header = rows[0]
    n_jobs, n_machines = (whole(word, f"line {line}") for word in header[:2])
    if len(header) == 3:
        amount(header[2], f"line {line}")
    check_processors(n_machines, f"line {line}", most=MOST_MACHINES)
    jobs = [(line, _job(words, f"line {line}")) for line, words in rows[1 : n_jobs + 1]]
    if len(rows) - 1 != n_jobs or not n_jobs:
        check_no_setups(rows[n_jobs + 1 :], n_jobs, n_machines, sum(len(job) for _, job in jobs))
        raise FormatError(
            f"line {line} announces {n_jobs} jobs, but {len(rows) - 1} lines follow: it takes one "
            "for each job"
        )
    return chains(from_zero(jobs, n_machines, usual=1), n_machines, name=name)


def _is_graph(rows: Sequence[Row]) -> bool:
    """Whether the second line is an arc, or the first says that there is none."""
    header = rows[0][1]
    return len(header) == 3 and (header[1] == "0" or any(len(row) in ARC for _, row in rows[1:2]))


def _graph(rows: Sequence[Row], name: str | None) -> Instance:
    (line, header), rows = rows[0], rows[1:]
    n, n_arcs, n_machines = (whole(word, f"line {line}") for word in header)
    check_processors(n_machines, f"line {line}", most=MOST_MACHINES)
    if len(rows) != n + n_arcs or not n:
        raise FormatError(
            f"line {line} announces {n} operations and {n_arcs} arcs, but {len(rows)} lines "
            "follow: it takes one for each"
        )
    edges = [_arc(words, f"line {line}", n) for line, words in rows[:n_arcs]]
    jobs = [(line, _job(["1", *words], f"line {line}")) for line, words in rows[n_arcs:]]
    operations = [operation for (operation,) in from_zero(jobs, n_machines, usual=0)]
    return shop(operations, edges, n_machines, [f"O{i}" for i in range(n)], name=name)


def _arc(words: list[str], where: str, n: int) -> tuple[int, int]:
    if len(words) not in ARC:
        raise FormatError(f"{where} has {len(words)} words: an arc is two operations")
    u, v = (whole(word, where) for word in words[:2])
    if max(u, v) >= n:
        raise FormatError(f"{where}: operation {max(u, v)} is not in 0..{n - 1}")
    return u, v


def _job(words: list[str], where: str) -> list[Operation]:
    """Operations of one line, with the machine numbers of the file."""
    count, at = whole(words[0], where), 1
    if not 1 <= count <= len(words):
        raise FormatError(f"{where} announces {count} operations in {len(words)} numbers")
    job: list[Operation] = []
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
