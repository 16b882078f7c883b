"""How real durations differ from expected ones: factors for each task and machine of a run."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem import durations as distributions
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.kinds import task_kinds
from dagsched_env.problem.run import Run

__all__ = [
    "NOISES",
    "Gamma",
    "Lognormal",
    "Machines",
    "Measured",
    "Noise",
    "Stragglers",
    "Uniform",
    "drawn",
]


class Noise(Protocol):
    """Draws factors real / expected duration; one call for each run."""

    def draw(self, instance: Instance, rng: np.random.Generator) -> Floats:
        """``[n, p]`` factors ≥ 0, finite, or ``[n, 1]`` or ``[1, p]``."""
        ...


Noises: TypeAlias = Noise | Sequence[Noise] | None
"""One kind of noise; several, whose factors are multiplied; or none."""


@dataclass(frozen=True)
class Lognormal:
    """A lognormal factor of mean 1 for each task, the same on every machine.

    Args:
        cv: coefficient of variation (standard deviation / mean), ≥ 0.
    """

    cv: float = 0.3

    def __post_init__(self) -> None:
        distributions.Lognormal(self.cv)  # checks it

    def draw(self, instance: Instance, rng: np.random.Generator) -> Floats:
        """``[n, 1]``."""
        return distributions.Lognormal(self.cv).drawn(rng, (instance.n_tasks, 1))


@dataclass(frozen=True)
class Gamma:
    """A gamma-distributed factor of mean 1 for each task, the same on every machine.

    Args:
        cv: coefficient of variation, ≥ 0; 1 is the exponential distribution.
    """

    cv: float = 0.3

    def __post_init__(self) -> None:
        distributions.Gamma(self.cv)  # checks it

    def draw(self, instance: Instance, rng: np.random.Generator) -> Floats:
        """``[n, 1]``."""
        return distributions.Gamma(self.cv).drawn(rng, (instance.n_tasks, 1))


@dataclass(frozen=True)
class Uniform:
    """A factor from [1 − width, 1 + width] for each task, the same on every machine.

    Args:
        width: in [0, 1].
    """

    width: float = 0.3

    def __post_init__(self) -> None:
        distributions.Uniform(self.width)  # checks it

    def draw(self, instance: Instance, rng: np.random.Generator) -> Floats:
        """``[n, 1]``."""
        return distributions.Uniform(self.width).drawn(rng, (instance.n_tasks, 1))


@dataclass(frozen=True)
class Machines:
    """A lognormal factor of mean 1 for each machine: all that runs there is slow or fast.

    Args:
        cv: coefficient of variation, ≥ 0.
    """

    cv: float = 0.2

    def __post_init__(self) -> None:
        distributions.Lognormal(self.cv)  # checks it

    def draw(self, instance: Instance, rng: np.random.Generator) -> Floats:
        """``[1, p]``."""
        return distributions.Lognormal(self.cv).drawn(rng, (1, instance.n_processors))


@dataclass(frozen=True)
class Stragglers:
    """A few tasks take several times as long (Dean, Barroso 2013, "The tail at scale").

    Args:
        share: probability of a task on a machine to be one, in [0, 1].
        times: what it takes then / what is expected, ≥ 0.
    """

    share: float = 0.05
    times: float = 5.0

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise DAGSchedError(f"share={self.share} is not in 0..1")
        if not 0 <= self.times < np.inf:
            raise DAGSchedError(f"times={self.times} is not a number >= 0")

    def draw(self, instance: Instance, rng: np.random.Generator) -> Floats:
        """``[n, p]``."""
        slow = rng.random((instance.n_tasks, instance.n_processors)) < self.share
        return np.where(slow, self.times, 1.0)


class Measured:
    """Factors that were measured: of each kind of tasks, and of each machine in each run.

    A measured task took its kind's median times a factor of its run and machine (their median)
    times a rest. A run that is drawn gives each machine the factor of one run and machine, for all
    tasks, and each task a rest of its kind; a kind that was not measured draws from all rests.

    Args:
        runs: at least one task that ran.
    """

    def __init__(self, runs: Sequence[Run]) -> None:
        kinds: dict[str, list[float]] = defaultdict(list)
        seen: list[tuple[str, float, tuple[int, int]]] = []
        for r, run in enumerate(runs):
            durations = (run.finish - run.start).tolist()
            for t in np.flatnonzero(run.ran).tolist():
                if durations[t] > 0:
                    kinds[run.kinds[t]].append(durations[t])
                    seen.append((run.kinds[t], durations[t], (r, int(run.machine[t]))))
        if not seen:
            raise DAGSchedError("no task of these runs has a duration: give a run that was done")
        usual = {kind: float(np.median(found)) for kind, found in kinds.items()}
        by_machine: dict[tuple[int, int], list[float]] = defaultdict(list)
        for kind, took, place in seen:
            by_machine[place].append(took / usual[kind])
        factors = {place: float(np.median(found)) for place, found in by_machine.items()}
        self._machines = np.array(list(factors.values()))
        rests: dict[str, list[float]] = defaultdict(list)
        for kind, took, place in seen:
            rests[kind].append(took / usual[kind] / factors[place])
        self._rests = {kind: np.array(found) for kind, found in rests.items()}
        self._all = np.concatenate(list(self._rests.values()))

    def draw(self, instance: Instance, rng: np.random.Generator) -> Floats:
        """``[n, p]``."""
        names = instance.task_names
        kinds = task_kinds(names) or names
        rests = [rng.choice(self._rests.get(kind, self._all)) for kind in kinds]
        machines = rng.choice(self._machines, instance.n_processors)
        factors: Floats = np.array(rests)[:, None] * machines[None, :]
        return factors


def _measured(file: str = "") -> Measured:
    from dagsched_env.io import read_run

    if not file:
        raise DAGSchedError("runs needs the file of a run: runs?file=PATH")
    return Measured([read_run(file)])


NOISES: Mapping[str, Callable[..., Noise]] = {
    "gamma": Gamma,
    "lognormal": Lognormal,
    "machines": Machines,
    "runs": _measured,
    "stragglers": Stragglers,
    "uniform": Uniform,
}
"""Name in a SPEC → what makes the noise."""


def drawn(noise: Noises, instance: Instance, rng: np.random.Generator) -> Floats:
    """``[n, p]`` the product of all factors.

    Args:
        noise: one kind or several; None = all are 1.
        instance: the problem.
        rng: draws them.

    Raises:
        DAGSchedError: factors of another shape, negative or not finite.
    """
    shape = instance.comp.shape
    product: Floats | None = None
    kinds = [] if noise is None else noise if isinstance(noise, Sequence) else [noise]
    for kind in kinds:
        factors = np.asarray(kind.draw(instance, rng), dtype=np.float64)
        if factors.shape not in (shape, (shape[0], 1), (1, shape[1])):
            raise DAGSchedError(
                f"{type(kind).__name__} drew factors of shape {list(factors.shape)}: give "
                f"{list(shape)}, one per task [{shape[0]}, 1] or one per machine [1, {shape[1]}]"
            )
        if not ((factors >= 0) & (factors < np.inf)).all():
            raise DAGSchedError(f"{type(kind).__name__} drew a factor that is not finite and >= 0")
        product = factors if product is None else product * factors
    return np.broadcast_to(1.0 if product is None else product, shape)
