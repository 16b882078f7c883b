"""``solve`` on projects with scarce resources, against CP-SAT and PyJobShop: PSPLIB.

    python benchmarks/projects.py FOLDER [--sets j60 j120] [--every 10] [--first 0]
                                [--seconds 10] [--solvers solve cp_sat]

FOLDER is ``data/rcpsp`` of a clone of https://github.com/ptal/kobe-scheduling: sets of projects
(Kolisch, Sprecher 1996, EJOR 96), each with ``optimum/optimum.csv``, the best known makespans. They
are not shipped. Of each set every so-manieth file is solved, in the order of their names, by each
solver in turn on one core. The table shows makespan / best known - 1 in per cent, and on how many
projects the best known is reached. ``solve`` is that of ``dagsched_env``, ``cp_sat`` the model of
``dagsched_env.exact`` with one worker; ``pyjobshop`` needs PyJobShop to be installed, and is its
CP-SAT model with one worker.
"""

import argparse
import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dagsched_env import Instance, exact, io
from dagsched_env.solver import solve


def by_solve(instance: Instance, seconds: float) -> float:
    return solve(instance, budget_s=seconds).schedule.makespan


def by_cp_sat(instance: Instance, seconds: float) -> float:
    return exact.solve(instance, time_limit_s=seconds, workers=1).schedule.makespan


def by_pyjobshop(instance: Instance, seconds: float) -> float:
    from pyjobshop import Model

    model = Model()
    resources = [model.add_renewable(int(c)) for c in instance.capacities[0].tolist()]
    tasks = [model.add_task() for _ in range(instance.n_tasks)]
    for t, task in enumerate(tasks):
        demands = instance.demands[t].astype(int).tolist()
        model.add_mode(task, resources, duration=int(instance.comp[t, 0]), demands=demands)
    for u, v in instance.edges.tolist():
        model.add_end_before_start(tasks[u], tasks[v])
    result = model.solve(solver="ortools", time_limit=seconds, num_workers=1, display=False)
    return float(result.objective)


SOLVERS: dict[str, Callable[[Instance, float], float]] = {
    "solve": by_solve,
    "cp_sat": by_cp_sat,
    "pyjobshop": by_pyjobshop,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", nargs="+", default=["j60", "j120"])
    parser.add_argument("--every", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--solvers", nargs="+", choices=SOLVERS, default=["solve", "cp_sat"])
    arguments = parser.parse_args()
    for name in arguments.sets:
        folder = arguments.folder / f"{name}.sm"
        known = best_known(folder / "optimum" / "optimum.csv")
        chosen = sorted(known)[arguments.first :: arguments.every]
        gaps: dict[str, list[float]] = {solver: [] for solver in arguments.solvers}
        for file in chosen:
            instance = io.load(folder / file)
            for solver, found in gaps.items():
                makespan = SOLVERS[solver](instance, arguments.seconds)
                found.append(100.0 * (makespan / known[file] - 1.0))
        for solver, found in gaps.items():
            error = np.std(found, ddof=1) / np.sqrt(len(found))
            reached = sum(gap <= 0 for gap in found)
            print(
                f"{name:6} {solver:10} {len(found):4} projects, {arguments.seconds:g} s: "
                f"{np.mean(found):6.2f} ± {error:.2f} % above the best known, reached on {reached}",
                flush=True,
            )


def best_known(path: Path) -> dict[str, int]:
    """File → its best known makespan; of a range ``104..105`` the upper end."""
    with path.open(newline="") as file:
        rows = list(csv.reader(file))[1:]
    return {name: int(value.split("..")[-1]) for name, value in rows}


if __name__ == "__main__":
    main()
