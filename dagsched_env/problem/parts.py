"""Parts for training, validation and test; equal problems are never in two parts."""

import hashlib
import math
from collections.abc import Sequence
from typing import NamedTuple

from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance

LEAST = 3
"""Different problems that a split needs."""


class Parts(NamedTuple):
    """The parts of a list of instances, each in the order of the list."""

    training: list[Instance]
    validation: list[Instance]
    test: list[Instance]


def split_instances(
    instances: Sequence[Instance], *, validation: float = 0.1, test: float = 0.1
) -> Parts:
    """Split by fingerprint: names, order and repetitions have no influence.

    The different problems are sorted by a hash of their fingerprints. The first ones are for the
    test, the next ones for validation, all others for training. A share above 0 gives at least one
    problem, and one is always left for training. All copies of a problem are in the same part.

    Args:
        instances: at least three different problems.
        validation: share of the different problems, ≥ 0.
        test: share of the different problems, ≥ 0; both together below 1.

    Raises:
        DAGSchedError: there are fewer than three different problems, or the shares are wrong.
    """
    if not (validation >= 0 and test >= 0 and validation + test < 1):
        raise DAGSchedError(
            f"the shares are validation={validation} and test={test}: they need to be >= 0 and "
            "below 1 together"
        )
    prints = sorted({instance.fingerprint for instance in instances}, key=_hash)
    if len(prints) < LEAST:
        raise DAGSchedError(
            f"{len(prints)} different instances cannot be split: give at least {LEAST}"
        )
    for_test = _count(test, len(prints), most=len(prints) - 2)
    for_validation = _count(validation, len(prints), most=len(prints) - for_test - 1)
    tested = set(prints[:for_test])
    validated = set(prints[for_test : for_test + for_validation])
    return Parts(
        training=[i for i in instances if i.fingerprint not in tested | validated],
        validation=[i for i in instances if i.fingerprint in validated],
        test=[i for i in instances if i.fingerprint in tested],
    )


def _hash(fingerprint: str) -> str:
    """Independent of anything else for which fingerprints may be sorted."""
    return hashlib.sha256(f"part {fingerprint}".encode()).hexdigest()


def _count(share: float, total: int, *, most: int) -> int:
    """Problems of a part; at least one if the share is not 0."""
    return min(math.ceil(share) if share * total < 1 else round(share * total), most)
