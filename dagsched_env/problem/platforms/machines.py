"""Processors for a workflow trace: given by speeds and bandwidths, or drawn by a fixed seed."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.kinds import task_kinds
from dagsched_env.problem.platforms.drawn import PlatformModel, Unrelated
from dagsched_env.problem.platforms.nodes import on_nodes
from dagsched_env.problem.workflow import Workflow


class Platform:
    """Related machines: a task's runtime divided by the speed, its data by the bandwidth.

    Times of the resulting instance are seconds, its data is bytes.

    Args:
        speeds: ``[p]`` relative to the machine of the trace, > 0.
        bandwidths: bytes per second between different processors: one number > 0, or ``[p, p]``
            from row to column (the diagonal is ignored). ``inf`` = no transfer time.
        latency: seconds before a transfer starts, ≥ 0: one number or ``[p, p]``.
        processor_names: p distinct names; default ``"P0"`` … .
        eligible: the processors that may run a task, by the name of the task or else by its kind
            (``Workflow.kinds``, or the kind that a Gantt chart shows: ``problem.kinds``);
            tasks that are not named run on all.
        capacities: how much of each resource the processors have, by its name, such as ``cores``,
            ``memory`` (bytes) and ``gpus``: one number ≥ 0 or ``[p]``, ``inf`` = no limit. Tasks on
            a processor overlap within them. A task uses what the workflow records, else one core,
            and nothing of any other resource. None = a processor runs one task at a time, whatever
            the workflow records.

    Raises:
        DAGSchedError: a wrong shape or a number out of its range; the message names it.
    """

    def __init__(
        self,
        speeds: npt.ArrayLike,
        bandwidths: npt.ArrayLike,
        *,
        latency: npt.ArrayLike = 0.0,
        processor_names: Sequence[str] | None = None,
        eligible: Mapping[str, Collection[str]] | None = None,
        capacities: Mapping[str, npt.ArrayLike] | None = None,
    ) -> None:
        self.speeds = _floats("speeds", speeds)
        if self.speeds.ndim != 1 or self.speeds.size == 0:
            raise DAGSchedError(f"speeds needs shape [processors], got {list(self.speeds.shape)}")
        if not (np.isfinite(self.speeds) & (self.speeds > 0)).all():
            raise DAGSchedError(f"speeds is {self.speeds.tolist()}: speeds are finite and > 0")
        self.bandwidths = _matrix("bandwidths", bandwidths, self.n_processors, diagonal=np.inf)
        if not (self.bandwidths > 0).all():
            raise DAGSchedError("bandwidths has an entry that is not > 0 (bytes per second)")
        self.latency = _matrix("latency", latency, self.n_processors, diagonal=0.0)
        if not (np.isfinite(self.latency) & (self.latency >= 0)).all():
            raise DAGSchedError("latency has an entry that is not finite and >= 0 (seconds)")
        if processor_names is None:
            processor_names = [f"P{q}" for q in range(self.n_processors)]
        self.processor_names = processor_names
        self.eligible = {task: frozenset(names) for task, names in (eligible or {}).items()}
        for task, names in self.eligible.items():
            unknown = names.difference(processor_names)
            if unknown or not names:
                wrong = f"names no processor {min(unknown)!r}" if unknown else "is empty"
                raise DAGSchedError(
                    f"eligible[{task!r}] {wrong}: there are {', '.join(map(str, processor_names))}"
                )

        self.capacities = {
            resource: _capacity(resource, have, self.n_processors)
            for resource, have in (capacities or {}).items()
        }

    @property
    def n_processors(self) -> int:
        return int(self.speeds.shape[0])

    def __repr__(self) -> str:
        return f"Platform(speeds={self.speeds.tolist()})"

    @property
    def max_processors(self) -> int:
        """p; the platform is always the same."""
        return self.n_processors

    @property
    def max_resources(self) -> int:
        """Number of resources of each instance."""
        return len(self.capacities)

    def __call__(self, workflow: Workflow, rng: np.random.Generator, /) -> Instance:
        """The same as ``equip``; nothing is drawn from ``rng``."""
        return self.equip(workflow)

    def equip(self, workflow: Workflow) -> Instance:
        """The workflow on these processors.

        Raises:
            DAGSchedError: ``eligible`` names neither a task nor a kind of the workflow; or a task
                uses more of a resource than any processor has that could run it.
        """
        unary = Instance(
            np.where(self._allowed(workflow), workflow.runtimes[:, None] / self.speeds, np.inf),
            workflow.edges,
            workflow.data,
            inv_bandwidth=1.0 / self.bandwidths,
            latency=self.latency,
            task_names=workflow.tasks,
            processor_names=self.processor_names,
            name=workflow.name,
            assumptions=workflow.assumptions,
        )
        return on_nodes(unary, workflow, self.capacities)

    def _allowed(self, workflow: Workflow) -> npt.NDArray[np.bool_]:
        """``[n, p]`` whether a task may run on a processor."""
        allowed = np.ones((len(workflow.tasks), self.n_processors), dtype=bool)
        if not self.eligible:
            return allowed
        kinds = workflow.kinds or task_kinds(workflow.tasks) or workflow.tasks
        of_kind = {key: self.eligible[key] for key in self.eligible.keys() - {*workflow.tasks}}
        unknown = of_kind.keys() - {*kinds}
        if unknown:
            raise DAGSchedError(
                f"eligible names {min(unknown)!r}, which is neither a task nor a kind of task: "
                "rename it or remove it"
            )
        for i, (task, kind) in enumerate(zip(workflow.tasks, kinds, strict=True)):
            names = self.eligible.get(task, of_kind.get(kind))
            if names is not None:
                allowed[i] = [name in names for name in self.processor_names]
        return allowed


@dataclass(frozen=True)
class Seeded:
    """Adds to any platform the method ``equip``, which readers of workflow files call.

    Args:
        model: draws the processors.
        seed: of the draw, ≥ 0.
    """

    model: PlatformModel
    seed: int = 0

    def equip(self, workflow: Workflow) -> Instance:
        """The workflow on the processors of this seed."""
        return self.model(workflow, np.random.default_rng(self.seed))


@dataclass(frozen=True)
class RandomPlatform:
    """Unrelated machines, drawn as Topcuoglu et al. 2002 do.

    A task of runtime w costs between w·(1 − β/2) and w·(1 + β/2) seconds on each processor, drawn
    uniformly and independently. All bandwidths are equal: the bytes on the edges are turned into
    seconds with one factor, so that mean communication / mean computation is exactly CCR. (In a
    workflow without data, communication stays free.)

    Args:
        n_processors: p, ≥ 1.
        beta: β in [0, 2]; 0 makes all processors alike.
        ccr: CCR, ≥ 0.
        seed: of the costs; the same seed gives the same platform for the same workflow.

    Raises:
        DAGSchedError: a number is out of its range; the message names it.
    """

    n_processors: int = 4
    beta: float = 0.5
    ccr: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        _check_whole("n_processors", self.n_processors, least=1)
        _check_whole("seed", self.seed, least=0)
        _check_number("beta", self.beta, most=2.0)
        _check_number("ccr", self.ccr, most=math.inf)

    def equip(self, workflow: Workflow) -> Instance:
        """The workflow on the processors of this seed."""
        model = Unrelated(n_processors=self.n_processors, beta=self.beta, ccr=self.ccr)
        return Seeded(model, self.seed).equip(workflow)


def _check_whole(name: str, value: Any, *, least: int) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
        raise DAGSchedError(f"{name} is {value!r}: give a whole number >= {least}")


def _check_number(name: str, value: Any, *, most: float) -> None:
    number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not number or not (0 <= value <= most and math.isfinite(value)):
        limit = f" between 0 and {most:g}" if math.isfinite(most) else " >= 0, finite"
        raise DAGSchedError(f"{name} is {value!r}: give a number{limit}")


def _floats(name: str, values: npt.ArrayLike) -> Floats:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DAGSchedError(f"{name} is not a rectangular array of numbers") from None


def _capacity(resource: str, values: npt.ArrayLike, p: int) -> Floats:
    """``[p]`` of one resource."""
    name = f"capacities[{resource!r}]"
    found = _floats(name, values)
    if found.shape not in ((), (p,)):
        raise DAGSchedError(
            f"{name} needs to be one number or of shape [{p}], got {list(found.shape)}"
        )
    if not (found >= 0).all():
        raise DAGSchedError(f"{name} is {found.tolist()}: capacities are >= 0, inf for no limit")
    return np.broadcast_to(found, (p,)).copy()


def _matrix(name: str, values: npt.ArrayLike, p: int, diagonal: float) -> Floats:
    matrix = _floats(name, values)
    if matrix.shape not in ((), (p, p)):
        raise DAGSchedError(
            f"{name} needs to be one number or of shape [{p}, {p}], got {list(matrix.shape)}"
        )
    matrix = np.broadcast_to(matrix, (p, p)).copy()
    matrix[np.diag_indices(p)] = diagonal
    return matrix
