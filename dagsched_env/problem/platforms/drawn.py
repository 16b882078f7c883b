"""The protocol of platforms; those that draw processors: unrelated, related, CPUs and GPUs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.parameters import (
    Choices,
    WholeChoices,
    as_choices,
    check_choices,
    check_fields,
    check_interval,
    check_number,
    checked,
    draw_choice,
)
from dagsched_env.problem.platforms.ccr import scale_to_ccr
from dagsched_env.problem.workflow import Workflow


class PlatformModel(Protocol):
    """Draws processors for a workflow."""

    @property
    def max_processors(self) -> int:
        """No platform that it draws has more processors."""

    def __call__(self, workflow: Workflow, rng: np.random.Generator, /) -> Instance:
        """The workflow on one such platform; all randomness comes from ``rng``."""


@dataclass(frozen=True)
class _Drawn:
    """What these platforms share."""

    n_processors: WholeChoices = checked(4, check_choices, at_least=1, whole=True)

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def max_processors(self) -> int:
        """Largest p."""
        return int(max(as_choices(self.n_processors)))


@dataclass(frozen=True)
class Unrelated(_Drawn):
    """Draws unrelated machines: Topcuoglu et al. 2002, section 5.1.

    A task of runtime w costs between w·(1 − β/2) and w·(1 + β/2) on each processor, drawn uniformly
    and independently. All bandwidths are equal: the bytes on the edges are turned into seconds with
    one factor, so that mean communication / mean computation is exactly CCR. (In a workflow without
    data, communication stays free.)

    Args:
        n_processors: p ≥ 1, or choices of it.
        beta: β in [0, 2], or choices of it; 0 makes all processors alike.
        ccr: CCR ≥ 0, or choices of it.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    beta: Choices = checked(0.5, check_choices, at_least=0, at_most=2)
    ccr: Choices = checked(1.0, check_choices, at_least=0)

    def __call__(self, workflow: Workflow, rng: np.random.Generator, /) -> Instance:
        """The workflow on one such platform."""
        p = int(draw_choice(self.n_processors, rng))
        beta = draw_choice(self.beta, rng)
        ratio = draw_choice(self.ccr, rng)
        factors = rng.random((workflow.runtimes.shape[0], p))
        comp = workflow.runtimes[:, None] * (1.0 - beta / 2.0 + beta * factors)
        return _at_ccr(workflow, comp, ratio)


@dataclass(frozen=True)
class Related(_Drawn):
    """Draws related machines: a task of runtime w costs w / s on a processor of speed s.

    The speeds are drawn uniformly. All bandwidths are equal, and CCR is exact as for ``Unrelated``.

    Args:
        n_processors: p ≥ 1, or choices of it.
        speeds: lowest and highest speed, 0 < low ≤ high.
        ccr: CCR ≥ 0, or choices of it.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    speeds: tuple[float, float] = checked((1.0, 4.0), check_interval, above=0)
    ccr: Choices = checked(1.0, check_choices, at_least=0)

    def __call__(self, workflow: Workflow, rng: np.random.Generator, /) -> Instance:
        """The workflow on one such platform."""
        p = int(draw_choice(self.n_processors, rng))
        ratio = draw_choice(self.ccr, rng)
        low, high = self.speeds
        comp = workflow.runtimes[:, None] / (low + (high - low) * rng.random(p))
        return _at_ccr(workflow, comp, ratio)


@dataclass(frozen=True)
class CpuGpu(_Drawn):
    """Draws two types of processor: identical CPUs, then identical GPUs.

    A task of runtime w costs w on every CPU and w / a on every GPU. Its acceleration a is that of
    its kind (``Workflow.kinds``): given, or drawn log-uniformly for each kind, or for each task of
    a workflow without kinds. All bandwidths are equal, and CCR is exact as for ``Unrelated``.

    Args:
        n_processors: p, CPUs and GPUs together, or choices of it; named ``CPU0`` … , ``GPU0`` … .
        n_gpus: number of GPUs among them, in 0..p.
        acceleration: lowest and highest a, 0 < low ≤ high; or the a of each kind by its name.
        ccr: CCR ≥ 0, or choices of it.

    Raises:
        DAGSchedError: an argument is out of its range, or a workflow has a kind that
            ``acceleration`` does not name; the message names it.
    """

    n_gpus: int = checked(1, check_number, at_least=0, whole=True)
    acceleration: tuple[float, float] | Mapping[str, float] = field(default=(0.5, 30.0), hash=False)
    ccr: Choices = checked(1.0, check_choices, at_least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        fewest = min(as_choices(self.n_processors))
        if self.n_gpus > fewest:
            raise DAGSchedError(f"n_gpus is {self.n_gpus}: n_processors allows only {fewest}")
        if isinstance(self.acceleration, Mapping):
            for kind, value in self.acceleration.items():
                check_number(f"acceleration[{kind!r}]", value, above=0)
        else:
            check_interval("acceleration", self.acceleration, above=0)

    def __call__(self, workflow: Workflow, rng: np.random.Generator, /) -> Instance:
        """The workflow on one such platform."""
        cpus = int(draw_choice(self.n_processors, rng)) - self.n_gpus
        ratio = draw_choice(self.ccr, rng)
        on_gpu = workflow.runtimes / self._accelerations(workflow, rng)
        comp = np.column_stack([workflow.runtimes] * cpus + [on_gpu] * self.n_gpus)
        names = [f"CPU{q}" for q in range(cpus)] + [f"GPU{q}" for q in range(self.n_gpus)]
        return _at_ccr(workflow, comp, ratio, names)

    def _accelerations(self, workflow: Workflow, rng: np.random.Generator) -> Floats:
        """``[n]`` acceleration of each task."""
        kinds = workflow.kinds or workflow.tasks
        distinct = list(dict.fromkeys(kinds))  # in order of appearance
        if isinstance(self.acceleration, Mapping):
            unknown = [kind for kind in distinct if kind not in self.acceleration]
            if unknown:
                raise DAGSchedError(f"acceleration names no task kind {unknown[0]!r}: add it")
            by_kind = dict(self.acceleration)
        else:
            low, high = (math.log(bound) for bound in self.acceleration)
            drawn = np.exp(low + (high - low) * rng.random(len(distinct)))
            by_kind = dict(zip(distinct, drawn.tolist(), strict=True))
        return np.array([by_kind[kind] for kind in kinds])


def _at_ccr(
    workflow: Workflow, comp: Floats, ratio: float, names: Sequence[str] | None = None
) -> Instance:
    """The workflow at the costs ``[n, p]``, all bandwidths equal, its data scaled to this CCR."""
    return Instance(
        comp,
        workflow.edges,
        scale_to_ccr(workflow.data, comp, ratio),
        task_names=workflow.tasks,
        processor_names=names,
        name=workflow.name,
        assumptions=workflow.assumptions,
    )
