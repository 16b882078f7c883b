"""How the moves of an annealing are drawn, and how they are judged."""

import math

from dagsched_env.kernels.moves.metropolis import MoveRules
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.schedulers.anytime import check_positive

SINGLE_TASKS = MoveRules(
    pair_share=0.0, cluster_share=0.0, cost_bias=1.0, best_place=False, load_weight=0.0
)
"""One task to any other processor: the textbook neighbourhood."""


def checked_rules(
    pair_share: float,
    cluster_share: float,
    cost_bias: float,
    best_place: bool,
    load_weight: float,
) -> MoveRules:
    """The rules with these fields.

    Args:
        pair_share: in [0, 1].
        cluster_share: in [0, 1 - ``pair_share``].
        cost_bias: ≥ 1.
        best_place: True or False.
        load_weight: ≥ 0, finite.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """
    for name, share in (("pair_share", pair_share), ("cluster_share", cluster_share)):
        if isinstance(share, bool | str) or not 0 <= share <= 1:
            raise DAGSchedError(f"{name} is {share!r}: give a number in [0, 1]")
    if pair_share + cluster_share > 1:
        raise DAGSchedError(
            f"pair_share + cluster_share is {pair_share + cluster_share!r}: it may not exceed 1"
        )
    check_positive("cost_bias", cost_bias)
    if cost_bias < 1:
        raise DAGSchedError(f"cost_bias is {cost_bias!r}: give a number >= 1")
    if not isinstance(best_place, bool):
        raise DAGSchedError(f"best_place is {best_place!r}: give True or False")
    if isinstance(load_weight, bool | str) or not 0 <= load_weight < math.inf:
        raise DAGSchedError(f"load_weight is {load_weight!r}: give a number >= 0, finite")
    return MoveRules(
        float(pair_share), float(cluster_share), float(cost_bias), best_place, float(load_weight)
    )
