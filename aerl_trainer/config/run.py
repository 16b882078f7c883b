"""The sections of how a run goes: inference, validation, processes and duration."""

from dataclasses import dataclass
from typing import Literal

from aerl_trainer.config.checks import all_fit, require

MOST_ACTORS = 64
"""Of one search."""


@dataclass(frozen=True)
class InferenceConfig:
    """Where leaves are evaluated."""

    backend: Literal["auto", "server", "inline"] = "auto"
    """Inference workers for all actors, or each actor alone; ``auto`` measures at the start which
    is faster. It never makes a run reproducible: that takes ``inline`` and one actor."""
    devices: tuple[str, ...] = ("auto",)
    """Torch devices of the inference workers, one worker each; ``auto`` alone takes every GPU, or
    the CPU where there is none. Actor a is served by worker a modulo their number."""
    deadline_ms: float = 0.2
    """How long a worker waits for more requests once it has one; a quarter of its last pass, up to
    5 ms, where that is longer."""

    def __post_init__(self) -> None:
        require(
            self.backend in ("auto", "server", "inline"),
            'inference.backend is "auto", "server" or "inline"',
        )
        require(
            all_fit(self.devices, "")
            and len(self.devices) >= 1
            and ("auto" not in self.devices or len(self.devices) == 1),
            'inference.devices is ["auto"] or a list of torch devices, such as ["cuda:0", "cpu"]',
        )
        require(0 <= self.deadline_ms <= 1000, "inference.deadline_ms must lie in [0, 1000]")


@dataclass(frozen=True)
class ValidatorConfig:
    """Greedy evaluation on a fixed set per level."""

    interval: int = 200
    """Learner steps between validations."""
    instances: int = 40
    """Size of the fixed set of each level."""
    fresh_instances: int = 400
    """Problems of the paired test that new weights must pass to be used. At the end of a run that
    ends by its time, where improvements are small, five times as many."""
    guided_simulations: int = 100
    """Budget per instance of the search that is judged beside the policy. The network guides it, or
    the fast policy where there is none. It draws the same numbers every time."""
    judged: Literal["policy", "search"] = "policy"
    """Whose makespans promote to the next level and choose the best checkpoint: those of one greedy
    pass of the fast policy, or of this search."""

    def __post_init__(self) -> None:
        require(self.interval >= 1, "validator.interval must be at least 1")
        require(self.instances >= 1, "validator.instances must be at least 1")
        require(self.fresh_instances >= 30, "validator.fresh_instances must be at least 30")
        require(self.judged in ("policy", "search"), 'validator.judged is "policy" or "search"')
        require(self.guided_simulations >= 1, "validator.guided_simulations must be at least 1")


@dataclass(frozen=True)
class RunConfig:
    """Processes, duration and seed."""

    algorithm: Literal["aerl", "reinforce"] = "aerl"
    """What is trained, and how: AERL-DS, or an attention model by REINFORCE, for a comparison."""
    minutes: float = 5.0
    """Training time, without the final evaluation."""
    max_steps: int = 0
    """Stop after this many learner steps; 0 = by time alone."""
    actors: int = 2
    """NUM_ACTORS: search processes; where no trees are searched, threads that draw schedules. One
    with the inline backend takes turns with the learner in a single process, which makes the run
    reproducible."""
    trees_in_flight: int = 4
    """Trees that the actors work on at once."""
    seed: int = 0
    """All random generators of the run descend from it."""
    evaluation_simulations: int = 1000
    """Simulations per instance in the final table."""
    evaluation_budget_s: float = 0.1
    """Time of ``solve`` per instance in the final table."""

    def __post_init__(self) -> None:
        require(self.algorithm in ("aerl", "reinforce"), 'run.algorithm is "aerl" or "reinforce"')
        require(self.minutes > 0, "run.minutes must be positive")
        require(self.max_steps >= 0, "run.max_steps must not be negative")
        require(1 <= self.actors <= MOST_ACTORS, f"run.actors must lie in [1, {MOST_ACTORS}]")
        require(1 <= self.trees_in_flight <= 16, "run.trees_in_flight must lie in [1, 16]")
        require(self.seed >= 0, "run.seed must not be negative")
        require(self.evaluation_simulations >= 1, "run.evaluation_simulations must be at least 1")
        require(self.evaluation_budget_s > 0, "run.evaluation_budget_s must be positive")
