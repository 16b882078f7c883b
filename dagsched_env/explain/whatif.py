"""The same tasks on other machines, or with one of them faster."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dagsched_env.kernels.arrays import Floats
from dagsched_env.kernels.schedules import decoding
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms.altered import altered
from dagsched_env.problem.run import BANDWIDTH
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.workflow import CORES
from dagsched_env.schedulers.anytime import execution_order


class Alternative(NamedTuple):
    """A problem that differs in one thing."""

    title: str
    instance: Instance


def alternatives(instance: Instance, halved: int) -> Iterator[Alternative]:
    """What may be asked of these machines.

    Args:
        instance: the problem; its first processors stay those of each alternative.
        halved: the task that takes half of its time in one of them.
    """
    link = ", 1 Gbit/s between them" if instance.n_processors == 1 and instance.data.any() else ""
    title = f"one more machine like {instance.processor_names[-1]}{link}"
    yield Alternative(title, with_another_processor(instance))
    if CORES in instance.resource_names:
        yield Alternative("twice the cores", with_twice_the_cores(instance))
    if instance.n_processors > 1 and instance.data.any():
        faster = altered(
            instance, latency=instance.latency / 2, inv_bandwidth=instance.inv_bandwidth / 2
        )
        yield Alternative("network twice as fast", faster)
    comp = instance.comp.copy()
    comp[halved] /= 2
    name = instance.task_names[halved]
    yield Alternative(f"{name} in half its time", altered(instance, comp=comp))


def with_another_processor(instance: Instance) -> Instance:
    """A copy of the last processor beside it, linked to it by the slowest link of all."""
    name = f"{instance.processor_names[-1]}'"
    changes = {
        "comp": np.hstack([instance.comp, instance.comp[:, -1:]]),
        "latency": _with_copy(instance.latency, 0.0),
        "inv_bandwidth": _with_copy(instance.inv_bandwidth, 1.0 / BANDWIDTH),
        "processor_names": (*instance.processor_names, name),
    }
    if instance.n_resources:
        changes["capacities"] = np.vstack([instance.capacities, instance.capacities[-1:]])
    if instance.has_release:
        changes["release"] = np.hstack([instance.earliest, instance.earliest[:, -1:]])
        changes["available_from"] = None
    return altered(instance, **changes)


def with_twice_the_cores(instance: Instance) -> Instance:
    """Twice the cores on each processor; tasks take as long as before."""
    capacities = instance.capacities.copy()
    capacities[:, instance.resource_names.index(CORES)] *= 2
    return altered(instance, capacities=capacities)


def replayed(schedule: Schedule, before: Instance, instance: Instance) -> Schedule:
    """The decisions of a schedule on an alternative, each task as early as possible."""
    order = execution_order(before, schedule)
    placed = decoding.decode(instance.arrays, order, schedule.processor, True)
    return Schedule(*placed, algorithm=schedule.algorithm)


def _with_copy(links: Floats, only: float) -> Floats:
    """Links of the last processor for a copy of it; ``only`` is the link of two processors."""
    p = len(links)
    wider = np.zeros((p + 1, p + 1))
    wider[:p, :p] = links
    wider[p, :p], wider[:p, p] = links[-1], links[:, -1]
    wider[p, p - 1] = wider[p - 1, p] = links.max() if p > 1 else only
    return wider
