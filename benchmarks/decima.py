"""Streams of TPC-H jobs on executors: our rules against Decima, in a simulator of its making.

    git clone https://github.com/ArchieGertsman/spark-sched-sim SIMULATOR
    git clone https://github.com/hongzimao/decima-sim PROFILES
    python benchmarks/decima.py SIMULATOR PROFILES [--executors 50] [--jobs 200] [--seeds 20]
                                [--journal FILE] [--tune GENERATIONS]

Decima (Mao et al., SIGCOMM 2019) is a graph network that says, whenever executors are free, which
stage gets how many of them. The first repository has the simulator, a fair scheduler, and trained
weights of Decima; the second has the recorded queries. Nothing of them is here. Jobs arrive by
Poisson, one in 25 s; each is one of 22 queries at one of seven sizes. An executor stays at a stage
while that has tasks, takes 2 s to another job, is slower at first, and is slower the more executors
its job has. Their example has 10 executors and 50 jobs, their training 50 and 200.

All see what Decima sees: of each stage the tasks that wait and how long the latest one takes (at
first the mean), the edges, and how many executors each job has. All have the same jobs; how long a
task takes is drawn when it starts, so that differs. ``Decima`` draws its actions, as in their
example; ``Decima, greedy`` takes the most probable ones.

Ours gives one free executor after the other to the stage of highest index (``Weights``).
``shortest`` takes the job of least work left, as the dispatcher of that name does, and in it stages
that are ready, that of the longest path first. The weights of ``evolved`` come from ``--tune 4``,
the cross-entropy method on jobs of other seeds; it began with what had been found by hand.
``learned`` is the shipped dispatcher, trained on other problems: free executors are its machines.
"""

import argparse
import gc
import tempfile
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from online import read, write
from spark_simulator import DECIMA, FAIR, NAMES, Simulator

from aerl_trainer.online.shipped import learned as shipped
from dagsched_env import Instance
from dagsched_env.cli.progress import bar
from dagsched_env.comparison.compare import mean_error, mean_ratio
from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.online import Situation

MOVE_MS = 2000.0
FIRST_SEED, FIRST_TUNED = 1_000_000, 100_000
"""Of the test and of ``--tune``; their training has those from 42 to 2041."""
SHORT = ((10, 50), (50, 60))
"""Executors and jobs of the streams of ``--tune``."""
STREAMS = 3
"""Of each, in each generation."""
LEARNED = "learned"


class Weights(NamedTuple):
    """What the index of a stage is the sum of. Logarithms are natural, times are in ms."""

    size: float
    """for each logarithm of the work left in its job, while there are few jobs"""
    busy: float
    """the same when there is a job for every two executors, and more; linear in between"""
    crowd: float
    """for each logarithm of 1 + executors of its job / ``knee``, while there are few jobs; 0 when
    there are many"""
    knee: float
    stay: float
    """if the executors are at its job"""
    ready: float
    """if the stages before it have ended"""
    path: float
    """for each logarithm of the longest path from it to the end / the longest of its job"""
    share: float
    """for each logarithm of its work / that of its job"""
    move: float
    """times the share of a move in the time of a move and its work, if the executors move"""
    least: float
    """No executor moves to a job of k if work / (k + 1)² would be less (ms)."""


RULES = {
    "shortest": Weights(-1000, -1000, 0, 1, 10, 10, 1, 0, 0, 0),
    "evolved": Weights(-0.661, -1.191, -1.137, 3.729, 0.864, 0.576, 0.381, -0.075, -0.933, 902.716),
}
START = Weights(-0.4, -1, -1.65, 3.4, 1.1, 0.65, 0.6, -0.1, -0.57, 1000)
SPREAD = Weights(0.2, 0.2, 0.4, 0.4, 0.4, 0.3, 0.3, 0.15, 0.4, 0.4)
"""Standard deviations of the first generation; of ``POSITIVE`` those of the logarithms."""
POSITIVE = [Weights._fields.index(name) for name in ("knee", "least")]


# -- our rule ----------------------------------------------------------------------------------


class Seen(NamedTuple):
    """An observation; v stages that have not ended, j jobs, e edges, in the order of the jobs."""

    waiting: Floats  # [v] tasks that have not started
    duration: Floats  # [v] of the latest task, or the mean (ms)
    open: Ints  # [c] stages that may get executors
    edges: Ints  # [e, 2]
    first: Ints  # [j + 1] first stage of each job
    executors: Floats  # [j] those of each job, and those on their way to it
    free: int  # executors that are to be given
    source: int  # job at which they are; j: none


def seen(observation: Mapping[str, Any]) -> Seen:
    """What their simulator shows."""
    graph = observation["dag_batch"]
    waiting, duration, is_open = graph.nodes.astype(np.float64).T
    return Seen(
        waiting,
        duration,
        np.flatnonzero(is_open),
        graph.edge_links,
        np.array(observation["dag_ptr"]),
        np.array(observation["exec_supplies"], dtype=np.float64),
        observation["num_committable_execs"],
        observation["source_job_idx"],
    )


def paths(duration: Floats, edges: Ints) -> Floats:
    """``[v]`` longest path from each stage to the end, one task of each stage."""
    rank = duration
    while True:
        longer = duration.copy()
        np.maximum.at(longer, edges[:, 0], duration[edges[:, 0]] + rank[edges[:, 1]])
        if (longer == rank).all():
            return rank
        rank = longer


def choose(now: Seen, weights: Weights, most: int) -> tuple[int, int]:
    """Give away all free executors; what the stage that is first gets of them.

    Args:
        now: with at least one stage that is open, and an executor that is free.
        weights: of the index.
        most: executors of the cluster; a job that has so many gets no more from elsewhere.

    Returns:
        The number of the stage among those that are open, −1 for none, and of executors, ≥ 1.
    """
    jobs = len(now.executors)
    work = now.waiting * now.duration
    of_job = np.repeat(np.arange(jobs), np.diff(now.first))
    of_jobs = np.bincount(of_job, work, jobs)
    rank = paths(np.where(now.waiting > 0, now.duration, 0.0), now.edges)
    longest = np.maximum.reduceat(rank, now.first[:-1])
    ready = np.ones(len(work))
    ready[now.edges[:, 1]] = 0.0
    job, mine = of_job[now.open], work[now.open]
    stays, size = job == now.source, logarithm(of_jobs[job])
    busy = min(1.0, 2 * jobs / most)
    crowd = (1 - busy) * weights.crowd
    fixed = (
        ((1 - busy) * weights.size + busy * weights.busy) * size
        + weights.stay * stays
        + weights.ready * ready[now.open]
        + weights.path * (logarithm(rank[now.open]) - logarithm(longest[job]))
        + weights.share * (logarithm(mine) - size)
        + weights.move * np.where(stays, 0.0, MOVE_MS / (MOVE_MS + mine))
    )
    left, has = now.waiting[now.open], now.executors.copy()
    if now.source < jobs:
        has[now.source] -= now.free

    def index() -> Floats:
        k = has[job]
        full = (left <= 0) | ~stays & ((k >= most) | (of_jobs[job] < weights.least * (k + 1) ** 2))
        return np.where(full, -np.inf, fixed + crowd * np.log1p(k / weights.knee))

    best, given = -1, 0
    for _ in range(now.free):
        values = index()
        k = int(values.argmax())
        if values[k] == -np.inf:
            break
        if best < 0:
            best = k
        given += k == best
        left[k] -= 1
        has[job[k]] += 1
    return best, max(given, 1)


def logarithm(values: npt.NDArray[Any]) -> Floats:
    """Of what is at least 1."""
    found: Floats = np.log(np.maximum(values, 1.0))
    return found


def learned(now: Seen) -> tuple[int, int]:
    """What the shipped learned dispatcher starts first, and how many of that stage; as ``choose``.

    Its machines are the free executors. A stage is a task for each of them, of equal parts of the
    work that waits; of a stage that is not open one task is enough.
    """
    is_open = np.isin(np.arange(len(now.waiting)), now.open)
    parts = np.where(is_open, np.minimum(now.waiting, now.free), now.waiting > 0).astype(np.int64)
    stage = np.repeat(np.arange(len(parts)), parts)
    first = np.append(0, np.cumsum(parts))
    edges = [
        (i, j)
        for u, v in now.edges.tolist()
        if not is_open[v]  # what it waits for is on its way
        for i in range(first[u], first[u + 1])
        for j in range(first[v], first[v + 1])
    ]
    part = (now.waiting * now.duration)[stage] / parts[stage]
    instance = Instance(np.repeat(part[:, None], now.free, axis=1), edges, np.zeros(len(edges)))
    of_job = np.repeat(np.arange(len(now.executors)), np.diff(now.first))[stage]
    situation = Situation(instance, np.unique(of_job, return_inverse=True)[1])
    situation.arrive(0, len(stage))
    starts = [
        stage[task] for task, _ in shipped(instance).starts(situation) if is_open[stage[task]]
    ]
    best = starts[0] if starts else now.open[0]
    return int(np.searchsorted(now.open, best)), max(1, sum(s == best for s in starts))


class Ours:
    """A scheduler as theirs are.

    Args:
        rule: says which stage is next, −1 for none, and how many executors it gets.
    """

    env_wrapper_cls = None

    def __init__(self, rule: Callable[[Seen], tuple[int, int]]) -> None:
        self._rule = rule

    def schedule(self, observation: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, Any]]:
        """The next action, and nothing else."""
        stage, count = self._rule(seen(observation))
        return {"stage_idx": stage, "num_exec": count}, {}


def scheduler(simulator: Simulator, name: str, executors: int) -> Any:
    """One by name: theirs or ours; of theirs only the latest one works.

    Args:
        simulator: theirs.
        name: what the table calls it.
        executors: of the cluster.
    """
    if name in RULES:
        return Ours(partial(choose, weights=RULES[name], most=executors))
    return Ours(learned) if name == LEARNED else simulator.scheduler(name, executors)


# -- the search for weights --------------------------------------------------------------------


def evolve(
    cost: Callable[[Weights, int], float], generations: int, rng: np.random.Generator
) -> Weights:
    """Cross-entropy method: draw ten weights, go on around the best three.

    Args:
        cost: of weights in a generation; lower is better.
        generations: how many.
        rng: draws.
    """
    mean, spread = np.array(START), np.array(SPREAD)
    mean[POSITIVE] = np.log(mean[POSITIVE])

    def weights(point: Floats) -> Weights:
        values = point.copy()
        values[POSITIVE] = np.exp(values[POSITIVE])
        return Weights(*values.round(3).tolist())

    for generation in range(generations):
        drawn = mean + spread * rng.standard_normal((10, len(mean)))
        drawn[0] = mean
        costs = [cost(weights(point), generation) for point in drawn]
        best = drawn[np.argsort(costs)[:3]]
        mean = 0.3 * mean + 0.7 * best.mean(axis=0)
        spread = 0.5 * spread + 0.5 * best.std(axis=0) + 0.02
        print(f"{generation}: {costs[0]:.4f}, {min(costs):.4f}, {weights(mean)}", flush=True)
    return weights(mean)


def tune(simulator: Simulator, generations: int, seed: int) -> Weights:
    """On short streams on 10 and on 50 executors, of new seeds in each generation.

    Args:
        simulator: theirs.
        generations: of ten weights.
        seed: of the draws.

    Returns:
        Those at which the mean of log(mean time / that of ``fair``) was low.
    """

    @cache
    def base(executors: int, jobs: int, seed: int) -> float:
        fair = simulator.scheduler(FAIR, executors)
        return simulator.run(fair, executors, jobs, seed)["mean"]

    def cost(weights: Weights, generation: int) -> float:
        first = FIRST_TUNED + STREAMS * generation
        return float(
            np.mean(
                [
                    np.log(
                        simulator.run(
                            Ours(partial(choose, weights=weights, most=executors)),
                            executors,
                            jobs,
                            stream,
                        )["mean"]
                        / base(executors, jobs, stream)
                    )
                    for executors, jobs in SHORT
                    for stream in range(first, first + STREAMS)
                ]
            )
        )

    return evolve(cost, generations, np.random.default_rng(seed))


# -- the comparison ----------------------------------------------------------------------------


def table(found: Mapping[str, list[dict[str, float]]]) -> str:
    """Means over seeds, ± standard errors; ratios are those of each seed.

    Args:
        found: scheduler → what ``Simulator.run`` returned for each seed.
    """
    means = {name: [run["mean"] for run in runs] for name, runs in found.items()}

    def against(name: str, other: str) -> str:
        if other not in means:
            return ""
        ratio, error = (f(means[name], means[other]) for f in (mean_ratio, mean_error))
        return f"{ratio:.3f} ± {error:.3f}"

    lines = [
        f"| scheduler | mean, s | / {FAIR} | / {DECIMA} | p95, s | makespan, s | decision, ms |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for name, runs in found.items():
        mean, p95, makespan, decision = (
            float(np.mean([run[key] for run in runs]))
            for key in ("mean", "p95", "makespan", "decision")
        )
        lines.append(
            f"| {name} | {mean:.1f} | {against(name, FAIR)} | {against(name, DECIMA)} "
            f"| {p95:.1f} | {makespan:.0f} | {decision:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    names = [*NAMES, LEARNED, *RULES]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("simulator", type=Path, help="clone of spark-sched-sim")
    parser.add_argument("profiles", type=Path, help="clone of decima-sim")
    parser.add_argument("--executors", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--seeds", type=int, default=20, help="number of streams")
    parser.add_argument("--schedulers", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--journal", type=Path, help="keeps what is done, for one set of weights")
    parser.add_argument("--tune", type=int, metavar="GENERATIONS", help="look for weights instead")
    arguments = parser.parse_args()
    journal = arguments.journal and arguments.journal.resolve()
    torch.set_num_threads(1)
    gc.disable()  # a third of the time; their simulator keeps many objects
    with tempfile.TemporaryDirectory() as folder:
        simulator = Simulator(arguments.simulator, arguments.profiles, Path(folder))
        if arguments.tune:
            print(tune(simulator, arguments.tune, 0))
            return
        known = read(journal)
        found: dict[str, list[dict[str, float]]] = {name: [] for name in arguments.schedulers}
        executors, jobs = arguments.executors, arguments.jobs
        with bar("streams", arguments.seeds) as progress:
            for stream in range(arguments.seeds):
                for name, runs in found.items():
                    key = f"{name}/{executors}/{jobs}/{FIRST_SEED + stream}"
                    if key not in known:
                        chosen = scheduler(simulator, name, executors)
                        result = simulator.run(chosen, executors, jobs, FIRST_SEED + stream)
                        known[key] = result
                        write(journal, key, result)
                    runs.append(known[key])
                progress(stream + 1, arguments.seeds)
        print(table(found))


if __name__ == "__main__":
    main()
