"""An instance with some of its numbers changed."""

from typing import Any

from dagsched_env.problem.instance import Instance


def altered(instance: Instance, **changes: Any) -> Instance:
    """A new instance with the arguments of ``Instance`` in ``changes``, the others unchanged.

    Raises:
        InvalidInstanceError: the changed numbers are not a valid problem.
    """
    return Instance(**instance.arguments() | changes)


def rescaled(instance: Instance, factor: float) -> Instance:
    """The instance with all communication times multiplied by a factor ≥ 0."""
    return altered(instance, data=instance.data * factor, latency=instance.latency * factor)
