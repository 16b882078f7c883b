"""Scaling of the inference server by simulation: 2 to 64 actors behind one synthetic network.

    python benchmarks/inference.py [--seconds 3] [--fixed-ms 2] [--leaf-ms 0.01]
        [--picture docs/inference_scaling.png]

Request slots, clients and server are the real ones, in separate processes; only the two ends sleep
instead of computing: the evaluator for ``fixed + leaf x leaves`` as a GPU call does, an actor for
as long as the real search takes on this machine to gather its leaves. So a machine of two cores
shows what the transport and the batching give to many actors.
"""

import argparse
import multiprocessing
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from aerl_trainer.config import Config, InferenceConfig
from aerl_trainer.network.evaluator import Request
from aerl_trainer.network.inference.client import InferenceClient
from aerl_trainer.network.inference.metrics import InferenceRates, rates_between
from aerl_trainer.network.inference.request_slots import RequestSlots
from aerl_trainer.network.inference.weights import WeightBuffer
from aerl_trainer.network.inference.worker import InferenceWorker
from aerl_trainer.runtime.backend_choice import take_timings
from dagsched_env import Instance
from dagsched_env.generators import TopcuogluGenerator

ACTORS = (2, 4, 8, 16, 32, 64)
BATCH, WIDTH = 16, 32
N_TASKS = 30
SECONDS = 3.0
FIXED_MS, LEAF_MS = 2.0, 0.01
WARM_UP_S = 0.5
FORK = multiprocessing.get_context("fork")  # 64 processes at once, and nothing to import in them


@dataclass(frozen=True)
class Scene:
    """Times in seconds."""

    fixed: float
    """A pass of the network over anything."""
    leaf: float
    """What each leaf adds to it."""
    think: float
    """An actor's search for ``BATCH`` leaves."""

    def latency(self, leaves: float) -> float:
        return self.fixed + self.leaf * leaves

    def ideal(self, actors: int) -> float:
        """Most leaves a second that any batching can reach, at the best constant batch size.

        A pass over b requests yields no more than b mini-batches, and a round of an actor is its
        search and one pass.
        """
        sizes = BATCH * np.arange(1, actors + 1)
        passes = self.latency(sizes)
        return float(np.max(np.minimum(sizes / passes, BATCH * actors / (self.think + passes))))


class SleepingEvaluator:
    """Takes as long as a network would, and answers each leaf with its own ``value``."""

    version = 0

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def load(self, weights: np.ndarray, version: int) -> None:
        self.version = version

    def evaluate_requests(self, requests: Sequence[Request]) -> int:
        time.sleep(self._scene.latency(sum(request.count for request in requests)))
        for request in requests:
            leaves, count = request.states, request.count
            leaves.logits[:count] = 0.0
            leaves.prediction[:count] = leaves.value[:count]
        return self.version


class Row(NamedTuple):
    """One line of the table."""

    actors: int
    rates: InferenceRates
    ideal: float


def act(slots: RequestSlots, actor: int, instance: Instance, think: float) -> None:
    """Body of an actor: search, ask, check that the answer is to this question."""
    parent = os.getppid()
    client = InferenceClient(slots, actor, 0, lambda: os.getppid() == parent)
    leaves, question = slots.states[actor], actor
    while True:
        time.sleep(think)
        leaves.value[:] = question
        client.evaluate(instance, leaves, BATCH)
        if (leaves.prediction != question).any():
            raise RuntimeError(f"actor {actor} got the answer to another request")
        question = (question + slots.actors) % 2**20


def run(scene: Scene, actors: int, seconds: float, config: InferenceConfig) -> Row:
    """Let so many actors work for a while; what the server counts after a warm-up."""
    instance = TopcuogluGenerator(n_tasks=N_TASKS, n_processors=4)(np.random.default_rng(0))
    slots = RequestSlots.create(actors, BATCH, WIDTH)
    weights = WeightBuffer.create(1)
    here, there = FORK.Pipe()
    here.send((0, instance))
    server = InferenceWorker(
        slots, 0, weights, SleepingEvaluator(scene), there, config, lambda: True
    )
    children = [FORK.Process(target=server.serve, daemon=True)]
    for actor in range(actors):
        arguments = (slots, actor, instance, scene.think)
        children.append(FORK.Process(target=act, args=arguments, daemon=True))
    try:
        for child in children:
            child.start()
        time.sleep(WARM_UP_S)
        before, started = slots.totals(), time.monotonic()
        time.sleep(seconds)
        rates = rates_between(before, slots.totals(), time.monotonic() - started)
        if rates is None or not all(child.is_alive() for child in children):
            raise SystemExit(f"{actors} actors: nothing was answered, or a process has died")
        return Row(actors, rates, scene.ideal(actors))
    finally:
        for child in children:
            child.kill()
            child.join()
        slots.close()
        weights.close()


def print_table(rows: Sequence[Row], scene: Scene) -> None:
    base = rows[0].rates.leaves_per_s
    unit = 1000.0 * scene.latency(BATCH)
    print("actors  leaves/s  x first  mean batch  queue depth  latency  p95  of ideal  busy")
    for actors, rates, ideal in rows:
        print(
            f"{actors:6d}  {rates.leaves_per_s:8.0f}  {rates.leaves_per_s / base:7.2f}  "
            f"{rates.mean_batch:10.1f}  {rates.queue_depth:11.1f}  {rates.latency_ms / unit:7.2f}  "
            f"{rates.latency_p95_ms / unit:3.1f}  {rates.leaves_per_s / ideal:8.2f}  "
            f"{rates.busy:4.2f}"
        )
    print(f"latency: from post to answer, in passes over one mini-batch ({unit:.2f} ms)")


def draw(rows: Sequence[Row], scene: Scene, path: Path) -> None:
    """Throughput beside the ideal, and the mean batch, over the number of actors."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    actors = [row.actors for row in rows]
    left.plot(actors, [row.ideal for row in rows], "--", color="0.5", label="ideal")
    left.plot(actors, [row.rates.leaves_per_s for row in rows], "o-", label="measured")
    left.set_title("leaves evaluated a second", loc="left", fontsize=10)
    right.plot(actors, [BATCH * n for n in actors], "--", color="0.5", label="all actors at once")
    right.plot(actors, [row.rates.mean_batch for row in rows], "o-", label="measured")
    right.set_title("mean batch (leaves)", loc="left", fontsize=10)
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        axes.set_xticks(actors, [str(n) for n in actors])
        axes.set_xlabel("actors")
        axes.grid(alpha=0.25)
        axes.legend(fontsize=8)
    left.set_ylim(bottom=0)
    right.set_yscale("log", base=2)
    right.yaxis.set_major_formatter("{x:,.0f}")
    figure.suptitle(
        f"one inference worker, a pass takes {1000 * scene.fixed:g} ms + "
        f"{1000 * scene.leaf:g} ms a leaf",
        fontsize=10,
    )
    figure.savefig(path, format="png", dpi=120)


def measure(
    *,
    actors: Sequence[int] = ACTORS,
    seconds: float = SECONDS,
    fixed_ms: float = FIXED_MS,
    leaf_ms: float = LEAF_MS,
    deadline_ms: float = InferenceConfig().deadline_ms,
    picture: Path | None = None,
) -> None:
    """Print the table, and draw it."""
    timings, leaves = take_timings(Config(), N_TASKS, ["cpu"])
    scene = Scene(fixed_ms / 1000, leaf_ms / 1000, timings.search * BATCH / leaves)
    config = InferenceConfig(deadline_ms=deadline_ms)
    print(
        f"a pass takes {fixed_ms:g} ms + {leaf_ms:g} ms a leaf; "
        f"a search for {BATCH} leaves {1000 * scene.think:.2f} ms"
    )
    rows = [run(scene, number, seconds, config) for number in actors]
    print_table(rows, scene)
    if picture is not None:
        draw(rows, scene, picture)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--actors", type=int, nargs="+", default=ACTORS)
    parser.add_argument("--seconds", type=float, default=SECONDS, help="for each number of actors")
    parser.add_argument("--fixed-ms", type=float, default=FIXED_MS)
    parser.add_argument("--leaf-ms", type=float, default=LEAF_MS)
    parser.add_argument("--deadline-ms", type=float, default=InferenceConfig().deadline_ms)
    parser.add_argument("--picture", type=Path, help="PNG to write")
    measure(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
