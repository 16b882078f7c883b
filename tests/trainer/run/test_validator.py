"""The paired test that new weights must pass, and what a report says of makespans."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from aerl_trainer.policy.encoding.context import encoding_context
from aerl_trainer.policy.encoding.evaluator import PriorEvaluator
from aerl_trainer.policy.encoding.states import EncodedStates
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.policy.shipped import shipped_policy
from aerl_trainer.run.curriculum import Curriculum
from aerl_trainer.run.records import SAMPLES
from aerl_trainer.run.validator import Validator, value_correlations
from dagsched_env import Instance
from dagsched_env.kernels.arrays import Floats
from helpers.small_runs import problem, small_config


def validator(fresh_instances: int, curriculum: type[Curriculum] = Curriculum) -> Validator:
    config = small_config(validator={"fresh_instances": fresh_instances})
    return Validator(config, curriculum(config.curriculum))


class Cheap(Curriculum):
    """Of problems that nobody looks at."""

    def make_instance(self, rng: np.random.Generator, level: int) -> Instance:
        return FREE


def scattered(gain: float, seed: int) -> Any:
    """A policy whose makespans scatter by 4 %, and are shorter by ``gain`` on average."""
    rng = np.random.default_rng(seed)

    def schedule(_: Instance) -> SimpleNamespace:
        return SimpleNamespace(makespan=100.0 * np.exp(rng.normal(-gain, 0.04)))

    return SimpleNamespace(schedule=schedule)


def test_a_better_policy_takes_over_and_a_worse_one_does_not() -> None:
    trained, untrained = shipped_policy("default"), FastPolicy()
    test = validator(300)
    assert test.accepts(trained, untrained, level=1, step=1)
    assert not test.accepts(untrained, trained, level=1, step=1)
    assert not test.accepts(trained, trained, level=1, step=1)


@pytest.mark.parametrize(("gain", "at_end", "least", "most"), [
    (0.0, False, 0, 6),
    (0.0, True, 0, 6),
    (0.004, False, 4, 18),
    (0.004, True, 22, 36),
])  # fmt: skip
def test_small_gains_are_seen_at_the_end(gain: float, at_end: bool, least: int, most: int) -> None:
    """Of 40 tests; without a gain one in twenty passes, with one power grows with the problems."""
    test = validator(200, Cheap)
    passed = sum(
        test.accepts(
            scattered(gain, seed), scattered(0.0, seed + 1000), level=0, step=1, at_end=at_end
        )
        for seed in range(40)
    )
    assert least <= passed <= most


FREE = Instance([[0.0, 0.0]] * 3, [(0, 2), (1, 2)], [0.0, 0.0])


class Given(Curriculum):
    """Validates on graphs that cost nothing, and on one that every schedule makes as long."""

    def validation_set(self, level: int, count: int, seed: int) -> list[Instance]:
        return [FREE, Instance([[2.0]], [], [])]


def test_equal_schedules_have_the_ratio_1_even_without_costs() -> None:
    config = small_config(validator={"guided_simulations": 4})
    report = Validator(config, Given(config.curriculum)).evaluate(
        FastPolicy(), PriorEvaluator(), level=0, step=7, rollout_weight=1.0, accepted=True
    )
    assert report.slr_vs_heft == report.sampled_vs_heft == report.guided_vs_heft == 1.0
    assert report.network_vs_heft == report.portfolio_vs_heft == report.ratio_to_best == 1.0
    assert (report.wins, report.ties, report.losses) == (0, 2, 0)


class Predicting:
    """A value head that knows how the schedules of a problem end: ``sign`` times that, scaled."""

    def __init__(self, makespans: Floats, sign: float, scale: float) -> None:
        self.makespans, self.sign, self.scale = makespans, sign, scale

    def evaluate(self, instance: Instance, states: EncodedStates, count: int) -> int:
        assert not states.terminal[:count].any()
        gain = states.completion_makespan[:count] - self.sign * self.makespans
        states.prediction[:count] = gain / self.scale
        return 0


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_value_head_is_judged_by_how_it_ranks_equally_long_beginnings(sign: float) -> None:
    config, policy, instance = small_config().search, FastPolicy(), problem(20, 3, 1)
    makespans = policy.sample(instance, SAMPLES, np.random.default_rng(5)).makespans
    network = Predicting(makespans, sign, encoding_context(instance).rank_scale)
    by_value, by_list = value_correlations(
        instance, policy, network, config, np.random.default_rng(5)
    )
    assert by_value == pytest.approx(sign, abs=1e-3)
    assert 0.0 < by_list < 1.0
    untrained, same = value_correlations(
        instance, policy, PriorEvaluator(), config, np.random.default_rng(5)
    )
    assert untrained == same == by_list


def test_rewards_rank_the_other_way_round() -> None:
    config = small_config(search={"value_target": "rank", "backup": "value"}).search
    policy, instance = FastPolicy(), problem(20, 3, 1)
    makespans = policy.sample(instance, SAMPLES, np.random.default_rng(5)).makespans

    class Rewarding:
        def evaluate(self, instance: Instance, states: EncodedStates, count: int) -> int:
            states.prediction[:count] = -makespans
            return 0

    by_value, _ = value_correlations(
        instance, policy, Rewarding(), config, np.random.default_rng(5)
    )
    assert by_value == pytest.approx(1.0, abs=1e-3)
