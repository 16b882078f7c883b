"""Trained policies as schedulers: the option ``--checkpoint``.

The environment does not know who trains. Whoever can read a checkpoint declares, in the entry-point
group ``dagsched.policies``, a function ``(checkpoint: Path, samples: int, seed: int)`` that returns
a scheduler for each name in ``POLICIES``.
"""

import argparse
from importlib.metadata import entry_points
from pathlib import Path

from dagsched_env.cli.arguments import positive
from dagsched_env.comparison.compare import Scheduler
from dagsched_env.problem.errors import DAGSchedError, MissingExtraError
from dagsched_env.problem.instance import Instance

GROUP = "dagsched.policies"
POLICIES = ("policy", "policy_sampled")
"""One greedy pass; the best of it and a number of samples."""
SAMPLES = 32
SEED = 0


def add_checkpoint(parser: argparse.ArgumentParser) -> None:
    """The options ``--checkpoint`` and ``--samples``."""
    first, second = POLICIES
    parser.add_argument(
        "--checkpoint",
        type=Path,
        metavar="RUN",
        help="a run of aerl train, a checkpoint in it, a .safetensors file, or the name of a "
        f"shipped policy such as default: adds {first}, one pass of the trained policy, and "
        f"{second}, the best of it and --samples others",
    )
    parser.add_argument(
        "--samples",
        type=positive,
        default=SAMPLES,
        metavar="K",
        help=f"schedules that {second} draws; default: %(default)s",
    )


def read_policies(checkpoint: Path | None, samples: int) -> dict[str, Scheduler]:
    """Name → scheduler, its kernels loaded; none without a checkpoint.

    Raises:
        DAGSchedError: there is nobody to read the checkpoint, or it cannot be read.
        MissingExtraError: its reader lacks a package.
    """
    if checkpoint is None:
        return {}
    reader = next(iter(entry_points(group=GROUP)), None)
    if reader is None:
        raise DAGSchedError(
            f"nothing that is installed reads {checkpoint}: run  pip install 'aerl-ds[trainer]'"
        )
    try:
        schedulers: dict[str, Scheduler] = reader.load()(checkpoint, samples, SEED)
    except ModuleNotFoundError as error:
        raise MissingExtraError(error.name or reader.value, "trainer") from None
    for scheduler in schedulers.values():  # or the first one timed would be charged for all
        scheduler(Instance([[2.0, 3.0], [4.0, 3.0]], [(0, 1)], [5.0]))
    return schedulers
