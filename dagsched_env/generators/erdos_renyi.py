"""Random DAGs of Erdős and Rényi: Cordeiro et al. 2010, "Random graph generation for scheduling
simulations", SIMUTools."""

from dataclasses import dataclass

import numpy as np

from dagsched_env.generators.family import GraphFamilyOfSize, random_weights
from dagsched_env.problem.parameters import Choices, check_choices, checked, draw_choice, draw_range
from dagsched_env.problem.workflow import Workflow


@dataclass(frozen=True, kw_only=True)
class ErdosRenyiGenerator(GraphFamilyOfSize):
    """Draws G(n, probability): each edge from a task to a later one exists independently.

    Args:
        platform: draws the processors.
        n_tasks: n, or an inclusive range (low, high) of it.
        probability: of each edge, in [0, 1], or choices of it.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    probability: Choices = checked(0.1, check_choices, at_least=0, at_most=1)

    def workflow(self, rng: np.random.Generator) -> Workflow:
        """Draw the task graph alone."""
        n = draw_range(self.n_tasks, rng)
        probability = draw_choice(self.probability, rng)
        sources, targets = np.triu_indices(n, 1)
        drawn = rng.random(sources.size) < probability
        edges = list(zip(sources[drawn].tolist(), targets[drawn].tolist(), strict=True))
        return random_weights(n, edges, rng, name=f"erdos-renyi-n{n}-q{probability:g}")
