"""What Ray costs, where the driver saturates, and whether learning minds (extra ``ray``).

    python benchmarks/cluster.py node [--rounds 6]       one node on Ray against the local pool
    python benchmarks/cluster.py ceiling [--seconds 6]   driver with 2 to 256 synthetic nodes
    python benchmarks/cluster.py learning [--seeds 3]    one node against three, as many groups

The second draws docs/driver_ceiling.png. Its node workers are real but for the search: they answer
with harvests of real searches, after the time that these took. All of them live in one process,
beside the driver, whose own CPU time counts. The name is not ray.py: a script's folder comes first
on the path of imports, and ``import ray`` would find the script.
"""

import argparse
import asyncio
import contextlib
import dataclasses
import itertools
import json
import pickle
import statistics
import tempfile
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from aerl_trainer.config import Config, LevelConfig, from_dict, seeding, to_dict
from aerl_trainer.learning.group_gradients import GroupGrader, GroupWork, ThreadedGradients
from aerl_trainer.learning.policy_learner import PolicyLearner
from aerl_trainer.learning.rank_reward import rank_rewards
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.run.curriculum import Curriculum
from aerl_trainer.run.launch import train
from aerl_trainer.run.lifecycle import JobLifecycle, LifecycleThread
from aerl_trainer.run.reporting import read_metrics
from aerl_trainer.runtime.cluster.cluster_jobs import ClusterGradients, ClusterJobs, rooms
from aerl_trainer.runtime.cluster.fleet import Fleet
from aerl_trainer.runtime.cluster.node_worker import NodeReport
from aerl_trainer.runtime.cluster.parcels import pack_harvest, pack_job, pack_work, unpack_work
from aerl_trainer.runtime.cluster.ray_nodes import connected, load_ray
from aerl_trainer.runtime.cluster.ray_run import node_workers
from aerl_trainer.runtime.harvest import JobPool, LocalJobs
from aerl_trainer.runtime.process_pool import ProcessPool
from aerl_trainer.tree.records import SearchJob
from dagsched_env import Instance

ACTORS = 2
JOBS, GROUPS = 40, 48
"""Of one timed round."""
NODES = (2, 4, 8, 16, 32, 64, 128, 256)
CANNED = 48
STEPS = 150
PLOT = Path(__file__).parents[1] / "docs" / "driver_ceiling.png"


def configured(**sections: dict[str, Any]) -> Config:
    """The defaults, learning from trees, with some settings changed."""
    record = to_dict(Config())
    for name, values in {"learner": {"groups": "tree"}, **sections}.items():
        record[name].update(values)
    return from_dict(record)


def drawn(count: int) -> list[SearchJob]:
    """Jobs of the default mixture."""
    curriculum = Curriculum(Config().curriculum)
    rng = np.random.default_rng(0)
    weights = FastPolicy().weights
    return [SearchJob(i, curriculum.make_instance(rng), i, policy=weights) for i in range(count)]


# -- one node ------------------------------------------------------------------------------------


def one_node(rounds: int) -> None:
    """Tasks per second on Ray over those of the local pool, in alternation."""
    config = configured(
        run={"actors": ACTORS},
        ray={"address": "local:1", "actors": ACTORS},
    )
    jobs = drawn(JOBS)
    largest = max(job.instance.n_tasks for job in jobs)
    local = LocalJobs(config, ProcessPool(config, largest, backend="prior", explore=True))
    grader = GroupGrader(config.policy.schedules, rank_rewards)
    here = ThreadedGradients(grader, ACTORS)
    work = [GroupWork(job.instance, job.seed) for job in drawn(GROUPS)]
    with contextlib.closing(local), node_workers(config, largest) as (fleet, remote):
        while fleet.room("search") == 0:
            time.sleep(0.1)
        there = ClusterGradients(fleet, here)
        ratios: dict[str, list[float]] = {"search jobs": [], "rank groups": []}
        for turn in range(rounds + 1):
            order = [True, False] if turn % 2 else [False, True]
            searches = {on_ray: time_jobs(remote if on_ray else local, jobs) for on_ray in order}
            groups = {on_ray: time_groups(there if on_ray else here, work) for on_ray in order}
            assert fleet.stats().lost == 0
            if turn == 0:
                continue  # what is loaded and compiled at first
            ratios["search jobs"].append(searches[False] / searches[True])
            ratios["rank groups"].append(groups[False] / groups[True])
            print(
                f"round {turn}: {JOBS / searches[False]:.2f} jobs/s here, "
                f"{JOBS / searches[True]:.2f} on Ray; {GROUPS / groups[False]:.0f} groups/s here, "
                f"{GROUPS / groups[True]:.0f} on Ray",
                flush=True,
            )
    for name, values in ratios.items():
        print(
            f"{name} a second, on Ray over here: median {statistics.median(values):.3f} "
            f"({', '.join(f'{value:.3f}' for value in values)})"
        )


def time_jobs(pool: JobPool, jobs: list[SearchJob]) -> float:
    """Wall time of all jobs (s), with the pool full from beginning to end."""
    started, waiting, done = time.perf_counter(), list(jobs), 0
    while done < len(jobs):
        while waiting and pool.free:
            pool.submit(waiting.pop(), 1.0)
        done += pool.wait(0.1) is not None
    return time.perf_counter() - started


def time_groups(gradients: Any, work: list[GroupWork]) -> float:
    """Wall time of three gradient steps on a third of the groups each (s), of new instances."""
    work = unpack_work(pack_work(work))
    started = time.perf_counter()
    policy, step = FastPolicy(), len(work) // 3
    for first in range(0, len(work), step):
        gradients(policy, work[first : first + step])
    return time.perf_counter() - started


# -- the driver's ceiling ------------------------------------------------------------------------


class SyntheticNodes:
    """Many node workers in one process, which sleep where others search; an async actor of Ray.

    Args:
        canned: harvests of real searches, by the fingerprint of the number in their seed.
        search_s: time of one search.
        trees: that a node searches at once.
    """

    def __init__(self, canned: list[dict[str, Any]], search_s: float, trees: int) -> None:
        self._canned, self._search_s, self._trees = canned, search_s, trees
        self._slots: dict[str, asyncio.Semaphore] = {}

    async def ready(self, node: str) -> NodeReport:
        return await self.ping(node)

    async def ping(self, node: str) -> NodeReport:
        return NodeReport(0, None)

    async def search(self, node: str, parcel: dict[str, Any], *_: object) -> dict[str, Any]:
        async with self._slots.setdefault(node, asyncio.Semaphore(self._trees)):
            await asyncio.sleep(self._search_s)
        number, _ = parcel["id_and_seed"].tolist()
        answer = dict(self._canned[number % len(self._canned)])
        report = {**json.loads(answer["report"].tobytes()), "job_id": number}
        answer["report"] = np.frombuffer(json.dumps(report).encode(), np.uint8)
        return answer


class SyntheticSite:
    """Implements ``Members``: so many of the synthetic nodes."""

    def __init__(self, host: Any, nodes: int) -> None:
        self._host, self._nodes = host, nodes

    def present(self) -> dict[str, int]:
        return {f"node-{number}": 1 for number in range(self._nodes)}

    def start(self, member: str) -> "SyntheticHandle":
        return SyntheticHandle(self._host, member)

    def is_loss(self, error: BaseException) -> bool:
        return False


class SyntheticHandle:
    def __init__(self, host: Any, node: str) -> None:
        self._host, self._node = host, node

    def call(self, method: str, *arguments: Any) -> "Future[Any]":
        answer: Future[Any] = getattr(self._host, method).remote(self._node, *arguments).future()
        return answer

    def kill(self) -> None:
        """It is not started either."""


class CannedCurriculum(Curriculum):
    """Draws a problem, as ever, and then takes the one whose harvest is there."""

    def __init__(self, config: Config, instances: list[Instance]) -> None:
        super().__init__(config.curriculum)
        self._instances = itertools.cycle(instances)

    def make_instance(self, rng: np.random.Generator, level: int | None = None) -> Instance:
        super().make_instance(rng, level)
        return next(self._instances)


def ceiling(seconds: float) -> None:
    """Rates, CPU time, queues and staleness of the driver, by the number of nodes."""
    config = configured(ray={"unlearned": 4096, "staleness": 100_000})
    jobs = drawn(CANNED)
    largest = max(job.instance.n_tasks for job in jobs)
    pool = ProcessPool(configured(run={"actors": ACTORS}), largest, backend="prior", explore=True)
    canned, search_s = [], []
    with contextlib.closing(LocalJobs(config, pool)) as local:
        for job in jobs:
            started = time.perf_counter()
            local.submit(job, 1.0)
            while (harvest := local.wait(1.0)) is None:
                pass
            search_s.append(time.perf_counter() - started)
            canned.append(pack_harvest(harvest))
    trees = config.run.trees_in_flight
    mean_s = trees * statistics.mean(search_s)
    sizes = [len(pickle.dumps(pack_job(job), protocol=5)) for job in jobs]
    answers = [len(pickle.dumps(answer, protocol=5)) for answer in canned]
    print(
        f"a node: {ACTORS} cores, {trees / mean_s:.1f} jobs/s; a task: {np.mean(sizes):.0f} bytes "
        f"there, {np.mean(answers):.0f} bytes back"
    )
    rows = []
    with connected("local:1"):
        ray = load_ray()
        host = (
            ray.remote(SyntheticNodes)
            .options(max_concurrency=10_000, num_cpus=0)
            .remote(canned, mean_s, trees)
        )
        print(
            "nodes  offered/s  done/s  driver CPU ms  cores busy  "
            "on their way  arrived  staleness  max"
        )
        for nodes in NODES:
            row = drive(config, [job.instance for job in jobs], host, nodes, seconds)
            row = {"nodes": nodes, "offered": nodes * trees / mean_s, **row}
            rows.append(row)
            print(
                f"{nodes:5d}  {row['offered']:9.0f}  {row['rate']:6.0f}  {row['cpu_ms']:13.2f}  "
                f"{row['busy']:10.2f}  {row['on_their_way']:12.0f}  {row['arrived']:7.0f}  "
                f"{row['staleness']:9.1f}  {row['largest']:3.0f}",
                flush=True,
            )
    draw_ceiling(rows)


def drive(
    config: Config, instances: list[Instance], host: Any, nodes: int, seconds: float
) -> dict[str, float]:
    """A run's driver: draws, submits, harvests, checks, learns."""
    room = {"search": rooms(config)["search"]}
    fleet = Fleet(SyntheticSite(host, nodes), room, stall_s=600.0)
    jobs = ClusterJobs(config, fleet, load_ray().put)
    curriculum = CannedCurriculum(config, instances)
    lifecycle = JobLifecycle(config, curriculum, None)
    lifecycle.search_with(jobs)
    rng = seeding.generator(0, "policy")
    gradient = PolicyLearner(curriculum.make_instance, rng, config.policy)
    thread = LifecycleThread(lifecycle, lambda report: None)
    thread.start()
    try:
        learn(lifecycle, gradient, config, 2.0)  # until all nodes are busy
        before, cpu, started = lifecycle.finished, time.process_time(), time.perf_counter()
        learn(lifecycle, gradient, config, seconds)
        done, elapsed = lifecycle.finished - before, time.perf_counter() - started
        cpu = time.process_time() - cpu
        stats = jobs.stats().cluster
        assert stats is not None
    finally:
        thread.stop()
        jobs.close()
    return {
        "rate": done / elapsed,
        "cpu_ms": 1000 * cpu / max(done, 1),
        "busy": cpu / elapsed,
        "on_their_way": stats.queued + stats.in_flight,
        "arrived": stats.arrived,
        "staleness": stats.staleness,
        "largest": stats.largest_staleness,
    }


def learn(lifecycle: JobLifecycle, gradient: PolicyLearner, config: Config, seconds: float) -> None:
    """Take steps for so long, and publish each."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        if lifecycle.waiting_groups < config.policy.instances:
            time.sleep(0.002)
            continue
        gradient.step(0.0, lifecycle.take_groups(config.policy.instances))
        lifecycle.guide(gradient.present, gradient.steps)


def draw_ceiling(rows: list[dict[str, float]]) -> None:
    """Jobs per second that the nodes could search, and those that the driver has taken."""
    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    nodes = [row["nodes"] for row in rows]
    axes.loglog(nodes, [row["offered"] for row in rows], "--", color="0.5", label="nodes could")
    axes.loglog(nodes, [row["rate"] for row in rows], "o-", label="driver takes")
    axes.set_xticks(nodes, [str(n) for n in nodes])
    axes.minorticks_off()
    axes.set_xlabel("synthetic nodes")
    axes.set_ylabel("search jobs per second")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(PLOT, dpi=120)
    print(f"wrote {PLOT}")


# -- learning ------------------------------------------------------------------------------------


def learning(seeds: int) -> None:
    """The final policy of one node and of three, after as many groups."""
    ratios: dict[int, list[float]] = {1: [], 3: []}
    for seed, nodes in itertools.product(range(seeds), ratios):
        found = final_ratio(seed, nodes)
        ratios[nodes].append(found["slr_vs_heft"])
        print(
            f"seed {seed}, nodes {nodes}: policy / HEFT {found['slr_vs_heft']:.4f} after "
            f"{found['step']} steps",
            flush=True,
        )
    for nodes, values in ratios.items():
        spread = statistics.stdev(values) if len(values) > 1 else float("nan")
        print(f"nodes {nodes}: mean {statistics.mean(values):.4f}, deviation {spread:.4f}")


def final_ratio(seed: int, nodes: int) -> dict[str, Any]:
    """The last validation of a run on a cluster of its own."""
    level = LevelConfig(threshold=0.01, tasks=(20, 30), processors=(4,), ccr=(1.0,))
    config = configured(
        search={"budget": 200},
        policy={"decay_steps": STEPS},
        run={"actors": 1, "max_steps": STEPS, "minutes": 10.0, "seed": seed},
        validator={"interval": 50, "instances": 200, "fresh_instances": 100},
        ray={"address": f"local:{nodes}", "actors": 1},
    )
    curriculum = dataclasses.replace(config.curriculum, levels=(level,))
    config = dataclasses.replace(config, curriculum=curriculum)
    with tempfile.TemporaryDirectory() as folder:
        train(config=config, run_dir=Path(folder) / "run")
        records = read_metrics(Path(folder) / "run" / "metrics.jsonl")
    return [record for record in records if record["kind"] == "validation"][-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("node", "ceiling", "learning"))
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=6.0)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    if arguments.what == "node":
        one_node(arguments.rounds)
    elif arguments.what == "ceiling":
        ceiling(arguments.seconds)
    else:
        learning(arguments.seeds)


if __name__ == "__main__":
    main()
