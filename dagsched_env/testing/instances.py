"""A check of an instance, and a collection of unusual ones."""

import numpy as np

from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.problem.instance import Instance
from dagsched_env.schedulers.heft import heft
from dagsched_env.testing.conformance import require, validate


def check_instance(instance: Instance) -> None:
    """Check that an instance, or one of a subclass, is consistent and usable.

    Sizes, costs and edges agree with the arrays of the kernels, which are read-only. ``to_json``
    and ``from_json`` restore it. HEFT makes a valid schedule of it, not below its lower bound.

    Raises:
        ConformanceError: names the first violation.
    """
    require(isinstance(instance, Instance), f"{type(instance).__name__} is not an Instance")
    arrays = instance.arrays
    for name, array in arrays._asdict().items():
        require(not array.flags.writeable, f"arrays.{name} can be written to: freeze it")
    require(np.array_equal(arrays.comp, instance.comp), "arrays.comp is not comp")
    require(
        not np.isnan(instance.comp).any() and bool((instance.comp >= 0).all()),
        "comp holds NaN or a negative cost",
    )
    require(bool(np.isfinite(instance.comp).any(axis=1).all()), "a task can run on no processor")
    _check_adjacency(instance)
    copy = Instance.from_json(instance.to_json())
    require(copy.fingerprint == instance.fingerprint, "to_json and from_json change the numbers")
    schedule = heft(instance)
    validate(schedule, instance, "heft")
    require(
        schedule.makespan >= instance.lower_bound * (1 - 1e-9),
        f"lower_bound={instance.lower_bound} is above HEFT's makespan {schedule.makespan}",
    )


def _check_adjacency(instance: Instance) -> None:
    """The rows by source and by target hold the edges, and the order respects them."""
    arrays, n = instance.arrays, instance.n_tasks
    edges = sorted(
        (u, v, amount)
        for (u, v), amount in zip(instance.edges.tolist(), instance.data.tolist(), strict=True)
    )
    rows = {
        "succ": (arrays.succ_ptr, arrays.succ_task, arrays.succ_data),
        "pred": (arrays.pred_ptr, arrays.pred_task, arrays.pred_data),
    }
    for name, (ptr, other, data) in rows.items():
        own = np.repeat(np.arange(n), np.diff(ptr)).tolist()
        sides = (own, other.tolist()) if name == "succ" else (other.tolist(), own)
        found = sorted(zip(*sides, data.tolist(), strict=True))
        require(found == edges, f"arrays.{name}_ptr, _task and _data are not the edges")
    require(
        np.array_equal(np.sort(arrays.topo), np.arange(n)), "topological_order is not a permutation"
    )
    position = arrays.topo_position
    require(
        np.array_equal(arrays.topo[position], np.arange(n)), "topo_position is not inverse to topo"
    )
    late = np.flatnonzero(position[instance.edges[:, 0]] >= position[instance.edges[:, 1]])
    require(not late.size, f"topological_order contradicts edge {late[0] if late.size else ''}")


def tricky_instances() -> list[Instance]:
    """Named instances with properties on which schedulers often fail; always the same ones."""
    inf = float("inf")
    rng = np.random.default_rng(0)
    diamond = [(0, 1), (0, 2), (1, 3), (2, 3)]
    links = rng.uniform(0, 3, (2, 3, 3))
    return [
        Instance([[3.0]], [], [], name="one task, one processor"),
        Instance([[3.0, 2.0, inf]], [], [], name="one task"),
        Instance(np.ones((4, 1)), diamond, [5, 5, 5, 5], name="one processor"),
        Instance(rng.uniform(1, 9, (7, 3)), [], [], name="no edges"),
        Instance(np.ones((6, 2)), [(0, 1), (2, 3)], [4, 4], name="disconnected"),
        Instance(np.zeros((4, 2)), diamond, [0, 0, 0, 0], name="zero costs, zero data"),
        Instance(np.zeros((4, 2)), diamond, [1, 2, 3, 4], name="zero costs"),
        Instance([[2, inf], [inf, 5], [inf, 3]], [(0, 1)], [10], name="a gap to fill"),
        Instance(
            [[1, inf, inf], [inf, 2, inf], [1, 2, inf], [inf, 1, inf]],
            diamond,
            [1, 9, 1, 9],
            name="a processor for nothing",
        ),
        Instance(np.full((8, 3), 2.0), [(i, i + 1) for i in range(7)], [3] * 7, name="chain"),
        Instance(
            np.full((8, 3), 2.0),
            [(0, i) for i in range(1, 7)] + [(i, 7) for i in range(1, 7)],
            [1] * 12,
            name="fork-join, all ties",
        ),
        Instance(
            rng.uniform(1, 9, (6, 2)),
            [(5, 3), (4, 3), (5, 2), (1, 0)],
            [9, 0, 2, 1],
            name="sources and sinks, labels against the order",
        ),
        Instance(
            rng.uniform(1, 9, (4, 3)),
            diamond,
            [1, 2, 3, 4],
            inv_bandwidth=links[0],
            latency=links[1],
            name="uneven links",
        ),
        Instance([[1e-9, 2e-9], [1e9, 3e9]], [(0, 1)], [1e12], name="extreme scales"),
        TopcuogluGenerator(n_tasks=40, n_processors=5, ccr=2.0)(rng),
    ]
