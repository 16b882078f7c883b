"""Curriculum: what is drawn, and when a level is left."""

import json

import numpy as np
import pytest

from aerl_trainer.config import CurriculumConfig, LevelConfig
from aerl_trainer.run.curriculum import Curriculum
from dagsched_env.problem.errors import DAGSchedError

LEVELS = (
    LevelConfig(tasks=(4, 6), processors=(2, 3), ccr=(0.5, 1.0), threshold=0.9),
    LevelConfig(tasks=(8, 9), processors=(4,), ccr=(5.0,), threshold=0.8),
    LevelConfig(tasks=(12, 12), processors=(2,), ccr=(0.0,), threshold=0.7),
)
CONFIG = CurriculumConfig(levels=LEVELS, window=3, max_variance=0.001)


@pytest.mark.parametrize(
    ("history", "promoted_at"),
    [
        pytest.param([0.88, 0.87, 0.86], 2, id="improving below the threshold"),
        pytest.param([0.85, 0.85, 0.85], 2, id="stable below the threshold"),
        pytest.param([0.85, 0.85], None, id="too short a history"),
        pytest.param([0.95, 0.92, 0.89], 2, id="only the latest needs to be below"),
        pytest.param([0.95, 0.93, 0.91], None, id="improving but not below"),
        pytest.param([0.90, 0.90, 0.90], None, id="at the threshold is not below"),
        pytest.param([0.85, 0.86, 0.87], None, id="below but getting worse"),
        pytest.param([0.89, 0.85, 0.89], 2, id="slope zero, small variance"),
        pytest.param([0.99, 0.93, 0.88], None, id="improving, but variance above the bound"),
        pytest.param([1.20, 0.90, 0.89, 0.88], 3, id="old values leave the window"),
        pytest.param([0.85, 0.86, 0.87, 0.87, 0.86], 4, id="recovers after getting worse"),
        pytest.param([0.80, 0.89, 0.85, 0.88], 3, id="slope over the last three alone"),
    ],
)
def test_promotion_rule(history: list[float], promoted_at: int | None) -> None:
    curriculum = Curriculum(CONFIG)
    outcomes = [curriculum.observe(value) for value in history]
    assert outcomes == [i == promoted_at for i in range(len(history))]
    assert curriculum.level == (0 if promoted_at is None else 1)


@pytest.mark.parametrize("window", range(2, 10))
def test_rounding_does_not_hold_up_a_constant_history(window: int) -> None:
    for value in (0.1, 0.7, 0.85, 1 / 3):
        curriculum = Curriculum(CurriculumConfig(levels=LEVELS, window=window))
        outcomes = [curriculum.observe(value) for _ in range(window)]
        assert outcomes == [False] * (window - 1) + [True]


def test_history_starts_again_after_a_promotion() -> None:
    curriculum = Curriculum(CONFIG)
    outcomes = [curriculum.observe(0.75) for _ in range(6)]
    assert outcomes == [False, False, True, False, False, True]
    assert curriculum.level == 2
    assert curriculum.history == ()


def test_last_level_is_never_left() -> None:
    curriculum = Curriculum(CurriculumConfig(levels=LEVELS[:1]))
    assert not any(curriculum.observe(0.1) for _ in range(9))
    assert curriculum.level == 0
    assert curriculum.history == (0.1, 0.1, 0.1)


def test_instances_are_of_their_level() -> None:
    curriculum = Curriculum(CONFIG)
    rng = np.random.default_rng(0)
    for level, settings in enumerate(LEVELS):
        instances = [curriculum.make_instance(rng, level) for _ in range(30)]
        assert {i.n_processors for i in instances} == set(settings.processors)
        low, high = settings.tasks
        assert {i.n_tasks for i in instances} == set(range(low, high + 1))
        ratios = {round(i.data.mean() / i.comp.mean(), 6) for i in instances if i.n_edges}
        assert ratios == set(settings.ccr)


def test_default_level_is_the_current_one() -> None:
    curriculum = Curriculum(CONFIG)
    assert curriculum.make_instance(np.random.default_rng(1)).n_tasks <= 6
    for _ in range(3):
        curriculum.observe(0.5)
    assert curriculum.make_instance(np.random.default_rng(1)).n_tasks >= 8


def test_validation_set_is_fixed() -> None:
    curriculum = Curriculum(CONFIG)
    prints = [i.fingerprint for i in curriculum.validation_set(1, 6, seed=3)]
    for _ in range(3):
        curriculum.observe(0.5)  # neither the level nor its history matters
    assert prints == [i.fingerprint for i in curriculum.validation_set(1, 6, seed=3)]
    assert prints[:4] == [i.fingerprint for i in Curriculum(CONFIG).validation_set(1, 4, seed=3)]
    assert len(set(prints)) == 6
    others = [curriculum.validation_set(1, 6, seed=4), curriculum.validation_set(0, 6, seed=3)]
    assert not set(prints) & {i.fingerprint for instances in others for i in instances}


def test_state_round_trip() -> None:
    curriculum = Curriculum(CONFIG)
    for value in (0.8, 0.8, 0.8, 0.79, 0.78):
        curriculum.observe(value)
    twin = Curriculum(CONFIG)
    twin.load_state_dict(json.loads(json.dumps(curriculum.state_dict())))
    assert (twin.level, twin.history) == (1, (0.79, 0.78))
    assert twin.observe(0.77) is curriculum.observe(0.77) is True
    assert twin.state_dict() == curriculum.state_dict() == {"level": 2, "history": []}


def test_state_is_a_snapshot() -> None:
    curriculum = Curriculum(CONFIG)
    curriculum.observe(0.8)
    record = curriculum.state_dict()
    twin = Curriculum(CONFIG)
    twin.load_state_dict(record)
    twin.observe(0.7)
    curriculum.observe(0.6)
    assert record == {"level": 0, "history": [0.8]}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({}, "'level'"),
        ({"level": 0}, "'history'"),
        ({"level": "1", "history": []}, "'level'"),
        ({"level": True, "history": []}, "'level'"),
        ({"level": 3, "history": []}, r"no curriculum level 3: there are 0\.\.2"),
        ({"level": -1, "history": []}, "'level' is -1"),
        ({"level": 0, "history": [0.8, "x"]}, "'history'"),
        ({"level": 0, "history": [float("nan")]}, "'history'"),
    ],
)
def test_bad_state_is_refused_and_changes_nothing(record: dict, message: str) -> None:
    curriculum = Curriculum(CONFIG)
    curriculum.observe(0.5)
    with pytest.raises(DAGSchedError, match=message):
        curriculum.load_state_dict(record)
    assert curriculum.state_dict() == {"level": 0, "history": [0.5]}


def test_errors() -> None:
    curriculum = Curriculum(CONFIG)
    with pytest.raises(DAGSchedError, match="no curriculum level 3"):
        curriculum.make_instance(np.random.default_rng(0), 3)
    with pytest.raises(DAGSchedError, match="no curriculum level -1"):
        curriculum.validation_set(-1, 2, seed=0)
    with pytest.raises(DAGSchedError, match="slr_vs_heft is nan"):
        curriculum.observe(float("nan"))
    assert curriculum.history == ()
