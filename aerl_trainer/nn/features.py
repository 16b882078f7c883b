"""Static inputs of the network: what it sees of an instance before any task is placed.

Times are divided by the largest rank_u, so that a network sees all instances on one scale.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dagsched_env.instance import Instance

__all__ = [
    "N_EDGE_FEATURES",
    "N_PROCESSOR_FEATURES",
    "N_STATIC_PAIR_FEATURES",
    "N_TASK_FEATURES",
    "StaticFeatures",
    "static_features",
]

N_TASK_FEATURES = 11
N_PROCESSOR_FEATURES = 3
N_STATIC_PAIR_FEATURES = 4
N_EDGE_FEATURES = 2

Floats32 = npt.NDArray[np.float32]


class StaticFeatures(NamedTuple):
    """Shapes for n tasks, p processors, m edges."""

    task: Floats32  # [n, N_TASK_FEATURES]
    processor: Floats32  # [p, N_PROCESSOR_FEATURES]
    pair: Floats32  # [n, p, N_STATIC_PAIR_FEATURES]
    edge: Floats32  # [m, N_EDGE_FEATURES]
    edge_index: npt.NDArray[np.int64]  # [m, 2] source, target


def static_features(instance: Instance) -> StaticFeatures:
    """Compute the static inputs of one instance; an ineligible pair has the flag 0 and no costs."""
    g = instance.arrays
    n, p = instance.comp.shape
    scale = float(np.max(instance.rank_u)) or 1.0
    eligible = np.isfinite(instance.comp)
    comp = np.where(eligible, instance.comp, 0.0) / scale
    mean, least = g.mean_comp / scale, g.min_comp / scale
    rank_u, rank_d = instance.rank_u / scale, instance.rank_d / scale
    in_degree, out_degree = np.diff(g.pred_ptr), np.diff(g.succ_ptr)
    source, target = instance.edges[:, 0], instance.edges[:, 1]
    comm = (g.mean_link[0] + instance.data * g.mean_link[1]) / scale
    comm_in = np.bincount(target, weights=comm, minlength=n)
    comm_out = np.bincount(source, weights=comm, minlength=n)
    spread = np.where(eligible, (comp - mean[:, None]) ** 2, 0.0).sum(axis=1)
    task = np.stack(
        [
            mean,
            least,
            np.sqrt(spread / eligible.sum(axis=1)),
            rank_u,
            rank_d,
            rank_u + rank_d,
            comm_in / np.maximum(in_degree, 1),
            comm_out / np.maximum(out_degree, 1),
            np.log1p(in_degree),
            np.log1p(out_degree),
            np.full(n, np.log(n)),
        ],
        axis=1,
    )
    relative = np.where(eligible, comp / np.maximum(mean, 1e-12)[:, None], 0.0)
    runs = np.maximum(eligible.sum(axis=0), 1)
    processor = np.stack(
        [relative.sum(axis=0) / runs, eligible.mean(axis=0), np.full(p, np.log(p))], axis=1
    )
    pair = np.stack([comp, relative, instance.oct / scale, eligible], axis=2)
    edge = np.stack([comm, comm / np.maximum(mean[source], 1e-3)], axis=1)
    edge[:, 1] = np.log1p(edge[:, 1])
    return StaticFeatures(
        task=task.astype(np.float32),
        processor=processor.astype(np.float32),
        pair=pair.astype(np.float32),
        edge=edge.astype(np.float32),
        edge_index=instance.edges,
    )
