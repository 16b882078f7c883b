"""All settings of AERL-DS: nested frozen dataclasses that validate themselves.

A TOML file with the same nesting overrides the defaults; an empty file is the defaults.
"""

import dataclasses
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_type_hints

from dagsched_env.errors import DAGSchedError

__all__ = [
    "Config",
    "ConfigError",
    "CurriculumConfig",
    "InferenceConfig",
    "LearnerConfig",
    "LevelConfig",
    "NetworkConfig",
    "PolicyConfig",
    "ReplayConfig",
    "RunConfig",
    "SearchConfig",
    "ValidatorConfig",
    "from_dict",
    "load",
    "to_dict",
]


class ConfigError(DAGSchedError):
    """A setting is out of its range, of a wrong type or unknown; the message names it."""


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ConfigError(message)


def _fits(value: object, default: object) -> bool:
    """Whether a TOML value has the type of a field's default; whole numbers pass for floats."""
    if default is None:
        return True
    if isinstance(default, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(default, tuple):
        return isinstance(value, list | tuple)
    return type(value) is type(default)


def _all_fit(values: object, default: object) -> bool:
    """Whether ``values`` is a tuple of values that fit."""
    return isinstance(values, tuple) and all(_fits(value, default) for value in values)


@dataclass(frozen=True)
class SearchConfig:
    """The shared tree and its simulations."""

    budget: int = 600
    """Simulations per job; a tree is finished when this many are done AND the next line holds."""
    min_trajectories: int = 12
    """K: complete root-to-terminal paths a tree must hold, and trajectories sampled from it."""
    cap_factor: float = 4.0
    """Safety cap on simulations per job, as a multiple of the budget."""
    batch_size: int = 16
    """Leaves that an actor gathers before one evaluation."""
    c_puct: float = 1.5
    c_puct_base: float = 19652.0
    """At a node of N visits PUCT's c is ``c_puct + ln((1 + N + base) / base)``, as in AlphaZero."""
    root_selection: Literal["puct", "gumbel"] = "puct"
    """At the root: PUCT, as below it, or sequential halving of actions drawn without replacement
    (Gumbel MuZero), which is no better by more than the noise at 50 simulations and more."""
    considered_actions: int = 16
    """Root actions that sequential halving begins with."""
    best_weight: float = 0.0
    """Q = (1 - w)·mean + w·best over an edge's completed visits: 0 where visits are learned from,
    1 for solving."""
    backup: Literal["return", "value"] = "return"
    """What is backed up: the rewards along the path plus the leaf's value, or the value alone."""
    value_target: Literal["return", "rank"] = "return"
    """What the value head learns: the return to go, or the rank reward of the trajectory."""
    rollout: Literal["policy", "list", "none"] = "policy"
    """Who completes a leaf at random: the fast policy, list scheduling with noise, or nobody; then
    only terminal leaves give schedules."""
    prior: Literal["policy", "hand", "none"] = "policy"
    """Prior of the actions: the fast policy where a job has one and no network, else the hand-made
    one; always the hand-made one; or none: the logits of the network alone decide, and what
    exceeds ``max_children`` is dropped by its number."""
    prior_temperature: float = 3.0
    """By which the logits of the fast policy are divided to become priors."""
    trajectory_temperature: float = 0.2
    """Temperature of the policy that finishes sampled trajectories below the searched part."""
    incumbent_trajectory: bool = True
    """Count the best schedule that the search found among the K trajectories."""
    rollout_weight: float = 1.0
    """λ at the start of training: share of the rollout in a leaf's value."""
    rollout_weight_end: float = 0.5
    """λ at the end of its decay."""
    rollout_decay_steps: int = 4000
    """Learner steps over which λ changes linearly."""
    noise_fraction: float = 0.25
    """Share of Dirichlet noise in the root's priors while training."""
    noise_concentration: float = 10.0
    """Dirichlet α is this divided by the number of root actions."""
    max_children: int = 32
    """Actions kept per node, by prior."""
    min_prior: float = 0.002
    """Actions with a smaller hand-made prior are dropped."""
    fix_every: int = 0
    """Placements per group of the fixed prefix: in the second half of the search the first
    placements of the best schedule are fixed, one group after the other, and selection begins
    behind them. 0 = nothing is fixed."""
    prune: bool = False
    """Do not search below nodes whose pruning bound shows that they cannot improve the best
    schedule. Visits then say less about the actions that were cut off."""

    def __post_init__(self) -> None:
        counts = ("budget", "min_trajectories", "batch_size", "considered_actions", "max_children")
        for name in counts:
            _require(getattr(self, name) >= 1, f"search.{name} must be at least 1")
        _require(self.cap_factor >= 1, "search.cap_factor must be at least 1")
        _require(self.c_puct >= 0, "search.c_puct must not be negative")
        _require(self.c_puct_base > 0, "search.c_puct_base must be positive")
        for name in ("best_weight", "rollout_weight", "rollout_weight_end", "noise_fraction"):
            _require(0 <= getattr(self, name) <= 1, f"search.{name} must lie in [0, 1]")
        _require(
            self.rollout in ("policy", "list", "none"),
            'search.rollout is "policy", "list" or "none"',
        )
        _require(
            self.prior in ("policy", "hand", "none"), 'search.prior is "policy", "hand" or "none"'
        )
        _require(
            self.prior != "none" or self.min_prior == 0,
            'search.prior "none" leaves nothing to drop actions by: it needs min_prior 0',
        )
        _require(self.prior_temperature > 0, "search.prior_temperature must be positive")
        _require(self.trajectory_temperature > 0, "search.trajectory_temperature must be positive")
        _require(self.noise_concentration > 0, "search.noise_concentration must be positive")
        _require(self.rollout_decay_steps >= 0, "search.rollout_decay_steps must not be negative")
        _require(self.fix_every >= 0, "search.fix_every must not be negative")
        _require(0 <= self.min_prior < 1, "search.min_prior must lie in [0, 1)")
        _require(
            self.root_selection in ("puct", "gumbel"),
            'search.root_selection is "puct" or "gumbel"',
        )
        _require(self.backup in ("return", "value"), 'search.backup is "return" or "value"')
        _require(
            self.value_target in ("return", "rank"), 'search.value_target is "return" or "rank"'
        )
        _require(
            self.value_target == "return" or self.backup == "value",
            'search.value_target "rank" has another unit than rewards: it needs backup "value"',
        )
        _require(
            self.rollout != "none" or self.backup == "value",
            'search.rollout "none" gives a leaf no return: it needs backup "value"',
        )

    def for_solving(self, budget: int) -> "SearchConfig":
        """These settings for finding one good schedule rather than data to learn from.

        A subtree is worth the best schedule in it. The budget alone ends the search, unless it
        proves its best schedule: no action is dropped beyond ``max_children`` but those that a
        bound rules out. In the second half a growing prefix of the best schedule is fixed.
        Whatever a network was trained for, the makespan counts, and leaves are completed.
        """
        return dataclasses.replace(
            self,
            budget=budget,
            best_weight=1.0,
            min_trajectories=1,
            cap_factor=1.0,
            min_prior=0.0,
            prune=True,
            fix_every=10,
            rollout="policy" if self.rollout == "none" else self.rollout,
            backup="return",
            value_target="return",
        )


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
        _require(
            self.backend in ("auto", "server", "inline"),
            'inference.backend is "auto", "server" or "inline"',
        )
        _require(
            _all_fit(self.devices, "")
            and len(self.devices) >= 1
            and ("auto" not in self.devices or len(self.devices) == 1),
            'inference.devices is ["auto"] or a list of torch devices, such as ["cuda:0", "cpu"]',
        )
        _require(0 <= self.deadline_ms <= 1000, "inference.deadline_ms must lie in [0, 1000]")


@dataclass(frozen=True)
class NetworkConfig:
    """Size of the network; it takes any number of tasks and processors."""

    width: int = 64
    layers: int = 3
    """Rounds of message passing in the static encoder."""

    def __post_init__(self) -> None:
        _require(self.width >= 4, "network.width must be at least 4")
        _require(self.layers >= 0, "network.layers must not be negative")


@dataclass(frozen=True)
class PolicyConfig:
    """How the fast policy learns."""

    instances: int = 16
    """Rank groups of a gradient step."""
    schedules: int = 32
    """Schedules of a group that the policy draws itself."""
    learning_rate: float = 0.01
    """Of Adam at the start; it falls linearly to 0."""
    decay_steps: int = 0
    """Steps until it is 0; 0 = ``run.max_steps``, or else ``run.minutes``."""
    average: float = 0.98
    """Share of the old averaged weights that a step keeps; the averaged ones are used."""
    ratio_clip: float = 1.0
    """Most that the importance ratio of a decision counts, where a tree drew the schedule."""

    def __post_init__(self) -> None:
        _require(self.instances >= 1, "policy.instances must be at least 1")
        _require(self.schedules >= 2, "policy.schedules must be at least 2")
        _require(self.decay_steps >= 0, "policy.decay_steps must not be negative")
        for name in ("learning_rate", "ratio_clip"):
            _require(getattr(self, name) > 0, f"policy.{name} must be positive")
        _require(0 <= self.average < 1, "policy.average must lie in [0, 1)")


@dataclass(frozen=True)
class ReplayConfig:
    """Prioritised replay (Schaul et al. 2016)."""

    capacity: int = 2048
    """Experiences, each of them a trajectory with all its states."""
    kind: Literal["proportional", "rank", "uniform"] = "proportional"
    """What experiences are sampled in proportion to: their priority^α, (1 / its rank)^α, or
    nothing."""
    alpha: float = 0.6
    """How strongly priorities count: 0 = not at all."""
    beta: float = 0.4
    """Initial exponent of the importance weights, annealed to 1."""
    normalise: Literal["batch", "buffer"] = "batch"
    """Whose largest importance weight becomes 1: that of each batch, or that of the buffer."""
    beta_steps: int = 4000
    """Learner steps until β = 1."""
    min_size: int = 32
    """Experiences before the learner starts."""

    def __post_init__(self) -> None:
        _require(self.capacity >= 1, "replay.capacity must be at least 1")
        _require(
            self.kind in ("proportional", "rank", "uniform"),
            'replay.kind is "proportional", "rank" or "uniform"',
        )
        _require(self.normalise in ("batch", "buffer"), 'replay.normalise is "batch" or "buffer"')
        _require(0 <= self.alpha <= 1, "replay.alpha must lie in [0, 1]")
        _require(0 <= self.beta <= 1, "replay.beta must lie in [0, 1]")
        _require(self.beta_steps >= 0, "replay.beta_steps must not be negative")
        _require(1 <= self.min_size <= self.capacity, "replay.min_size must lie in [1, capacity]")


@dataclass(frozen=True)
class LearnerConfig:
    """What is learned from, and how the network learns."""

    groups: Literal["rollouts", "tree", "both"] = "rollouts"
    """Schedules that the fast policy learns from: its own, those of the shared trees, or both."""
    network: bool = False
    """Train the network too, and have it evaluate the leaves of the trees."""
    batch_size: int = 64
    """Experiences per step: with all their states, 64 of 30 tasks are 1920 states."""
    learning_rate: float = 1e-3
    weight_decay: float = 1e-4
    gradient_clip: float = 1.0
    value_coefficient: float = 1.0
    entropy_coefficient: float = 0.001
    rank_temperature: float = 1.0
    """τ of the softmax over normalised makespans, for the fast policy and the network."""
    steps_per_job: float = 4.0
    """Upper limit of steps per finished job (the replay ratio), where the run has search jobs."""
    publish_interval: int = 20
    """Steps between publications of the weights to the inference workers."""
    checkpoint_interval: int = 500
    """Steps between checkpoints."""

    def __post_init__(self) -> None:
        _require(
            self.groups in ("rollouts", "tree", "both"),
            'learner.groups is "rollouts", "tree" or "both"',
        )
        for name in ("batch_size", "publish_interval", "checkpoint_interval"):
            _require(getattr(self, name) >= 1, f"learner.{name} must be at least 1")
        for name in ("learning_rate", "gradient_clip", "rank_temperature", "steps_per_job"):
            _require(getattr(self, name) > 0, f"learner.{name} must be positive")
        for name in ("weight_decay", "value_coefficient", "entropy_coefficient"):
            _require(getattr(self, name) >= 0, f"learner.{name} must not be negative")


@dataclass(frozen=True)
class LevelConfig:
    """One level of the curriculum: what to draw, and when it is mastered.

    A level draws Topcuoglu graphs, which ``tasks``, ``processors`` and ``ccr`` describe, or the
    problems that ``instances`` names; then the other three are not used and may be left out.
    """

    tasks: tuple[int, int] | tuple[()] = ()
    """Range of the number of tasks."""
    processors: tuple[int, ...] = ()
    ccr: tuple[float, ...] = ()
    """Ratios of mean communication to mean computation to draw from."""
    threshold: float = 0.0
    """Mastered when the policy's mean makespan / HEFT's is below this; always to be given."""
    instances: tuple[str, ...] = ()
    """SPECs of the problems, as ``dagsched_env.sources`` resolves them; one is drawn uniformly."""
    validate: tuple[str, ...] = ()
    """SPECs of the validation set; without any it is split off."""

    def __post_init__(self) -> None:
        for name in ("instances", "validate"):
            _require(
                _all_fit(getattr(self, name), ""),
                f"curriculum.levels: {name} needs a list of texts",
            )
        if not self.instances:
            self._require_graphs()
        _require(
            _fits(self.threshold, 0.0) and self.threshold > 0,
            "curriculum.levels: threshold must be a positive number",
        )

    @property
    def has_specs(self) -> bool:
        """Whether SPECs say what its problems are, or those of its validation."""
        return bool(self.instances or self.validate)

    def _require_graphs(self) -> None:
        _require(
            _all_fit(self.tasks, 0)
            and len(self.tasks) == 2
            and 1 <= self.tasks[0] <= self.tasks[1],
            "curriculum.levels: tasks needs two whole numbers, 1 <= low <= high",
        )
        _require(
            _all_fit(self.processors, 0) and min(self.processors, default=0) >= 1,
            "curriculum.levels: processors needs counts of at least 1",
        )
        _require(
            _all_fit(self.ccr, 0.0) and min(self.ccr, default=-1) >= 0,
            "curriculum.levels: ccr needs ratios that are not negative",
        )


MACHINES = "processors=3..8&ccr=0.1,0.5,1,2,5,10&beta=0.25,0.5,1,1.5"
TOPCUOGLU = "topcuoglu?tasks=20..60"
GRAPHS = (
    *(TOPCUOGLU, TOPCUOGLU, TOPCUOGLU),
    "daggen?tasks=20..60&fat=0.3,0.5",
    "erdos_renyi?tasks=20..60&probability=0.07,0.1,0.15,0.2",
    "layered?layers=4..8&width=4..7",
    "series_parallel?tasks=20..60",
    "stencil?width=4..7&steps=5..8",
    "fork_join?phases=1..5&width=4..10&length=1..2",
    "chains?chains=4..8&length=4..7",
    "in_tree?levels=4..5&degree=2",
    "out_tree?levels=4..5&degree=2",
    "cholesky?tiles=4..6",
    "gaussian_elimination?size=6..10",
    "fft?points=4,8",
    "laplace?size=5..7",
    "lu?tiles=3..4",
)
MIXTURE = (
    *(f"family:{graph}&{MACHINES}" for graph in GRAPHS),
    "family:cholesky?tiles=4..5&platform=cpu_gpu&processors=3..8&ccr=0.1,0.5,1,2,5",
)
"""What is trained on where nothing else is said: one of these is drawn uniformly."""

DEFAULT_LEVELS = (LevelConfig(threshold=1.0, instances=MIXTURE),)


@dataclass(frozen=True)
class CurriculumConfig:
    """Levels and the rule of promotion."""

    levels: tuple[LevelConfig, ...] = DEFAULT_LEVELS
    window: int = 3
    """Validations that the history must hold before a promotion."""
    max_variance: float = 0.001
    """Variance of those validations must stay below this."""

    def __post_init__(self) -> None:
        _require(len(self.levels) >= 1, "curriculum.levels needs at least one level")
        _require(self.window >= 2, "curriculum.window must be at least 2")
        _require(self.max_variance > 0, "curriculum.max_variance must be positive")


@dataclass(frozen=True)
class ValidatorConfig:
    """Greedy evaluation on a fixed set per level."""

    interval: int = 200
    """Learner steps between validations."""
    instances: int = 40
    """Size of the fixed set of each level."""
    guided_simulations: int = 100
    """Budget per instance of the search that the network guides, judged beside the policy."""

    def __post_init__(self) -> None:
        _require(self.interval >= 1, "validator.interval must be at least 1")
        _require(self.instances >= 1, "validator.instances must be at least 1")
        _require(self.guided_simulations >= 1, "validator.guided_simulations must be at least 1")


@dataclass(frozen=True)
class RunConfig:
    """Processes, duration and seed."""

    minutes: float = 5.0
    """Training time, without the final evaluation."""
    max_steps: int = 0
    """Stop after this many learner steps; 0 = by time alone."""
    actors: int = 2
    """NUM_ACTORS: search processes. One with the inline backend takes turns with the learner in a
    single process, which makes the run reproducible."""
    trees_in_flight: int = 2
    """Trees that the actors work on at once."""
    seed: int = 0
    evaluation_simulations: int = 1000
    """Simulations per instance in the final table."""
    evaluation_budget_s: float = 0.1
    """Time of ``solve`` per instance in the final table."""

    def __post_init__(self) -> None:
        _require(self.minutes > 0, "run.minutes must be positive")
        _require(self.max_steps >= 0, "run.max_steps must not be negative")
        _require(1 <= self.actors <= 64, "run.actors must lie in [1, 64]")
        _require(1 <= self.trees_in_flight <= 16, "run.trees_in_flight must lie in [1, 16]")
        _require(self.seed >= 0, "run.seed must not be negative")
        _require(self.evaluation_simulations >= 1, "run.evaluation_simulations must be at least 1")
        _require(self.evaluation_budget_s > 0, "run.evaluation_budget_s must be positive")


@dataclass(frozen=True)
class Config:
    """Everything that defines a run."""

    policy: PolicyConfig = field(default_factory=PolicyConfig)
    search: SearchConfig = field(default_factory=SearchConfig)
    inference: InferenceConfig = field(default_factory=InferenceConfig)
    network: NetworkConfig = field(default_factory=NetworkConfig)
    learner: LearnerConfig = field(default_factory=LearnerConfig)
    replay: ReplayConfig = field(default_factory=ReplayConfig)
    curriculum: CurriculumConfig = field(default_factory=CurriculumConfig)
    validator: ValidatorConfig = field(default_factory=ValidatorConfig)
    run: RunConfig = field(default_factory=RunConfig)

    @property
    def has_jobs(self) -> bool:
        """Actors search trees during training: something learns from them."""
        return self.learner.network or self.learner.groups != "rollouts"


def load(path: Path) -> Config:
    """Read a TOML file; sections and keys that it leaves out keep their defaults.

    Raises:
        ConfigError: no such file, no TOML, an unknown key, a wrong type or a value out of range.
    """
    try:
        record = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}") from None
    try:
        return from_dict(record)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from None


def to_dict(config: Config) -> dict[str, Any]:
    """Nested plain values, as TOML and JSON take them; ``from_dict`` reads them back."""
    return dataclasses.asdict(config)


def from_dict(record: dict[str, Any]) -> Config:
    """The inverse of ``to_dict``; raises ConfigError as ``load`` does."""
    sections = {section.name: section for section in dataclasses.fields(Config)}
    hints = get_type_hints(Config)
    values = {}
    for name, content in record.items():
        if name not in sections:
            raise ConfigError(f"unknown section [{name}]; there are {', '.join(sections)}")
        if not isinstance(content, dict):
            raise ConfigError(f"[{name}] is not a table")
        values[name] = _section(hints[name], name, content)
    return Config(**values)


def _section(cls: Any, name: str, content: dict[str, Any]) -> Any:
    hints = get_type_hints(cls)
    for key, value in content.items():
        if key not in hints:
            raise ConfigError(f"unknown key {name}.{key}; there are {', '.join(hints)}")
        if not _fits(value, getattr(cls, key, None)):
            raise ConfigError(f"{name}.{key} is {value!r}, of a wrong type")
    content = {key: _tuples(value) for key, value in content.items()}
    if cls is CurriculumConfig and "levels" in content:
        content["levels"] = tuple(_level(level) for level in content["levels"])
    try:
        return cls(**content)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"[{name}] {error}") from None


def _level(content: object) -> LevelConfig:
    if not isinstance(content, dict):
        raise ConfigError(f"curriculum.levels holds {content!r}, which is not a table")
    level: LevelConfig = _section(LevelConfig, "curriculum.levels", content)
    return level


def _tuples(value: Any) -> Any:
    return tuple(_tuples(item) for item in value) if isinstance(value, list | tuple) else value
