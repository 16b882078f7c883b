"""AERL-DS in one process, for benchmarks that count its CPU time: all parts take turns."""

import dataclasses
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from aerl_trainer.config import Config, RunConfig
from aerl_trainer.learning.network_learner import NetworkLearner
from aerl_trainer.learning.policy_learner import PolicyLearner
from aerl_trainer.learning.problem_replay import ProblemReplay
from aerl_trainer.learning.rank_reward import rank_rewards
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.run.curriculum import Curriculum
from aerl_trainer.run.lifecycle import JobLifecycle
from aerl_trainer.runtime.harvest import LocalJobs
from aerl_trainer.runtime.pool import LockstepPool
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.instance import Instance
from dagsched_env.sources import Draw


class OneSource(Curriculum):
    """A curriculum that draws all problems from one source."""

    def __init__(self, config: Config, draw: Draw) -> None:
        super().__init__(config.curriculum)
        self._draw = draw

    def make_instance(self, rng: np.random.Generator, level: int | None = None) -> Instance:
        return self._draw(rng)


class Training:
    """A run without validations, processes and files.

    Args:
        draw: problems.
        config: of the run, but for its seed and processes.
        seed: of the run.
        reward: of the fast policy; by default the rank reward with the τ of the settings.
    """

    def __init__(
        self,
        draw: Draw,
        config: Config,
        seed: int,
        *,
        reward: Callable[[Floats], Floats] | None = None,
    ) -> None:
        self._config = dataclasses.replace(config, run=RunConfig(actors=1, seed=seed))
        settings, curriculum = config.learner, OneSource(self._config, draw)
        self.learner = NetworkLearner(self._config) if settings.network else None
        replay = ProblemReplay(config.replay) if config.variations else None
        self._lifecycle = JobLifecycle(self._config, curriculum, self.learner, replay)
        self._lifecycle.search_with(LocalJobs(self._config, LockstepPool(self._config)))
        self.gradient = PolicyLearner(
            draw,
            np.random.default_rng([7, seed]),
            config.policy,
            reward=reward or partial(rank_rewards, temperature=settings.rank_temperature),
            replay=replay,
        )

    def step(self, progress: float) -> None:
        """One step of each learner."""
        config, gradient, lifecycle = self._config, self.gradient, self._lifecycle
        if self.learner is not None and gradient.steps % config.learner.publish_interval == 0:
            lifecycle.publish(self.learner.weights(), gradient.steps + 1)
        while not self._may_step():
            lifecycle.advance(0.0)
        gradient.step(progress, lifecycle.take_groups(config.policy.instances))
        lifecycle.guide(gradient.present, gradient.steps)
        if self.learner is not None:
            self.learner.step()

    def _may_step(self) -> bool:
        config = self._config
        if self.learner is not None:
            ahead = self.gradient.steps >= config.learner.steps_per_job * self._lifecycle.finished
            return self.learner.ready and not ahead
        return not config.variations or self._lifecycle.waiting_groups >= config.policy.instances

    def run(self, seconds: float) -> None:
        """Steps for so many seconds of CPU time; the first one, which loads kernels, is free."""
        if self.gradient.steps == 0:
            self.step(1.0)  # learns nothing
        started = time.process_time()
        while (progress := (time.process_time() - started) / seconds) < 1.0:
            self.step(progress)


def trained(draw: Draw, config: Config, seed: int, seconds: float) -> tuple[FastPolicy, int]:
    """The policy after its seconds, and its gradient steps."""
    training = Training(draw, config, seed)
    training.run(seconds)
    return training.gradient.policy, training.gradient.steps
