"""All sections together: read from TOML, written as plain values."""

import dataclasses
import math
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

from aerl_trainer.config.attention import AttentionConfig, ReinforceConfig
from aerl_trainer.config.checks import ConfigError, fits, require
from aerl_trainer.config.curriculum import CurriculumConfig, LevelConfig
from aerl_trainer.config.learning import (
    LearnerConfig,
    NetworkConfig,
    PolicyConfig,
    ReplayConfig,
)
from aerl_trainer.config.ray import RayConfig
from aerl_trainer.config.run import InferenceConfig, RunConfig, ValidatorConfig
from aerl_trainer.config.search import SearchConfig

RETIRED = {"policy.ratio_clip", "search.root_selection", "search.considered_actions"}
"""Settings of earlier versions, which are read over: their runs can still be used."""


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
    attention: AttentionConfig = field(default_factory=AttentionConfig)
    reinforce: ReinforceConfig = field(default_factory=ReinforceConfig)
    run: RunConfig = field(default_factory=RunConfig)
    ray: RayConfig = field(default_factory=RayConfig)

    def __post_init__(self) -> None:
        require(
            self.run.algorithm != "reinforce" or not self.ray.address,
            "run.algorithm = reinforce takes one core of this machine: leave --ray out "
            "(ray.address = '')",
        )
        for section, settings in to_dict(self).items():
            for name, value in settings.items():
                # A checkpoint keeps them as JSON, which has no infinity.
                finite = not isinstance(value, float) or math.isfinite(value)
                require(finite, f"{section}.{name} must be a finite number")

    @property
    def has_jobs(self) -> bool:
        """Actors search trees during training: something learns from them."""
        return self.learner.network or self.learner.groups == "tree"

    @property
    def variations(self) -> bool:
        """The fast policy learns from these trees, which grow along its principal variations."""
        return self.learner.groups == "tree" and not self.learner.network


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
    content = {key: value for key, value in content.items() if f"{name}.{key}" not in RETIRED}
    if name == "learner" and content.get("groups") == "both":
        content["groups"] = "tree"  # what is nearest now
    for key, value in content.items():
        if key not in hints:
            raise ConfigError(f"unknown key {name}.{key}; there are {', '.join(hints)}")
        if not fits(value, getattr(cls, key, None)):
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
