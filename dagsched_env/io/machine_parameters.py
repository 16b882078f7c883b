"""What may be said of the machines for a file that describes none, as text and as numbers."""

import dataclasses
import inspect
from collections.abc import Sequence
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from dagsched_env.io import machine_file, rate, size, task_times
from dagsched_env.io.numbers import LARGEST, number_text
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.platforms import PLATFORMS
from dagsched_env.problem.workflow import KNOWN_RESOURCES, MEMORY

PROCESSORS = 4
DEFAULT_KIND, DEFAULT_CCR, DEFAULT_SEED = "unrelated", 1.0, 0
OF_TASKS = ("times", "unit_times")
"""Parameters that say nothing of the machines."""
SEPARATORS = {"speeds": ",", "acceleration": "..", **dict.fromkeys(KNOWN_RESOURCES, ",")}
"""Parameter that is several numbers → what is between them in its text."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class MachineParameters:
    """The parameters of ``MachineOptions``, which says what each means."""

    platform: str | None = None
    processors: int | None = None
    nodes: int | None = None
    speeds: str | Sequence[float] | npt.NDArray[Any] | None = None
    cores: str | float | Sequence[float] | npt.NDArray[Any] | None = None
    memory: str | float | Sequence[float] | npt.NDArray[Any] | None = None
    beta: float | None = None
    gpus: str | int | Sequence[int] | npt.NDArray[Any] | None = None
    acceleration: str | float | Sequence[float] | npt.NDArray[Any] | None = None
    clusters: int | None = None
    slowdown: float | None = None
    share: float | None = None
    bandwidth: str | float | None = None
    latency: float | None = None
    ccr: float | None = None
    platform_seed: int | None = None
    machines: str | None = None
    times: str | None = None
    unit_times: bool = False

    def __post_init__(self) -> None:
        for name, separator in SEPARATORS.items():
            object.__setattr__(self, name, _text(getattr(self, name), separator))

    @staticmethod
    def label(name: str) -> str:
        """How a parameter is called in messages; on a command line it is an option."""
        return name

    @property
    def given(self) -> dict[str, Any]:
        """The parameters that are there, by name."""
        fields = dataclasses.fields(MachineParameters)
        values = {field.name: getattr(self, field.name) for field in fields}
        return {k: value for k, value in values.items() if not (value is None or value is False)}

    @property
    def says_machines(self) -> bool:
        """Whether a parameter is there that says something of the machines."""
        return not self.given.keys() <= {*OF_TASKS}

    @property
    def in_bytes(self) -> bool:
        """Whether data is taken as bytes and times as seconds, because a bandwidth has a unit."""
        if self.of_file is not None:
            return self.of_file.in_bytes
        return self._rate is not None and self._rate.in_bytes

    # -- as numbers; a text that cannot be read raises DAGSchedError ------------------------------

    @property
    def kind(self) -> str | None:
        """The kind of processors, a key of ``PLATFORMS``, where it is said."""
        if self.platform is None:
            return None if self.nodes is None or self.speeds else "identical"
        return plain(self.platform)

    @property
    def count(self) -> int | None:
        """Number of processors, where it is said; speeds say it, too."""
        return self.processors if self.nodes is None else self.nodes

    @property
    def own(self) -> dict[str, Any]:
        """Parameters of the kind of processors → default."""
        return parameters_of(self.kind or DEFAULT_KIND)

    @property
    def seed(self) -> int:
        """Of processors that are drawn."""
        return DEFAULT_SEED if self.platform_seed is None else self.platform_seed

    @property
    def ratio(self) -> float | None:
        """The ratio to rescale to; None: the costs of the file stay."""
        return self.ccr if self.says_machines else DEFAULT_CCR

    @cached_property
    def of_file(self) -> machine_file.Machines | None:
        """Those of the machine file, which is read once, so that it can be a pipe."""
        return None if self.machines is None else machine_file.load(self.machines)

    @cached_property
    def table(self) -> dict[str, float] | None:
        """Name or label → time, as in the table of times, which is read once."""
        return None if self.times is None else task_times.load(Path(self.times))

    @property
    def _rate(self) -> rate.Rate | None:
        if self.bandwidth is None or not isinstance(self.bandwidth, str):
            return None if self.bandwidth is None else rate.Rate(self.bandwidth, False)
        found = rate.parse(self.bandwidth)
        if found is None:
            raise DAGSchedError(
                f"{self.label('bandwidth')} is {self.bandwidth!r}: {rate.HOW_TO_WRITE}"
            )
        return found

    @property
    def link(self) -> float | None:
        """The bandwidth as a number."""
        return None if self._rate is None else self._rate.value

    @property
    def speed_of_each(self) -> list[float]:
        """The speeds as numbers; none where they are not given."""
        if self.speeds is None:
            return []
        numbers = self._numbers("speeds", "write numbers with commas, as in 1,2,4")
        for number in numbers:
            self.require("speeds", number, 1 / LARGEST, LARGEST)
        return numbers

    @property
    def resources(self) -> dict[str, list[float]]:
        """Resource → how much of it all processors have, or each of them."""
        names = [name for name in KNOWN_RESOURCES if name in self.given]
        return {name: self._capacities(name) for name in names} if self.cores is not None else {}

    def _capacities(self, name: str) -> list[float]:
        if name == MEMORY:
            words = str(self.memory).split(SEPARATORS[name])
            found = [size.parse(word) for word in words]
            numbers = [number for number in found if number is not None]
            if len(numbers) < len(found):
                raise DAGSchedError(f"{self.label(name)} is {self.memory!r}: {size.HOW_TO_WRITE}")
        else:
            numbers = self._numbers(name, "write a number, or several with commas, as in 16,32")
        for number in numbers:
            self.require(name, number, 0, LARGEST)
        return numbers

    @property
    def n_gpus(self) -> int:
        """How many of the processors are GPUs."""
        text, most = str(self.gpus), self.processors or PROCESSORS
        if not (text.isascii() and text.isdigit()):
            raise DAGSchedError(f"{self.label('gpus')} is {text}: write a whole number")
        self.require("gpus", float(text), 0, most)
        return int(text)

    @property
    def accelerations(self) -> tuple[float, float]:
        """Lowest and highest of a GPU over a CPU."""
        remedy = "write a number or a range, as in 10 or 2..30"
        numbers = self._numbers("acceleration", remedy)
        low, high = numbers[0], numbers[-1]
        if len(numbers) > 2 or not 1 / LARGEST <= low <= high <= LARGEST:
            raise DAGSchedError(f"{self.label('acceleration')} is {self.acceleration!r}: {remedy}")
        return low, high

    def require(self, name: str, value: float | None, least: float, most: float) -> None:
        """Refuse a number out of its range.

        Args:
            name: of the parameter.
            value: None where it is not given.
            least: the number may not be less.
            most: nor more.
        """
        if value is not None and not least <= value <= most:
            limits = f"between {least:g} and {most:g}"
            if most >= LARGEST and not value > most:
                limits = "> 0" if 0 < least < 1 else f">= {least:g}"
            raise DAGSchedError(f"{self.label(name)} is {value:g}: write a number {limits}")

    def _numbers(self, name: str, remedy: str) -> list[float]:
        text = getattr(self, name)
        try:
            return [float(word) for word in text.split(SEPARATORS[name])]
        except ValueError:
            raise DAGSchedError(f"{self.label(name)} is {text!r}: {remedy}") from None


def _text(value: Any, separator: str) -> Any:
    """One or several numbers as the text that says the same; anything else stays as it is."""
    plain = value.tolist() if isinstance(value, np.ndarray) else value
    numbers = [plain] if isinstance(plain, Real) else plain
    if not isinstance(numbers, Sequence) or not numbers:
        return value
    if any(isinstance(number, bool) or not isinstance(number, Real) for number in numbers):
        return value
    return separator.join(map(number_text, numbers))


def plain(kind: str) -> str:
    """The name in ``PLATFORMS``."""
    return kind.replace("-", "_")


def parameters_of(kind: str) -> dict[str, Any]:
    """Parameters that a kind of processors has of its own → their defaults.

    Those that no option changes are left out.
    """
    found = inspect.signature(PLATFORMS[kind]).parameters
    return {
        name.removeprefix("n_"): parameter.default
        for name, parameter in found.items()
        if name not in ("n_processors", "n_cpus", "ccr", "latency_share")
    }
