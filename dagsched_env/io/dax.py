"""DAX, the XML in which Pegasus describes abstract workflows (schemas 2.1 to 3.6).

A runtime is the attribute ``runtime`` of a ``job``, or its profile of that key; where there is
none, ``times`` or ``unit_times`` of ``MachineOptions`` supply it. The size of a file is the
attribute ``size`` of ``uses``, or its metadata of that key. An edge is a ``parent`` within a
``child`` element; it carries the files that the parent writes and the child reads. The ``pegasus``
profiles ``cores``, ``memory`` and ``gpus`` of a job are what its task uses; memory is in MB, by
which Pegasus means 1024² bytes. Source:
pegasus.isi.edu/documentation/development/schemas.html; runtimes and sizes as in the files of the
Pegasus workflow gallery and generator (S. Bharathi et al., Characterization of scientific
workflows, WORKS 2008).
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dagsched_env.io.numbers import amount
from dagsched_env.io.transfers import transfers
from dagsched_env.io.xml_tree import attribute, children, local_name
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.workflow import CORES, GPUS, MEMORY, Workflow

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

REQUESTED = {CORES: 1.0, MEMORY: 1024.0**2, GPUS: 1.0}
"""Resource, and the profile of Pegasus by which a job asks for it → unit of the profile."""
JOBS = ("job", "dax", "dag")
"""The last two are workflows of their own, each in a file; here each is one task."""
NOTE = "as jobs ask for"


def parse(root: "Element") -> Workflow:
    """Turn the tree of a DAX file into a workflow.

    Raises:
        FormatError: not DAX, an attribute is missing, an id is unknown or not unique, or a runtime
            or size is not between 0 and 1e100; the message names the element.
    """
    if local_name(root) != "adag":
        raise FormatError(f"no DAX: the root element is <{local_name(root):.40}>, not <adag>")
    jobs = [element for element in root if local_name(element) in JOBS]
    if not jobs:
        raise FormatError("<adag> has no <job>: a workflow has at least one task")
    index: dict[str, int] = {}
    for i, job in enumerate(jobs):
        name = attribute(job, "id", f"job {i}")
        if name in index:
            raise FormatError(f"job {i} repeats the id {name!r} of job {index[name]}")
        index[name] = i
    edges = _edges(root, index)
    read, written, sizes = _uses(jobs)

    def size(file: str, task: int) -> float:
        if file not in sizes:
            raise FormatError(f"job {task} reads {file!r}, which has no size")
        return sizes[file]

    return Workflow(
        tasks=tuple(index),
        runtimes=np.array([_runtime(job, i) for i, job in enumerate(jobs)], dtype=np.float64),
        edges=edges,
        data=transfers(edges, read, written, size),
        name=root.get("name") or None,
        says_units=True,
        labels=tuple(job.get("name", name) for name, job in zip(index, jobs, strict=True)),
        **requested([_profiles(job, i) for i, job in enumerate(jobs)]),
    )


def requested(jobs: Sequence[Mapping[str, float]]) -> dict[str, Any]:
    """What a ``Workflow`` has of resources: those that any job asks for.

    ``jobs`` are the profiles ``REQUESTED`` that each job has, in units of Pegasus.
    """
    names = tuple(name for name in REQUESTED if any(name in job for job in jobs))
    if not names:
        return {}
    return {
        "demands": np.array(
            [[job.get(name, math.nan) * REQUESTED[name] for name in names] for job in jobs]
        ),
        "resource_names": names,
        "resource_notes": (NOTE,) * len(names),
    }


def _edges(root: "Element", index: dict[str, int]) -> tuple[tuple[int, int], ...]:
    edges: dict[tuple[int, int], None] = {}
    for i, child in enumerate(children(root, "child")):
        v = _task(child, f"child {i}", index)
        for parent in children(child, "parent"):
            edges[_task(parent, f"parent in child {i}", index), v] = None
    return tuple(edges)


def _task(element: "Element", where: str, index: dict[str, int]) -> int:
    name = attribute(element, "ref", where)
    if name not in index:
        raise FormatError(f"{where} refers to {name!r}, which is not a job")
    return index[name]


def _runtime(job: "Element", i: int) -> float:
    for text in (job.get("runtime"), *_keyed(job, "profile", "runtime")):
        if text is not None:
            return amount(text.strip(), f"runtime of job {i}")
    return math.nan


def _profiles(job: "Element", i: int) -> dict[str, float]:
    """What a job asks for."""
    texts = {
        name: profile.text
        for profile in children(job, "profile")
        if profile.get("namespace") == "pegasus" and (name := profile.get("key")) in REQUESTED
    }
    return {
        name: amount((text or "").strip(), f"{name} of job {i}") for name, text in texts.items()
    }


def _uses(jobs: list["Element"]) -> tuple[list[set[str]], list[set[str]], dict[str, float]]:
    """Files that each job reads and writes, and sizes; the first mention of a size counts."""
    read: list[set[str]] = [set() for _ in jobs]
    written: list[set[str]] = [set() for _ in jobs]
    sizes: dict[str, float] = {}
    for i, job in enumerate(jobs):
        for j, uses in enumerate(children(job, "uses")):
            where = f"uses {j} of job {i}"
            name = uses.get("file") or attribute(uses, "name", where)
            link = uses.get("link", "").lower()
            if link in ("input", "inout"):
                read[i].add(name)
            if link in ("output", "inout"):
                written[i].add(name)
            for text in (uses.get("size"), *_keyed(uses, "metadata", "size")):
                if text is not None:
                    sizes.setdefault(name, amount(text.strip(), f"size in {where}"))
    return read, written, sizes


def _keyed(element: "Element", tag: str, key: str) -> Iterator[str]:
    """Texts of the children ``<tag key="key">``."""
    for child in children(element, tag):
        if child.get("key") == key and child.text is not None:
            yield child.text
