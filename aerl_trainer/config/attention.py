"""The sections of the attention model and of REINFORCE, which trains it."""

from dataclasses import dataclass
from typing import Literal

from aerl_trainer.config.checks import require


@dataclass(frozen=True)
class AttentionConfig:
    """Size of the attention model (Kool et al. 2019) that REINFORCE trains."""

    width: int = 64
    """Size of its hidden vectors; a multiple of ``heads``."""
    heads: int = 4
    """Attention heads of the encoder and of the decoder's glimpse."""
    layers: int = 2
    """Attention layers of the encoder."""
    candidates: int = 16
    """Pairs of a state among which the decoder chooses: those of highest hand-made prior; a number
    as large as tasks times processors takes all legal ones."""

    def __post_init__(self) -> None:
        for name in ("width", "heads", "candidates"):
            require(getattr(self, name) >= 1, f"attention.{name} must be at least 1")
        require(self.width % self.heads == 0, "attention.width must be a multiple of its heads")
        require(self.layers >= 0, "attention.layers must not be negative")


@dataclass(frozen=True)
class ReinforceConfig:
    """REINFORCE (Williams 1992) on the attention model: run.algorithm = "reinforce"."""

    baseline: Literal["shared", "rollout"] = "shared"
    """Mean over all samples of a problem (POMO, Kwon et al. 2020), or the greedy rollout of a
    frozen copy (Kool et al. 2019)."""
    problems: int = 8
    """Of a gradient step."""
    starts: int = 8
    """Schedules that are sampled of each problem."""
    learning_rate: float = 0.002
    """Of Adam at the start; it falls linearly to 0."""
    epoch_steps: int = 25
    """Steps after which the greedy rollout's copy may be replaced."""
    baseline_problems: int = 64
    """Fixed problems on which it is replaced if the policy is better there."""
    test: Literal["t", "means"] = "t"
    """What better is: a one-sided paired t-test at 0.05, or a smaller mean."""

    def __post_init__(self) -> None:
        require(
            self.baseline in ("shared", "rollout"), 'reinforce.baseline is "shared" or "rollout"'
        )
        require(self.test in ("t", "means"), 'reinforce.test is "t" or "means"')
        for name in ("problems", "starts", "epoch_steps"):
            require(getattr(self, name) >= 1, f"reinforce.{name} must be at least 1")
        require(self.baseline_problems >= 2, "reinforce.baseline_problems must be at least 2")
        require(self.learning_rate > 0, "reinforce.learning_rate must be positive")
        require(
            self.baseline != "shared" or self.starts >= 2,
            "reinforce.starts must be at least 2 where the samples of a problem share a baseline",
        )
