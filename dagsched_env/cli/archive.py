"""``dagsched records``: the archive of best known schedules, checked and added to."""

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from dagsched_env import records, sources, suites
from dagsched_env.cli.arguments import Commands, add_command, positive_seconds
from dagsched_env.cli.inspection import read_schedule
from dagsched_env.cli.machines import warnings_on_stderr
from dagsched_env.pictures.labels import one_line
from dagsched_env.problem.instance import Instance
from dagsched_env.records.record_set import line_of
from dagsched_env.sources import SUITE_PREFIX

FOLDER = "docs/records"
EXIT_WRONG = 1
DAY = "%Y-%m-%d"


def add_commands(commands: Commands) -> None:
    """Add ``records`` with its two commands."""
    parser = add_command(
        commands,
        "records",
        "check the archive of best known schedules, or add to it",
        "  dagsched records verify docs/records\n"
        "  dagsched records submit schedule.json suite:heldout/heldout-03",
    )
    parts = parser.add_subparsers(required=True, metavar="COMMAND")
    verify = add_command(
        parts,
        "verify",
        "make every instance anew, and check the schedule on record",
        "  dagsched records verify\n"
        "  dagsched records verify docs/records --instances benchmarks/jobshop/instances/text",
    )
    verify.add_argument(
        "folder", metavar="FOLDER", nargs="?", default=FOLDER, help="default: %(default)s"
    )
    verify.add_argument(
        "--instances", metavar="FOLDER", help="the files of sets that do not come with the package"
    )
    verify.set_defaults(run=_verify)
    submit = add_command(
        parts,
        "submit",
        "put a schedule on record if it is shorter than the best known",
        "  dagsched records submit schedule.json suite:heldout/heldout-03 --solver 'mine 1.2'\n"
        "  dagsched records submit schedule.json la21.txt",
    )
    submit.add_argument("schedule", metavar="FILE", help="schedule as written by --out")
    submit.add_argument(
        "instance",
        metavar="INSTANCE",
        help="a file, behind which its machines may stand (FILE?platform=identical&processors=4), "
        "or suite:NAME/INSTANCE",
    )
    submit.add_argument("--records", metavar="FOLDER", default=FOLDER, help="default: %(default)s")
    submit.add_argument(
        "--solver", metavar="TEXT", help="what found it; default: the label of the schedule"
    )
    submit.add_argument(
        "--seconds", type=positive_seconds, metavar="S", help="wall time that it took"
    )
    submit.set_defaults(run=_submit)


def _verify(arguments: argparse.Namespace) -> int:
    """The exit code: 1 if an entry is wrong."""
    wrong: list[str] = []
    print(f"{'set':<18}  entries  optimal  mean gap  result")
    for verdict in records.verify_folder(arguments.folder, arguments.instances):
        found = list(verdict.records.entries.values())
        optimal = sum(entry.optimal for entry in found)
        gap = float(np.mean([entry.gap for entry in found])) if found else 0.0
        result = f"{len(verdict.wrong)} wrong" if verdict.wrong else "valid"
        if not verdict.checked:
            result = "not checked: name the folder of its files with --instances"
        name = one_line(verdict.records.name)
        print(f"{name:<18}  {len(found):>7}  {optimal:>7}  {gap:>8.2%}  {result}")
        wrong += [f"{name}/{one_line(key)}: {text}" for key, text in verdict.wrong.items()]
    for line in wrong:
        print(f"wrong: {line}")
    return EXIT_WRONG if wrong else 0


def _submit(arguments: argparse.Namespace) -> None:
    with warnings_on_stderr("dagsched"):
        instance = _instance(arguments.instance)
    schedule = read_schedule(arguments.schedule, instance)
    folder = Path(arguments.records)
    home = records.home_of(instance, records.read_folder(folder) if _has_files(folder) else [])
    name = home[1] if home else instance.name or Path(arguments.schedule).stem
    entry = records.make_entry(
        name,
        instance,
        schedule,
        date=time.strftime(DAY, time.gmtime()),
        solver=arguments.solver,
        seconds=arguments.seconds,
    )
    if home is None:
        print("no set has this instance; in the file of a new one this would be its entry:")
        print(line_of(entry))
        return
    with records.alone_in(folder):
        _add(folder, home[0], entry)


def _add(folder: Path, home: records.RecordSet, entry: records.Entry) -> None:
    """Write an entry into the file of its set, if it is shorter than what stands there now."""
    name = entry.name
    there = (
        {found.name: found for found in records.read_folder(folder)} if _has_files(folder) else {}
    )
    home = there.get(home.name, home)
    known = home.entries.get(name)
    where = f"{home.name}/{one_line(name)}"
    if known is not None and not records.is_shorter(entry.makespan, known.makespan):
        print(
            f"{where}: {entry.makespan:.10g} is not shorter than the record, {known.makespan:.10g} "
            f"of {one_line(known.solver)} ({known.date})"
        )
        return
    kept = entry if known is None else records.better_of(known, entry)
    path = records.write_set(folder, replace(home, entries={**home.entries, name: kept}))
    before = "there was none" if known is None else f"it was {known.makespan:.10g}"
    print(f"{where}: a record, {kept.makespan:.10g}; {before}")
    print(f"wrote {path}")


def _has_files(folder: Path) -> bool:
    return folder.is_dir() and any(folder.iterdir())


def _instance(spec: str) -> Instance:
    suite, slash, name = spec.removeprefix(SUITE_PREFIX).partition("/")
    if spec.startswith(SUITE_PREFIX) and slash:
        return suites.instance(suite, name)
    return sources.as_instance(spec, "INSTANCE")
