"""A check of a scheduler."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import Scheduler
from dagsched_env.testing.conformance import ConformanceError, require, validate
from dagsched_env.testing.instances import tricky_instances


def check_scheduler(
    scheduler: Scheduler, instances: Iterable[Instance] | None = None, **options: Any
) -> None:
    """Check that a scheduler makes valid schedules, the same ones each time, and changes nothing.

    Args:
        scheduler: a function ``(instance, **options) -> Schedule``.
        instances: the problems; default: ``tricky_instances()``.
        options: options of the scheduler, such as its ``seed``.

    Raises:
        ConformanceError: names the instance and what is wrong with its schedule.
    """
    for instance in tricky_instances() if instances is None else instances:
        place = f"on {instance.name or instance!r}"
        before, draws = instance.fingerprint, _global_generator()
        schedule = _run(scheduler, instance, options, place)
        copy = Instance.from_json(instance.to_json())
        require(copy.fingerprint == before, f"{place}: the scheduler changes the instance")
        require(
            _global_generator() == draws,
            f"{place}: it draws from numpy's global generator: take a seed",
        )
        validate(schedule, instance, place)
        require(
            schedule == _run(scheduler, copy, options, place),
            f"{place}: two calls give different schedules: pass its seed as an option",
        )


def _global_generator() -> tuple[Any, ...]:
    """The state of the generator behind ``np.random.random`` and the like."""
    _, key, *rest = np.random.get_state()  # noqa: NPY002 - only looked at
    return bytes(np.asarray(key)), *rest


def _run(scheduler: Scheduler, instance: Instance, options: dict[str, Any], place: str) -> Schedule:
    try:
        schedule = scheduler(instance, **options)
    except Exception as error:
        raise ConformanceError(f"{place}: raises {type(error).__name__}: {error}") from error
    require(
        isinstance(schedule, Schedule), f"{place}: returns {type(schedule).__name__}, no Schedule"
    )
    return schedule
