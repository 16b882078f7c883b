"""What is said of problems that were read: their machines, what files leave out, doubtful units."""

import math
from collections.abc import Sequence

from dagsched_env.io.assumptions import notices, warn
from dagsched_env.io.machine_file import Machines
from dagsched_env.io.machine_options import IN_MACHINE_FILE, MachineOptions
from dagsched_env.io.problems import Equips, Problem
from dagsched_env.problem.errors import (
    AssumptionWarning,
    DoubtfulUnitsWarning,
    MachinesAssumedWarning,
)
from dagsched_env.problem.platforms import ccr

DOUBTFUL_CCR = 1000.0
"""Studies of scheduling take CCRs up to some 20. From about the number of tasks on, one transfer
takes longer than all of them, and hardly any pays. Bytes against a bandwidth of 1 give ten of the
eleven bundled traces a CCR from 1200 to 1.7 million."""


def assumed(problems: Sequence[Problem], options: MachineOptions) -> tuple[str, ...]:
    """Parameters that change what was assumed for files that describe no processors."""
    bare = [problem.instance for problem in problems if problem.bare]
    return options.assumed(*bare) if bare else ()


def assumption(problems: Sequence[Problem], options: MachineOptions) -> str:
    """One line: which files describe no processors, and where they are put.

    Empty if all do, or nothing was assumed.
    """
    if not assumed(problems, options):
        return ""
    bare = [problem for problem in problems if problem.bare]
    who = f"{bare[0].path} describes"
    if len(bare) > 1:
        files = "1 other file" if len(bare) == 2 else f"{len(bare) - 1} other files"
        who = f"{bare[0].path} and {files} describe"
    return f"{who} no processors: {options.statement(*(problem.instance for problem in bare))}"


def notice(problems: Sequence[Problem]) -> str:
    """One line: what was taken for granted of the first file of which there is something to say.

    Empty where there is nothing. It says nothing of machines, as ``assumption`` does.
    """
    said = {problem.path: texts for problem in problems if (texts := notices(problem.instance))}
    if not said:
        return ""
    path, texts = next(iter(said.items()))
    more = f"; there are notes on {len(said) - 1} more of the files" if len(said) > 1 else ""
    return f"{path}: {'; '.join(texts)}{more}"


def warn_assumed(
    problems: Sequence[Problem], platform: Equips, remedy: str = "", *, stacklevel: int = 1
) -> None:
    """Warn where processors were assumed, of what files leave out, and of doubtful units.

    Args:
        problems: read with this platform.
        platform: what was said of the machines, or others that the caller has given.
        remedy: what the caller is to write instead, but for a key of the machine file.
        stacklevel: 1 for the caller of this function, 2 for its caller, and so on.
    """
    if text := notice(problems):
        warn(AssumptionWarning(text), stacklevel=stacklevel + 1)
    if isinstance(platform, MachineOptions) and (fact := assumption(problems, platform)):
        names = assumed(problems, platform)
        if names == (IN_MACHINE_FILE,):
            remedy = f"say {IN_MACHINE_FILE}"
        warn(MachinesAssumedWarning(fact, names, remedy), stacklevel=stacklevel + 1)
    if doubt := doubtful_units(problems, platform):
        warn(doubt, stacklevel=stacklevel + 1)


def doubtful_units(problems: Sequence[Problem], platform: Equips) -> DoubtfulUnitsWarning | None:
    """A warning where communication outweighs computation beyond ``DOUBTFUL_CCR``.

    None where the platform says what the units are, or which CCR is wanted, and for files that
    describe their processors.

    Args:
        problems: read with this platform.
        platform: on which they were put.
    """
    if getattr(platform, "in_bytes", False) or getattr(platform, "ccr", None) is not None:
        return None
    ratios = {p.path: ccr(p.instance) for p in problems if p.bare}
    doubtful = {path: r for path, r in ratios.items() if DOUBTFUL_CCR < r < math.inf}
    if not doubtful:
        return None
    worst = max(doubtful, key=lambda path: doubtful[path])
    more = f" and {len(doubtful) - 1} more" if len(doubtful) > 1 else ""
    options = isinstance(platform, MachineOptions)
    bandwidth = "bandwidth 1Gbit/s" if options else "bandwidth 125e6"
    if isinstance(platform, Machines) or getattr(platform, "machines", None) is not None:
        bandwidth = '"bandwidth": "1Gbit/s" in the machine file'
    mends = (bandwidth, "ccr 1") if options else (bandwidth,)
    return DoubtfulUnitsWarning(
        f"{worst}{more}: a transfer takes {doubtful[worst]:.2g} times as long as a task (CCR), so "
        "that hardly any pays",
        mends,
        f"if data is in bytes, say {' or '.join(mends)}",
    )
