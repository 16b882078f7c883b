"""``solve`` on public sets: how far from the best known, and schedules for the archive.

    python benchmarks/public.py --set dagbench --seconds 2
    python benchmarks/public.py --set ft la --seconds 10 --folder CHECKOUT [--only 'la0*']

Sets are the families of job shops of ScheduleOpt/benchmarks (ft, la, abz, orb, swv, yn, ta, dmu,
bel) and ``fjsp``, its flexible ones; ``santiago``, the graphs of AASantiago/SchedulingInstances;
``stg``, random graphs of the Standard Task Graph Set in thelonesailor/MSP; ``auckland``, small ones
with communication in liamtbrand/softeng306-p1g8; j30, j60, j90 and j120, the projects of PSPLIB in
ptal/kobe-scheduling; and the suites of the package, ``dagbench`` among them. Of the former CHECKOUT
has the files; none are shipped.

Each instance is solved once by ``dagsched_env.solver.solve`` on one core, from nothing; with
``--go-on`` from the schedule on record, where that is longer than the best known. A schedule that
is shorter than that on record in ``--records`` takes its place, or raises its bound. The table
shows makespan / best known - 1, on how many instances it is at or below the best known, and how far
makespans are above the bounds. Each finished instance is a line of ``--journal``, from which a
second call with the same seconds, seed and code goes on.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
from commits import last_change
from public_sets import SETS, Case, PublicSet, public_set

import dagsched_env
from dagsched_env import Instance, records
from dagsched_env.io.journal import Journal
from dagsched_env.solver import solve

ROOT = Path(dagsched_env.__file__).parent.parent
CODE = [f"dagsched_env/{room}" for room in ("kernels", "problem", "schedulers", "exact", "solver")]
"""What decides which schedules are found."""
REACHED = 1e-6
"""A gap up to this is none: makespans are rounded."""
FIELDS = [field.name for field in fields(records.Entry)]
Options = dict[str, Any]
Found = tuple[records.Entry, float | None]
"""What is kept of an instance, and the best known makespan."""


class Archive:
    """The records of a set. Its file is read and written for each entry: several may add to it.

    Args:
        folder: of the files.
        members: the set.
    """

    def __init__(self, folder: Path, members: PublicSet) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"{members.name}.json"
        self._none = records.RecordSet(members.name, members.source, {})

    def get(self, name: str) -> records.Entry | None:
        """What is on record of an instance."""
        return self._now().entries.get(name)

    def offer(self, entry: records.Entry) -> None:
        """Keep an entry if it is better; one of another instance of its name is replaced."""
        with records.alone_in(self._path.parent):
            there = self._now()
            known = there.entries.get(entry.name)
            if known is not None and known.fingerprint == entry.fingerprint:
                entry = records.better_of(known, entry)
            if entry != known:
                entries = {**there.entries, entry.name: entry}
                records.write_set(self._path.parent, replace(there, entries=entries))

    def _now(self) -> records.RecordSet:
        return records.read_set(self._path) if self._path.exists() else self._none


def solved(
    case: Case, instance: Instance, options: Options, known: records.Entry | None
) -> records.Entry:
    """The entry of what ``solve`` finds.

    Args:
        case: what is known of it.
        instance: the problem.
        options: ``seconds``, ``seed``, and the ``commit`` of the code.
        known: go on from its schedule.
    """
    start = records.decode(instance, known.order, known.processor) if known else None
    result = solve(instance, budget_s=options["seconds"], seed=options["seed"], start=start)
    return records.make_entry(
        case.name,
        instance,
        result.schedule,
        date=time.strftime("%Y-%m-%d", time.gmtime()),
        solver=f"dagsched_env.solver.solve ({result.found_by})",
        lower_bound=max(result.lower_bound, case.bound),
        seconds=result.elapsed_s,
        commit=options["commit"],
        machines=case.machines,
        published=case.known,
    )


def run(members: PublicSet, arguments: argparse.Namespace, options: Options) -> list[Found]:
    """Every instance of a set that ``--only`` lets through."""
    archive = Archive(arguments.records, members)
    journal = Journal(arguments.journal, {**options, "set": members.name})
    found = []
    for case in members.cases:
        if not fnmatch(case.name, arguments.only):
            continue
        known = archive.get(case.name) if options["go_on"] else None
        if known and not (case.known and records.is_shorter(case.known, known.makespan)):
            continue
        instance = case.make()
        line = journal.find(instance)
        if line is None:
            entry = solved(case, instance, options, known)
            journal.add(instance, asdict(entry))
            print(f"{members.name}/{case.name}: {entry.makespan:.10g}{beside(case)}", flush=True)
        else:
            entry = records.Entry(**{key: as_kept(line.get(key)) for key in FIELDS})
        archive.offer(entry)
        found.append((entry, case.known))
    return found


def as_kept(value: object) -> object:
    """A value of an entry, from JSON."""
    return tuple(value) if isinstance(value, list) else value


def beside(case: Case) -> str:
    """The best known makespan in a message."""
    if case.known is None:
        return ""
    return f", best known {case.known:.10g}" + (f" ({case.since})" if case.since else "")


def row(name: str, found: Sequence[Found]) -> str:
    """Of the table."""
    gaps = np.array([entry.makespan / known - 1.0 for entry, known in found if known])
    bounded = [entry for entry, _ in found if entry.lower_bound > 0]
    above = np.array([entry.makespan / entry.lower_bound - 1.0 for entry in bounded])
    compared = f"{len(gaps):>10}  {'-':>8}  {'-':>11}"
    if gaps.size:
        reached = f"{(gaps <= REACHED).sum()} ({(gaps < -REACHED).sum()})"
        compared = f"{len(gaps):>10}  {gaps.mean():>8.2%}  {reached:>11}"
    proved = sum(entry.optimal for entry, _ in found)
    mean = f"{above.mean():.2%}" if above.size else "-"
    return f"{name:<16}  {len(found):>9}  {compared}  {mean:>11}  {proved:>6}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", nargs="+", required=True, choices=SETS, metavar="NAME")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--folder", type=Path, help="checkout of the repository of the set")
    parser.add_argument("--only", default="*", metavar="PATTERN")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--go-on", action="store_true", help="from what is on record")
    parser.add_argument("--records", type=Path, default=ROOT / "docs" / "records")
    parser.add_argument("--journal", type=Path, default=ROOT / "runs" / "public.jsonl")
    arguments = parser.parse_args()
    arguments.journal.parent.mkdir(parents=True, exist_ok=True)
    options = {name: getattr(arguments, name) for name in ("seconds", "seed", "go_on")}
    options |= {"commit": last_change(ROOT, CODE)}
    try:
        sets = [public_set(name, arguments.folder) for name in arguments.set]
    except ValueError as error:
        parser.error(str(error))
    table = []
    for members in sets:
        found = run(members, arguments, options)
        if found:
            table.append(row(members.name, found))
    print(f"\n{'set':<16}  instances  best known  mean gap  at (below)  above bound  proved")
    print("\n".join(table))


if __name__ == "__main__":
    main()
