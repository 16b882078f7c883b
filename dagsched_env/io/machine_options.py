"""What is said of the machines for a file that describes none, and one line that says it back.

The same parameters stand on a command line (``--platform identical --processors 4``), behind a file
in a SPEC (``graph.dot?platform=identical&processors=4&bandwidth=1``), and in Python
(``MachineOptions(platform="identical", processors=4, bandwidth=1)``, a platform for ``load``).
"""

import dataclasses
import inspect
import math
from collections.abc import Sequence
from functools import cached_property
from numbers import Integral, Real
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
import numpy.typing as npt

from dagsched_env.io import machine_file, rate, size, task_times
from dagsched_env.io.assumptions import OF_MACHINES
from dagsched_env.io.numbers import LARGEST, MOST_MACHINES, number_text
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms import PLATFORMS, Platform, ccr
from dagsched_env.problem.platforms.altered import altered, rescaled
from dagsched_env.problem.platforms.nodes import on_nodes
from dagsched_env.problem.workflow import KNOWN_RESOURCES, MEMORY, Workflow

KINDS = tuple(name.replace("_", "-") for name in PLATFORMS)
PROCESSORS = 4
TO_GIVE_TIMES = "{} names a table of name or label and seconds, {} gives each task 1"
NOTHING = "there is no {} to rescale: leave {} out"
DEFAULT_KIND, DEFAULT_CCR, DEFAULT_SEED = "unrelated", 1.0, 0
COUNTS = {"gpus": "n_gpus", "clusters": "n_clusters"}
OF_KIND = ("beta", "gpus", "acceleration", "clusters", "slowdown", "share")
"""Parameters that only some kinds of processors have."""
OF_TASKS = ("times", "unit_times")
"""Parameters that say nothing of the machines."""
IN_MACHINE_FILE = '"bandwidth" in the machine file'
"""What changes the bandwidth that was assumed for a machine file without this key."""
SEPARATORS = {"speeds": ",", "acceleration": "..", **dict.fromkeys(KNOWN_RESOURCES, ",")}
"""Parameter that is several numbers → what is between them in its text."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class MachineOptions:
    """The processors for a problem whose file describes none; with ``equip`` a platform.

    Its costs stay as they are, unless ``ccr`` asks for another ratio. Where nothing is said, four
    unrelated processors are drawn, and the communication is rescaled to CCR 1.

    Args:
        platform: the kind of processors for a file that describes none: unrelated, related,
            identical (costs of the file are times), cpu-gpu, clustered or restricted; default:
            unrelated.
        processors: their number; default: 4.
        nodes: number of identical processors, in place of platform and processors.
        speeds: of related processors, one for each, as in 1,2,4 or in Python [1, 2, 4]; instead of
            a platform.
        cores: of each processor, one number or one for each of them, as in 32 or 16,32: it runs
            tasks at the same time as long as it has the cores that they use together; default: one
            task at a time, whatever the file records.
        memory: of each processor, with cores: bytes, or with a unit, as in 64GB or 128GiB, one or
            one for each of them; default: no limit.
        beta: how much costs differ between processors, 0 to 2, of unrelated, clustered and
            restricted ones; default: 0.5.
        gpus: how many of the processors are GPUs, of cpu-gpu; default: 1. Of others, with cores:
            the GPUs of each processor, one number or one for each of them; default: no limit.
        acceleration: of a GPU over a CPU, as in 10 or 2..30 (one drawn for each kind of task), in
            Python also (2, 30), of cpu-gpu; default: 0.5..30.
        clusters: number of clusters, of clustered processors; default: 2.
        slowdown: of transfers between clusters over those within one, of clustered; default: 10.
        share: of the processors, which can run a task, of restricted; default: 0.5.
        bandwidth: units of data per unit of time between processors, or with a unit of its own
            for data in bytes and times in seconds, as in 1Gbit/s or 125MB/s; default: 1.
        latency: time before a transfer starts; default: 0.
        ccr: rescale the communication to this ratio to computation; default: the costs of the
            file, or 1 where no option says anything of the machines.
        platform_seed: of processors that are drawn; default: 0.
        machines: a machine file in JSON: names, speeds, links, who may run what; see
            python -m pydoc dagsched_env.io.machine_file.
        times: a table in CSV, name or label of a task and seconds, for a graph without times or in
            place of its own; see python -m pydoc dagsched_env.io.task_times.
        unit_times: each task takes 1, but for those that are no work.
    """

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
        fields = dataclasses.fields(MachineOptions)
        values = {field.name: getattr(self, field.name) for field in fields}
        return {k: value for k, value in values.items() if not (value is None or value is False)}

    @property
    def says_machines(self) -> bool:
        """Whether a parameter is there that says something of the machines."""
        return not self.given.keys() <= {*OF_TASKS}

    def check(self) -> None:
        """Refuse a value out of its range, and parameters that do not go together.

        Raises:
            DAGSchedError: the message names the parameters and what to write.
        """
        self._check_types()
        if self.platform is not None and self._kind not in PLATFORMS:
            raise DAGSchedError(
                f"{self.label('platform')} is {self.platform!r}: write one of {', '.join(KINDS)}"
            )
        self._check("processors", self.processors, 1, MOST_MACHINES)
        self._check("nodes", self.nodes, 1, MOST_MACHINES)
        self._check("beta", self.beta, 0, 2)
        p = self.processors or PROCESSORS
        if self.clusters is not None and not 1 <= self.clusters <= p:
            raise DAGSchedError(
                f"{self.label('clusters')} is {self.clusters}: write a number between 1 and {p}, "
                f"that of {self.label('processors')}"
            )
        self._check("slowdown", self.slowdown, 1, LARGEST)
        self._check("share", self.share, 0, 1)
        self._check("bandwidth", self._bandwidth, 1 / LARGEST, LARGEST)
        self._check("latency", self.latency, 0, LARGEST)
        self._check("ccr", self.ccr, 0, LARGEST)
        self._check("platform_seed", self.platform_seed, 0, math.inf)
        others = [name for name in self.given if name not in ("machines", "ccr", *OF_TASKS)]
        if self.times is not None and self.unit_times:
            raise DAGSchedError(
                f"{self.label('times')} and {self.label('unit_times')}: leave one of them out"
            )
        if self.machines is not None and others:
            raise DAGSchedError(
                f"{self.label('machines')} describes the processors: "
                f"leave {self.label(others[0])} out"
            )
        self._check_nodes()
        self._check_speeds()
        self._check_resources()
        self._check_kind()
        if self.platform_seed is not None and (self.speeds or self._kind == "identical"):
            raise DAGSchedError(f"nothing is drawn: leave {self.label('platform_seed')} out")
        if self.ccr is not None and (self.bandwidth, self.latency) != (None, None):
            raise DAGSchedError(
                f"{self.label('ccr')} rescales all communication: "
                f"leave {self.label('bandwidth')} and {self.label('latency')} out"
            )

    def read_files(self) -> None:
        """Read the machine file and the table of times, if there are any, ahead of ``equip``.

        Raises:
            DAGSchedError: as ``check``, or one cannot be used; the message names the file and the
                place in it.
            OSError: one cannot be read.
        """
        self.check()
        self._of_file  # noqa: B018 - kept when it has been read
        self._table  # noqa: B018

    def equip(self, workflow: Workflow) -> Instance:
        """The workflow on these machines; its ``assumptions`` say what was left open.

        Raises:
            DAGSchedError: as ``check`` and ``read_files``, there is nothing to rescale, or a task
                has no time.
        """
        self.check()
        instance = self._equipped(
            task_times.timed(
                workflow,
                self._table,
                unit=self.unit_times,
                source=str(self.times),
                remedy=TO_GIVE_TIMES.format(self.label("times"), self.label("unit_times")),
            )
        )
        names = self.assumed(instance)
        if not names:
            return instance
        wanted = self._ratio
        links = f"bandwidth {self._bandwidth or 1.0:g}" if wanted is None else f"CCR {wanted:g}"
        links = f", {links}" if instance.data.any() else ""
        said = f"{OF_MACHINES}{self._made(instance)}{links}; not given: {', '.join(names)}"
        return altered(instance, assumptions=(*instance.assumptions, said))

    def _equipped(self, workflow: Workflow) -> Instance:
        if not workflow.says_data and self._ratio is None:
            workflow = dataclasses.replace(workflow, data=np.zeros_like(workflow.data))
        if self._of_file is not None:
            return self.at_ccr(self._of_file.equip(workflow))
        if self._speeds:
            instance = self.at_ccr(Platform(self._speeds, 1.0).equip(workflow))
        else:
            instance = self._drawn(workflow)
        if self._resources:
            p = instance.n_processors
            capacities = {name: np.resize(have, p) for name, have in self._resources.items()}
            instance = self.at_ccr(on_nodes(instance, workflow, capacities))
        return altered(
            instance,
            inv_bandwidth=instance.inv_bandwidth / (self._bandwidth or 1.0),
            latency=instance.latency / (self._bandwidth or 1.0) + (self.latency or 0.0),
        )

    def keep(self, instance: Instance) -> Instance:
        """An instance whose file describes its processors; only its CCR may be changed.

        Raises:
            DAGSchedError: other parameters are given, or there is nothing to rescale.
        """
        others = [name for name in self.given if name != "ccr"]
        if others:
            raise DAGSchedError(
                f"the file describes its processors itself: leave {self.label(others[0])} out"
            )
        return self.at_ccr(instance)

    def at_ccr(self, instance: Instance) -> Instance:
        """The instance with its communication rescaled, where ``ccr`` asks for it.

        Raises:
            DAGSchedError: it has no communication, or no computation, to rescale.
        """
        if self.ccr is None:
            return instance
        now = ccr(instance)
        if not 0 < now < math.inf:
            what = "communication" if now == 0 else "computation"
            raise DAGSchedError(NOTHING.format(what, self.label("ccr")))
        return rescaled(instance, self.ccr / now)

    @property
    def in_bytes(self) -> bool:
        """Whether data is taken as bytes and times as seconds, because a bandwidth has a unit."""
        if self._of_file is not None:
            return self._of_file.in_bytes
        return self._rate is not None and self._rate.in_bytes

    # -- what is said ----------------------------------------------------------------------------

    def statement(self, *instances: Instance) -> str:
        """One line: where ``equip`` has put workflows, and what became of their costs."""
        said_by_file = self._of_file is not None and not self._of_file.assumes_bandwidth
        bandwidth = None if said_by_file else self._bandwidth or 1.0
        return f"{self._made(instances[0])}, {self._costs(instances, self._ratio, bandwidth)}"

    def _made(self, instance: Instance) -> str:
        """The processors, and the times where the file does not say them."""
        p = instance.n_processors
        times = "" if self.times is None else f", times of {self.times}"
        times = ", unit times" if self.unit_times else times
        if self.machines is not None:
            return f"{p} processors of {self.machines}{times}"
        have = ", ".join(f"{name} {self.given[name]}" for name in self._resources)
        what = ("processors" if self.nodes is None else "nodes") + (f" with {have}" if have else "")
        if self.speeds:
            return f"{p} related {what} of speeds {self.speeds}{times}"
        kind = self.platform or self._kind or DEFAULT_KIND
        values = {**self._own, **self.given}
        own = ", ".join(f"{name} {_shown(values[name])}" for name in self._own)
        drawn = "" if self._kind == "identical" else f" drawn with seed {self._seed}"
        return f"{p} {kind} {what}{f' ({own})' if own else ''}{drawn}{times}"

    def statement_of_file(self, instance: Instance) -> str:
        """One line on an instance whose file describes its processors."""
        have = f" with {', '.join(instance.resource_names)}" if instance.n_resources else ""
        made = f"{instance.n_processors} processors{have} as in the file"
        return f"{made}, {self._costs([instance], self.ccr, None)}"

    def assumed(self, *instances: Instance) -> tuple[str, ...]:
        """Parameters that change what ``equip`` assumed for these; none where all was said.

        Where they have nothing to transfer, nothing is assumed of the links.
        """
        transfers = any(i.data.any() and i.n_processors > 1 for i in instances)
        open_links = transfers and self.ccr is None and self.bandwidth is None
        if self._of_file is not None:
            return (IN_MACHINE_FILE,) if open_links and self._of_file.assumes_bandwidth else ()
        related = self.speeds is not None
        drawn = not related and self._kind != "identical"
        missing = {
            "platform": self._kind is None and not related,
            "processors": self._count is None and not related,
            **{name: drawn and name not in self.given for name in self._own if name in OF_KIND},
            "platform_seed": drawn and self.platform_seed is None,
            "bandwidth": open_links,
            "ccr": open_links and self.latency is None,
        }
        return tuple(name for name, there in missing.items() if there)

    def _costs(
        self, instances: Sequence[Instance], wanted: float | None, bandwidth: float | None
    ) -> str:
        ratios = [ccr(instance) for instance in instances]
        if not any(ratios):
            return "costs as in the file, which have no communication"
        if wanted is not None:
            return f"communication rescaled to CCR {wanted:g}"
        link = "" if bandwidth is None else f"bandwidth {bandwidth:g}, "
        link += "data taken as bytes, times as seconds, " if self.in_bytes else ""
        link += "" if self.latency is None else f"latency {self.latency:g}, "
        shown = dict.fromkeys(f"{ratio:.4g}" for ratio in (min(ratios), max(ratios)))
        return f"costs as in the file ({link}CCR {' to '.join(shown)})"

    # -- how it is done --------------------------------------------------------------------------

    @property
    def _kind(self) -> str | None:
        if self.platform is None:
            return None if self.nodes is None or self.speeds else "identical"
        return _plain(self.platform)

    @property
    def _count(self) -> int | None:
        """Number of processors, where it is said; speeds say it, too."""
        return self.processors if self.nodes is None else self.nodes

    @property
    def _own(self) -> dict[str, Any]:
        """Parameters of the kind of processors → default."""
        return _parameters(self._kind or DEFAULT_KIND)

    @property
    def _seed(self) -> int:
        return DEFAULT_SEED if self.platform_seed is None else self.platform_seed

    @property
    def _ratio(self) -> float | None:
        """The ratio to rescale to; None: the costs of the file stay."""
        return self.ccr if self.says_machines else DEFAULT_CCR

    @cached_property
    def _of_file(self) -> machine_file.Machines | None:
        """Those of the machine file, which is read once, so that it can be a pipe."""
        return None if self.machines is None else machine_file.load(self.machines)

    @cached_property
    def _table(self) -> dict[str, float] | None:
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
    def _bandwidth(self) -> float | None:
        """As a number."""
        return None if self._rate is None else self._rate.value

    @property
    def _speeds(self) -> list[float]:
        """The speeds as numbers; none where they are not given."""
        if self.speeds is None:
            return []
        numbers = self._numbers("speeds", "write numbers with commas, as in 1,2,4")
        for number in numbers:
            self._check("speeds", number, 1 / LARGEST, LARGEST)
        return numbers

    @property
    def _resources(self) -> dict[str, list[float]]:
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
            self._check(name, number, 0, LARGEST)
        return numbers

    @property
    def _gpus(self) -> int:
        """How many of the processors are GPUs."""
        text, most = str(self.gpus), self.processors or PROCESSORS
        if not (text.isascii() and text.isdigit()):
            raise DAGSchedError(f"{self.label('gpus')} is {text}: write a whole number")
        self._check("gpus", float(text), 0, most)
        return int(text)

    @property
    def _acceleration(self) -> tuple[float, float]:
        """Lowest and highest."""
        remedy = "write a number or a range, as in 10 or 2..30"
        numbers = self._numbers("acceleration", remedy)
        low, high = numbers[0], numbers[-1]
        if len(numbers) > 2 or not 1 / LARGEST <= low <= high <= LARGEST:
            raise DAGSchedError(f"{self.label('acceleration')} is {self.acceleration!r}: {remedy}")
        return low, high

    def _drawn(self, workflow: Workflow) -> Instance:
        """The workflow on processors of a kind; its data stays, unless a CCR is wanted."""
        ratio = self._ratio
        own = {name: self.given[name] for name in self._own if name in self.given}
        if "acceleration" in own:
            own["acceleration"] = self._acceleration
        if "gpus" in own:
            own["gpus"] = self._gpus
        platform = PLATFORMS[self._kind or DEFAULT_KIND](
            n_processors=self._count or PROCESSORS,
            ccr=DEFAULT_CCR if ratio is None else ratio,
            **{COUNTS.get(name, name): value for name, value in own.items()},
        )
        instance = platform(workflow, np.random.default_rng(self._seed))
        if self.ccr is not None and not workflow.data.any():
            raise DAGSchedError(NOTHING.format("communication", self.label("ccr")))
        if ratio is not None or not workflow.data.any():
            return instance
        largest = instance.data.max()  # 0 where no task takes any time
        factor = workflow.data.max() / largest if largest > 0 else 0.0
        return altered(instance, data=workflow.data, latency=instance.latency * factor)

    # -- what is refused -------------------------------------------------------------------------

    def _check_types(self) -> None:
        hints = get_type_hints(MachineOptions)
        for name, value in self.given.items():
            if name == "unit_times":
                if value is not True:
                    raise DAGSchedError(f"{self.label(name)} is {value!r}: write True or False")
                continue
            kinds = (str,) if name in SEPARATORS else get_args(hints[name])
            numbers = {int: Integral, float: Real}
            fits = any(isinstance(value, numbers.get(kind, kind)) for kind in kinds)
            if isinstance(value, bool) or not fits:
                wanted = (
                    "a text" if str in kinds else "a whole number" if int in kinds else "a number"
                )
                or_numbers = " or numbers" if name in SEPARATORS else ""
                raise DAGSchedError(f"{self.label(name)} is {value!r}: write {wanted}{or_numbers}")

    def _check_nodes(self) -> None:
        """Nodes are identical processors, and say so alone."""
        for name in ("processors", "platform") if self.nodes is not None else ():
            if name in self.given:
                raise DAGSchedError(
                    f"{self.label('nodes')} N is the same as {self.label('platform')} identical "
                    f"with {self.label('processors')} N: leave {self.label(name)} or "
                    f"{self.label('nodes')} out"
                )

    def _check_resources(self) -> None:
        """Refuse numbers that do not fit the processors, and memory or GPUs without cores."""
        if self._kind == "cpu_gpu":
            if self.gpus is not None:
                self._gpus  # noqa: B018 - raises if it cannot be read
            found = [name for name in ("cores", "memory") if name in self.given]
            if found:
                raise DAGSchedError(
                    f"processors of {self.label('platform')} cpu-gpu run one task at a time: leave "
                    f"{self.label(found[0])} out, or write {self.label('nodes')} with "
                    f"{self.label('cores')} and {self.label('gpus')}"
                )
            return
        alone = "memory" if self.memory is not None else "gpus"
        if self.cores is None and (self.memory is not None or (self.nodes and self.gpus)):
            raise DAGSchedError(
                f"{self.label(alone)} without {self.label('cores')} would let a processor run any "
                f"number of tasks at the same time: write {self.label('cores')}, too"
            )
        p = len(self._speeds) or self._count or PROCESSORS
        for name, have in self._resources.items():
            if len(have) not in (1, p):
                raise DAGSchedError(
                    f"{self.label(name)} has {len(have)} values, but there are {p} processors: "
                    "write one for all, or one for each"
                )

    def _check_speeds(self) -> None:
        speeds = self._speeds
        if speeds and self._kind not in (None, "related"):
            raise DAGSchedError(
                f"{self.label('speeds')} are those of related processors: "
                f"leave {self.label('platform')} {self.platform} out"
            )
        if speeds and self._count not in (None, len(speeds)):
            counted = self.label("processors" if self.nodes is None else "nodes")
            raise DAGSchedError(
                f"{self.label('speeds')} has {len(speeds)} values, but {counted} is {self._count}: "
                "write one speed for each processor"
            )

    def _check_kind(self) -> None:
        """Refuse parameters of another kind of processors."""
        kind = "related" if self.speeds else self._kind or DEFAULT_KIND
        for name in OF_KIND:
            if name in self._resources:
                continue
            if name in self.given and name not in _parameters(kind):
                homes = [shown for shown in KINDS if name in _parameters(_plain(shown))]
                raise DAGSchedError(
                    f"{self.label(name)} is for {self.label('platform')} {' or '.join(homes)}, not "
                    f"for {kind.replace('_', '-')} processors: choose such a platform, or leave "
                    f"{self.label(name)} out{self._of_nodes(name)}"
                )
        if self.acceleration is not None:
            self._acceleration  # noqa: B018 - raises if it cannot be read

    def _of_nodes(self, name: str) -> str:
        """What else the parameter may have been meant for."""
        return f"; for GPUs of each processor write {self.label('cores')}, too" * (name == "gpus")

    def _check(self, name: str, value: float | None, least: float, most: float) -> None:
        """Refuse a number out of its range."""
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


def _plain(kind: str) -> str:
    """The name in ``PLATFORMS``."""
    return kind.replace("-", "_")


def _parameters(kind: str) -> dict[str, Any]:
    """Parameters that a kind of processors has of its own → their defaults.

    Those that no option changes are left out.
    """
    found = inspect.signature(PLATFORMS[kind]).parameters
    return {
        name.removeprefix("n_"): parameter.default
        for name, parameter in found.items()
        if name not in ("n_processors", "n_cpus", "ccr", "latency_share")
    }


def _shown(value: Any) -> str:
    """As it is written: ``0.5``, ``2..30``."""
    if isinstance(value, tuple):
        return "..".join(f"{number:g}" for number in value)
    return value if isinstance(value, str) else f"{value:g}"
