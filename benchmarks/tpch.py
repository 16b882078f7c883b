"""Lists of TPC-H query plans on one cluster, against the published makespans of PPO-BiHyb.

    git clone https://github.com/Thinklab-SJTU/PPO-BiHyb
    python benchmarks/tpch.py PPO-BiHyb [--plans 50 100 150] [--seconds 1 10] [--seed 0]

R. Wang, Z. Hua, G. Liu, J. Zhang, J. Yan, F. Qi, S. Yang, J. Zhou, X. Yang 2021, "A bi-level
framework for learning to solve combinatorial optimization on graphs", NeurIPS. Their repository has
no licence, so it is read where it was cloned and nothing of it is here.

Each test set has ten instances, and the published figure is their mean. An instance is a list of
50, 100 or 150 plans of the 22 TPC-H queries at seven sizes; the lists are written out in
``dag_data/dag_dict.py`` (second set of each number). A task is a stage of a plan. Its duration is
the mean over all times that were recorded for its parallel parts (ms), its demand the number of
these parts, and the cluster runs 6000 of them at once. Communication is free.

What was checked: with their way of counting, an implementation of our own of their three heuristics
gives all nine published means to the last digit, and the program ends with an error where it does
not. Each of these schedules is also valid for our instances. Their demands are shares of the
capacity in floating point, whose sums may be a little too large: a task that would fill the cluster
exactly then waits. ``critical path, exact`` counts whole parts instead.

All of ours have one core; ``solve`` is that of ``dagsched_env``. The bound is that of
``dagsched_env.problem.bounds``.
"""

import argparse
import ast
import heapq
import pickletools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dagsched_env import Instance
from dagsched_env.problem.bounds import lower_bounds
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import heft, iterated_lists
from dagsched_env.solver import load_kernels, solve

CAPACITY = 6000
TEST = 1
"""Number of the test sets in the lists; 0 are those for training."""
BIHYB, CRITICAL = "PPO-BiHyb", "critical path"
PUBLISHED = {
    "shortest first": {50: 12818, 100: 19503, 150: 27409},
    "tetris": {50: 12113, 100: 18291, 150: 25325},
    CRITICAL: {50: 9821, 100: 16914, 150: 24429},
    BIHYB: {50: 8906, 100: 15193, 150: 22371},
}
"""Mean makespans (ms) by the number of plans."""


class Plan(NamedTuple):
    """A query at a size."""

    durations: list[float]
    """``[n]`` (ms)."""
    demands: list[int]
    """``[n]`` parallel parts."""
    edges: list[tuple[int, int]]


# -- reading their files -----------------------------------------------------------------------


def lists(clone: Path) -> dict[int, list[list[tuple[str, int]]]]:
    """Number of plans → the plans of each test instance, as (size, query)."""
    tree = ast.parse((clone / "dag_data" / "dag_dict.py").read_text(encoding="utf-8"))
    (table,) = (ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign))
    return {plans: sets[TEST] for plans, sets in table.items()}


@cache
def read_plan(clone: Path, size: str, query: int) -> Plan:
    """A plan from its two files."""
    folder = clone / "dag_data" / "tpch" / size
    adjacent = np.load(folder / f"adj_mat_{query}.npy", allow_pickle=False)
    stages = recorded(folder / f"task_duration_{query}.npy")
    return Plan(
        durations=[mean_duration(stages[i]) for i in range(len(adjacent))],
        demands=[parallel_parts(stages[i]) for i in range(len(adjacent))],
        edges=[(int(i), int(j)) for i, j in np.argwhere(adjacent == 1)],
    )


def parallel_parts(stage: dict[str, Any]) -> int:
    """Of a stage: those of its first recorded run."""
    run = next(iter(stage["first_wave"]))
    return len(stage["first_wave"][run]) + len(stage["rest_wave"][run])


def mean_duration(stage: dict[str, Any]) -> float:
    """Mean of all recorded times of a stage (ms), as they take it.

    Times of fresh executors are taken out of the first wave, where they are, too; a first wave that
    is then empty is that of the run with the next fewer executors.
    """
    times: list[float] = []
    wave: list[float] = []
    for run in sorted(stage["first_wave"]):
        wave = without(stage["first_wave"][run], stage["fresh_durations"][run]) or wave
        times += wave
    for part in ("rest_wave", "fresh_durations"):
        times += [time for run in stage[part].values() for time in run]
    return float(np.mean(times))


def without(times: Sequence[float], others: Iterable[float]) -> list[float]:
    """The times without the others, each as often as it occurs there."""
    left, kept = Counter(others), []
    for time in times:
        if left[time] > 0:
            left[time] -= 1
        else:
            kept.append(time)
    return kept


def recorded(path: Path) -> dict[int, dict[str, Any]]:
    """Stage → what was recorded of it, from a pickled array that holds one dictionary.

    Nothing is unpickled: of the program in the file only what builds lists and dictionaries of
    numbers and texts is followed, and what would call something leaves an empty list.
    """
    with path.open("rb") as file:
        np.lib.format.read_magic(file)
        np.lib.format.read_array_header_1_0(file)
        stack: list[Any] = []
        marks: list[int] = []
        memo: dict[int, Any] = {}
        for operation, value, _ in pickletools.genops(file):
            follow(operation.name, value, stack, marks, memo)
    (array,) = stack
    found: dict[int, dict[str, Any]] = array[-1][0]
    return found


NUMBERS = ("BININT", "BININT1", "BININT2", "SHORT_BINSTRING")
EMPTY: dict[str, Callable[[], Any]] = {"EMPTY_LIST": list, "EMPTY_DICT": dict, "EMPTY_TUPLE": tuple}
PLAIN = {"GLOBAL": None, "NONE": None, "NEWFALSE": False}


def follow(name: str, value: Any, stack: list[Any], marks: list[int], memo: dict[int, Any]) -> None:
    """One operation of a pickle.

    Args:
        name: of the operation.
        value: its argument in the file, if it has one.
        stack: of the values so far; changed.
        marks: heights of the stack; changed.
        memo: number → value; changed.

    Raises:
        ValueError: it is none that these files need.
    """
    if name in NUMBERS:
        stack.append(value)
    elif name in EMPTY:
        stack.append(EMPTY[name]())
    elif name in PLAIN:
        stack.append(PLAIN[name])
    elif name in ("BINPUT", "LONG_BINPUT"):
        memo[value] = stack[-1]
    elif name == "BINGET":
        stack.append(memo[value])
    elif name == "MARK":
        marks.append(len(stack))
    elif name in ("APPENDS", "SETITEMS", "TUPLE"):
        gather(name, stack, marks.pop())
    elif name in ("TUPLE1", "TUPLE3"):
        gather("TUPLE", stack, len(stack) - int(name[-1]))
    elif name in ("APPEND", "BUILD"):  # the state of an array: its last part is what it holds
        last = stack.pop()
        stack[-1].append(last[-1] if name == "BUILD" else last)
    elif name == "REDUCE":  # an array, or its dtype
        stack[-2:] = [[]]
    elif name not in ("PROTO", "STOP"):
        raise ValueError(f"{name} is in none of the files of these plans")


def gather(name: str, stack: list[Any], begin: int) -> None:
    """Put the upper end of the stack into a list, a dictionary or a tuple."""
    items = stack[begin:]
    del stack[begin:]
    if name == "TUPLE":
        stack.append(tuple(items))
    elif name == "APPENDS":
        stack[-1].extend(items)
    else:
        stack[-1].update(zip(items[::2], items[1::2], strict=True))


# -- their problem and their heuristics --------------------------------------------------------


def merged(plans: Iterable[Plan]) -> Plan:
    """All plans as one graph, in their order."""
    whole = Plan([], [], [])
    for plan in plans:
        first = len(whole.durations)
        whole.durations.extend(plan.durations)
        whole.demands.extend(plan.demands)
        whole.edges.extend((first + i, first + j) for i, j in plan.edges)
    return whole


def as_instance(plan: Plan, name: str) -> Instance:
    """One processor of ``CAPACITY``, without communication."""
    return Instance(
        np.array(plan.durations)[:, None],
        plan.edges,
        np.zeros(len(plan.edges)),
        demands=np.array(plan.demands, dtype=np.float64)[:, None],
        capacities=[[CAPACITY]],
        resource_names=["parts"],
        name=name,
    )


Priority = Callable[[int, float], tuple[float, int]]
"""Task and what is left of the capacity → what sorts the ready tasks, the least first."""


def list_schedule(
    plan: Plan, demands: Sequence[float], capacity: float, least: Priority
) -> Schedule:
    """Whenever tasks end, start the ready ones that fit, in the order of their priorities.

    Args:
        plan: the problem.
        demands: ``[n]`` in the unit of the capacity.
        capacity: of the processor.
        least: of the tasks.
    """
    n = len(plan.durations)
    waits, successors = [0] * n, [[] for _ in range(n)]
    for i, j in plan.edges:
        waits[j] += 1
        successors[i].append(j)
    ready = {task for task in range(n) if not waits[task]}
    start, now, used = np.zeros(n), 0.0, 0.0
    running: list[tuple[float, float, float, int]] = []
    while ready or running:
        left = capacity - used
        for task in sorted(ready, key=lambda task: least(task, left)):
            if used + demands[task] <= capacity:
                used += demands[task]
                start[task] = now
                end = now + plan.durations[task]
                heapq.heappush(running, (end, plan.durations[task], demands[task], task))
                ready.remove(task)
        now = running[0][0]
        while running and running[0][0] == now:
            _, _, demand, task = heapq.heappop(running)
            used -= demand
            for successor in successors[task]:
                waits[successor] -= 1
                if not waits[successor]:
                    ready.add(successor)
    return Schedule(np.zeros(n, dtype=np.int64), start, start + plan.durations)


def theirs(plan: Plan, rank: Sequence[float]) -> dict[str, Schedule]:
    """Their heuristics; demands are shares of the capacity, except in the last.

    Args:
        plan: the problem.
        rank: ``[n]`` longest path from a task to the end, itself included (ms).
    """
    shares = [demand / CAPACITY for demand in plan.demands]
    orders: dict[str, Priority] = {
        "shortest first": lambda task, _: (plan.durations[task], task),
        "tetris": lambda task, left: (-shares[task] * left, -task),
        CRITICAL: lambda task, _: (-rank[task], -task),
    }
    made = {name: list_schedule(plan, shares, 1.0, least) for name, least in orders.items()}
    exact = list_schedule(plan, plan.demands, CAPACITY, orders[CRITICAL])
    return made | {f"{CRITICAL}, exact": exact}


# -- the comparison ----------------------------------------------------------------------------


def measure(plan: Plan, name: str, seconds: Sequence[float], seed: int) -> dict[str, float]:
    """Method → makespan (ms), and the lower bound.

    Args:
        plan: the problem.
        name: of the instance.
        seconds: budgets of the searches (s).
        seed: of the searches.
    """
    instance = as_instance(plan, name)
    made = theirs(plan, instance.rank_u.tolist())
    made["HEFT"] = heft(instance)
    for budget_s in seconds:
        made[f"iterated_lists, {budget_s:g} s"] = iterated_lists(
            instance, budget_s=budget_s, seed=seed
        )
    for budget_s in seconds:
        made[f"solve, {budget_s:g} s"] = solve(instance, budget_s=budget_s, seed=seed).schedule
    for schedule in made.values():
        schedule.validate(instance)
    found = {method: float(schedule.makespan) for method, schedule in made.items()}
    return found | {"lower bound": lower_bounds(instance).best}


def check(plans: int, means: dict[str, float]) -> None:
    """Compare the means of their heuristics with the published ones.

    Raises:
        RuntimeError: one differs, so the problems differ.
    """
    for name, published in PUBLISHED.items():
        if name in means and round(means[name]) != published[plans]:
            raise RuntimeError(f"{name}, {plans} plans: {means[name]}, not {published[plans]}")


def table(plans: int, tasks: float, rows: Sequence[dict[str, float]]) -> str:
    """Means of one test set, in Markdown."""
    means = {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}
    check(plans, means)
    bihyb = PUBLISHED[BIHYB][plans]
    lines = [
        f"| {plans} plans, {tasks:g} tasks | mean makespan (ms) | / {BIHYB} | / bound |",
        "|---|---:|---:|---:|",
    ]
    for name, mean in {BIHYB: float(bihyb), **means}.items():
        lines.append(
            f"| {name} | {mean:.0f} | {mean / bihyb:.4f} | {mean / means['lower bound']:.4f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clone", type=Path, help="of their repository")
    parser.add_argument("--plans", type=int, nargs="+", default=[50, 100, 150])
    parser.add_argument("--seconds", type=float, nargs="*", default=[1.0, 10.0])
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    load_kernels(resources=True)
    tests = lists(arguments.clone)
    for plans in arguments.plans:
        graphs = [
            merged(read_plan(arguments.clone, size, query) for size, query in chosen)
            for chosen in tests[plans]
        ]
        rows = [
            measure(graph, f"tpch-{plans}-{i}", arguments.seconds, arguments.seed)
            for i, graph in enumerate(graphs)
        ]
        tasks = float(np.mean([len(graph.durations) for graph in graphs]))
        print(table(plans, tasks, rows), flush=True)


if __name__ == "__main__":
    main()
