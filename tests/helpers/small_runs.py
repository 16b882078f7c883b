"""Settings under which every part of the trainer runs in seconds, and data made with them."""

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from aerl_trainer import config as settings
from aerl_trainer.config import Config, SearchConfig
from aerl_trainer.learning.experiences import make_experiences
from aerl_trainer.learning.records import Experience
from aerl_trainer.policy.encoding.evaluator import Evaluator, PriorEvaluator
from aerl_trainer.policy.encoding.states import allocate_states
from aerl_trainer.tree.alone import search_alone
from aerl_trainer.tree.records import SearchJob, Trajectory
from aerl_trainer.tree.shared_tree import SharedTree
from aerl_trainer.tree.trajectories import complete_by_network, sample_trajectories
from aerl_trainer.tree.tree import TreeSize
from aerl_trainer.tree.worker import SearchWorker
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.problem.instance import Instance

SMALL: dict[str, dict[str, Any]] = {
    "search": {
        "budget": 40,
        "min_trajectories": 3,
        "cap_factor": 4.0,
        "batch_size": 4,
        "max_children": 16,
        "rollout_decay_steps": 20,
    },
    "inference": {"backend": "server", "devices": ["cpu"]},
    "network": {"width": 8, "layers": 1},
    "policy": {"instances": 3, "schedules": 4, "decay_steps": 30},
    "learner": {
        "network": True,
        "batch_size": 4,
        "learning_rate": 0.003,
        "steps_per_job": 2.0,
        "publish_interval": 5,
        "checkpoint_interval": 7,
    },
    "replay": {"capacity": 32, "min_size": 4, "beta_steps": 20},
    "curriculum": {
        "levels": [
            {"tasks": [5, 7], "processors": [2, 3], "ccr": [0.5, 2.0], "threshold": 2.0},
            {"tasks": [7, 9], "processors": [3], "ccr": [1.0], "threshold": 0.1},
        ],
        "window": 2,
        "max_variance": 1.0,
    },
    "validator": {"interval": 5, "instances": 3, "fresh_instances": 30},
    "run": {
        "minutes": 5.0,
        "max_steps": 20,
        "actors": 1,
        "trees_in_flight": 2,
        "seed": 3,
        "evaluation_budget_s": 0.01,
    },
}


def small_config(**overrides: dict[str, Any]) -> Config:
    """``SMALL`` with the given sections changed: ``small_config(run={"actors": 2})``."""
    names = (*SMALL, *(name for name in overrides if name not in SMALL))
    sections = {name: {**SMALL.get(name, {}), **overrides.get(name, {})} for name in names}
    return settings.from_dict(sections)


def lockstep_config(**overrides: dict[str, Any]) -> Config:
    """One actor and inline inference: everything takes turns in this process."""
    return small_config(**{"inference": {"backend": "inline"}, **overrides})


def set_flags(config: Config) -> list[str]:
    """The same settings as arguments of ``aerl train``, but for the curriculum."""
    defaults = settings.to_dict(Config())
    flags = []
    for section, values in settings.to_dict(config).items():
        for key, value in values.items():
            if value != defaults[section][key] and section != "curriculum":
                text = list(value) if isinstance(value, tuple) else value
                text = str(value).lower() if isinstance(value, bool) else text
                flags.append(f"{section}.{key}={text}")
    return ["--set", *flags]


def problem(n: int = 8, p: int = 3, seed: int = 0) -> Instance:
    return TopcuogluGenerator(n_tasks=n, n_processors=p, shape=0.7)(np.random.default_rng(seed))


def trajectories_of(instance: Instance, config: Config, seed: int = 0) -> list[Trajectory]:
    """A search without a network, and its sample."""
    task, rng = SearchJob(0, instance, seed), np.random.default_rng(seed)
    tree, _ = search_alone(task, PriorEvaluator(), config.search, rollout_weight=1.0, explore=True)
    complete = partial(
        complete_by_network, instance, evaluator=PriorEvaluator(), config=config.search, rng=rng
    )
    return sample_trajectories(instance, tree.arrays, complete, config.search, rng)


def experiences_of(instance: Instance, config: Config, seed: int = 0) -> list[Experience]:
    return make_experiences(instance, trajectories_of(instance, config, seed), config)


def eventually(condition: Callable[[], Any], what: str, timeout_s: float = 60.0) -> Any:
    """Wait until ``condition()`` is true and return its value; fail after ``timeout_s``."""
    deadline = time.monotonic() + timeout_s
    while not (value := condition()):
        assert time.monotonic() < deadline, f"still waiting after {timeout_s} s: {what}"
        time.sleep(0.01)
    return value


def shared_memory_of(pid: int) -> list[str]:
    """Memory that a process has made to share, once for each descriptor of whatever process."""
    found = []
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        with contextlib.suppress(OSError):  # closed, or of another user
            found.append(os.readlink(descriptor))
    return sorted(name for name in found if name.startswith(f"/memfd:aerl-ds-{pid}-"))


def is_running(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def replaced(config: Config, section: str, **values: Any) -> Config:
    """A copy with some values of one section changed."""
    changed = dataclasses.replace(getattr(config, section), **values)
    return dataclasses.replace(config, **{section: changed})


def empty_tree(instance: Instance, config: SearchConfig, actors: int = 1) -> SharedTree:
    """In private memory."""
    tree = SharedTree.local(TreeSize.for_search(config, actors, instance.n_tasks))
    tree.reset()
    return tree


def search_worker(
    tree: SharedTree,
    actor: int,
    task: SearchJob,
    config: SearchConfig,
    *,
    evaluator: Evaluator | None = None,
    explore: bool = False,
) -> SearchWorker:
    """With leaves of its own; without an ``evaluator`` it uses the hand-made prior."""
    return SearchWorker(
        actor,
        task,
        tree,
        allocate_states(config.batch_size, config.max_children, task.instance.n_tasks),
        evaluator or PriorEvaluator(),
        config,
        explore=explore,
        network=evaluator is not None,
    )
