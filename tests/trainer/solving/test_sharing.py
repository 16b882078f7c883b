"""Trees and policies on problems whose tasks share processors."""

import numpy as np
import pytest

from aerl_trainer import solve
from aerl_trainer.learning import packing
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.solving.learned import Policy
from dagsched_env import Instance
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.problem.platforms.altered import altered
from dagsched_env.schedulers import heft


def drawn(n: int, seed: int) -> Instance:
    rng = np.random.default_rng(seed)
    instance = TopcuogluGenerator(n_tasks=n, n_processors=2)(rng)
    demands = np.column_stack([rng.integers(0, 5, n), rng.choice([0.1, 0.5, 1.5], n)])
    return altered(
        instance,
        demands=demands,
        capacities=[[5, 2.0], [4, np.inf]],
        resource_names=["cores", "memory"],
    )


@pytest.mark.parametrize("checkpoint", [None, Policy(FastPolicy())])
def test_trees_and_policies_make_valid_schedules(checkpoint: Policy | None) -> None:
    for seed in range(3):
        instance = drawn(25, seed)
        found = solve(instance, simulations=80, checkpoint=checkpoint, anneal=False, seed=seed)
        found.schedule.validate(instance)
        assert found.simulations > 0
        assert found.lower_bound <= found.makespan <= heft(instance).makespan


def test_a_policy_places_tasks_side_by_side() -> None:
    policy = FastPolicy()
    for seed in range(3):
        instance = drawn(25, seed)
        schedule = policy.schedule(instance)
        schedule.validate(instance)
        one_at_a_time = altered(instance, demands=[[1, 0]] * 25, capacities=[[1, 1], [1, 1]])
        assert schedule.makespan < policy.schedule(one_at_a_time).makespan


def test_instances_travel_with_their_resources() -> None:
    instances = [drawn(9, 0), altered(drawn(5, 1), name="other")]
    assert packing.unpack_instances(packing.pack_instances(instances)) == instances
