"""What is said of the machines for a file that describes none, and one line that says it back.

The same parameters stand on a command line (``--platform identical --processors 4``), behind a file
in a SPEC (``graph.dot?platform=identical&processors=4&bandwidth=1``), and in Python
(``MachineOptions(platform="identical", processors=4, bandwidth=1)``, a platform for ``load``).
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dagsched_env.io import task_times
from dagsched_env.io.assumptions import OF_MACHINES
from dagsched_env.io.machine_checks import OF_KIND, check
from dagsched_env.io.machine_parameters import (
    DEFAULT_CCR,
    DEFAULT_KIND,
    PROCESSORS,
    MachineParameters,
)
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms import PLATFORMS, Platform, ccr
from dagsched_env.problem.platforms.altered import altered, rescaled
from dagsched_env.problem.platforms.nodes import on_nodes
from dagsched_env.problem.workflow import Workflow

TO_GIVE_TIMES = "{} names a table of name or label and seconds, {} gives each task 1"
NOTHING = "there is no {} to rescale: leave {} out"
COUNTS = {"gpus": "n_gpus", "clusters": "n_clusters"}
IN_MACHINE_FILE = '"bandwidth" in the machine file'
"""What changes the bandwidth that was assumed for a machine file without this key."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class MachineOptions(MachineParameters):
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

    def check(self) -> None:
        """Refuse a value out of its range, and parameters that do not go together.

        Raises:
            DAGSchedError: the message names the parameters and what to write.
        """
        check(self)

    def read_files(self) -> None:
        """Read the machine file and the table of times, if there are any, ahead of ``equip``.

        Raises:
            DAGSchedError: as ``check``, or one cannot be used; the message names the file and the
                place in it.
            OSError: one cannot be read.
        """
        self.check()
        self.of_file  # noqa: B018 - kept when it has been read
        self.table  # noqa: B018

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
                self.table,
                unit=self.unit_times,
                source=str(self.times),
                remedy=TO_GIVE_TIMES.format(self.label("times"), self.label("unit_times")),
            )
        )
        names = self.assumed(instance)
        if not names:
            return instance
        wanted = self.ratio
        links = f"bandwidth {self.link or 1.0:g}" if wanted is None else f"CCR {wanted:g}"
        links = f", {links}" if instance.data.any() else ""
        said = f"{OF_MACHINES}{self._made(instance)}{links}; not given: {', '.join(names)}"
        return altered(instance, assumptions=(*instance.assumptions, said))

    def _equipped(self, workflow: Workflow) -> Instance:
        if not workflow.says_data and self.ratio is None:
            workflow = dataclasses.replace(workflow, data=np.zeros_like(workflow.data))
        if self.of_file is not None:
            return self.at_ccr(self.of_file.equip(workflow))
        if self.speed_of_each:
            instance = self.at_ccr(Platform(self.speed_of_each, 1.0).equip(workflow))
        else:
            instance = self._drawn(workflow)
        if self.resources:
            p = instance.n_processors
            capacities = {name: np.resize(have, p) for name, have in self.resources.items()}
            instance = self.at_ccr(on_nodes(instance, workflow, capacities))
        return altered(
            instance,
            inv_bandwidth=instance.inv_bandwidth / (self.link or 1.0),
            latency=instance.latency / (self.link or 1.0) + (self.latency or 0.0),
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

    # -- what is said ----------------------------------------------------------------------------

    def statement(self, *instances: Instance) -> str:
        """One line: where ``equip`` has put workflows, and what became of their costs."""
        said_by_file = self.of_file is not None and not self.of_file.assumes_bandwidth
        bandwidth = None if said_by_file else self.link or 1.0
        return f"{self._made(instances[0])}, {self._costs(instances, self.ratio, bandwidth)}"

    def _made(self, instance: Instance) -> str:
        """The processors, and the times where the file does not say them."""
        p = instance.n_processors
        times = "" if self.times is None else f", times of {self.times}"
        times = ", unit times" if self.unit_times else times
        if self.machines is not None:
            return f"{p} processors of {self.machines}{times}"
        have = ", ".join(f"{name} {self.given[name]}" for name in self.resources)
        what = ("processors" if self.nodes is None else "nodes") + (f" with {have}" if have else "")
        if self.speeds:
            return f"{p} related {what} of speeds {self.speeds}{times}"
        kind = self.platform or self.kind or DEFAULT_KIND
        values = {**self.own, **self.given}
        own = ", ".join(f"{name} {_shown(values[name])}" for name in self.own)
        drawn = "" if self.kind == "identical" else f" drawn with seed {self.seed}"
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
        if self.of_file is not None:
            return (IN_MACHINE_FILE,) if open_links and self.of_file.assumes_bandwidth else ()
        related = self.speeds is not None
        drawn = not related and self.kind != "identical"
        missing = {
            "platform": self.kind is None and not related,
            "processors": self.count is None and not related,
            **{name: drawn and name not in self.given for name in self.own if name in OF_KIND},
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

    def _drawn(self, workflow: Workflow) -> Instance:
        """The workflow on processors of a kind; its data stays, unless a CCR is wanted."""
        ratio = self.ratio
        own = {name: self.given[name] for name in self.own if name in self.given}
        if "acceleration" in own:
            own["acceleration"] = self.accelerations
        if "gpus" in own:
            own["gpus"] = self.n_gpus
        platform = PLATFORMS[self.kind or DEFAULT_KIND](
            n_processors=self.count or PROCESSORS,
            ccr=DEFAULT_CCR if ratio is None else ratio,
            **{COUNTS.get(name, name): value for name, value in own.items()},
        )
        instance = platform(workflow, np.random.default_rng(self.seed))
        if self.ccr is not None and not workflow.data.any():
            raise DAGSchedError(NOTHING.format("communication", self.label("ccr")))
        if ratio is not None or not workflow.data.any():
            return instance
        largest = instance.data.max()  # 0 where no task takes any time
        factor = workflow.data.max() / largest if largest > 0 else 0.0
        return altered(instance, data=workflow.data, latency=instance.latency * factor)


def _shown(value: Any) -> str:
    """As it is written: ``0.5``, ``2..30``."""
    if isinstance(value, tuple):
        return "..".join(f"{number:g}" for number in value)
    return value if isinstance(value, str) else f"{value:g}"
