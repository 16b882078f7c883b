"""A family of graphs that an installed package adds as ``family:map_reduce``.

pip install examples/family_package
dagsched generate map_reduce mappers=4..8 --processors 4 --out instance.json
aerl train --instances 'family:map_reduce?mappers=4..8&platform=cpu_gpu'
"""

from dataclasses import dataclass

import numpy as np

from dagsched_env.generators.family import GraphFamily, workflow
from dagsched_env.problem.parameters import Range, as_range, check_range, draw_range
from dagsched_env.problem.workflow import Workflow


@dataclass(frozen=True, kw_only=True)
class MapReduceGenerator(GraphFamily):
    """Mappers whose results all go to all reducers.

    Args:
        platform: draws the processors.
        mappers: their number, or an inclusive range (low, high) of it.
        reducers: their number, or an inclusive range of it.
    """

    mappers: Range = (4, 16)
    reducers: Range = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("mappers", self.mappers)
        check_range("reducers", self.reducers)

    @property
    def max_tasks(self) -> int:
        """mappers + reducers."""
        return as_range(self.mappers)[1] + as_range(self.reducers)[1]

    @property
    def max_edges(self) -> int:
        """mappers · reducers."""
        return as_range(self.mappers)[1] * as_range(self.reducers)[1]

    def workflow(self, rng: np.random.Generator) -> Workflow:
        """Draw the task graph alone: sizes and work."""
        mappers, reducers = draw_range(self.mappers, rng), draw_range(self.reducers, rng)
        edges = [(m, mappers + r) for m in range(mappers) for r in range(reducers)]
        work = rng.uniform(1.0, 10.0, mappers + reducers)
        kinds = ["map"] * mappers + ["reduce"] * reducers
        return workflow(work, edges, name=f"map-reduce-{mappers}x{reducers}", kinds=kinds)
