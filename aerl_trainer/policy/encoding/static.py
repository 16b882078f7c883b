"""Features of an instance before any task is placed."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aerl_trainer.policy.encoding.context import encoding_context
from aerl_trainer.policy.encoding.features import Group, names_of
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.instance import Instance

Floats32 = npt.NDArray[np.float32]


class StaticFeatures(NamedTuple):
    """Shapes for n tasks, p processors, m edges; the last axis follows the table of features."""

    task: Floats32  # [n, task features]
    processor: Floats32  # [p, processor features]
    pair: Floats32  # [n, p, static pair features]
    edge: Floats32  # [m, edge features]
    edge_index: npt.NDArray[np.int64]  # [m, 2] source, target


def static_features(instance: Instance) -> StaticFeatures:
    """Compute the static features of an instance; an ineligible pair has no costs."""
    g = instance.arrays
    n, p = instance.comp.shape
    scale = encoding_context(instance).rank_scale
    eligible = np.isfinite(instance.comp)
    comp = np.where(eligible, instance.comp, 0.0) / scale
    mean = g.mean_comp / scale
    rank_u, rank_d = instance.rank_u / scale, instance.rank_d / scale
    in_degree, out_degree = np.diff(g.pred_ptr), np.diff(g.succ_ptr)
    source, target = instance.edges[:, 0], instance.edges[:, 1]
    comm = (g.mean_link[0] + instance.data * g.mean_link[1]) / scale
    comm_in = np.bincount(target, weights=comm, minlength=n)
    comm_out = np.bincount(source, weights=comm, minlength=n)
    spread = np.where(eligible, (comp - mean[:, None]) ** 2, 0.0).sum(axis=1)
    relative = np.where(eligible, comp / np.maximum(mean, 1e-12)[:, None], 0.0)
    task = {
        "mean_comp": mean,
        "min_comp": g.min_comp / scale,
        "comp_spread": np.sqrt(spread / eligible.sum(axis=1)),
        "rank_u": rank_u,
        "rank_d": rank_d,
        "path": rank_u + rank_d,
        "comm_in": comm_in / np.maximum(in_degree, 1),
        "comm_out": comm_out / np.maximum(out_degree, 1),
        "log_in": np.log1p(in_degree),
        "log_out": np.log1p(out_degree),
        "log_n": np.full(n, np.log(n)),
    }
    processor = {
        "slowness": relative.sum(axis=0) / np.maximum(eligible.sum(axis=0), 1),
        "eligible_share": eligible.mean(axis=0),
        "log_p": np.full(p, np.log(p)),
    }
    pair = {
        "comp": comp,
        "relative_comp": relative,
        "oct": instance.oct / scale,
        "eligible": eligible.astype(np.float64),
    }
    edge = {
        "communication": comm,
        "log_relative": np.log1p(comm / np.maximum(mean[source], 1e-3)),
    }
    return StaticFeatures(
        task=_stack("task", task),
        processor=_stack("processor", processor),
        pair=_stack("static_pair", pair),
        edge=_stack("edge", edge),
        edge_index=instance.edges,
    )


def _stack(group: Group, columns: Mapping[str, Floats]) -> Floats32:
    """The columns of a group in the order of the table; KeyError where one has no values."""
    return np.stack([columns[name] for name in names_of(group)], axis=-1).astype(np.float32)
