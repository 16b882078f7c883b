"""The control: uniformly random legal placements."""

import numpy as np

from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.simulator import State


def random_order(
    instance: Instance, *, seed: int | np.random.Generator = 0, insertion: bool = True
) -> Schedule:
    """At each step a random ready task goes to a random eligible processor.

    Args:
        instance: the problem.
        seed: a seed or a generator to draw from.
        insertion: use idle gaps; False appends only.
    """
    rng = np.random.default_rng(seed)
    state = State(instance, insertion=insertion)
    while not state.terminal:
        task = int(rng.choice(state.ready()))
        eligible = np.flatnonzero(np.isfinite(instance.comp[task]))
        state.apply(task, int(rng.choice(eligible)))
    return state.schedule(algorithm="random_order")
