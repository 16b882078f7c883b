"""A task graph without processors: made by traces and graph families, completed by platforms."""

from dataclasses import dataclass

import numpy as np

from dagsched_env.kernels.arrays import Floats

__all__ = ["Workflow"]

CORES, MEMORY, GPUS = "cores", "memory", "gpus"
"""Resources with a meaning: processor cores, bytes of memory, graphics cards."""
KNOWN_RESOURCES = (CORES, MEMORY, GPUS)


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
        demands: ``[n, k]`` what a task uses of each resource while it runs, ≥ 0, as its file
            records it; NaN where it records nothing. None = nothing at all.
        resource_names: k distinct names; ``cores``, ``memory`` (bytes) and ``gpus`` are those that
            machines have by these names.
        resource_notes: k texts on what the recorder of the file means by them, and on what speaks
            against it; empty where there is nothing to say; None = nowhere.
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
    demands: Floats | None = None
    resource_names: tuple[str, ...] = ()
    resource_notes: tuple[str, ...] | None = None

    def recorded(self, resource: str) -> Floats:
        """``[n]`` what each task uses of a resource; NaN where the file records nothing."""
        if self.demands is None or resource not in self.resource_names:
            return np.full(len(self.tasks), np.nan)
        column: Floats = self.demands[:, self.resource_names.index(resource)]
        return column

    def note(self, resource: str) -> str:
        """What is to be said of the records of a resource; empty where that is nothing."""
        if self.resource_notes is None or resource not in self.resource_names:
            return ""
        return self.resource_notes[self.resource_names.index(resource)]
