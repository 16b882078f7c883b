"""The machines of a problem on a command line: what was asked for, and one line that says it.

A file that describes its processors keeps them. Any other is put on the processors that the options
describe. Its costs stay as they are, unless ``--ccr`` asks for another ratio. Without any option
four unrelated processors are drawn, and the communication is rescaled to CCR 1, as
``dagsched_env.io.load`` does it. What is assumed is never silent: a line on stderr says what, and
which options change it.
"""

import argparse
import dataclasses
import math
import sys
from typing import NamedTuple

import numpy as np

from dagsched_env import io
from dagsched_env.errors import DAGSchedError
from dagsched_env.instance import Instance
from dagsched_env.io.numbers import LARGEST, MOST_MACHINES
from dagsched_env.platforms import PLATFORMS, Platform, ccr
from dagsched_env.platforms.altered import altered, rescaled
from dagsched_env.workflow import Workflow

__all__ = ["MachineOptions", "Problem", "add_machines", "machine_options", "read_problem"]

KINDS = tuple(name.replace("_", "-") for name in PLATFORMS)
PROCESSORS = 4
NOTHING = "there is no {} to rescale: leave --ccr out"
DEFAULT_KIND, DEFAULT_CCR, DEFAULT_SEED = "unrelated", 1.0, 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class MachineOptions:
    """What a command line says of the machines; with ``equip`` a platform for ``io.load``.

    Args:
        platform: the kind of processors for a file that describes none: unrelated, related,
            identical, cpu-gpu, clustered or restricted; default: unrelated.
        processors: their number; default: 4.
        speeds: of related processors, one for each, as in 1,2,4; instead of --platform.
        bandwidth: units of data per unit of time between processors; default: 1.
        latency: time before a transfer starts; default: 0.
        ccr: rescale the communication to this ratio to computation; default: the costs of the
            file, or 1 where no option says anything of the machines.
        platform_seed: of processors that are drawn; default: 0.
        machines: a machine file in JSON: names, speeds, links, who may run what.
    """

    platform: str | None = None
    processors: int | None = None
    speeds: str | None = None
    bandwidth: float | None = None
    latency: float | None = None
    ccr: float | None = None
    platform_seed: int | None = None
    machines: str | None = None

    def check(self) -> None:
        """Refuse a value out of its range, and options that do not go together.

        Raises:
            DAGSchedError: the message names the options and what to write.
        """
        if self.platform is not None and self._kind not in PLATFORMS:
            raise DAGSchedError(f"--platform is {self.platform!r}: write one of {', '.join(KINDS)}")
        _check("--processors", self.processors, 1, MOST_MACHINES)
        _check("--bandwidth", self.bandwidth, 1 / LARGEST, LARGEST)
        _check("--latency", self.latency, 0, LARGEST)
        _check("--ccr", self.ccr, 0, LARGEST)
        _check("--platform-seed", self.platform_seed, 0, math.inf)
        speeds = self._speeds
        if self.machines is not None:
            others = [option for option in self.given if option not in ("--machines", "--ccr")]
            if others:
                raise DAGSchedError(f"--machines describes the processors: leave {others[0]} out")
        if speeds and self._kind not in (None, "related"):
            raise DAGSchedError(
                f"--speeds are those of related processors: leave --platform {self.platform} out"
            )
        if speeds and self.processors not in (None, len(speeds)):
            raise DAGSchedError(
                f"--speeds has {len(speeds)} values, but --processors is {self.processors}: "
                "write one speed for each processor"
            )
        if self.platform_seed is not None and (speeds or self._kind == "identical"):
            raise DAGSchedError("nothing is drawn: leave --platform-seed out")
        if self.ccr is not None and (self.bandwidth, self.latency) != (None, None):
            raise DAGSchedError(
                "--ccr rescales all communication: leave --bandwidth and --latency out"
            )

    def equip(self, workflow: Workflow) -> Instance:
        """The workflow on these machines.

        Raises:
            DAGSchedError: as ``check``, the machine file cannot be used, or there is nothing to
                rescale.
        """
        self.check()
        if self.machines is not None:
            return self.at_ccr(io.load_machines(self.machines).equip(workflow))
        if self._speeds:
            instance = self.at_ccr(Platform(self._speeds, 1.0).equip(workflow))
        else:
            instance = self._drawn(workflow)
        return altered(
            instance,
            inv_bandwidth=instance.inv_bandwidth / (self.bandwidth or 1.0),
            latency=instance.latency / (self.bandwidth or 1.0) + (self.latency or 0.0),
        )

    def at_ccr(self, instance: Instance) -> Instance:
        """The instance with its communication rescaled, where ``--ccr`` asks for it.

        Raises:
            DAGSchedError: it has no communication, or no computation, to rescale.
        """
        if self.ccr is None:
            return instance
        now = ccr(instance)
        if not 0 < now < math.inf:
            what = "communication" if now == 0 else "computation"
            raise DAGSchedError(NOTHING.format(what))
        return rescaled(instance, self.ccr / now)

    def statement(self, instance: Instance) -> str:
        """One line: where ``equip`` has put a workflow, and what became of its costs."""
        p = instance.n_processors
        if self.machines is not None:
            made = f"{p} processors of {self.machines}"
        elif self._speeds:
            made = f"{p} related processors of speeds {self.speeds}"
        elif self._kind == "identical":
            made = f"{p} identical processors"
        else:
            made = f"{p} {self.platform or DEFAULT_KIND} processors drawn with seed {self._seed}"
        return f"{made}, {self._costs(instance, self._ratio)}"

    def keep(self, content: Instance) -> "Problem":
        """An instance whose file describes its processors, with one line on them.

        Raises:
            DAGSchedError: other options than ``--ccr`` are given, or there is nothing to rescale.
        """
        others = [option for option in self.given if option != "--ccr"]
        if others:
            raise DAGSchedError(f"the file describes its processors itself: leave {others[0]} out")
        instance = self.at_ccr(content)
        made = f"{instance.n_processors} processors as in the file"
        return Problem(instance, f"{made}, {self._costs(instance, self.ccr)}")

    @property
    def given(self) -> tuple[str, ...]:
        """Options that are there, such as ``--speeds``."""
        return tuple(
            _option(name) for name, value in dataclasses.asdict(self).items() if value is not None
        )

    @property
    def assumed(self) -> tuple[str, ...]:
        """Options that change what was assumed; none where all was said."""
        if self.machines is not None or self._speeds:
            return ()
        drawn = self._kind != "identical"
        missing = {
            "--platform": self.platform is None,
            "--processors": self.processors is None,
            "--platform-seed": drawn and self.platform_seed is None,
            "--ccr": drawn and (self.ccr, self.bandwidth, self.latency) == (None, None, None),
        }
        return tuple(option for option, there in missing.items() if there)

    @property
    def _kind(self) -> str | None:
        return None if self.platform is None else self.platform.replace("-", "_")

    @property
    def _seed(self) -> int:
        return DEFAULT_SEED if self.platform_seed is None else self.platform_seed

    @property
    def _ratio(self) -> float | None:
        """The ratio to rescale to; None: the costs of the file stay."""
        return self.ccr if self.given else DEFAULT_CCR

    @property
    def _speeds(self) -> list[float]:
        """The speeds as numbers; none without ``--speeds``."""
        if self.speeds is None:
            return []
        try:
            numbers = [float(word) for word in self.speeds.split(",")]
        except ValueError:
            raise DAGSchedError(
                f"--speeds is {self.speeds!r}: write numbers with commas, as in 1,2,4"
            ) from None
        for number in numbers:
            _check("--speeds", number, 1 / LARGEST, LARGEST)
        return numbers

    def _drawn(self, workflow: Workflow) -> Instance:
        """The workflow on processors of a kind; its data stays, unless a CCR is wanted."""
        ratio = self._ratio
        platform = PLATFORMS[self._kind or DEFAULT_KIND](
            n_processors=self.processors or PROCESSORS, ccr=DEFAULT_CCR if ratio is None else ratio
        )
        instance = platform(workflow, np.random.default_rng(self._seed))
        if self.ccr is not None and not workflow.data.any():
            raise DAGSchedError(NOTHING.format("communication"))
        if ratio is not None or not workflow.data.any():
            return instance
        largest = instance.data.max()  # 0 where no task takes any time
        factor = workflow.data.max() / largest if largest > 0 else 0.0
        return altered(instance, data=workflow.data, latency=instance.latency * factor)

    def _costs(self, instance: Instance, wanted: float | None) -> str:
        if wanted is not None:
            return f"communication rescaled to CCR {wanted:g}"
        link = "" if self.bandwidth is None else f"bandwidth {self.bandwidth:g}, "
        link += "" if self.latency is None else f"latency {self.latency:g}, "
        return f"costs as in the file ({link}CCR {ccr(instance):.4g})"


class Problem(NamedTuple):
    """An instance, and one line on its machines."""

    instance: Instance
    machines: str


def read_problem(
    path: str, options: MachineOptions, *, program: str = "dagsched", format: str | None = None
) -> Problem:
    """Read a problem and put it on machines where it has none; say on stderr what is assumed.

    Args:
        path: as for ``io.load``.
        options: what the command line says of the machines.
        program: the command, for the line on stderr.
        format: as for ``io.load``.

    Raises:
        DAGSchedError: as ``io.load`` and ``MachineOptions.check``; or options for a file that
            describes its processors.
        OSError: a file cannot be read.
    """
    options.check()
    content = io.read(path, format=format)
    try:
        if isinstance(content, Instance):
            return options.keep(content)
        instance = options.equip(content)
    except DAGSchedError as error:
        raise type(error)(f"{path}: {error}") from None
    statement = options.statement(instance)
    if options.assumed:
        change = ", ".join(options.assumed) + ("" if options.given else ", or --machines FILE")
        print(
            f"{program}: {path} describes no processors: {statement}; change it with {change}",
            file=sys.stderr,
        )
    return Problem(instance, statement)


def add_machines(parser: argparse.ArgumentParser) -> None:
    """The options of ``MachineOptions``."""
    group = parser.add_argument_group(
        "machines",
        "for a file that describes no processors; without any of these,\n"
        f"{PROCESSORS} {DEFAULT_KIND} ones are drawn and communication is rescaled to CCR 1",
    )
    group.add_argument(
        "--platform",
        metavar="KIND",
        help=f"{', '.join(KINDS)}; identical: weights of nodes are times, weights of edges are "
        f"times between processors; default: {DEFAULT_KIND}",
    )
    group.add_argument("--processors", type=int, metavar="P", help=f"default: {PROCESSORS}")
    group.add_argument(
        "--speeds", metavar="S,S,...", help="of related processors, one for each, as in 1,2,4"
    )
    group.add_argument(
        "--bandwidth",
        type=float,
        metavar="B",
        help="data per unit of time between processors; default: 1",
    )
    group.add_argument(
        "--latency", type=float, metavar="L", help="time before a transfer starts; default: 0"
    )
    group.add_argument(
        "--ccr",
        type=float,
        metavar="R",
        help="rescale communication to this ratio to computation; default: costs stay",
    )
    group.add_argument(
        "--platform-seed",
        type=int,
        metavar="SEED",
        help=f"of processors that are drawn; default: {DEFAULT_SEED}",
    )
    group.add_argument(
        "--machines",
        metavar="FILE",
        help="JSON: names, speeds, links, who may run what (pydoc dagsched_env.io.machine_file)",
    )


def machine_options(arguments: argparse.Namespace) -> MachineOptions:
    """The options of a parsed command line."""
    names = [field.name for field in dataclasses.fields(MachineOptions)]
    return MachineOptions(**{name: getattr(arguments, name) for name in names})


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _check(option: str, value: float | None, least: float, most: float) -> None:
    """Refuse a number out of its range."""
    if value is not None and not least <= value <= most:
        limits = f">= {least:g}" if most == math.inf else f"between {least:g} and {most:g}"
        raise DAGSchedError(f"{option} is {value:g}: write a number {limits}")
