"""Random problems whose tasks share processors, by size and seed."""

import numpy as np
import numpy.typing as npt

from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms.altered import altered


def sharing_instance(n: int, seed: int, capacities: npt.ArrayLike) -> Instance:
    """A Topcuoglu graph of n tasks; cores in whole numbers, memory in tenths."""
    rng = np.random.default_rng(seed)
    instance = TopcuogluGenerator(n_tasks=n, n_processors=len(np.array(capacities)))(rng)
    demands = np.column_stack([rng.integers(0, 5, n), rng.choice([0.1, 0.5, 1.5], n)])
    names = ["cores", "memory"]
    return altered(instance, demands=demands, capacities=capacities, resource_names=names)
