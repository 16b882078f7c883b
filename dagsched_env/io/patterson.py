"""Projects with limited resources (RCPSP) in the layout of Patterson, as RanGen has it: ``.rcp``.

J. H. Patterson, A comparison of exact approaches for solving the multiple constrained resource,
project scheduling problem, Management Science 30, 1984. Numbers, with line breaks anywhere: those
of jobs and of resources; how much there is of each resource; then of each job its duration, what it
uses of each resource, the number of its successors, and these, from 1. The problem is that of
``psplib``. Only the suffix tells it from a job shop.
"""

from dagsched_env.io.numbers import amount, lines, whole
from dagsched_env.io.psplib import project
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.instance import Instance


class _Words:
    """The words of a file, one after the other, each with its line."""

    def __init__(self, text: str) -> None:
        self._words = [(line, word) for line, words in lines(text) for word in words]
        self._next = 0
        self.line = 1

    def take(self, what: str) -> str:
        if self._next == len(self._words):
            raise FormatError(f"line {self.line} is the last, but {what} is missing")
        self.line, word = self._words[self._next]
        self._next += 1
        return word

    def count(self, what: str) -> int:
        return whole(self.take(what), f"line {self.line}: {what}", most=len(self._words))

    def number(self, what: str) -> float:
        return amount(self.take(what), f"line {self.line}: {what}")

    def check_end(self) -> None:
        if self._next < len(self._words):
            line, word = self._words[self._next]
            raise FormatError(f"line {line}: {word:.40} comes after the last job: remove it")


def parse(text: str, *, name: str | None = None) -> Instance:
    """Read a project.

    Args:
        text: the file.
        name: a label for the instance.

    Raises:
        FormatError: numbers are missing, wrong or too many, or a successor is no job; the message
            names the line.
        InvalidInstanceError: the jobs form a cycle, or one needs more than there is.
    """
    words = _Words(text)
    n, k = words.count("the number of jobs"), words.count("the number of resources")
    if n == 0:
        raise FormatError(f"line {words.line}: there are no jobs: a problem has at least one task")
    capacities = [words.number(f"what there is of R{r + 1}") for r in range(k)]
    jobs: list[tuple[float, list[float]]] = []
    successors: list[list[tuple[int, int]]] = []
    for i in range(1, n + 1):
        duration = words.number(f"the duration of job {i}")
        jobs.append((duration, [words.number(f"what job {i} uses of R{r + 1}") for r in range(k)]))
        count = words.count(f"the number of successors of job {i}")
        successors.append([])
        for _ in range(count):
            job = words.count(f"a successor of job {i}")
            successors[-1].append((words.line, job))
    words.check_end()
    return project(jobs, successors, capacities, name=name)
