"""Chooses the backend of inference by a measurement at the start of a run.

What an actor does for a mini-batch, and what the network does for it, alone and together with those
of other actors, is timed in this process on a problem of the run's size; the throughput of both
backends follows. That takes less than a second. Starting the processes of both would take ten.
"""

import os
import time
from typing import Literal, NamedTuple

import numpy as np
import torch

from aerl_trainer.config import Config
from aerl_trainer.network.evaluator import Request, TorchEvaluator
from aerl_trainer.network.network import Network
from aerl_trainer.policy.encoding.states import EncodedStates
from aerl_trainer.runtime.devices import resolve_devices
from aerl_trainer.tree.alone import search_alone
from aerl_trainer.tree.records import SearchJob
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.problem.instance import Instance

PROCESSORS = 4
SECONDS = 0.2
"""Time given to each of the measurements."""
HAND_OVER_S = 2e-4
"""From an actor to the worker and back, beside the pass: two processes must be woken."""


class BackendChoice(NamedTuple):
    """The faster backend, and the figures that say so."""

    backend: Literal["server", "inline"]
    reason: str


class Timings(NamedTuple):
    """Seconds a mini-batch."""

    search: float
    """Everything that an actor does, but for the network."""
    inline: float
    """The network on the CPU."""
    server: float
    """The network on the workers' device."""
    together: float
    """The same in one pass for a mini-batch of each of a worker's actors; of the whole pass."""


def choose_backend(config: Config, max_tasks: int) -> BackendChoice:
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
        f"network {1000 * timings.inline:.2f} ms alone, {1000 * timings.together:.2f} ms together)"
    )
    faster: Literal["server", "inline"] = "server" if server > inline else "inline"
    return BackendChoice(faster, f"{faster}, by measurement: {measured}")


def predicted_rates(
    timings: Timings, *, actors: int, workers: int, cores: int
) -> tuple[float, float]:
    """Mini-batches a second of (server, inline).

    With the network inline, as many actors work at a time as there are cores. With the server, a
    round of an actor takes its search, the way to the worker and back, and a pass; and all cores
    together do not more than their number of seconds of work in a second, the worker's included. It
    counts as work on a GPU too: CUDA waits for the device without giving the core away.

    Args:
        timings: of one mini-batch.
        actors: that search.
        workers: of inference.
        cores: there are.
    """
    inline = min(actors, cores) / (timings.search + timings.inline)
    batch, seconds = _pass(timings, actors, workers, cores)
    rounds = actors / (timings.search + HAND_OVER_S + seconds)
    work = cores / (timings.search + HAND_OVER_S + seconds / batch)
    return min(rounds, work), inline


def _pass(timings: Timings, actors: int, workers: int, cores: int) -> tuple[float, float]:
    """Mini-batches in a pass of the network, and its seconds.

    A pass holds what is posted during the one before, by actors on the cores that the workers leave
    to them: where those are few, not all actors come in time. With b mini-batches it takes
    fixed + each · b seconds, and so b = posted · (fixed + each · b).
    """
    most = -(-actors // workers)
    each = max(0.0, timings.together - timings.server) / max(1, most - 1)
    fixed = timings.server - each
    posted = min(actors, max(1, cores - workers)) / (workers * timings.search)
    batch = posted * fixed / (1.0 - posted * each) if posted * each < 1.0 else most
    batch = min(max(batch, 1.0), float(most))
    return batch, fixed + each * batch


def take_timings(config: Config, max_tasks: int, devices: list[str]) -> tuple[Timings, float]:
    """Measure on one thread.

    Args:
        config: as of ``choose_backend``.
        max_tasks: size of the problem to measure on.
        devices: of the inference workers; the first is measured.

    Returns:
        The timings, and the mean number of leaves in a mini-batch.
    """
    generator = TopcuogluGenerator(n_tasks=max_tasks, n_processors=PROCESSORS)
    instance = generator(np.random.default_rng(0))
    device, most = devices[0], -(-config.run.actors // len(devices))
    cases = dict.fromkeys([("cpu", 1), (device, 1), (device, most)])  # some may be the same
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        means = {case: _mean_times(config, instance, *case) for case in cases}
    finally:
        torch.set_num_threads(threads)
    search, inline, leaves = means["cpu", 1]
    return Timings(search, inline, means[device, 1][1], means[device, most][1]), leaves


class _Stopwatch:
    """An evaluator that evaluates every mini-batch several times over, and counts the time."""

    def __init__(self, evaluator: TorchEvaluator, copies: int) -> None:
        self._evaluator, self._copies = evaluator, copies
        self.seconds = 0.0
        self.batches = self.leaves = 0

    def evaluate(self, instance: Instance, states: EncodedStates, count: int) -> int:
        started = time.perf_counter()
        requests = [Request(instance, states, count)] * self._copies
        version = self._evaluator.evaluate_requests(requests)
        self.seconds += time.perf_counter() - started
        self.batches += 1
        self.leaves += count
        return version


def _mean_times(
    config: Config, instance: Instance, device: str, copies: int
) -> tuple[float, float, float]:
    """Means over mini-batches: seconds of the search, seconds of the network, and leaves.

    The two take turns, as in a real search: alone, with all of the processor's caches, either would
    be up to twice as fast.
    """
    evaluator = TorchEvaluator(Network(config.network), device)
    _search_for(0.0, config, instance, _Stopwatch(evaluator, copies))  # what is only paid once
    stopwatch = _Stopwatch(evaluator, copies)
    elapsed = _search_for(SECONDS, config, instance, stopwatch)
    batches = stopwatch.batches
    return (
        (elapsed - stopwatch.seconds) / batches,
        stopwatch.seconds / batches,
        stopwatch.leaves / batches,
    )


def _search_for(seconds: float, config: Config, instance: Instance, stopwatch: _Stopwatch) -> float:
    """Search the same tree again and again, for one mini-batch at least; returns the seconds."""
    started = time.perf_counter()

    def spent() -> float:
        return float(stopwatch.batches > 0 and time.perf_counter() - started >= seconds)

    while spent() < 1.0:
        job = SearchJob(0, instance, seed=0)
        search_alone(job, stopwatch, config.search, rollout_weight=1.0, explore=False, spent=spent)
    return time.perf_counter() - started
