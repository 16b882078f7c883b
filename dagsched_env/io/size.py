"""Sizes of memory as text: bytes, or a number with a unit, as in ``64 GB`` or ``128GiB``."""

import re

SIZE = re.compile(r"(?P<number>\+?[\d.]+(?:[eE][+-]?\d+)?) ?(?:(?P<prefix>[kKMGTP]?)(?P<i>i?)B)?")
PREFIXES = ("", "K", "M", "G", "T", "P")

HOW_TO_WRITE = (
    "write bytes, or a number with a unit, as in 64GB (1e9 bytes each) or 64GiB (1024**3 each); "
    "the units are B, kB, MB, GB, TB, PB, KiB, MiB, GiB, TiB, PiB"
)


def parse(text: str) -> float | None:
    """Bytes; None if it cannot be read. kB is 1000 bytes, KiB 1024; ``64G`` could be either."""
    found = SIZE.fullmatch(text.strip())
    if found is None or (found["i"] and not found["prefix"]):
        return None
    try:
        number = float(found["number"])
    except ValueError:  # as of 1.2.3
        return None
    factor = 1024 if found["i"] else 1000
    return number * float(factor ** PREFIXES.index((found["prefix"] or "").upper()))
