"""Classic schedulers: each is a function ``(instance, **options) -> Schedule``."""

from collections.abc import Callable

from dagsched_env.schedule import Schedule
from dagsched_env.schedulers.eft_greedy import eft_greedy
from dagsched_env.schedulers.heft import heft
from dagsched_env.schedulers.random_order import random_order

__all__ = ["SCHEDULERS", "Scheduler", "eft_greedy", "heft", "random_order"]

Scheduler = Callable[..., Schedule]

SCHEDULERS: dict[str, Scheduler] = {
    "eft_greedy": eft_greedy,
    "heft": heft,
    "random_order": random_order,
}
