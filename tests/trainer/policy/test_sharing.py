"""The fast policy on problems whose tasks share processors."""

from aerl_trainer.policy.fast import FastPolicy
from dagsched_env.problem.platforms.altered import altered
from helpers.sharing import sharing_instance


def test_a_policy_places_tasks_side_by_side() -> None:
    policy = FastPolicy()
    for seed in range(3):
        instance = sharing_instance(25, seed, [[5, 2.0], [4, 9.0]])
        schedule = policy.schedule(instance)
        schedule.validate(instance)
        one_at_a_time = altered(instance, demands=[[1, 0]] * 25, capacities=[[1, 1]] * 2)
        assert schedule.makespan < policy.schedule(one_at_a_time).makespan
