"""Both modes with a network shorten the schedules of problems that training has not seen.

In seeded runs of one process, at sizes where all of ten seeds passed: the mean gain was 0.06 to
0.10 with a network and 0.35 to 0.40 in literal mode, the smallest t 4.8 and 7.0. That trees alone
teach the fast policy is
``test_trees_alone_shorten_schedules_of_problems_that_were_not_seen``.
"""

import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aerl_trainer import checkpoint
from aerl_trainer import config as settings
from aerl_trainer.config import Config, LevelConfig
from aerl_trainer.learning.network_learner import make_network
from aerl_trainer.network.evaluator import TorchEvaluator
from aerl_trainer.network.network import Network
from aerl_trainer.run.problems import Problems
from aerl_trainer.run.reporting import RunDirectory
from aerl_trainer.run.training import train
from aerl_trainer.run.validator import greedy_schedule
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.instance import Instance

PAPER = Path(__file__).parents[3] / "configs" / "paper.toml"
SCALED_DOWN: dict[str, dict[str, Any]] = {
    "inference": {"backend": "inline"},
    "network": {"width": 16, "layers": 1},
    "policy": {"instances": 1, "schedules": 2},
    "replay": {"capacity": 512, "min_size": 16},
    "run": {"minutes": 60.0, "actors": 1, "trees_in_flight": 1, "seed": 0},
    "validator": {
        "interval": 1000,
        "instances": 1,
        "fresh_instances": 30,
        "guided_simulations": 1,
    },
    "learner": {
        "network": True,
        "batch_size": 16,
        "learning_rate": 0.003,
        "steps_per_job": 2.0,
        "publish_interval": 5,
    },
}
"""A few seconds of a run; the fast policy, whose rollouts end the leaves, hardly learns."""


def scaled_down(paper: dict[str, Any], level: dict[str, Any], steps: int, **search: int) -> Config:
    """``paper``, or the defaults if it is empty, on one level of small problems."""
    sections = {
        name: {**paper.get(name, {}), **SCALED_DOWN.get(name, {})}
        for name in {**paper, **SCALED_DOWN}
    }
    sections["search"] = {**paper.get("search", {}), "min_trajectories": 8, **search}
    sections["curriculum"] = {"levels": [{**level, "threshold": 0.01}]}
    sections["run"]["max_steps"] = steps
    return settings.from_dict(sections)


def unseen(level: LevelConfig, count: int) -> list[Instance]:
    problems = Problems((level,), seed=99, count=1)
    return [problems.draw(0, np.random.default_rng(5000 + i)) for i in range(count)]


def makespans(network: Network, instances: list[Instance], config: Config) -> Floats:
    """Of the network's most probable actions."""
    evaluator = TorchEvaluator(network)
    return np.array([greedy_schedule(i, evaluator, config).makespan for i in instances])


@pytest.mark.parametrize(
    ("config", "least"),
    [
        pytest.param(
            scaled_down(
                {},
                {"instances": ["family:out_tree?levels=4&degree=2&processors=3&ccr=5"]},
                steps=150,
                budget=64,
                batch_size=8,
            ),
            0.04,
            id="network",
        ),
        pytest.param(
            scaled_down(
                tomllib.loads(PAPER.read_text(encoding="utf-8")),
                {"tasks": [15, 15], "processors": [3], "ccr": [1.0, 5.0]},
                steps=60,
                budget=200,
            ),
            0.25,
            id="literal",
        ),
    ],
)
def test_a_network_shortens_schedules_of_problems_that_were_not_seen(
    config: Config, least: float, tmp_path: Path
) -> None:
    """Against the untrained network: the hand-made prior, or in literal mode no choice at all."""
    directory = RunDirectory(tmp_path / "run")
    train(config, directory)
    instances, network = unseen(config.curriculum.levels[0], 60), make_network(config)
    before = makespans(network, instances, config)
    network.load_state_dict(checkpoint.load(directory.checkpoints / "last").tensors["model"])
    gains = np.log(before / makespans(network, instances, config))
    assert gains.mean() > 3.0 * gains.std(ddof=1) / np.sqrt(len(gains))
    assert gains.mean() > least
