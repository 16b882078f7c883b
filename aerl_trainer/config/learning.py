"""The sections of what learns: the fast policy, the network, and replay."""

from dataclasses import dataclass
from typing import Literal

from aerl_trainer.config.checks import require


@dataclass(frozen=True)
class PolicyConfig:
    """How the fast policy learns."""

    instances: int = 8
    """Rank groups of a gradient step: finished trees, or problems that the policy draws."""
    schedules: int = 32
    """Schedules of a group that the policy draws itself."""
    learning_rate: float = 0.01
    """Of Adam at the start; it falls linearly to 0."""
    decay_steps: int = 0
    """Steps until it is 0; 0 = ``run.max_steps``, or else ``run.minutes``."""
    average: float = 0.98
    """Share of the old averaged weights that a step keeps; the averaged ones are used."""

    def __post_init__(self) -> None:
        require(self.instances >= 1, "policy.instances must be at least 1")
        require(self.schedules >= 2, "policy.schedules must be at least 2")
        require(self.decay_steps >= 0, "policy.decay_steps must not be negative")
        require(self.learning_rate > 0, "policy.learning_rate must be positive")
        require(0 <= self.average < 1, "policy.average must lie in [0, 1)")


@dataclass(frozen=True)
class NetworkConfig:
    """Size of the network; it takes any number of tasks and processors."""

    width: int = 64
    """Size of its hidden vectors."""
    layers: int = 3
    """Rounds of message passing in the static encoder."""

    def __post_init__(self) -> None:
        require(self.width >= 4, "network.width must be at least 4")
        require(self.layers >= 0, "network.layers must not be negative")


@dataclass(frozen=True)
class ReplayConfig:
    """Prioritised replay (Schaul et al. 2016) of problems; for the network, of trajectories."""

    capacity: int = 2048
    """Problems, some 40 kB each with 60 tasks; or trajectories, each with all its states."""
    share: float = 0.25
    """Of the search jobs that take a problem of the replay; without a network."""
    kind: Literal["proportional", "rank", "uniform"] = "proportional"
    """What problems, or trajectories, are sampled in proportion to: their priority^α, (1 / its
    rank)^α, or nothing."""
    alpha: float = 0.6
    """How strongly priorities count: 0 = not at all."""
    beta: float = 0.4
    """Initial exponent of the importance weights, which a network's learner anneals to 1."""
    normalise: Literal["batch", "buffer"] = "batch"
    """Whose largest importance weight becomes 1: that of each batch, or that of the buffer."""
    beta_steps: int = 4000
    """Learner steps until β = 1."""
    min_size: int = 32
    """Problems before one comes back; trajectories before the network's learner starts."""

    def __post_init__(self) -> None:
        require(self.capacity >= 1, "replay.capacity must be at least 1")
        require(
            self.kind in ("proportional", "rank", "uniform"),
            'replay.kind is "proportional", "rank" or "uniform"',
        )
        require(self.normalise in ("batch", "buffer"), 'replay.normalise is "batch" or "buffer"')
        for name in ("share", "alpha", "beta"):
            require(0 <= getattr(self, name) <= 1, f"replay.{name} must lie in [0, 1]")
        require(self.beta_steps >= 0, "replay.beta_steps must not be negative")
        require(1 <= self.min_size <= self.capacity, "replay.min_size must lie in [1, capacity]")


@dataclass(frozen=True)
class LearnerConfig:
    """What is learned from, and how the network learns."""

    groups: Literal["tree", "rollouts"] = "tree"
    """Schedules that the fast policy learns from: those of shared trees, or some that it draws
    itself. With a network the trees are the network's, and it draws them itself."""
    network: bool = False
    """Train the network too, and have it evaluate the leaves of the trees."""
    batch_size: int = 64
    """Experiences per step: with all their states, 64 of 30 tasks are 1920 states."""
    learning_rate: float = 1e-3
    """Of AdamW, for the network."""
    weight_decay: float = 1e-4
    """Of AdamW."""
    gradient_clip: float = 1.0
    """Largest norm of a gradient of the network; longer ones are shortened to it."""
    value_coefficient: float = 1.0
    """Weight of the value head's error in the loss."""
    entropy_coefficient: float = 0.001
    """Weight of the policy's entropy in the loss: more of it keeps the policy undecided longer."""
    rank_temperature: float = 1.0
    """τ of the softmax over normalised makespans, for the fast policy and the network."""
    steps_per_job: float = 4.0
    """Upper limit of steps per finished job (the replay ratio), where a network learns."""
    publish_interval: int = 20
    """Steps between publications of the weights to the inference workers."""
    checkpoint_interval: int = 500
    """Steps between checkpoints."""

    def __post_init__(self) -> None:
        require(
            self.groups in ("tree", "rollouts"),
            'learner.groups is "tree" or "rollouts"',
        )
        for name in ("batch_size", "publish_interval", "checkpoint_interval"):
            require(getattr(self, name) >= 1, f"learner.{name} must be at least 1")
        for name in ("learning_rate", "gradient_clip", "rank_temperature", "steps_per_job"):
            require(getattr(self, name) > 0, f"learner.{name} must be positive")
        for name in ("weight_decay", "value_coefficient", "entropy_coefficient"):
            require(getattr(self, name) >= 0, f"learner.{name} must not be negative")
