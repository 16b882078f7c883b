"""What each part of AERL-DS is worth: variants of it, trained for an equal time, in one table.

    python benchmarks/ablation.py [--variants NAME …] [--seconds 90] [--ppo-seconds SECONDS]
        [--seeds 3] [--json FILE]

All train on the default mixture of ``aerl train``, but for one. Seconds are CPU time of this one
process, with all searches in it. All are judged on graphs that none of them trains on: the suite
``heldout``, and the graphs of 100 and 200 tasks in the suite ``valid``. Each finished run prints a
line and goes into the file of ``--json``; a second call with this file makes the missing runs only.

  untrained              the fast policy as it begins: the hand-made prior
  tree                   the default: shared trees, a quarter of them of problems of the replay
  tree_uniform           ... with another kind of replay
  tree_rank
  tree_none              ... of new problems alone
  rollouts               schedules that the policy draws, 16 groups of 32 a step
  tau_0.3, tau_3         trees with rank rewards at another τ
  z_score, ranks         trees with the normalised makespan, or its normalised rank, as the reward
  network_uniform        the graph network, trained on shared trees beside the fast policy, with
  network_proportional   each kind of replay; the network schedules
  network_rank
  paper                  configs/paper.toml; the network schedules, and the fast policy is left out
  reinforce              the attention model of `aerl train --algorithm reinforce`
  reinforce_rollout      the same with the greedy rollout of a frozen copy as its baseline
  maskable_ppo           MaskablePPO with the policy and the settings of ``make baseline``
  maskable_ppo_heldout   the same on the problems of ``make baseline``, the family of ``heldout``

"One pass" takes the most probable action of every state. "Best of 32" is the best of it and 32
samples: of the fast policy at its usual temperature, of networks at temperature 1; MaskablePPO
samples none. A step is one of the gradient; of MaskablePPO one of the environment. Figures are
means ± standard errors over the seeds ± those over the graphs.
"""

import argparse
import dataclasses
import itertools
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch
from fast_policy import Unseen
from lockstep import Training
from sb3_contrib import MaskablePPO
from scipy.stats import rankdata
from stable_baselines3.common.vec_env import DummyVecEnv

from aerl_trainer.baselines.attention.learner import AttentionLearner
from aerl_trainer.baselines.attention.scheduler import AttentionScheduler
from aerl_trainer.baselines.maskable_ppo import ENVS, PPO, TRAINING, UNLIMITED
from aerl_trainer.baselines.pair_policy import PairObservation, PairPolicy
from aerl_trainer.cli.warm_up import warm_up
from aerl_trainer.config import (
    MIXTURE,
    Config,
    LearnerConfig,
    PolicyConfig,
    ReinforceConfig,
    ReplayConfig,
    RunConfig,
    SearchConfig,
    load,
)
from aerl_trainer.learning.rank_reward import rank_rewards
from aerl_trainer.network.evaluator import TorchEvaluator
from aerl_trainer.network.network import Network
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.run.records import SAMPLES
from aerl_trainer.run.validator import greedy_schedule
from aerl_trainer.tree.trajectories import complete_by_network
from dagsched_env import Instance, suites
from dagsched_env.io.atomic import write_text
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.simulator import State
from dagsched_env.sources import resolve_source

PAPER = Path(__file__).parents[1] / "configs" / "paper.toml"
ROUNDING = 1e-9
"""Relative spread of makespans that are equal."""
COLUMNS = (
    "`heldout`: one pass / HEFT",
    "`heldout`: best of 32 / portfolio",
    "n = 100, 200: one pass / HEFT",
    "n = 100, 200: best of 32 / portfolio",
)


class Trained(NamedTuple):
    """What a variant has learned."""

    steps: int
    one_pass: Callable[[Instance], float]
    """Makespan of the greedy schedule."""
    best_of: Callable[[Instance], float] | None
    """Makespan of the best of it and samples; None where nobody samples."""


class Clock:
    """Starts when it is made."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._started = seconds, time.process_time()

    @property
    def progress(self) -> float:
        """Share of the CPU time that is over."""
        return (time.process_time() - self._started) / self._seconds


def of_policy(policy: FastPolicy, steps: int, seed: int) -> Trained:
    """The fast policy schedules."""
    rng = np.random.default_rng(seed)
    return Trained(
        steps,
        lambda instance: policy.schedule(instance).makespan,
        lambda instance: policy.best_of(instance, SAMPLES, rng).makespan,
    )


def of_network(network: Network, steps: int, config: Config) -> Trained:
    """The network schedules."""
    evaluator, rng = TorchEvaluator(network), np.random.default_rng(config.run.seed)
    search = dataclasses.replace(config.search, trajectory_temperature=1.0)

    def one_pass(instance: Instance) -> float:
        return greedy_schedule(instance, evaluator, config).makespan

    def best_of(instance: Instance) -> float:
        states = [State(instance) for _ in range(SAMPLES)]
        complete_by_network(instance, states, evaluator, search, rng)
        return min(one_pass(instance), *(state.makespan for state in states))

    return Trained(steps, one_pass, best_of)


def untrained(_seconds: float, seed: int) -> Trained:
    """Seeds differ in the samples alone."""
    return of_policy(FastPolicy(), 0, seed)


def aerl(
    seconds: float,
    seed: int,
    *,
    config: Config,
    reward: Callable[[Floats], Floats] | None = None,
) -> Trained:
    """AERL-DS in one process.

    Args:
        seconds: of CPU time.
        seed: of the run.
        config: of the run, but for its seed and processes.
        reward: of the fast policy; by default the rank reward with the τ of the settings.
    """
    training = Training(resolve_source(MIXTURE), config, seed, reward=reward)
    training.run(seconds)
    steps, learner = training.gradient.steps, training.learner
    if learner is not None:
        return of_network(learner.network, steps, config)
    return of_policy(training.gradient.policy, steps, seed)


def z_score(makespans: Floats) -> Floats:
    """How many standard deviations each is below the mean; 0 where all are equal."""
    mean, spread = makespans.mean(), makespans.std()
    return (mean - makespans) / spread if spread > ROUNDING * mean else np.zeros_like(makespans)


def ranks(makespans: Floats) -> Floats:
    """The same of their ranks, by rank rewards: there, makespans equal up to rounding are equal."""
    return z_score(rankdata(-rank_rewards(makespans)))


def maskable_ppo(seconds: float, seed: int, *, problems: Any) -> Trained:
    """One set of weights schedules problems of all sizes; only the padding of the inputs differs.

    Args:
        seconds: of CPU time.
        seed: of networks, environments and actions.
        problems: to train on, as ``DAGSched-v0`` takes them.
    """
    draw = resolve_source(problems)
    envs = DummyVecEnv([lambda: pair_env(draw)] * ENVS)
    model = MaskablePPO(PairPolicy, envs, **PPO, seed=seed, device="cpu")
    clock = Clock(seconds)
    model.learn(UNLIMITED, callback=lambda *_: clock.progress < 1.0)

    def one_pass(instance: Instance) -> float:
        env = pair_env(instance)
        policy = PairPolicy(env.observation_space, env.action_space, lambda _: 0.0)
        policy.load_state_dict(model.policy.state_dict())
        observation, info = env.reset()
        while "schedule" not in info:
            mask = info["action_mask"]
            action, _ = policy.predict(observation, deterministic=True, action_masks=mask)
            observation, _, _, _, info = env.step(np.int64(action))
        return info["makespan"]

    return Trained(model.num_timesteps, one_pass, None)


def pair_env(instances: Any) -> PairObservation:
    """Padded to the largest of the instances."""
    return PairObservation(gymnasium.make("DAGSched-v0", instances=instances))


def reinforce(seconds: float, seed: int, *, config: Config) -> Trained:
    """The attention model.

    Args:
        seconds: of CPU time.
        seed: of everything.
        config: of the run, but for its seed.
    """
    config = dataclasses.replace(config, run=RunConfig(seed=seed))
    learner = AttentionLearner(config, resolve_source(MIXTURE))
    clock = Clock(seconds)
    while (progress := clock.progress) < 1.0:
        learner.step(progress)
    scheduler, rng = AttentionScheduler(learner.policy), np.random.default_rng(seed)
    return Trained(
        learner.steps,
        lambda instance: scheduler.schedule(instance).makespan,
        lambda instance: scheduler.best_of(instance, SAMPLES, rng).makespan,
    )


def with_network(replay: str) -> Callable[[float, int], Trained]:
    """The network as an option, with a kind of replay."""
    settings = Config(
        learner=LearnerConfig(network=True),
        replay=ReplayConfig(kind=replay),
        search=SearchConfig(budget=600),
    )
    return partial(aerl, config=settings)


def with_replay(**settings: Any) -> Callable[[float, int], Trained]:
    """Trees, with these settings of the replay."""
    return partial(aerl, config=Config(replay=ReplayConfig(**settings)))


VARIANTS: dict[str, Callable[[float, int], Trained]] = {
    "untrained": untrained,
    "tree": partial(aerl, config=Config()),
    "tree_uniform": with_replay(kind="uniform"),
    "tree_rank": with_replay(kind="rank"),
    "tree_none": with_replay(share=0.0),
    "rollouts": partial(
        aerl,
        config=Config(learner=LearnerConfig(groups="rollouts"), policy=PolicyConfig(instances=16)),
    ),
    "tau_0.3": partial(aerl, config=Config(learner=LearnerConfig(rank_temperature=0.3))),
    "tau_3": partial(aerl, config=Config(learner=LearnerConfig(rank_temperature=3.0))),
    "z_score": partial(aerl, config=Config(), reward=z_score),
    "ranks": partial(aerl, config=Config(), reward=ranks),
    "network_uniform": with_network("uniform"),
    "network_proportional": with_network("proportional"),
    "network_rank": with_network("rank"),
    # The fast policy has no part in it: a step of two schedules takes no time worth speaking of.
    # Three of the large graphs have states of more than 512 legal pairs, where some are dropped.
    "paper": partial(
        aerl, config=dataclasses.replace(load(PAPER), policy=PolicyConfig(instances=1, schedules=2))
    ),
    "reinforce": partial(reinforce, config=Config()),
    "reinforce_rollout": partial(
        reinforce, config=Config(reinforce=ReinforceConfig(baseline="rollout"))
    ),
    "maskable_ppo": partial(maskable_ppo, problems=MIXTURE),
    "maskable_ppo_heldout": partial(maskable_ppo, problems=TRAINING),
}


def judge(trained: Trained, sets: list[Unseen]) -> dict[str, list[float | None]]:
    """The figures of ``COLUMNS``, and their standard errors over the graphs."""
    ratios: list[Floats | None] = []
    for unseen in sets:
        one_pass = np.array([trained.one_pass(instance) for instance in unseen.instances])
        ratios.append(one_pass / unseen.heft)
        if trained.best_of is None:
            ratios.append(None)
        else:
            best = np.array([trained.best_of(instance) for instance in unseen.instances])
            ratios.append(best / unseen.portfolio)
    return {
        "figures": [None if r is None else float(r.mean()) for r in ratios],
        "errors": [None if r is None else float(r.std(ddof=1) / len(r) ** 0.5) for r in ratios],
    }


def row(name: str, runs: list[dict[str, Any]]) -> str:
    """A line of the table: means over the runs of a variant."""
    steps = np.mean([run["steps"] for run in runs])
    figures = zip(*(run["figures"] for run in runs), strict=True)
    errors = zip(*(run["errors"] for run in runs), strict=True)
    return " | ".join([f"| `{name}`", f"{steps:.0f}", *map(cell, figures, errors)]) + " |"


def cell(values: tuple[float | None, ...], errors: tuple[float | None, ...]) -> str:
    """Mean ± standard error over the seeds ± that over the graphs."""
    if None in values:
        return ""
    seeds = f"{np.std(values, ddof=1) / np.sqrt(len(values)):.4f}" if len(values) > 1 else "-"
    return f"{np.mean(values):.4f} ± {seeds} ± {np.mean(errors):.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--variants", nargs="+", metavar="NAME", default=list(VARIANTS), choices=VARIANTS
    )
    parser.add_argument("--seconds", type=float, default=90.0)
    parser.add_argument("--ppo-seconds", type=float, help="of MaskablePPO; default: --seconds")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    warm_up()  # the first variant need not load the kernels
    large = [instance for instance in suites.load("valid") if instance.n_tasks in (100, 200)]
    sets = [Unseen("heldout", list(suites.load("heldout"))), Unseen("valid", large)]
    known = arguments.json is not None and arguments.json.exists()
    runs = json.loads(arguments.json.read_text()) if known else []
    chosen: dict[str, list[dict[str, Any]]] = {name: [] for name in arguments.variants}
    for seed, name in itertools.product(range(arguments.seeds), chosen):
        seconds = arguments.seconds
        if name.startswith("maskable_ppo"):
            seconds = arguments.ppo_seconds or seconds
        key = {"variant": name, "seed": seed, "seconds": seconds}
        run = next((run for run in runs if key.items() <= run.items()), None)
        if run is None:
            trained = VARIANTS[name](seconds, seed)
            run = {**key, "steps": trained.steps, **judge(trained, sets)}
            runs.append(run)
            if arguments.json is not None:
                write_text(arguments.json, json.dumps(runs, indent=2) + "\n")
        figures = " ".join("      " if f is None else f"{f:.4f}" for f in run["figures"])
        print(f"{name:20} seed {seed} {run['steps']:8d} steps  {figures}", flush=True)
        chosen[name].append(run)
    print("\n| variant | steps |", " | ".join(COLUMNS), "|")
    print("|---|" + "---:|" * (1 + len(COLUMNS)))
    for name, its in chosen.items():
        print(row(name, its))


if __name__ == "__main__":
    main()
