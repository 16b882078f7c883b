"""Names of tasks in files that may repeat them."""

from collections import Counter
from collections.abc import Sequence


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """The names, with a number at those that were there before: ``a``, ``a #2``."""
    taken, times = set(names), Counter[str]()
    found = []
    for name in names:
        times[name] += 1
        new = name if times[name] == 1 else f"{name} #{times[name]}"
        while times[name] > 1 and new in taken:
            times[name] += 1
            new = f"{name} #{times[name]}"
        taken.add(new)
        found.append(new)
    return tuple(found)
