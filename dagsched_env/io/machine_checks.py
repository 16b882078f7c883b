"""Which parameters of machines are refused."""

import math
from numbers import Integral, Real
from typing import get_args, get_type_hints

from dagsched_env.io.machine_parameters import (
    DEFAULT_KIND,
    OF_TASKS,
    PROCESSORS,
    SEPARATORS,
    MachineParameters,
    parameters_of,
    plain,
)
from dagsched_env.io.numbers import LARGEST, MOST_MACHINES
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.platforms import PLATFORMS

KINDS = tuple(name.replace("_", "-") for name in PLATFORMS)
OF_KIND = ("beta", "gpus", "acceleration", "clusters", "slowdown", "share")
"""Parameters that only some kinds of processors have."""


def check(said: MachineParameters) -> None:
    """Refuse a value out of its range, and parameters that do not go together.

    Raises:
        DAGSchedError: the message names the parameters and what to write.
    """
    _check_types(said)
    if said.platform is not None and said.kind not in PLATFORMS:
        raise DAGSchedError(
            f"{said.label('platform')} is {said.platform!r}: write one of {', '.join(KINDS)}"
        )
    said.require("processors", said.processors, 1, MOST_MACHINES)
    said.require("nodes", said.nodes, 1, MOST_MACHINES)
    said.require("beta", said.beta, 0, 2)
    p = said.processors or PROCESSORS
    if said.clusters is not None and not 1 <= said.clusters <= p:
        raise DAGSchedError(
            f"{said.label('clusters')} is {said.clusters}: write a number between 1 and {p}, "
            f"that of {said.label('processors')}"
        )
    said.require("slowdown", said.slowdown, 1, LARGEST)
    said.require("share", said.share, 0, 1)
    said.require("bandwidth", said.link, 1 / LARGEST, LARGEST)
    said.require("latency", said.latency, 0, LARGEST)
    said.require("ccr", said.ccr, 0, LARGEST)
    said.require("platform_seed", said.platform_seed, 0, math.inf)
    others = [name for name in said.given if name not in ("machines", "ccr", *OF_TASKS)]
    if said.times is not None and said.unit_times:
        raise DAGSchedError(
            f"{said.label('times')} and {said.label('unit_times')}: leave one of them out"
        )
    if said.machines is not None and others:
        raise DAGSchedError(
            f"{said.label('machines')} describes the processors: leave {said.label(others[0])} out"
        )
    _check_nodes(said)
    _check_speeds(said)
    _check_resources(said)
    _check_kind(said)
    if said.platform_seed is not None and (said.speeds or said.kind == "identical"):
        raise DAGSchedError(f"nothing is drawn: leave {said.label('platform_seed')} out")
    if said.ccr is not None and (said.bandwidth, said.latency) != (None, None):
        raise DAGSchedError(
            f"{said.label('ccr')} rescales all communication: "
            f"leave {said.label('bandwidth')} and {said.label('latency')} out"
        )


def _check_types(said: MachineParameters) -> None:
    hints = get_type_hints(MachineParameters)
    for name, value in said.given.items():
        if name == "unit_times":
            if value is not True:
                raise DAGSchedError(f"{said.label(name)} is {value!r}: write True or False")
            continue
        kinds = (str,) if name in SEPARATORS else get_args(hints[name])
        numbers = {int: Integral, float: Real}
        fits = any(isinstance(value, numbers.get(kind, kind)) for kind in kinds)
        if isinstance(value, bool) or not fits:
            wanted = "a text" if str in kinds else "a whole number" if int in kinds else "a number"
            or_numbers = " or numbers" if name in SEPARATORS else ""
            raise DAGSchedError(f"{said.label(name)} is {value!r}: write {wanted}{or_numbers}")


def _check_nodes(said: MachineParameters) -> None:
    """Nodes are identical processors, and say so alone."""
    for name in ("processors", "platform") if said.nodes is not None else ():
        if name in said.given:
            raise DAGSchedError(
                f"{said.label('nodes')} N is the same as {said.label('platform')} identical "
                f"with {said.label('processors')} N: leave {said.label(name)} or "
                f"{said.label('nodes')} out"
            )


def _check_resources(said: MachineParameters) -> None:
    """Refuse numbers that do not fit the processors, and memory or GPUs without cores."""
    if said.kind == "cpu_gpu":
        if said.gpus is not None:
            said.n_gpus  # noqa: B018 - raises if it cannot be read
        found = [name for name in ("cores", "memory") if name in said.given]
        if found:
            raise DAGSchedError(
                f"processors of {said.label('platform')} cpu-gpu run one task at a time: leave "
                f"{said.label(found[0])} out, or write {said.label('nodes')} with "
                f"{said.label('cores')} and {said.label('gpus')}"
            )
        return
    alone = "memory" if said.memory is not None else "gpus"
    if said.cores is None and (said.memory is not None or (said.nodes and said.gpus)):
        raise DAGSchedError(
            f"{said.label(alone)} without {said.label('cores')} would let a processor run any "
            f"number of tasks at the same time: write {said.label('cores')}, too"
        )
    p = len(said.speed_of_each) or said.count or PROCESSORS
    for name, have in said.resources.items():
        if len(have) not in (1, p):
            raise DAGSchedError(
                f"{said.label(name)} has {len(have)} values, but there are {p} processors: "
                "write one for all, or one for each"
            )


def _check_speeds(said: MachineParameters) -> None:
    speeds = said.speed_of_each
    if speeds and said.kind not in (None, "related"):
        raise DAGSchedError(
            f"{said.label('speeds')} are those of related processors: "
            f"leave {said.label('platform')} {said.platform} out"
        )
    if speeds and said.count not in (None, len(speeds)):
        counted = said.label("processors" if said.nodes is None else "nodes")
        raise DAGSchedError(
            f"{said.label('speeds')} has {len(speeds)} values, but {counted} is {said.count}: "
            "write one speed for each processor"
        )


def _check_kind(said: MachineParameters) -> None:
    """Refuse parameters of another kind of processors."""
    kind = "related" if said.speeds else said.kind or DEFAULT_KIND
    for name in OF_KIND:
        if name in said.resources:
            continue
        if name in said.given and name not in parameters_of(kind):
            homes = [shown for shown in KINDS if name in parameters_of(plain(shown))]
            raise DAGSchedError(
                f"{said.label(name)} is for {said.label('platform')} {' or '.join(homes)}, not "
                f"for {kind.replace('_', '-')} processors: choose such a platform, or leave "
                f"{said.label(name)} out{_of_nodes(said, name)}"
            )
    if said.acceleration is not None:
        said.accelerations  # noqa: B018 - raises if it cannot be read


def _of_nodes(said: MachineParameters, name: str) -> str:
    """What else the parameter may have been meant for."""
    return f"; for GPUs of each processor write {said.label('cores')}, too" * (name == "gpus")
