"""The table at the end of a run: classic schedulers against search with and without training."""

from collections.abc import Callable, Sequence

from aerl_trainer.policies import Policy
from aerl_trainer.solver import solve
from dagsched_env.compare import Row, compare, summarise
from dagsched_env.instance import Instance
from dagsched_env.schedule import Schedule
from dagsched_env.schedulers import SCHEDULERS, best_of_portfolio

__all__ = ["SUITES", "evaluate"]

SUITES = ("heldout", "workflows_small")
"""What a policy is measured on when nothing else is asked for."""


def evaluate(
    instances: Sequence[Instance],
    policies: dict[str, Policy],
    *,
    simulations: int,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> list[Row]:
    """Compare on the same instances; every schedule is validated.

    Args:
        instances: the problems.
        policies: name of the row → network to search with.
        simulations: per instance and policy.
        seed: of the searches.
        progress: called with (done, total) after each schedule.

    Returns:
        Rows ``heft``, ``best scheduler``, then one per policy.
    """

    def searcher(policy: Policy) -> Callable[[Instance], Schedule]:
        return lambda instance: (
            solve(
                instance, simulations=simulations, checkpoint=policy, anneal=False, seed=seed
            ).schedule
        )

    contestants: dict[str, Callable[[Instance], Schedule]] = {
        "heft": SCHEDULERS["heft"],
        "best scheduler": best_of_portfolio,
        **{name: searcher(policy) for name, policy in policies.items()},
    }
    return summarise(compare(instances, contestants, progress).makespans, instances)
