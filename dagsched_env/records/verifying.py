"""Checks every entry of a folder of records."""

from collections.abc import Iterator
from dataclasses import dataclass
from os import PathLike

from dagsched_env.problem.errors import FormatError
from dagsched_env.records.entry import Entry, wrong_with
from dagsched_env.records.instances import InstanceFinder
from dagsched_env.records.record_set import RecordSet, read_set, set_files

__all__ = ["Verdict", "verify_folder"]

MALFORMED = "the file"
NOWHERE = "there is no instance of this name that can be read"


@dataclass(frozen=True)
class Verdict:
    """What was found about the entries of one set."""

    records: RecordSet
    checked: bool
    """False: nobody said where the files of the set are."""
    wrong: dict[str, str]
    """Name of an instance → what is wrong with its entry."""


def verify_folder(
    folder: str | PathLike[str], instances: str | PathLike[str] | None = None
) -> Iterator[Verdict]:
    """Check all sets of a folder, one after the other.

    A file that is no set counts as one with a wrong entry, ``MALFORMED``.

    Args:
        folder: of the records.
        instances: a folder with the files of sets that are no suites of the package.

    Raises:
        DAGSchedError: there is no set, or no folder of instances.
        OSError: a file cannot be read.
    """
    finder = InstanceFinder(instances)
    for path in set_files(folder):
        try:
            records = read_set(path)
        except FormatError as error:
            yield Verdict(RecordSet(path.stem, "", {}), True, {MALFORMED: str(error)})
            continue
        checked = finder.knows(records.name)
        entries = records.entries.values() if checked else ()
        found = ((entry.name, _wrong_with(entry, records.name, finder)) for entry in entries)
        yield Verdict(records, checked, {name: text for name, text in found if text})


def _wrong_with(entry: Entry, name: str, finder: InstanceFinder) -> str | None:
    instance = finder.find(name, entry)
    return NOWHERE if instance is None else wrong_with(entry, instance)
