"""Short labels for names. A name is any text: long, empty, markup, or nothing that can be shown."""

import re
from collections import Counter
from collections.abc import Sequence

ELLIPSIS = "…"
UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"
LONG = 16
"""Parts that all names share are dropped where a name has more letters than this."""
MAX_LENGTH = 400
"""Letters of a name that are looked at; the middle of a longer one is left out first."""
DOUBLED_WORD = re.compile(r"(?<![^\W_])([^\W\d_][^\W_]*)[\W_]\1(?![^\W_])")
LEADING_ZEROS = re.compile(r"(?<![^\W_])(?<!\.)(?!(?<=\d,)\d{3}(?!\d))(?:ID)?0+(?=\d)")
"""Not those of decimals, nor of thousands, as in ``1,005``."""
WORD = re.compile(r"[^\W_]+(?:(?:(?<=\d)[.,]|(?<=\d[eE])[+-])(?=\d)[^\W_]+)*|[\W_]")
"""A word, which may be a number with a point, commas or an exponent; or a single separator."""
TRAILING_NUMBER = re.compile(r"\d[\d.,]*(?=\)?$)")


def short_labels(names: Sequence[str], length: int) -> tuple[str, ...]:
    """A printable label of at most ``length`` letters for each name; what tells names apart stays.

    What all names begin or end with is dropped where they are long; numbers lose the zeros before
    them (``mAdd_ID0000056`` → ``mAdd_56``), and a word that comes twice in a row is kept once; of
    what is still too long the middle is left out. Labels that would become equal get the position
    of their name.

    Args:
        names: distinct.
        length: of the longest label, at least 12.
    """
    distinctive = _without_common_ends([elide(name, MAX_LENGTH) for name in names])
    shorter = [DOUBLED_WORD.sub(r"\1", LEADING_ZEROS.sub("", name)) for name in distinctive]
    if len(set(shorter)) < len(set(distinctive)):
        shorter = distinctive
    labels = [printable(elide(name, length)) for name in shorter]
    counts = Counter(labels)
    for i, label in enumerate(labels):
        if counts[label] > 1:
            position = f" #{i}"
            labels[i] = elide(label, length - len(position)) + position
    return tuple(labels)


def elide(text: str, length: int) -> str:
    """The text in at most ``length`` ≥ 1 letters, an ellipsis in place of its middle."""
    if len(text) <= length:
        return text
    tail = length // 2
    return text[: length - 1 - tail] + ELLIPSIS + text[len(text) - tail :]


def printable(text: str) -> str:
    """The text on one line, with a replacement character for whatever cannot be shown."""
    return "".join(c if c.isprintable() else " " if c.isspace() else UNPRINTABLE for c in text)


def one_line(name: str) -> str:
    """The name in a line of text: printable, and not longer than ``MAX_LENGTH``."""
    return printable(elide(name, MAX_LENGTH))


def trailing_number(label: str) -> str:
    """The number or the indices at the end: ``56`` of ``mAdd_56``, ``2,1,0`` of ``GEMM(2,1,0)``."""
    match = TRAILING_NUMBER.search(label)
    return match.group() if match else ""


def _without_common_ends(names: list[str]) -> list[str]:
    """Without the words that all names begin or end with, if every name keeps something."""
    if len(names) < 2 or max(map(len, names)) <= LONG:
        return names
    words = [WORD.findall(name) for name in names]
    start = _common_start(words)
    kept = [parts[start:] for parts in words]
    end = _common_start([parts[::-1] for parts in kept])
    shorter = [parts[: len(parts) - end] for parts in kept]
    return next((list(map("".join, trial)) for trial in (shorter, kept) if all(trial)), names)


def _common_start(names: list[list[str]]) -> int:
    """Number of words that all names begin with, up to and with their last separator."""
    length = 0
    for i, (first, last) in enumerate(zip(min(names), max(names), strict=False), 1):
        if first != last:
            break
        if first == "_" or not first[0].isalnum():
            length = i
    return length
