"""``solve`` on public sets with published makespans, against CP-SAT, PyJobShop and job-shop-lib.

    python benchmarks/published.py FOLDER --sets la ta swv dmu fjsp [--every 5] [--first 0]
                               [--seconds 10] [--solvers solve cp_sat pyjobshop job_shop_lib]
                               [--journal FILE]

The sets are those of ``public.py`` that have published makespans, and FOLDER is the checkout of
theirs; it is not shipped. Of each set every so-manieth instance is solved, by each solver in turn
on one core. The table shows makespan / published - 1, the worst ratio of ``solve`` to the best of
the others on one instance, and on how many instances the published makespan is reached. Instances
without a schedule in time are not counted.

``solve`` is that of ``dagsched_env``, ``cp_sat`` the model of ``dagsched_env.exact`` with one
worker; ``pyjobshop`` needs PyJobShop to be installed, and is its CP-SAT model with one worker,
where nothing is sent between machines; ``job_shop_lib`` is its own with one worker, for job shops
alone. Finished instances are kept in the journal, and a second call goes on from there.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from commits import last_change
from job_shop_lib import JobShopInstance, Operation
from job_shop_lib.constraint_programming import ORToolsSolver
from public import CODE, ROOT
from public_sets import SETS, public_set

from dagsched_env import Instance, exact
from dagsched_env.io.journal import Journal
from dagsched_env.solver import solve
from dagsched_env.solver.shapes import is_shop, orders_only

Gaps = dict[str, float]
"""Solver → makespan / best known - 1."""


def by_solve(instance: Instance, seconds: float) -> float:
    schedule = solve(instance, budget_s=seconds).schedule
    schedule.validate(instance)
    return schedule.makespan


def by_cp_sat(instance: Instance, seconds: float) -> float:
    return exact.solve(instance, time_limit_s=seconds, workers=1).schedule.makespan


def by_pyjobshop(instance: Instance, seconds: float) -> float:
    from pyjobshop import Model

    model = Model()
    tasks = [model.add_task() for _ in range(instance.n_tasks)]
    if instance.n_resources:
        (capacities,) = instance.capacities.tolist()
        resources = [model.add_renewable(int(capacity)) for capacity in capacities]
        for task, (time,), demands in zip(tasks, instance.comp, instance.demands, strict=True):
            needed = demands.astype(int).tolist()
            model.add_mode(task, resources, duration=int(time), demands=needed)
    else:
        machines = [model.add_machine() for _ in range(instance.n_processors)]
        for t, q in np.argwhere(np.isfinite(instance.comp)).tolist():
            model.add_mode(tasks[t], machines[q], duration=int(instance.comp[t, q]))
    for u, v in instance.edges.tolist():
        model.add_end_before_start(tasks[u], tasks[v])
    result = model.solve(solver="ortools", time_limit=seconds, num_workers=1, display=False)
    return float(result.objective)


def by_job_shop_lib(instance: Instance, seconds: float) -> float:
    following = dict(instance.edges.tolist())
    jobs = []
    for first in sorted(set(range(instance.n_tasks)) - set(following.values())):
        chain = [first]
        while chain[-1] in following:
            chain.append(following[chain[-1]])
        machine = np.argmin(instance.comp[chain], axis=1).tolist()
        times = instance.comp[chain, machine].astype(int).tolist()
        jobs.append([Operation(q, time) for q, time in zip(machine, times, strict=True)])
    solver = ORToolsSolver(max_time_in_seconds=seconds)
    solver.solver.parameters.num_workers = 1
    return float(solver.solve(JobShopInstance(jobs)).makespan())


SOLVERS: dict[str, Callable[[Instance, float], float]] = {
    "solve": by_solve,
    "cp_sat": by_cp_sat,
    "pyjobshop": by_pyjobshop,
    "job_shop_lib": by_job_shop_lib,
}


def can_play(solver: str, instance: Instance) -> bool:
    """Whether a solver knows problems of this kind."""
    if solver == "pyjobshop":
        return not instance.data.any()
    if solver == "job_shop_lib":
        return is_shop(instance) and orders_only(instance)
    return True


def meet(instance: Instance, known: float, solvers: list[str], seconds: float) -> Gaps:
    """Each solver in turn that can."""
    return {
        solver: SOLVERS[solver](instance, seconds) / known - 1.0
        for solver in solvers
        if can_play(solver, instance)
    }


def rows(name: str, met: list[Gaps]) -> list[str]:
    """Of the table: a set, one line for each solver that played all of its instances."""
    lines = []
    for solver in met[0]:
        gaps = np.array([gaps[solver] for gaps in met])
        found = gaps[np.isfinite(gaps)]
        error = found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0.0
        worst = ""
        rivals = [[gap for who, gap in gaps.items() if who != "solve"] for gaps in met]
        if solver == "solve" and rivals[0]:
            ratios = [(1 + own) / (1 + min(other)) for own, other in zip(gaps, rivals, strict=True)]
            worst = f"{max(ratios):.3f}"
        lines.append(
            f"{name:<6} {len(found):>9} {solver:<13} {found.mean():>7.2%} ± {error:.2%} "
            f"{worst:>9} {(gaps <= 0).sum():>8}"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--sets", nargs="+", required=True, choices=SETS, metavar="NAME")
    parser.add_argument("--every", type=int, default=5)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--solvers", nargs="+", choices=SOLVERS, default=list(SOLVERS))
    parser.add_argument("--journal", type=Path, default=ROOT / "runs" / "published.jsonl")
    arguments = parser.parse_args()
    arguments.journal.parent.mkdir(parents=True, exist_ok=True)
    options = {"seconds": arguments.seconds, "solvers": arguments.solvers}
    journal = Journal(arguments.journal, options | {"commit": last_change(ROOT, CODE)})
    table = []
    for name in arguments.sets:
        met = []
        for case in public_set(name, arguments.folder).cases[arguments.first :: arguments.every]:
            instance = case.make()
            gaps = journal.find(instance)
            if gaps is None:
                assert case.known is not None
                gaps = meet(instance, case.known, arguments.solvers, arguments.seconds)
                journal.add(instance, gaps)
                shown = ", ".join(f"{solver} {gap:.2%}" for solver, gap in gaps.items())
                print(f"{case.name} ({instance.n_tasks} tasks): {shown}", flush=True)
            met.append({solver: gaps[solver] for solver in arguments.solvers if solver in gaps})
        table += rows(name, met)
    print(f"\n{'set':<6} instances {'solver':<13} above published      worst  reached")
    print("\n".join(table))


if __name__ == "__main__":
    main()
