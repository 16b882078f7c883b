"""CPUs and GPUs: the acceleration of a task on a GPU depends on its kind."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.parameters import (
    Choices,
    WholeChoices,
    as_choices,
    check_choices,
    check_interval,
    check_number,
    draw_choice,
)
from dagsched_env.problem.platforms.ccr import scale_to_ccr
from dagsched_env.problem.workflow import Workflow


@dataclass(frozen=True)
class CpuGpu:
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

    n_processors: WholeChoices = 4
    n_gpus: int = 1
    acceleration: tuple[float, float] | Mapping[str, float] = field(default=(0.5, 30.0), hash=False)
    ccr: Choices = 1.0

    def __post_init__(self) -> None:
        check_choices("n_processors", self.n_processors, at_least=1, whole=True)
        check_number("n_gpus", self.n_gpus, at_least=0, whole=True)
        fewest = min(as_choices(self.n_processors))
        if self.n_gpus > fewest:
            raise DAGSchedError(f"n_gpus is {self.n_gpus}: n_processors allows only {fewest}")
        check_choices("ccr", self.ccr, at_least=0)
        if isinstance(self.acceleration, Mapping):
            for kind, value in self.acceleration.items():
                check_number(f"acceleration[{kind!r}]", value, above=0)
        else:
            check_interval("acceleration", self.acceleration, above=0)

    @property
    def max_processors(self) -> int:
        """Largest p."""
        return int(max(as_choices(self.n_processors)))

    def __call__(self, workflow: Workflow, rng: np.random.Generator, /) -> Instance:
        """The workflow on one such platform."""
        cpus = int(draw_choice(self.n_processors, rng)) - self.n_gpus
        ratio = draw_choice(self.ccr, rng)
        on_gpu = workflow.runtimes / self._accelerations(workflow, rng)
        comp = np.column_stack([workflow.runtimes] * cpus + [on_gpu] * self.n_gpus)
        return Instance(
            comp,
            workflow.edges,
            scale_to_ccr(workflow.data, comp, ratio),
            task_names=workflow.tasks,
            processor_names=[f"CPU{q}" for q in range(cpus)]
            + [f"GPU{q}" for q in range(self.n_gpus)],
            name=workflow.name,
            assumptions=workflow.assumptions,
        )

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
