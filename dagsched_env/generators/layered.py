"""Layer-by-layer graphs: Tobita, Kasahara 2002, "A standard task graph set for fair evaluation of
multiprocessor scheduling algorithms", Journal of Scheduling 5(5)."""

from dataclasses import dataclass

import numpy as np

from dagsched_env.generators.family import GraphFamily, random_weights
from dagsched_env.problem.parameters import (
    Choices,
    Range,
    as_range,
    check_choices,
    check_range,
    checked,
    draw_choice,
    draw_range,
)
from dagsched_env.problem.workflow import Workflow


@dataclass(frozen=True, kw_only=True)
class LayeredGenerator(GraphFamily):
    """Draws layers of independent tasks, with edges from each layer to the next one.

    Each edge between neighbouring layers exists independently with the given probability. A task
    below the first layer without a parent gets one, drawn uniformly from the layer above.

    Args:
        platform: draws the processors.
        layers: number of layers, or an inclusive range (low, high) of it.
        width: tasks of a layer, or an inclusive range of it, drawn for each layer.
        probability: of each edge between neighbouring layers, in [0, 1], or choices of it.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    layers: Range = checked((4, 8), check_range)
    width: Range = checked((2, 8), check_range)
    probability: Choices = checked(0.3, check_choices, at_least=0, at_most=1)

    @property
    def max_tasks(self) -> int:
        """Largest number of layers times the largest width."""
        return as_range(self.layers)[1] * as_range(self.width)[1]

    @property
    def max_edges(self) -> int:
        """Those of complete layers of the largest width."""
        return (as_range(self.layers)[1] - 1) * as_range(self.width)[1] ** 2

    def workflow(self, rng: np.random.Generator) -> Workflow:
        """Draw the task graph alone."""
        probability = draw_choice(self.probability, rng)
        edges: list[tuple[int, int]] = []
        layer: range = range(0)
        for _ in range(draw_range(self.layers, rng)):
            above = layer
            layer = range(above.stop, above.stop + draw_range(self.width, rng))
            for task in layer if above else ():
                parents = np.flatnonzero(rng.random(len(above)) < probability).tolist()
                parents = parents or [int(rng.integers(len(above)))]
                edges += [(above[i], task) for i in parents]
        return random_weights(layer.stop, edges, rng, name=f"layered-n{layer.stop}")
