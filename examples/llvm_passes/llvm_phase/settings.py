"""The settings of a run."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from aerl_trainer.config.checks import require
from dagsched_env.environment.rewards import Reduction, RewardFn
from llvm_phase.backends import BACKENDS
from llvm_phase.policy import PolicyConfig
from llvm_phase.ppo import PPOConfig
from llvm_phase.rewards import REWARDS

__all__ = ["Settings", "as_plain"]

PPO = PPOConfig(learning_rate=7e-4, entropy_coefficient=0.002, batch_size=36)
POLICY = PolicyConfig()


@dataclass(frozen=True)
class Settings:
    """What ``train.py`` is told."""

    minutes: float = 10.0
    """Of training, by the processor time of this process and of LLVM."""
    run_dir: Path = Path("runs/llvm_passes")
    """Where everything is written."""
    resume: bool = False
    """Go on with the run in ``run_dir``."""
    seed: int = 0
    """Of all randomness, ≥ 0."""
    programs: Path | None = None
    """Folder of .ll files; every third is held out. By default the programs of this example."""
    passes: Literal["standard", "all"] = "standard"
    """The actions: 42 passes, or all 119."""
    reward: str = "size"
    """What PPO is paid: size, reduction, log_ratio or scaled_reduction."""
    step_penalty: float = Reduction.step_penalty
    """Of all rewards but size: what each pass costs, ≥ 0."""
    threshold: float | None = Reduction.threshold
    """Of all rewards but size: above it only the share ``leak`` of the rest is paid."""
    leak: float = Reduction.leak
    """Of a reward with a threshold, in [0, 1]; 0 pays no more than the threshold."""
    horizon: int = 45
    """Most passes in a sequence."""
    backend: str = "auto"
    """LLVM: auto, libLLVM-14, libLLVM-15, libLLVM-19, opt or llvmlite."""
    workers: int = 1
    """Processes that run LLVM."""
    token_length: int = 512
    """Tokens of a program that the policy reads, a multiple of 4."""
    samples: int = 6
    """Sequences of each program in an update of PPO."""
    search_share: float = 0.25
    """Share of the time for random and greedy search on the training programs."""
    warm_share: float = 0.15
    """Share of the time for the supervised warm start from what was found."""
    k: int = 32
    """Sequences of the policy in the row best of K, and of random search beside it."""
    random_seconds: float = 10.0
    """Processor time of random search, for each held-out program."""
    ppo: PPOConfig = PPO
    policy: PolicyConfig = POLICY

    def __post_init__(self) -> None:
        for name in ("minutes", "random_seconds"):
            require(getattr(self, name) > 0, f"{name} must be positive")
        for name in ("horizon", "workers", "token_length", "samples", "k"):
            require(getattr(self, name) >= 1, f"{name} must be at least 1")
        for name in ("search_share", "warm_share"):
            require(0 <= getattr(self, name) <= 1, f"{name} must lie in [0, 1]")
        require(self.search_share + self.warm_share <= 1, "the shares must not exceed 1 together")
        require(self.seed >= 0, "seed must not be negative")
        require(self.reward in REWARDS, f"reward is one of {', '.join(REWARDS)}")
        self.reward_function()  # raises where an option does not suit it
        backends = ("auto", *BACKENDS)
        require(self.backend in backends, f"backend is one of {', '.join(backends)}")

    def reward_function(self) -> RewardFn:
        """The reward with its options.

        Raises:
            DAGSchedError: an option is out of its range, or does not apply to this reward.
        """
        reward = REWARDS[self.reward]
        options = {name: getattr(self, name) for name in ("step_penalty", "threshold", "leak")}
        if isinstance(reward, Reduction):
            return dataclasses.replace(reward, **options)
        for name, value in options.items():
            takes = ", ".join(n for n, r in REWARDS.items() if isinstance(r, Reduction))
            require(
                value == getattr(Reduction, name),
                f"{name} does not apply to the reward {self.reward}: leave it out, or choose one "
                f"of {takes}",
            )
        return reward


def as_plain(settings: Settings) -> dict[str, Any]:
    """The settings as values for TOML, without those of one call: ``resume``."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(item) for name, item in value.items() if item is not None}
        return str(value) if isinstance(value, Path) else value

    record: dict[str, Any] = plain(dataclasses.asdict(settings))
    del record["resume"]
    return record
