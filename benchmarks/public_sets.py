"""The sets of ``public.py``: instances of suites and of public repositories, and what is known."""

import csv
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from dagsched_env import Instance, io, suites
from dagsched_env.records.instances import SUITE, machines_of, names_of

JOB_SHOPS = ("ft", "la", "abz", "orb", "swv", "yn", "ta", "dmu", "bel")
"""Families of ``jobshop`` in ScheduleOpt/benchmarks; sets of their own. Those in archives are left
out."""
SCHEDULE_OPT = "https://github.com/ScheduleOpt/benchmarks (CC BY-SA 4.0)"
SANTIAGO = "https://github.com/AASantiago/SchedulingInstances (no licence)"
STG = "https://github.com/thelonesailor/MSP (CC0-1.0)"
PSPLIB = "https://github.com/ptal/kobe-scheduling, data/rcpsp (no licence)"
PROJECTS = ("j30", "j60", "j90", "j120")
AUCKLAND = "https://github.com/liamtbrand/softeng306-p1g8 (no licence)"
SETS = (*JOB_SHOPS, "fjsp", "santiago", "stg", "auckland", *PROJECTS, *suites.SUITES)


class Case(NamedTuple):
    """An instance of a set, made or read when its turn comes."""

    name: str
    make: Callable[[], Instance]
    known: float | None
    """The best known makespan; None: nothing is published."""
    since: str = ""
    """Day from which on it is known, if it is said."""
    bound: float = 0.0
    """A lower bound that others have proved, or that was proved here before (time)."""
    machines: int | None = None
    """As of ``records.Entry``."""


class PublicSet(NamedTuple):
    """A set, and where its instances come from."""

    name: str
    source: str
    cases: list[Case]


def public_set(name: str, folder: Path | None) -> PublicSet:
    """A set by its name.

    Args:
        name: one of ``SETS``.
        folder: a checkout of the repository of the set; suites need none.

    Raises:
        ValueError: there is no such set, or it needs a folder, or the folder is another one.
    """
    if name in suites.SUITES:
        return PublicSet(name, SUITE, list(of_suite(name)))
    if name not in SETS:
        raise ValueError(f"no set {name!r}: there are {', '.join(SETS)}")
    if folder is None:
        raise ValueError(f"{name}: its instances are not shipped: name a checkout with --folder")
    if name in JOB_SHOPS:
        source, cases = SCHEDULE_OPT, of_job_shops(folder, name)
    elif name in PROJECTS:
        source, cases = PSPLIB, of_projects(folder, name)
    else:
        source, read = {
            "fjsp": (SCHEDULE_OPT, of_flexible_job_shops),
            "santiago": (SANTIAGO, of_santiago),
            "stg": (STG, of_stg),
            "auckland": (AUCKLAND, of_auckland),
        }[name]
        cases = read(folder)
    found = PublicSet(name, source, list(cases))
    if not found.cases:
        raise ValueError(f"{folder} has no instances of {name}: name a checkout of {found.source}")
    return found


def of_suite(name: str) -> Iterator[Case]:
    known = suites.reference(name)
    made = {instance.name: instance for instance in suites.load(name)}
    for key, instance in made.items():
        case = Case(str(key), instance.renamed, None)
        reference = known.get(case.name)
        if reference is not None:
            case = case._replace(known=reference.makespan, bound=reference.lower_bound)
        yield case


def of_job_shops(folder: Path, family: str) -> Iterator[Case]:
    """Those of a family."""
    parts = folder / "jobshop"
    best = best_known(parts / "solutions" / "bks.json")
    for path in sorted((parts / "instances" / "text").rglob("*.txt")):
        record = best.get(path.stem)
        if record is not None and record["family"] == family:
            yield from_file(path.stem, path, "job_shop", record)


def of_flexible_job_shops(folder: Path) -> Iterator[Case]:
    """Four folders have files of the same names; the names of the set tell them apart."""
    parts = folder / "flexible-jobshop"
    best = best_known(parts / "solutions" / "bks.json")
    for path in sorted((parts / "instances" / "fjsp").rglob("*.txt")):
        name = next((name for name in names_of(path) if name in best), path.stem)
        yield from_file(name, path, "fjsp", best.get(name) or best.get(f"dpp{name}"))


def of_santiago(folder: Path) -> Iterator[Case]:
    """The four families and the small graphs of papers."""
    for path in [*sorted(folder.rglob("*.dag")), *sorted(folder.glob("Synthetic/*.txt"))]:
        yield from_file(path.stem, path, "dag", None)


def of_stg(folder: Path) -> Iterator[Case]:
    """The random graphs of 50 and 100 tasks on 2 to 16 machines, with what STG itself publishes.

    That is the optimum, or a lower bound and the best known makespan.
    """
    for path in sorted(folder.glob("Optimal_values/*_OPT.csv")):
        for line in path.read_text(encoding="utf-8").split():
            file, machines, *bounds = line.split(",")
            graph = folder / file
            name = f"{machines}p_{graph.stem}_{graph.parent.name}"
            case = on_machines(name, graph, "stg", int(machines), float(bounds[-1]))
            yield case._replace(bound=float(bounds[0]))


def of_auckland(folder: Path) -> Iterator[Case]:
    """Small graphs with communication, and schedules that the Parallel Computing Lab published."""
    for path in sorted(folder.glob("conversion_script/gxl_dataset/*.gxl")):
        graph = ElementTree.parse(path).getroot().find("graph")
        said = {attr.get("name"): attr[0].text for attr in graph.iterfind("attr")}
        machines = int(said["Number of processors"])
        makespan = float(said["Total schedule length"])
        file = folder / "dataset" / "input" / f"{path.stem}.dot"
        yield on_machines(path.stem, file, "dot", machines, makespan)


def of_projects(folder: Path, name: str) -> Iterator[Case]:
    """Projects with scarce resources (Kolisch, Sprecher 1996, EJOR 96); sorted by names of files.

    Of a range of makespans, as in ``104..105``, the upper end is known.
    """
    for parts in folder.glob(f"{name}.sm"):
        with (parts / "optimum" / "optimum.csv").open(newline="", encoding="utf-8") as file:
            known = {
                name: float(value.split("..")[-1]) for name, value in list(csv.reader(file))[1:]
            }
        for file_name in sorted(known):
            make = partial(io.load, parts / file_name)
            yield Case(Path(file_name).stem, make, known[file_name])


def on_machines(name: str, path: Path, format: str, machines: int, known: float) -> Case:
    """A case of a graph on a number of machines."""
    make = partial(io.load, path, format=format, platform=machines_of(machines))
    return Case(name, make, known, machines=machines)


def from_file(name: str, path: Path, format: str, record: dict | None) -> Case:
    """A case of a file, with its record in ``bks.json``."""
    make = partial(io.load, path, format=format)
    if record is None:
        return Case(name, make, None)
    best = record["upper_bound"]
    since = [found["date"] for found in record["ub_data"] if found["value"] == best]
    return Case(name, make, float(best), min(since, default=""), float(record["lower_bound"]))


def best_known(path: Path) -> dict[str, dict]:
    """Name → its record; nothing where there is no such file."""
    records = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    return {record["instance"]: record for record in records}
