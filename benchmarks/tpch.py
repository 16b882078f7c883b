"""How short ``solve`` makes the plans of TPC-H queries on which PPO-BiHyb was published.

    git clone https://github.com/Thinklab-SJTU/PPO-BiHyb
    python benchmarks/tpch.py PPO-BiHyb [--graphs 50 100 150] [--seconds 1] [--capacity 6000]

Wang et al. 2021, "A bi-level framework for learning to solve combinatorial optimization on graphs",
NeurIPS, schedule the stages of 50, 100 or 150 queries on one pool of 6000 executors. The repository
has no licence: nothing of it is here. Of a clone the lists of queries (``dag_data/dag_dict.py``,
those of index 1, ten of each size) and the recorded executions (``dag_data/tpch``) are read, as
data: no code of it runs, and the records, which are pickled, may hold plain values only.

A problem is the union of the plans of a list. A stage lasts the mean of all times that are recorded
of its tasks; as in Decima, the times of fresh executors are taken out of the first wave, and an
empty first wave becomes that of the next smaller number of executors. It uses as many executors as
it has tasks. All start at time 0, nothing is communicated, the makespan is to be short. The paper
gives means over the ten problems.

What is checked, at each call: the mean number of stages is the published one, and so are the mean
makespans of the three list schedules that the paper compares with, to the last digit. They are made
as the paper's simulator makes them: whenever stages end, the ready ones start by priority, each if
it still fits. That simulator adds up shares of the pool in float64, so some sets of stages that use
all of it are refused. Ours counts executors. "critical path, exact" is the same rule without those
refusals. With ``--capacity 5999`` schedules are valid in that arithmetic, too, whatever it rounds.

Each search has one core and ``--seconds``; every schedule is validated.
"""

import argparse
import ast
import heapq
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dagsched_env import Instance
from dagsched_env.problem.bounds import lower_bounds
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import heft, iterated_lists
from dagsched_env.solver import solve

POOL = 6000
"""Executors."""
TEST = 1
"""Index of the test problems among the lists; 0 are those of the training."""
TIME_UNIT = 5000.0
"""Times are divided by it in the paper's simulator; only rounding depends on it."""
BIHYB = "PPO-BiHyb"
PUBLISHED: dict[int, dict[str, float]] = {
    50: {
        "stages": 467.2,
        "shortest job first": 12818,
        "tetris": 12113,
        "critical path": 9821,
        BIHYB: 8906,
    },
    100: {
        "stages": 929.8,
        "shortest job first": 19503,
        "tetris": 18291,
        "critical path": 16914,
        BIHYB: 15193,
    },
    150: {
        "stages": 1384.5,
        "shortest job first": 27409,
        "tetris": 25325,
        "critical path": 24429,
        BIHYB: 22371,
    },
}
"""Queries of a problem → means over the ten problems, from the table of the paper."""


# -- the problems ------------------------------------------------------------------------------


class Plan(NamedTuple):
    """Stages of a query, or of all queries of a problem."""

    durations: list[float]
    """Of each stage (ms)."""
    executors: list[int]
    """That each stage uses."""
    edges: list[tuple[int, int]]
    """Pairs (predecessor, successor) of stages."""


class Piece:
    """Stands in for what numpy pickles a record in: keeps what it is made of, and runs nothing."""

    def __init__(self, *_: Any) -> None:
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


class PlainUnpickler(pickle.Unpickler):
    """Reads plain values in an array of numpy without a dimension; refuses all else."""

    def find_class(self, module: str, name: str) -> Any:
        """A stand-in for the array."""
        if module.partition(".")[0] == "numpy" and name in ("_reconstruct", "ndarray", "dtype"):
            return Piece
        raise pickle.UnpicklingError(f"{module}.{name} is no part of a record")


def record_in(path: Path) -> Any:
    """The plain value in a ``.npy`` file of one object."""
    with path.open("rb") as stream:
        np.lib.format.read_magic(stream)
        np.lib.format.read_array_header_1_0(stream)
        (value,) = PlainUnpickler(stream, encoding="latin1").load().state[-1]
    return value


@cache
def plan_of(folder: Path, size: str, query: int) -> Plan:
    """The plan of a query on data of a size, such as ``100g``."""
    adjacency = np.load(folder / size / f"adj_mat_{query}.npy", allow_pickle=False)
    stages = record_in(folder / size / f"task_duration_{query}.npy")
    return Plan(
        [mean_time(stages[i]) for i in range(len(adjacency))],
        [n_tasks(stages[i]) for i in range(len(adjacency))],
        [(int(u), int(v)) for u, v in np.argwhere(adjacency == 1)],
    )


Waves = Mapping[str, Mapping[int, Sequence[int]]]
"""``first_wave``, ``rest_wave`` or ``fresh_durations`` → number of executors → times (ms)."""


def n_tasks(stage: Waves) -> int:
    """Of a stage: as many as one of its executions has."""
    executors = next(iter(stage["first_wave"]))
    return len(stage["first_wave"][executors]) + len(stage["rest_wave"][executors])


def mean_time(stage: Waves) -> float:
    """Mean time of the tasks of a stage (ms)."""
    first = [*warm_first_waves(stage).values()]
    others = [*stage["rest_wave"].values(), *stage["fresh_durations"].values()]
    return float(np.mean([time for wave in first + others for time in wave]))


def warm_first_waves(stage: Waves) -> dict[int, list[int]]:
    """First waves without fresh executors; an empty one becomes the one before it."""
    warm: dict[int, list[int]] = {}
    before: list[int] = []
    for executors, times in sorted(stage["first_wave"].items()):
        fresh, left = list(stage["fresh_durations"][executors]), []
        for time in times:
            if time in fresh:
                fresh.remove(time)
            else:
                left.append(time)
        warm[executors] = before = left or before
    return warm


def union(plans: Sequence[Plan]) -> Plan:
    """All of them side by side."""
    durations: list[float] = []
    executors: list[int] = []
    edges: list[tuple[int, int]] = []
    for plan in plans:
        edges += [(u + len(durations), v + len(durations)) for u, v in plan.edges]
        durations += plan.durations
        executors += plan.executors
    return Plan(durations, executors, edges)


def problems(clone: Path, graphs: int) -> Iterator[Plan]:
    """The test problems of so many queries."""
    tree = ast.parse((clone / "dag_data" / "dag_dict.py").read_text(encoding="utf-8"))
    (lists,) = (node.value for node in tree.body if isinstance(node, ast.Assign))
    for queries in ast.literal_eval(lists)[graphs][TEST]:
        folder = clone / "dag_data" / "tpch"
        yield union([plan_of(folder, size, int(query)) for size, query in queries])


def instance_of(plan: Plan, capacity: int) -> Instance:
    """One processor with so many executors; nothing is communicated."""
    return Instance(
        np.array(plan.durations)[:, None],
        plan.edges,
        np.zeros(len(plan.edges)),
        demands=np.array(plan.executors, dtype=np.float64)[:, None],
        capacities=[[capacity]],
        resource_names=["executors"],
        name=f"tpch-n{len(plan.durations)}",
    )


# -- the list schedules of the paper -----------------------------------------------------------


def shortest_first(plan: Plan) -> list[float]:
    """Priorities of "shortest job first"; the least comes first."""
    return plan.durations


def widest_first(plan: Plan) -> list[float]:
    """Of "tetris", whose product of demand and what is left ranks by the demand."""
    return [-float(executors) for executors in plan.executors]


def longest_tail_first(plan: Plan) -> list[float]:
    """Of "critical path": the longest path from a stage to the end."""
    successors: list[list[int]] = [[] for _ in plan.durations]
    for u, v in plan.edges:
        successors[u].append(v)

    @cache
    def tail(stage: int) -> float:
        return plan.durations[stage] + max(map(tail, successors[stage]), default=0.0)

    return [-tail(stage) for stage in range(len(plan.durations))]


class Rule(NamedTuple):
    """A list schedule of the paper."""

    priority: Callable[[Plan], list[float]]
    """The least comes first."""
    latest_wins: bool
    """Of stages of equal priority the one with the highest number comes first."""


RULES = {
    "shortest job first": Rule(shortest_first, False),
    "tetris": Rule(widest_first, True),
    "critical path": Rule(longest_tail_first, True),
}


def greedy(plan: Plan, rule: Rule, need: Sequence[float], capacity: float) -> float:
    """Makespan (ms) where the ready stages start by priority, each if it fits, as soon as others
    end.

    Args:
        plan: the stages.
        rule: their order.
        need: ``[n]`` of each stage.
        capacity: of the pool, in the unit of ``need``.
    """
    times = [duration / TIME_UNIT for duration in plan.durations]
    priority, sign = rule.priority(plan), -1 if rule.latest_wins else 1
    order = sorted(range(len(times)), key=lambda stage: (priority[stage], sign * stage))
    position = {stage: i for i, stage in enumerate(order)}
    waits_for = np.zeros(len(times), dtype=np.int64)
    successors: list[list[int]] = [[] for _ in times]
    for u, v in plan.edges:
        waits_for[v] += 1
        successors[u].append(v)
    ready = sorted(position[stage] for stage in np.flatnonzero(waits_for == 0).tolist())
    running: list[tuple[float, int]] = []
    used, now = type(capacity)(0), 0.0
    while ready or running:
        for place in list(ready):
            stage = order[place]
            if used + need[stage] <= capacity:
                used += need[stage]
                ready.remove(place)
                heapq.heappush(running, (now + times[stage], stage))
        now = running[0][0]
        while running and running[0][0] == now:
            stage = heapq.heappop(running)[1]
            used -= need[stage]
            for successor in successors[stage]:
                waits_for[successor] -= 1
                if waits_for[successor] == 0:
                    ready.append(position[successor])
        ready.sort()
    return now * TIME_UNIT


def as_published(plan: Plan, rule: Rule) -> float:
    """Makespan (ms) in the arithmetic of the paper's simulator: shares of the pool in float64."""
    return greedy(plan, rule, [executors / POOL for executors in plan.executors], 1.0)


# -- the comparison ----------------------------------------------------------------------------


def schedules(instance: Instance, seconds: float, seed: int) -> dict[str, Schedule]:
    """Of our schedulers."""
    return {
        "HEFT": heft(instance),
        "iterated_lists": iterated_lists(instance, budget_s=seconds, seed=seed),
        "solve": solve(instance, budget_s=seconds, seed=seed).schedule,
    }


def measured(plan: Plan, capacity: int, seconds: float, seed: int) -> dict[str, float]:
    """Name → makespan (ms), and what else is known of one problem."""
    instance = instance_of(plan, capacity)
    found = {"stages": float(instance.n_tasks)}
    found |= {name: as_published(plan, rule) for name, rule in RULES.items()}
    found["critical path, exact"] = greedy(plan, RULES["critical path"], plan.executors, capacity)
    for name, schedule in schedules(instance, seconds, seed).items():
        schedule.validate(instance)
        found[name] = schedule.makespan
    return found | {"lower bound": lower_bounds(instance).best}


def check(graphs: int, means: Mapping[str, float]) -> None:
    """Raise unless these are the problems of the paper."""
    for name in ("stages", *RULES):
        published = PUBLISHED[graphs][name]
        unit = 1 if published == int(published) else 10
        if round(means[name] * unit) != round(published * unit):
            raise SystemExit(f"{graphs} graphs: {name} is {means[name]:.1f}, published {published}")


def rows(graphs: int, means: Mapping[str, float]) -> Iterator[str]:
    """Of the table."""
    published = PUBLISHED[graphs]
    for name in [*RULES, BIHYB, *(name for name in means if name not in ("stages", *RULES))]:
        mean = means.get(name, published.get(name, 0.0))
        note = " (published)" if name == BIHYB else ""
        yield (
            f"| {graphs} | {name}{note} | {mean:.0f} | {mean / published[BIHYB]:.3f} | "
            f"{mean / means['lower bound']:.3f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clone", type=Path, metavar="CLONE", help="of Thinklab-SJTU/PPO-BiHyb")
    parser.add_argument("--graphs", nargs="+", type=int, choices=PUBLISHED, default=[*PUBLISHED])
    parser.add_argument("--seconds", type=float, default=1.0, help="of each search (default 1)")
    parser.add_argument("--capacity", type=int, default=POOL, help="executors (default 6000)")
    arguments = parser.parse_args()
    solve(instance_of(Plan([1.0, 2.0], [1, 1], [(0, 1)]), 1), budget_s=0.1)  # loads kernels
    print("| graphs | schedule | makespan, mean | / PPO-BiHyb | / lower bound |")
    print("|---:|---|---:|---:|---:|")
    for graphs in arguments.graphs:
        found = [
            measured(plan, arguments.capacity, arguments.seconds, seed)
            for seed, plan in enumerate(problems(arguments.clone, graphs))
        ]
        means = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
        check(graphs, means)
        print("\n".join(rows(graphs, means)), flush=True)


if __name__ == "__main__":
    main()
