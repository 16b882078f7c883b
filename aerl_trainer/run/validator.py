"""Judges what is learned on fixed problems, and tests it on fresh ones before it is used.

Nothing explores here: there is no root noise, and samples and rollouts draw the same numbers every
time.
"""

import dataclasses
import time
from typing import NamedTuple, Protocol

import numpy as np

from aerl_trainer.config import Config, SearchConfig, seeding
from aerl_trainer.learning.rank_reward import rank_correlation
from aerl_trainer.policy.encoding.context import encoding_context
from aerl_trainer.policy.encoding.evaluator import Evaluator, PriorEvaluator
from aerl_trainer.policy.encoding.states import allocate_states, allocate_workspace, encode_state
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.run.curriculum import Curriculum
from aerl_trainer.run.records import SAMPLES, EvalReport
from aerl_trainer.tree.alone import search_alone
from aerl_trainer.tree.records import SearchJob
from aerl_trainer.tree.trajectories import complete_by_network
from dagsched_env.comparison.compare import mean_ratio, summarise
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.simulator import State
from dagsched_env.schedulers import best_of_portfolio, heft

MORE_AT_END = 5
"""Times as many problems for the paired test at the end of a run."""
SIGNIFICANT = 1.65
"""Of a one-sided test at 5 %: the normal quantile, which Student's t hardly differs from."""


def greedy_schedule(instance: Instance, evaluator: Evaluator, config: Config) -> Schedule:
    """The schedule of the network's most probable action in every state.

    Args:
        instance: the problem.
        evaluator: gives the policy.
        config: of the run; says which candidates the policy chooses among.
    """
    state = State(instance)
    complete_by_network(instance, [state], evaluator, config.search, None)
    return state.schedule(algorithm="network")


def value_correlations(
    instance: Instance,
    policy: FastPolicy,
    network: Evaluator,
    config: SearchConfig,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """How well the value head ranks states that are equally far: half of the tasks are placed.

    The states are those of ``SAMPLES`` schedules that the policy samples; each has the makespan
    that this schedule has in the end.

    Args:
        instance: the problem.
        policy: samples the schedules.
        network: gives the values.
        config: of the search, for which the states are encoded.
        rng: of the samples.

    Returns:
        Spearman's rank correlation of these makespans with the makespans that the value head
        predicts (its rewards, if those are what it learns), and with those of the list completions,
        which it corrects; in [-1, 1], and 0 where all are equal.
    """
    group = policy.sample(instance, SAMPLES, rng)
    context, workspace = encoding_context(instance), allocate_workspace(*instance.shape)
    states = allocate_states(SAMPLES, config.max_children, instance.n_tasks)
    prior = config.prior != "none"
    for row, actions in enumerate(group.actions[:, : instance.n_tasks // 2].tolist()):
        state = State(instance)
        for action in actions:
            state.apply(*divmod(action, instance.n_processors))
        encode_state(context, workspace, state.arrays, states, row, config.min_prior, prior, True)
    network.evaluate(instance, states, SAMPLES)
    listed, predicted = states.completion_makespan[:SAMPLES], states.prediction[:SAMPLES]
    by_value = -predicted
    if config.value_target == "return":
        by_value = listed - context.rank_scale * predicted
    return rank_correlation(by_value, group.makespans), rank_correlation(listed, group.makespans)


class _Policy(Protocol):
    def schedule(self, instance: Instance, /) -> Schedule: ...

    def best_of(self, instance: Instance, k: int, rng: np.random.Generator, /) -> Schedule: ...


class _Set(NamedTuple):
    """A fixed set of problems with its reference makespans (time)."""

    instances: list[Instance]
    heft: Floats
    portfolio: Floats


class Validator:
    """One fixed, seeded set of problems per curriculum level, with its reference makespans.

    Args:
        config: of the run; the sets depend on its seed.
        curriculum: makes the sets, and draws the fresh problems.
    """

    def __init__(self, config: Config, curriculum: Curriculum) -> None:
        self._config, self._curriculum = config, curriculum
        self._sets: dict[int, _Set] = {}

    def accepts(
        self,
        candidate: FastPolicy,
        present: FastPolicy,
        *,
        level: int,
        step: int,
        at_end: bool = False,
    ) -> bool:
        """Whether a policy is better than the present one: a paired test on fresh problems.

        One-sided t-test at 5 % on the logarithms of the greedy schedules' makespans.

        Args:
            candidate: the policy that may take over.
            present: the policy in use.
            level: of the curriculum, whose problems are drawn.
            step: of training; each step has problems of its own.
            at_end: take ``MORE_AT_END`` times as many problems.
        """
        count = self._config.validator.fresh_instances * (MORE_AT_END if at_end else 1)
        gains = []
        for number in range(count):
            rng = seeding.generator(self._config.run.seed, "acceptance", step, number)
            instance = self._curriculum.make_instance(rng, level)
            makespans = [p.schedule(instance).makespan for p in (present, candidate)]
            gains.append(np.log(makespans[0] / makespans[1]) if min(makespans) > 0 else 0.0)
        error = np.std(gains, ddof=1) / np.sqrt(len(gains))
        return bool(np.mean(gains) > SIGNIFICANT * error)

    def judge(
        self, policy: _Policy, *, level: int, step: int, rng: np.random.Generator
    ) -> EvalReport:
        """Compare its greedy schedules, and the best of samples, with HEFT and the best scheduler.

        Args:
            policy: to be judged.
            level: whose problems.
            step: of training, for the report.
            rng: of the samples.
        """
        instances, by_heft, portfolio = self._set(level)
        started = time.perf_counter()
        makespans = [policy.schedule(instance).makespan for instance in instances]
        elapsed = time.perf_counter() - started
        row = summarise({"heft": list(by_heft), "policy": makespans}, instances)[1]
        sampled = [policy.best_of(instance, SAMPLES, rng).makespan for instance in instances]
        return EvalReport(
            step=step,
            level=level,
            slr_vs_heft=row.ratio_to_reference,
            sampled_vs_heft=mean_ratio(sampled, by_heft),
            portfolio_vs_heft=mean_ratio(portfolio, by_heft),
            ratio_to_best=mean_ratio(makespans, portfolio),
            mean_slr=row.mean_slr,
            wins=row.wins,
            ties=row.ties,
            losses=row.losses,
            seconds_per_instance=elapsed / len(instances),
        )

    def evaluate(
        self,
        policy: FastPolicy,
        network: Evaluator | None,
        *,
        level: int,
        step: int,
        rollout_weight: float,
        accepted: bool,
    ) -> EvalReport:
        """Schedule the set of ``level`` and compare with HEFT and the best scheduler.

        Args:
            policy: the fast policy.
            network: guides the search if there is one, and is judged as a policy too.
            level: whose problems.
            step: of training, for the report.
            rollout_weight: λ of the guided search.
            accepted: for the report.
        """
        instances, by_heft, _ = self._set(level)
        rng = np.random.default_rng(0)
        report = self.judge(policy, level=level, step=step, rng=rng)
        by_network = by_value = by_list = None
        if network is not None:
            greedy = [greedy_schedule(i, network, self._config).makespan for i in instances]
            by_network = mean_ratio(greedy, by_heft)
            search = self._config.search
            pairs = [value_correlations(i, policy, network, search, rng) for i in instances]
            by_value, by_list = np.mean(pairs, axis=0).tolist()
        guided = self._guided(instances, policy, network, rollout_weight)
        judged = network if self._config.validator.judged == "search" else None
        shown = report.slr_vs_heft if by_network is None or judged is None else by_network
        by_level = [
            shown if at == level else self._ratio(at, policy, judged)
            for at in range(len(self._config.curriculum.levels))
        ]
        return dataclasses.replace(
            report,
            guided_vs_heft=mean_ratio(guided, by_heft),
            network_vs_heft=by_network,
            value_correlation=by_value,
            list_correlation=by_list,
            by_level=tuple(by_level),
            accepted=accepted,
        )

    def _ratio(self, level: int, policy: FastPolicy, network: Evaluator | None) -> float:
        """Of one greedy pass, by the network if there is one, on the set of a level."""
        instances, by_heft, _ = self._set(level)
        if network is None:
            return mean_ratio([policy.schedule(i).makespan for i in instances], by_heft)
        return mean_ratio(
            [greedy_schedule(i, network, self._config).makespan for i in instances], by_heft
        )

    def _guided(
        self,
        instances: list[Instance],
        policy: FastPolicy,
        network: Evaluator | None,
        rollout_weight: float,
    ) -> list[float]:
        """Makespans of a short search of each problem."""
        config = self._config.search.for_solving(self._config.validator.guided_simulations)
        makespans = []
        for number, instance in enumerate(instances):
            tree, _ = search_alone(
                SearchJob(number, instance, seed=number, policy=policy.weights),
                PriorEvaluator() if network is None else network,
                config,
                rollout_weight=rollout_weight,
                explore=False,
            )
            makespans.append(tree.best_makespan)
            tree.close()
        return makespans

    def _set(self, level: int) -> _Set:
        if level not in self._sets:
            count, seed = self._config.validator.instances, self._config.run.seed
            instances = self._curriculum.validation_set(level, count, seed)
            self._sets[level] = _Set(
                instances,
                np.array([heft(instance).makespan for instance in instances]),
                np.array([best_of_portfolio(instance).makespan for instance in instances]),
            )
        return self._sets[level]
