"""A task graph without processors: made by traces and graph families, completed by platforms."""

from dataclasses import dataclass

from dagsched_env.kernels.arrays import Floats

__all__ = ["Workflow"]


@dataclass(frozen=True, eq=False)
class Workflow:
    """Tasks, their runtimes and the data between them.

    Args:
        tasks: n distinct names.
        runtimes: ``[n]`` seconds on a machine of speed 1, ≥ 0; NaN where its file has none, which
            ``MachineOptions`` then supply.
        edges: m pairs (predecessor, successor) of task indices.
        data: ``[m]`` bytes on each edge, ≥ 0.
        name: a label.
        kinds: n labels, equal for tasks that run the same code; None = no two do.
        says_data: False where nothing is known of the data: then each edge has one unit, and only a
            wanted CCR gives it a meaning.
        says_units: whether times are in seconds and data in bytes for certain, because the format
            of its file says so; in other files they may be in any unit.
        labels: n texts that a drawing of the graph shows, empty for nodes that are no work (data,
            channels); None = the names.
        assumptions: sentences on what the reader of its file took for granted.
    """

    tasks: tuple[str, ...]
    runtimes: Floats
    edges: tuple[tuple[int, int], ...]
    data: Floats
    name: str | None = None
    kinds: tuple[str, ...] | None = None
    says_data: bool = True
    says_units: bool = False
    labels: tuple[str, ...] | None = None
    assumptions: tuple[str, ...] = ()
