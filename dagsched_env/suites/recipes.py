"""Recipes of a suite: names, and functions that make the instances."""

from collections.abc import Callable

from dagsched_env.instance import Instance

__all__ = ["Recipes", "renamed"]

Recipes = dict[str, Callable[[], Instance]]
"""Name of an instance → a function that makes it; in the order of the suite."""


def renamed(instance: Instance, name: str) -> Instance:
    """The same problem under another name."""
    return Instance(
        instance.comp,
        instance.edges,
        instance.data,
        inv_bandwidth=instance.inv_bandwidth,
        latency=instance.latency,
        task_names=instance.task_names,
        processor_names=instance.processor_names,
        name=name,
    )
