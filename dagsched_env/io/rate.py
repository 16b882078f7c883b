"""Bandwidths as text: a number, or one with a unit, as in ``1Gbit/s`` or ``125MB/s``."""

import re
from typing import NamedTuple

RATE = re.compile(
    r"(?P<number>[+-]?[\d.]+(?:[eE][+-]?\d+)?) ?"
    r"(?:(?P<prefix>[kMGT]?)(?P<unit>bit|b|B)(?:/s|ps)?)?"
)
PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
BITS = 8.0
"""In a byte."""

HOW_TO_WRITE = (
    "write a number, or one with a unit where data is in bytes and times are in seconds, as in "
    "1Gbit/s or 125MB/s; the units are bit/s and B/s, with k, M, G or T before them"
)


class Rate(NamedTuple):
    """A bandwidth."""

    value: float
    """Units of data per unit of time: bytes per second where it has a unit."""
    in_bytes: bool
    """Whether it has a unit, which takes data as bytes and times as seconds."""


def parse(text: str) -> Rate | None:
    """The bandwidth; None if it cannot be read. k is 1000, b or bit an eighth of a byte, B."""
    found = RATE.fullmatch(text.strip())
    if found is None:
        return None
    try:
        number = float(found["number"])
    except ValueError:  # as of 1.2.3
        return None
    if found["unit"] is None:
        return Rate(number, False)
    per_byte = 1.0 if found["unit"] == "B" else BITS
    return Rate(number * PREFIXES[found["prefix"]] / per_byte, True)
