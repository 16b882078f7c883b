"""The eligible processors of each task, by cost."""

from typing import NamedTuple

import numpy as np

from dagsched_env.kernels.arrays import InstanceArrays, Ints


class Eligibility(NamedTuple):
    """The eligible processors of each task; constant."""

    eligible: Ints  # [n, p] row t begins with its n_eligible[t] processors by increasing cost
    n_eligible: Ints  # [n]


def eligibility(g: InstanceArrays) -> Eligibility:
    """The eligible processors of an instance."""
    by_cost = np.argsort(g.comp, axis=1, kind="stable")  # inf goes last, ties by index
    return Eligibility(by_cost, np.sum(g.comp != np.inf, axis=1))
