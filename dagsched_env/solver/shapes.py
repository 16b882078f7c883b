"""What is left to decide in a problem: where tasks run, or little more than in which order."""

import numpy as np

from dagsched_env.problem.instance import Instance


def orders_only(instance: Instance) -> bool:
    """Whether each task can run on one processor only, as in a job shop."""
    return bool(np.isfinite(instance.comp).sum() == instance.n_tasks)


def is_shop(instance: Instance) -> bool:
    """Whether critical blocks matter most: only orders are left to find, or jobs are chains of
    tasks whose data takes no time, as in a flexible job shop. Processors are not shared."""
    if instance.n_resources or 2 * instance.n_edges < instance.n_tasks:
        return False
    return orders_only(instance) or (_are_chains(instance) and _communication_is_free(instance))


def _are_chains(instance: Instance) -> bool:
    g = instance.arrays
    most = max(np.diff(g.pred_ptr).max(), np.diff(g.succ_ptr).max())
    return bool(most <= 1)


def _communication_is_free(instance: Instance) -> bool:
    return not instance.latency.any() and not instance.data.any()
