"""Reference makespans: the best known ones of the instances of a suite, and how they were found."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any

from dagsched_env.io.fields import get, get_amount, get_text, record_of
from dagsched_env.problem.errors import FormatError

PROOF_TOLERANCE = 1e-6
"""A proved makespan is above its lower bound by at most this share of it: CP-SAT rounds times."""
COMMIT = re.compile(r"[0-9a-f]{7,40}(-dirty)?")
"""``-dirty``: with changes that were not committed."""


@dataclass(frozen=True)
class Reference:
    """What is known about the optimum of an instance."""

    makespan: float
    """Makespan of the best known schedule (time)."""
    lower_bound: float
    """No schedule is shorter (time)."""
    optimal: bool
    """The makespan is proved to be the optimum, within ``PROOF_TOLERANCE``."""
    found_by: str
    """The call that found the schedule, with its seconds and its seed."""
    bound_by: str
    """What proved the lower bound."""
    seconds: float
    """Wall time of the searches of this instance so far, as far as it was recorded (s)."""
    runs: int
    """Number of these searches."""
    commit: str | None
    """Last change of the code that found the schedule; None: it was not recorded."""
    fingerprint: str
    """Of the instance."""


@cache
def published_references() -> dict[str, dict[str, Reference]]:
    """Suite → instance name → reference, from the data of the package."""
    path = files("dagsched_env") / "data" / "reference_makespans.json"
    return parse(path.read_text(encoding="utf-8"))


def parse(text: str) -> dict[str, dict[str, Reference]]:
    """Read ``dump``.

    Raises:
        FormatError: the text is not JSON, or a record is not possible; the message names it.
    """
    try:
        table = record_of(json.loads(text), "the file")
    except json.JSONDecodeError as error:
        raise FormatError(f"line {error.lineno} is not JSON: {error.msg}") from None
    return {
        suite: {
            name: _reference(record_of(record, f"{suite}/{name}"), f"{suite}/{name}")
            for name, record in record_of(records, suite).items()
        }
        for suite, records in table.items()
    }


def dump(references: Mapping[str, Mapping[str, Reference]]) -> str:
    """JSON text, one instance per line."""
    suites = []
    for suite, records in references.items():
        lines = (f"  {json.dumps(name)}: {json.dumps(asdict(r))}" for name, r in records.items())
        suites.append(f" {json.dumps(suite)}: {{\n" + ",\n".join(lines) + "\n }")
    return "{\n" + ",\n".join(suites) + "\n}\n"


def get_commit(record: dict[str, Any], where: str) -> str | None:
    """The hash of a commit, or None, of a record; raises FormatError if it is anything else."""
    commit = get(record, "commit", where)
    if commit is None or (isinstance(commit, str) and COMMIT.fullmatch(commit)):
        return commit
    raise FormatError(f"{where}.commit is {commit!r}: give the hash of a commit, or null")


def _reference(record: dict[str, Any], where: str) -> Reference:
    """The record, after a check of every field."""
    unknown = record.keys() - {field.name for field in fields(Reference)}
    if unknown:
        raise FormatError(f"{where} has a key that no reference has: {min(unknown)!r}")
    optimal, runs = get(record, "optimal", where), get_amount(record, "runs", where)
    if not isinstance(optimal, bool):
        raise FormatError(f"{where}.optimal is {optimal!r}, not true or false")
    if runs != int(runs):
        raise FormatError(f"{where}.runs is {runs!r}, not a whole number")
    known = Reference(
        makespan=get_amount(record, "makespan", where),
        lower_bound=get_amount(record, "lower_bound", where),
        optimal=optimal,
        found_by=get_text(record, "found_by", where),
        bound_by=get_text(record, "bound_by", where),
        seconds=get_amount(record, "seconds", where),
        runs=int(runs),
        commit=get_commit(record, where),
        fingerprint=get_text(record, "fingerprint", where),
    )
    if known.lower_bound > known.makespan:
        raise FormatError(f"{where}: the lower bound is above the makespan")
    if known.optimal and known.makespan - known.lower_bound > PROOF_TOLERANCE * known.makespan:
        raise FormatError(f"{where} is optimal, but the lower bound is below the makespan")
    return known
