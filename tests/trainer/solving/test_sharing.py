"""Trees and messages of problems whose tasks share processors."""

import numpy as np
import pytest

from aerl_trainer import solve
from aerl_trainer.learning import packing
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.solving.learned import Policy
from dagsched_env.problem.platforms.altered import altered
from dagsched_env.schedulers import heft
from helpers.sharing import sharing_instance

NODES = [[5, 2.0], [4, np.inf]]


@pytest.mark.parametrize("checkpoint", [None, Policy(FastPolicy())])
def test_trees_and_policies_make_valid_schedules(checkpoint: Policy | None) -> None:
    for seed in range(3):
        instance = sharing_instance(25, seed, NODES)
        found = solve(instance, simulations=80, checkpoint=checkpoint, anneal=False, seed=seed)
        found.schedule.validate(instance)
        assert found.simulations > 0
        assert found.lower_bound <= found.makespan <= heft(instance).makespan


def test_instances_travel_with_their_resources() -> None:
    instances = [sharing_instance(9, 0, NODES), sharing_instance(5, 1, NODES)]
    instances[1] = altered(instances[1], name="other")
    assert packing.unpack_instances(packing.pack_instances(instances)) == instances
