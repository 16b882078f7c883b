"""The instances of a set: made from a suite of the package, or read from files."""

from collections.abc import Iterator
from functools import cached_property
from os import PathLike
from pathlib import Path

from dagsched_env import io, suites
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.records.entry import Entry
from dagsched_env.records.record_set import RecordSet

__all__ = ["InstanceFinder", "home_of"]

SUITE = "suite of the package dagsched_env"
"""The source of sets that are suites."""


class InstanceFinder:
    """Finds the instances of entries.

    Args:
        folder: of the files of sets that are no suites, with all folders below it; None: none.

    Raises:
        DAGSchedError: there is no such folder.
    """

    def __init__(self, folder: str | PathLike[str] | None = None) -> None:
        if folder is not None and not Path(folder).is_dir():
            raise DAGSchedError(f"{folder}: there is no such folder of instances")
        self._folder = folder
        self._suites: dict[str, dict[str | None, Instance]] = {}

    def knows(self, name: str) -> bool:
        """Whether it can look for the instances of a set."""
        return name in suites.SUITES or self._folder is not None

    def find(self, name: str, entry: Entry) -> Instance | None:
        """The instance of an entry of the set ``name``; None where there is none of that name.

        Of several files that may be meant it is the one with the fingerprint, if there is one.
        Others of that name may be of formats that are not read. Where a set has one graph on
        several numbers of machines, as in ``4p_rand0000``, the file may lack the number.
        """
        if name in suites.SUITES:
            if name not in self._suites:
                self._suites[name] = {i.name: i for i in suites.load(name)}
            return self._suites[name].get(entry.name)
        found = None
        graph = entry.name.removeprefix(f"{entry.machines}p_")
        for path in self._files.get(entry.name, self._files.get(graph, [])):
            try:
                read = io.load(path, platform=machines_of(entry.machines))
            except DAGSchedError:
                continue
            if read.fingerprint == entry.fingerprint:
                return read
            found = found or read
        return found

    @cached_property
    def _files(self) -> dict[str, list[Path]]:
        """Name of an instance → the files that it may be in."""
        found: dict[str, list[Path]] = {}
        for path in sorted(Path(self._folder or ".").rglob("*")):
            if path.is_file():
                for name in names_of(path):
                    found.setdefault(name, []).append(path)
        return found


def machines_of(number: int | None) -> io.MachineOptions | None:
    """The machines of an entry, as ``Entry.machines`` has them; None: the file names some."""
    return None if number is None else io.MachineOptions(speeds=[1.0] * number, bandwidth=1.0)


def names_of(path: Path) -> Iterator[str]:
    """Names that the instance in a file may have in its set.

    The name of the file, and where other folders have files of that name, too, that of its folder
    with it: ``la01_edata`` for ``edata/la01.txt``.
    """
    yield path.stem
    yield f"{path.stem}_{path.parent.name}"


def home_of(instance: Instance, sets: list[RecordSet]) -> tuple[RecordSet, str] | None:
    """The set that an instance is of, and its name there; None where no set is known to have it.

    Args:
        instance: any problem; its fingerprint counts.
        sets: those that have a file; of suites without one an empty set is returned.
    """
    for records in sets:
        for entry in records.entries.values():
            if entry.fingerprint == instance.fingerprint:
                return records, entry.name
    known = {records.name: records for records in sets}
    for suite, fingerprints in suites.published_fingerprints().items():
        for name, fingerprint in fingerprints.items():
            if fingerprint == instance.fingerprint:
                return known.get(suite, RecordSet(suite, SUITE, {})), name
    return None
