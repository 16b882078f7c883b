"""Machine files: the processors for a workflow, their links, and who may run what, in JSON.

An example:

    {
      "format": "dagsched-machines",
      "processors": [
        {"name": "cpu0"},
        {"name": "cpu1", "speed": 2},
        {"name": "gpu0", "speed": 16}
      ],
      "bandwidth": 100,
      "latency": 0.5,
      "links": [
        {"between": ["cpu0", "cpu1"], "bandwidth": 400, "latency": 0},
        {"from": "gpu0", "to": "cpu0", "bandwidth": 50}
      ],
      "eligible": {"render": ["gpu0"], "parse": ["cpu0", "cpu1"]}
    }

- ``format``: always ``"dagsched-machines"``;
- ``processors``: a list of objects with a distinct ``name`` and a ``speed`` > 0, by default 1: a
  task of runtime w takes w / speed. With ``cores`` a processor runs tasks at the same time as long
  as it has all that they use together of ``cores``, ``memory`` (bytes, or with a unit, as in
  ``"64 GB"`` or ``"64GiB"``), ``gpus``, and others by name under ``resources``, as in
  ``{"name": "node0", "cores": 32, "memory": "64 GB", "gpus": 2, "resources": {"licence": 1}}``.
  What one processor states, all state. Without ``cores`` a processor runs one task at a time;
- ``bandwidth``: units of data per unit of time between two different processors, > 0, or with a
  unit of its own for data in bytes and times in seconds, as in ``"1Gbit/s"`` or ``"125MB/s"``;
  default 1, which a line on stderr says;
- ``latency``: time before a transfer starts, ≥ 0, in the unit of the runtimes; default 0;
- ``links``: a list of exceptions, each ``between`` two processors (both directions) or ``from`` one
  ``to`` another, with its own ``bandwidth``, ``latency`` or both; a direction has at most one;
- ``eligible``: name or kind of a task → names of the processors that may run it; a task that is not
  named runs on all. Kinds are those that a Gantt chart shows: ``mProject_ID0000012`` is an
  ``mProject``. Where a task and a kind have the same name, the task is meant.
"""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from dagsched_env.io import rate, size
from dagsched_env.io.fields import get_text, index_of, record_of, texts
from dagsched_env.io.numbers import LARGEST, check_processors
from dagsched_env.io.source import Source, named
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.platforms import Platform
from dagsched_env.problem.workflow import CORES, KNOWN_RESOURCES, MEMORY

FORMAT = "dagsched-machines"
KEYS = ("format", "processors", "bandwidth", "latency", "links", "eligible")
PROCESSOR_KEYS = ("name", "speed", *KNOWN_RESOURCES, "resources")
LINK_KEYS = ("between", "from", "to", "bandwidth", "latency")
LEAST = 1 / LARGEST
"""Smallest speed and bandwidth: times stay finite."""


class Machines(Platform):
    """The processors of a machine file."""

    assumes_bandwidth = False
    """Whether a link has the default bandwidth, because neither the file nor the link says one."""
    in_bytes = False
    """Whether a bandwidth has a unit, which takes data as bytes and times as seconds."""


def load(path: str | PathLike[str]) -> Machines:
    """The processors of a machine file.

    Raises:
        FormatError: it is no machine file; the message names the file, the key and what to write.
        OSError: the file cannot be read.
    """
    with named(path):
        return parse(Source(Path(path)).json)


def recognises(record: Any) -> bool:
    """Whether parsed JSON claims to be a machine file."""
    return isinstance(record, dict) and record.get("format") == FORMAT


def parse(record: Any, *, shared: bool = False) -> Machines:
    """The processors of parsed JSON.

    Args:
        record: the top level.
        shared: any number of tasks may share a processor that states some resource, but no cores.

    Raises:
        FormatError: a key is missing, unknown or has a wrong value; the message names the place and
            what to write.
    """
    if not recognises(record):
        raise FormatError(f'no machine file: the top level needs "format": "{FORMAT}"')
    _check_keys(record, KEYS, "the top level")
    if "processors" not in record:
        raise FormatError('the top level needs "processors": [{"name": "P0", "speed": 1}, ...]')
    processors = _objects(record["processors"], "processors", '{"name": "P0", "speed": 1}')
    check_processors(len(processors), "processors")
    index = index_of(processors, "processors", "name")
    speeds = []
    for i, processor in enumerate(processors):
        _check_keys(processor, PROCESSOR_KEYS, f"processors[{i}]")
        speeds.append(_number(processor, "speed", f"processors[{i}].", 1.0, least=LEAST))
    p = len(processors)
    links = _objects(record.get("links", []), "links", '{"between": ["A", "B"], "bandwidth": 10}')
    bandwidths = np.full((p, p), _bandwidth(record, "", 1.0))
    assumed = np.full((p, p), "bandwidth" not in record)
    np.fill_diagonal(assumed, False)
    latency = np.full((p, p), _number(record, "latency", "", 0.0))
    seen: set[tuple[int, int]] = set()
    for i, link in enumerate(links):
        where = f"links[{i}]"
        _check_keys(link, LINK_KEYS, where)
        if "bandwidth" not in link and "latency" not in link:
            raise FormatError(f'{where} changes nothing: write "bandwidth", "latency" or both')
        for a, b in _directions(link, where, index):
            if (a, b) in seen:
                raise FormatError(f"{where} repeats a link: remove one of the two")
            seen.add((a, b))
            bandwidths[a, b] = _bandwidth(link, f"{where}.", bandwidths[a, b])
            assumed[a, b] &= "bandwidth" not in link
            latency[a, b] = _number(link, "latency", f"{where}.", latency[a, b])
    machines = Machines(
        speeds,
        bandwidths,
        latency=latency,
        processor_names=list(index),
        eligible=_eligible(record.get("eligible", {}), index),
        capacities=_capacities(processors, shared=shared),
    )
    machines.assumes_bandwidth = bool(assumed.any())
    machines.in_bytes = _in_bytes(record, links, assumed=bool(assumed.any()))
    return machines


def _capacities(processors: list[dict[str, Any]], *, shared: bool) -> dict[str, list[float]]:
    """Resource → how much of it each processor has; none where none states any."""
    stated = [_stated(processor, f"processors[{i}]") for i, processor in enumerate(processors)]
    for i, found in enumerate(stated):
        if missing := next((name for name in stated[0] if name not in found), None):
            raise FormatError(
                f"processors[{i}] does not say its {missing!r}, but processors[0] does: write it "
                "for all processors, or for none"
            )
        if extra := next((name for name in found if name not in stated[0]), None):
            raise FormatError(
                f"processors[0] does not say its {extra!r}, but processors[{i}] does: write it for "
                "all processors, or for none"
            )
    if stated[0] and CORES not in stated[0] and not shared:
        raise FormatError(
            f'processors[0] says {next(iter(stated[0]))!r} without "cores", so that it could run '
            'any number of tasks at the same time: write "cores", too'
        )
    return {name: [found[name] for found in stated] for name in stated[0]}


def _stated(processor: dict[str, Any], where: str) -> dict[str, float]:
    """Resource → how much of it a processor says that it has."""
    own = {
        name: _amount(processor, name, f"{where}.") for name in KNOWN_RESOURCES if name in processor
    }
    others = record_of(processor.get("resources", {}), f"{where}.resources")
    for name in others:
        if name in PROCESSOR_KEYS:
            raise FormatError(f"{where}.resources has {name!r}: write it beside the name")
    place = f"{where}.resources."
    return own | {name: _number(others, name, place, 1.0) for name in others}


def _amount(processor: dict[str, Any], name: str, place: str) -> float:
    """A capacity, of memory perhaps with a unit."""
    written = processor[name]
    if name != MEMORY or not isinstance(written, str):
        return _number(processor, name, place, 1.0)
    found = size.parse(written)
    if found is None or not found <= LARGEST:
        raise FormatError(f"{place}{name} is {written!r}: {size.HOW_TO_WRITE}")
    return found


def _objects(value: Any, where: str, such_as: str) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise FormatError(f"{where} is {value!r:.40}: write a list of objects, as in [{such_as}]")
    return [record_of(entry, f"{where}[{i}]") for i, entry in enumerate(value)]


def _in_bytes(record: dict[str, Any], links: list[dict[str, Any]], *, assumed: bool) -> bool:
    """Whether the bandwidths have a unit, as all of them have or none."""
    places = {"bandwidth": record} | {f"links[{i}].bandwidth": link for i, link in enumerate(links)}
    units = {
        place: _has_unit(entry["bandwidth"])
        for place, entry in places.items()
        if "bandwidth" in entry
    }
    if assumed and any(units.values()):
        raise FormatError(
            "some links have a bandwidth with a unit and others none at all: write "
            '"bandwidth" for all at the top level, with a unit'
        )
    if len(set(units.values())) > 1:
        without = next(place for place, unit in units.items() if not unit)
        raise FormatError(f"{without} has no unit, but others have: write all with a unit, or none")
    return any(units.values())


def _has_unit(written: Any) -> bool:
    found = rate.parse(written) if isinstance(written, str) else None
    return found is not None and found.in_bytes


def _directions(
    link: dict[str, Any], where: str, index: dict[str, int]
) -> Iterable[tuple[int, int]]:
    """The ordered pairs of processors that a link describes."""
    if ("between" in link) == ("from" in link or "to" in link):
        raise FormatError(
            f'{where} needs "between": [A, B] for both directions, or "from": A and "to": B for one'
        )
    if "between" in link:
        names = texts(link["between"], f"{where}.between")
        if len(names) != 2:
            raise FormatError(f"{where}.between has {len(names)} names: write two processors")
    else:
        names = [get_text(link, key, where) for key in ("from", "to")]
    a, b = (_processor(name, where, index) for name in names)
    if a == b:
        raise FormatError(f"{where} joins {names[0]!r} with itself: name two processors")
    return [(a, b), (b, a)] if "between" in link else [(a, b)]


def _eligible(value: Any, index: dict[str, int]) -> dict[str, list[str]]:
    record = record_of(value, "eligible")
    for task, names in record.items():
        where = f"eligible[{task!r}]"
        if not texts(names, where):
            raise FormatError(f"{where} is empty: write at least one processor")
        for name in names:
            _processor(name, where, index)
    return record


def _processor(name: str, where: str, index: dict[str, int]) -> int:
    if name not in index:
        raise FormatError(
            f"{where} names {name!r}, which is no processor: there are {', '.join(index)}"
        )
    return index[name]


def _check_keys(record: dict[str, Any], known: Iterable[str], where: str) -> None:
    unknown = [key for key in record if key not in known]
    if unknown:
        raise FormatError(f"{where} has an unknown key {unknown[0]!r}: write {', '.join(known)}")


def _bandwidth(record: dict[str, Any], place: str, default: float) -> float:
    written = record.get("bandwidth")
    if not isinstance(written, str):
        return _number(record, "bandwidth", place, default, least=LEAST)
    found = rate.parse(written)
    if found is None:
        raise FormatError(f"{place}bandwidth is {written!r}: {rate.HOW_TO_WRITE}")
    if not LEAST <= found.value <= LARGEST:
        wanted = "<= 1e100" if found.value > LARGEST else "> 0"
        raise FormatError(f"{place}bandwidth is {written!r}: write one {wanted}")
    return found.value


def _number(
    record: dict[str, Any], key: str, place: str, default: float, *, least: float = 0.0
) -> float:
    value = record.get(key, default)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not least <= value <= LARGEST:
        wanted = "> 0" if least > 0 else ">= 0"
        raise FormatError(
            f"{place}{key} is {value!r}: write a number {wanted}, such as {default:g}"
        )
    return float(value)
