"""Kinds of tasks, as their names tell them."""

import re
from collections import Counter
from collections.abc import Sequence

MAX_KINDS = 8
"""As many kinds as there are colours that everybody can tell apart."""
MAX_LENGTH = 400
"""Letters of a name that are looked at, from its start."""
NUMBER = re.compile(r"(?<![^\W_])(?:ID)?\d+(?![^\W_])")
"""A number between separators, with the prefix that Pegasus gives it."""
SEPARATORS = re.compile(r"([\W_])[\W_]+")
OUTER_SEPARATORS = re.compile(r"^[\W_]+|[\W_]+$")
LAST_NUMBER = re.compile(r"[\W_]*\d+$")


def task_kinds(names: Sequence[str]) -> tuple[str, ...] | None:
    """The kind of each task, ``""`` where a name is a number alone; None where there are no kinds.

    A kind is a name without its numbers: ``mProject_ID0000012`` is an ``mProject``, ``GEMM(2,1,0)``
    a ``GEMM``, the operation ``J3.1`` of a job shop belongs to the job ``J3``. Where that leaves
    too little in common, a number at the end of a word is dropped as well: ``map12`` is a ``map``.
    There are kinds where at least two of them have fewer names than there are tasks, and the
    ``MAX_KINDS`` most frequent ones hold at least half of the tasks.

    Args:
        names: of the tasks; any text.
    """
    without_numbers = [
        OUTER_SEPARATORS.sub("", SEPARATORS.sub(r"\1", NUMBER.sub("", name[:MAX_LENGTH])))
        for name in names
    ]
    without_last = [LAST_NUMBER.sub("", kind) for kind in without_numbers]
    for kinds in (without_numbers, without_last):
        counts = Counter(kinds)
        frequent = sum(count for _, count in counts.most_common(MAX_KINDS))
        if 2 <= len(counts) < len(names) <= 2 * frequent:
            return tuple(kinds)
    return None
