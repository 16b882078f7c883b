"""Chooses the backend of inference by a measurement at the start of a run.

What an actor does for a mini-batch, and what the network does for it alone and together with those
of other actors, is timed in this process on a problem of the run's size; the throughput of both
backends follows. That takes about a second. Starting the processes of both would take ten.
"""

import os
import time
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
import torch

from aerl_trainer.config import Config
from aerl_trainer.inference.devices import resolve_devices
from aerl_trainer.nn.evaluator import Request, TorchEvaluator
from aerl_trainer.nn.network import Network
from aerl_trainer.records import Task
from aerl_trainer.search.alone import search_alone
from aerl_trainer.search.leaves import LeafArrays, allocate_leaves
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.instance import Instance

__all__ = ["Choice", "Timings", "choose_backend", "predicted_rates", "take_timings"]

PROCESSORS = 4
SECONDS = 0.2
"""Time given to each of the measurements."""
HAND_OVER_S = 2e-4
"""From an actor to the worker and back, beside the pass: two processes must be woken."""


class Choice(NamedTuple):
    """The faster backend, and the figures that say so."""

    backend: Literal["server", "inline"]
    reason: str


class Timings(NamedTuple):
    """Seconds a mini-batch."""

    search: float
    """Everything that an actor does, but for the network."""
    inline: float
    """The network on the CPU, for one mini-batch."""
    server: float
    """The network on the workers' device, for one mini-batch of each of a worker's actors."""


def choose_backend(config: Config, max_tasks: int) -> Choice:
    """The backend that promises more leaves a second on this machine.

    Args:
        config: sizes of the network and of mini-batches, number of actors, devices.
        max_tasks: size of the problem to measure on.
    """
    actors = config.run.actors
    devices = resolve_devices(config.inference.devices)[:actors]
    timings, leaves = take_timings(config, max_tasks, devices)
    server, inline = predicted_rates(
        timings,
        actors=actors,
        workers=len(devices),
        cores=len(os.sched_getaffinity(0)),
    )
    measured = (
        f"expects {leaves * server:.0f} leaves/s of server on {'+'.join(devices)}, "
        f"{leaves * inline:.0f} of inline (a mini-batch: search {1000 * timings.search:.2f} ms, "
        f"network {1000 * timings.inline:.2f} ms alone, {1000 * timings.server:.2f} ms together)"
    )
    faster: Literal["server", "inline"] = "server" if server > inline else "inline"
    return Choice(faster, f"{faster}, by measurement: {measured}")


def predicted_rates(
    timings: Timings, *, actors: int, workers: int, cores: int
) -> tuple[float, float]:
    """Mini-batches a second of (server, inline).

    An actor with the network inline is limited by its core. With the server, a round of an actor
    takes its search, the way to the worker and back and a pass over all of its actors; and all
    cores together do not more than their number of seconds of work in a second.

    Args:
        timings: of one mini-batch.
        actors: that search.
        workers: of inference, which take a core as well.
        cores: there are.
    """
    inline = min(actors, cores) / (timings.search + timings.inline)
    together = -(-actors // workers)
    rounds = actors / (timings.search + HAND_OVER_S + timings.server)
    work = cores / (timings.search + timings.server / together)
    return min(rounds, work), inline


def take_timings(config: Config, max_tasks: int, devices: list[str]) -> tuple[Timings, float]:
    """Measure on one thread; returns also the mean number of leaves in a mini-batch."""
    generator = TopcuogluGenerator(n_tasks=max_tasks, n_processors=PROCESSORS)
    instance = generator(np.random.default_rng(0))
    together = -(-config.run.actors // len(devices))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        _time_search(config, instance, seconds=1e-9)  # kernels are loaded or compiled
        search, batch, leaves = _time_search(config, instance, seconds=SECONDS)
        inline = _time_network(config, batch, "cpu", 1)
        server = _time_network(config, batch, devices[0], together)
    finally:
        torch.set_num_threads(threads)
    return Timings(search, inline, server), leaves


class _Recorder:
    """An evaluator that costs nothing and keeps the largest batch."""

    def __init__(self, config: Config) -> None:
        self.widest = allocate_leaves(config.search.batch_size, config.search.max_children)
        self.rows = self.batches = self.leaves = 0

    def evaluate(self, instance: Instance, leaves: LeafArrays, count: int) -> int:
        self.batches += 1
        self.leaves += count
        if count > self.rows:
            self.rows = count
            for name in LeafArrays._fields:
                getattr(self.widest, name)[:] = getattr(leaves, name)
        return 0


def _time_search(
    config: Config, instance: Instance, seconds: float
) -> tuple[float, Request, float]:
    """Seconds a mini-batch without the network, one of mean size, and that size.

    Trees of the run's budget one after the other, and at least one mini-batch.
    """
    recorder = _Recorder(config)
    started = time.perf_counter()

    def spent() -> float:
        return (time.perf_counter() - started) / seconds if recorder.batches else 0.0

    while spent() < 1.0:
        task = Task(0, 0, instance, 0)
        search_alone(task, recorder, config.search, tail_weight=1.0, explore=False, spent=spent)
    elapsed = time.perf_counter() - started
    mean = recorder.leaves / recorder.batches
    return elapsed / recorder.batches, Request(instance, recorder.widest, round(mean)), mean


def _time_network(config: Config, batch: Request, device: str, together: int) -> float:
    """Median seconds of one pass over so many equal mini-batches."""
    evaluator = TorchEvaluator(Network(config.network), device)
    return _median_seconds(lambda: evaluator.evaluate_requests([batch] * together))


def _median_seconds(run: Callable[[], object]) -> float:
    run()  # what is only paid once: embeddings, buffers, the device's start
    end = time.perf_counter() + SECONDS
    times: list[float] = []
    while not times or time.perf_counter() < end:
        started = time.perf_counter()
        run()
        times.append(time.perf_counter() - started)
    return float(np.median(times))
