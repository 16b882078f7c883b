"""Judges the network on fixed problems: its greedy policy, and a short search that it guides.

Neither explores: there is no root noise, and the rollouts draw the same numbers every time.
"""

import time

import numpy as np

from aerl_trainer.config import Config
from aerl_trainer.curriculum import Curriculum
from aerl_trainer.encoding.evaluator import Evaluator
from aerl_trainer.records import EvalReport, SearchJob
from aerl_trainer.search.alone import search_alone
from aerl_trainer.search.trajectories import complete_by_policy
from dagsched_env.compare import summarise
from dagsched_env.instance import Instance
from dagsched_env.schedule import Schedule
from dagsched_env.schedulers import best_of_portfolio, heft
from dagsched_env.simulator import State

__all__ = ["Validator", "greedy_schedule"]


def greedy_schedule(instance: Instance, evaluator: Evaluator, config: Config) -> Schedule:
    """The schedule of the policy's most probable action in every state.

    Args:
        instance: the problem.
        evaluator: gives the policy.
        config: of the run; says which candidates the policy chooses among.
    """
    state = State(instance)
    complete_by_policy(instance, [state], [[]], evaluator, config.search, None)
    return state.schedule(algorithm="policy")


class Validator:
    """One fixed, seeded set of problems per curriculum level, with its reference makespans.

    Args:
        config: of the run; the sets depend on its seed.
        curriculum: makes the sets.
    """

    def __init__(self, config: Config, curriculum: Curriculum) -> None:
        self._config, self._curriculum = config, curriculum
        self._sets: dict[int, tuple[list[Instance], list[float], list[float]]] = {}

    def evaluate(
        self, evaluator: Evaluator, *, level: int, step: int, rollout_weight: float
    ) -> EvalReport:
        """Schedule the set of ``level`` and compare with HEFT and the best scheduler.

        Args:
            evaluator: the network.
            level: whose problems.
            step: of the learner, for the report.
            rollout_weight: λ of the guided search.
        """
        instances, heft, best = self._set(level)
        started = time.perf_counter()
        makespans = [greedy_schedule(i, evaluator, self._config).makespan for i in instances]
        elapsed = time.perf_counter() - started
        row = summarise({"heft": heft, "policy": makespans}, instances)[1]
        return EvalReport(
            step=step,
            level=level,
            slr_vs_heft=row.ratio_to_reference,
            ratio_to_best=float(np.mean(np.divide(makespans, best))),
            mean_slr=row.mean_slr,
            wins=row.wins,
            ties=row.ties,
            losses=row.losses,
            seconds_per_instance=elapsed / len(instances),
            guided_vs_heft=self._guided(instances, heft, evaluator, rollout_weight),
        )

    def _guided(
        self,
        instances: list[Instance],
        heft: list[float],
        evaluator: Evaluator,
        rollout_weight: float,
    ) -> float:
        config = self._config.search.for_solving(self._config.validator.guided_simulations)
        ratios = []
        for number, (instance, reference) in enumerate(zip(instances, heft, strict=True)):
            job = SearchJob(number, instance, seed=number)
            tree, _ = search_alone(
                job, evaluator, config, rollout_weight=rollout_weight, explore=False
            )
            ratios.append(tree.best_makespan / reference)
            tree.close()
        return float(np.mean(ratios))

    def _set(self, level: int) -> tuple[list[Instance], list[float], list[float]]:
        if level not in self._sets:
            instances = self._curriculum.validation_set(
                level, self._config.validator.instances, self._config.run.seed
            )
            by_heft = [heft(instance).makespan for instance in instances]
            best = [best_of_portfolio(instance).makespan for instance in instances]
            self._sets[level] = (instances, by_heft, best)
        return self._sets[level]
