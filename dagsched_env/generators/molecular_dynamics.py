"""An irregular graph of 41 tasks: one time step of a molecular dynamics code.

Topcuoglu et al. 2002 and many after them use the 41-task graph of such a code that
Kim and Browne 1988 ("A general approach to mapping of parallel computation upon multiprocessor
architectures", ICPP) print as a figure. **This is not that graph**: there is no source of its edges
that can be checked. This graph is a model of a time step with the same number of tasks. Figures for
it cannot be compared with published ones.
"""

from dataclasses import dataclass

import numpy as np

from dagsched_env.generators.family import GraphFamily, random_weights
from dagsched_env.problem.workflow import Workflow

CELLS = 8


def _edges() -> tuple[tuple[int, int], ...]:
    """A ring of cells: lists of neighbours, forces, motion; then the energies, summed in pairs."""
    lists, bonds, pairs, motion = (1 + k * CELLS for k in range(4))
    edges = [(0, first + cell) for first in (lists, bonds) for cell in range(CELLS)]
    for cell in range(CELLS):
        following = (cell + 1) % CELLS
        edges += [(lists + cell, pairs + cell), (lists + following, pairs + cell)]
        edges += [(source + cell, motion + cell) for source in (bonds, pairs)]
        edges += [(pairs + cell, motion + following)]
    above = list(range(motion, motion + CELLS))
    while len(above) > 1:
        first = above[-1] + 1
        edges += [(task, first + i // 2) for i, task in enumerate(above)]
        above = list(range(first, first + len(above) // 2))
    edges.append((above[0], above[0] + 1))  # the thermostat, which needs the total energy
    return tuple(sorted(edges))


EDGES = _edges()
"""Pairs of task indices."""

N_TASKS = 1 + 4 * CELLS + (CELLS - 1) + 1


@dataclass(frozen=True, kw_only=True)
class MolecularDynamicsGenerator(GraphFamily):
    """A time step of molecular dynamics on a ring of 8 cells: 41 tasks, 71 edges, random weights.

    It is not the graph of Kim and Browne; see the module.

    Args:
        platform: draws the processors.

    Raises:
        DAGSchedError: ``platform`` is not a platform.
    """

    @property
    def max_tasks(self) -> int:
        """41."""
        return N_TASKS

    @property
    def max_edges(self) -> int:
        """71."""
        return len(EDGES)

    def workflow(self, rng: np.random.Generator) -> Workflow:
        """Draw the weights."""
        return random_weights(N_TASKS, EDGES, rng, name="molecular-dynamics")
