"""Standard Task Graph Set of Kasahara Laboratory: www.kasahara.cs.waseda.ac.jp/schedule.

T. Tobita, H. Kasahara, A standard task graph set for fair evaluation of multiprocessor scheduling
algorithms, Journal of Scheduling 5, 2002. The first line gives the number of tasks, without the two
dummies at entry and exit. Then there is a line for each task, dummies included: its number (from
0), its time, the number of its predecessors, and their numbers. ``#`` starts the information part.
"""

import numpy as np

from dagsched_env.io.numbers import amount, lines, whole
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.workflow import Workflow


def parse(text: str, *, name: str | None = None) -> Workflow:
    """Read a task graph. It has no communication costs; the platform determines them.

    Every edge carries one unit of data, except those at the dummies (a first or last task of
    duration 0), which are free. So ``RandomPlatform(ccr=...)`` gives the graph exactly that CCR,
    and with a ``Platform`` each transfer takes latency + 1 / bandwidth. With ``ccr=0`` it is the
    original problem, as with ``MachineOptions`` and on the command line, unless they ask for a CCR.

    Args:
        text: the file.
        name: a label for the workflow.

    Raises:
        FormatError: a count does not fit the lines, a number or a predecessor is unknown or
            repeated, or a time is not a number; the message names the line.
    """
    rows = lines(text)
    if not rows or len(rows[0][1]) != 1:
        raise FormatError("no STG file: the first line gives the number of tasks and nothing else")
    announced = whole(rows[0][1][0], f"line {rows[0][0]}")
    rows = rows[1:]
    if len(rows) not in (announced, announced + 2) or not rows:
        raise FormatError(
            f"{announced} tasks are announced, but {len(rows)} lines follow: it takes one for each "
            "task, and two for the dummies"
        )
    parsed = [_task(words, f"line {line}", i, len(rows)) for i, (line, words) in enumerate(rows)]
    runtimes = np.array([time for time, _ in parsed], dtype=np.float64)
    (first, of_first), *others = parsed
    # The first task is a dummy from which all others come, and the last one is none.
    entry = first == 0 and not of_first and bool(others) and all(parents for _, parents in others)
    if len(rows) == announced and entry and runtimes[-1] > 0:
        raise FormatError(
            f"the file seems to end early: task 0 is a dummy, and {announced} tasks with two "
            f"dummies take {announced + 2} lines, of which {len(rows)} are there: add the others, "
            "or where there are none, announce two tasks less and add a last dummy"
        )
    dummies = {i for i in (0, len(rows) - 1) if runtimes[i] == 0}
    edges = tuple((u, v) for v, (_, parents) in enumerate(parsed) for u in parents)
    return Workflow(
        tasks=tuple(map(str, range(len(rows)))),
        runtimes=runtimes,
        edges=edges,
        data=np.array([0.0 if dummies & {u, v} else 1.0 for u, v in edges], dtype=np.float64),
        name=name,
        says_data=False,
    )


def _task(words: list[str], where: str, number: int, n: int) -> tuple[float, list[int]]:
    """Time and predecessors of one line."""
    if len(words) < 3:
        raise FormatError(f"{where} has {len(words)} numbers: task, time, number of predecessors")
    if whole(words[0], where) != number:
        raise FormatError(f"{where} is task {words[0]}: tasks are numbered in turn, here {number}")
    if whole(words[2], where) != len(words) - 3:
        raise FormatError(
            f"{where} announces {words[2]} predecessors and lists {len(words) - 3} numbers"
        )
    parents = [whole(word, where) for word in words[3:]]
    for parent in parents:
        if parent >= n:
            raise FormatError(f"{where}: predecessor {parent} is not a task of 0..{n - 1}")
    return amount(words[1], where), parents
