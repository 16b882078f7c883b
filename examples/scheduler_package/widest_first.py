"""A scheduler that an installed package adds to the command ``dagsched``.

pip install examples/scheduler_package
dagsched compare montage --schedulers heft widest_first
"""

import numpy as np

from dagsched_env import Instance, Schedule, State


def widest_first(instance: Instance) -> Schedule:
    """The ready task with most successors, on the processor where it finishes first."""
    successors = np.bincount(instance.edges[:, 0], minlength=instance.n_tasks)
    state = State(instance)
    while not state.terminal:
        task = max(state.ready().tolist(), key=lambda t: (successors[t], instance.rank_u[t]))
        finish = np.full(instance.n_processors, np.inf)
        for q in np.flatnonzero(np.isfinite(instance.comp[task])).tolist():
            state.apply(task, q)
            finish[q] = state.arrays.finish[task]
            state.undo()
        state.apply(task, int(np.argmin(finish)))
    return state.schedule(algorithm="widest_first")
