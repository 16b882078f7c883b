"""Comparisons on a cluster: the options ``--ray`` and ``--journal``.

The environment knows no cluster. Whoever does declares, in the entry-point group
``dagsched.clusters``, a function ``(address: str)`` that returns a context manager of a ``Spread``.
"""

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from dagsched_env.comparison.compare import Comparison, Progress, Scheduler, compare, merged
from dagsched_env.io.journal import Journal
from dagsched_env.problem.errors import DAGSchedError, MissingExtraError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.solver import load_kernels

GROUP = "dagsched.clusters"

Spread = Callable[
    [Callable[[Instance], Comparison], Sequence[Instance]], Iterable[tuple[int, Comparison]]
]
"""Calls a function for each instance; the index and the value of each, as they come."""


def add_cluster(parser: argparse.ArgumentParser) -> None:
    """The options ``--ray`` and ``--journal``."""
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        help="compare on all cores of a Ray cluster, an instance on each: HOST:PORT, auto, or "
        "local:N for N nodes on this machine",
    )
    parser.add_argument(
        "--journal",
        type=Path,
        metavar="FILE",
        help="append the results on each instance to this file as they come; a later call with the "
        "same options goes on with it, where the files of schedulers of your own are the same, too",
    )


def read_cluster(address: str) -> AbstractContextManager[Spread]:
    """The cluster at an address.

    Raises:
        DAGSchedError: there is nobody who knows it, or it cannot be reached.
        MissingExtraError: who knows it lacks a package.
    """
    entry = next(iter(entry_points(group=GROUP)), None)
    if entry is None:
        raise DAGSchedError(
            "nothing that is installed knows clusters: run  pip install 'aerl-ds[trainer,ray]'"
        )
    try:
        cluster: AbstractContextManager[Spread] = entry.load()(address)
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or entry.value, "trainer") from None
    return cluster


@contextmanager
def here() -> Iterator[Spread]:
    """This process as a cluster: one after the other."""
    yield lambda function, instances: enumerate(map(function, instances))


def compare_each(
    instances: Sequence[Instance],
    schedulers: Mapping[str, Scheduler],
    progress: Progress,
    *,
    cluster: Callable[[], AbstractContextManager[Spread]],
    journal: Journal,
) -> Comparison:
    """As ``compare.compare``, an instance at a time, but for those that the journal has.

    Args:
        instances: the problems.
        schedulers: name → function.
        progress: observer.
        cluster: who does it; opened where the journal leaves anything to do.
        journal: of this call and earlier ones.

    Raises:
        DAGSchedError: as of ``compare``, or what has come back is not whole and valid. Makespans
            are those of the schedules.
    """
    known = [journal.find(instance) for instance in instances]
    parts = {
        i: part
        for i, record in enumerate(known)
        if record and (part := _read(record, instances[i], schedulers))
    }
    left = [i for i in range(len(instances)) if i not in parts]
    with cluster() if left else here() as spread:
        for k, answer in spread(partial(_one, dict(schedulers)), [instances[i] for i in left]):
            instance = instances[left[k]]
            record = _record(answer) if isinstance(answer, Comparison) else {}
            part = _read(record, instance, schedulers)
            if part is None:
                raise DAGSchedError(
                    f"{instance.name}: what has come back is no comparison of {list(schedulers)}"
                )
            journal.add(instance, record)
            parts[left[k]] = part
            progress(len(parts) * len(schedulers), len(instances) * len(schedulers))
    return merged([parts[i] for i in range(len(instances))])


def _one(schedulers: dict[str, Scheduler], instance: Instance) -> Comparison:
    load_kernels()  # or the first calls of a process would be charged for it
    return compare([instance], schedulers)


def _record(part: Comparison) -> dict[str, Any]:
    return {
        "seconds": {name: seconds[0] for name, seconds in part.seconds.items()},
        "schedules": {name: json.loads(x[0].to_json()) for name, x in part.schedules.items()},
    }


def _read(
    record: dict[str, Any], instance: Instance, schedulers: Mapping[str, Scheduler]
) -> Comparison | None:
    """What a journal holds of an instance; None if it is not whole and valid."""
    try:
        schedules = {
            name: Schedule.from_json(json.dumps(record["schedules"][name])) for name in schedulers
        }
        seconds = {name: [float(record["seconds"][name])] for name in schedulers}
        for schedule in schedules.values():
            schedule.validate(instance)
    except (KeyError, TypeError, ValueError):
        return None
    makespans = {name: [schedule.makespan] for name, schedule in schedules.items()}
    return Comparison(makespans, seconds, {name: [x] for name, x in schedules.items()})
