"""The life of a job: which weights the trajectories are drawn with."""

import numpy as np
import numpy.typing as npt
import pytest

from aerl_trainer.learning.network_learner import NetworkLearner
from aerl_trainer.run.curriculum import Curriculum
from aerl_trainer.run.lifecycle import JobLifecycle
from aerl_trainer.runtime.harvest import LocalJobs
from aerl_trainer.runtime.pool import LockstepPool
from helpers.small_runs import lockstep_config


@pytest.fixture
def lifecycle() -> JobLifecycle:
    config = lockstep_config()
    lifecycle = JobLifecycle(config, Curriculum(config.curriculum), NetworkLearner(config))
    lifecycle.search_with(LocalJobs(config, LockstepPool(config)))
    return lifecycle


def weights_of(version: int, like: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return like + np.float32(1e-3 * version)


def test_each_tree_is_sampled_with_the_newest_weights(
    lifecycle: JobLifecycle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where they are published while the ones before are being taken over."""
    evaluator, loaded = lifecycle._pool._harvester._evaluator, []
    load, first = evaluator.load, lifecycle._learner.weights()

    def overtaken(weights: npt.NDArray[np.float32], version: int) -> None:
        load(weights, version)
        loaded.append((version, weights[0]))
        if version == 2:
            lifecycle.publish(weights_of(3, first), 3)

    monkeypatch.setattr(evaluator, "load", overtaken)
    lifecycle.advance(0.0)
    assert loaded == [], "nothing has been published"
    for version in (1, 2):
        lifecycle.publish(weights_of(version, first), version)
        lifecycle.advance(0.0)
    assert [version for version, _ in loaded] == [1, 2]
    for _ in range(2):
        lifecycle.advance(0.0)
    assert loaded == [(v, weights_of(v, first)[0]) for v in (1, 2, 3)], "once each"
    assert lifecycle.finished == 5
