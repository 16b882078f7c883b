"""What defines a run: settings, as nested frozen dataclasses that validate themselves, and seeds.

A TOML file with the same nesting overrides the defaults; an empty file is the defaults.

In reading order:

- ``seeding``: random generators by name, from one seed
- ``stored``: values that come back from a JSON file, checked
- ``checks``: the error, and what a section checks its values with
- ``search``: the tree and its simulations
- ``learning``: the fast policy, the network, replay, and what is learned from
- ``attention``: the attention model and REINFORCE, another algorithm
- ``mixture``: the problems of a run that names none
- ``curriculum``: which problems, and when the next ones
- ``run``: inference, validation, processes and duration
- ``ray``: several machines
- ``whole``: all sections together, read from TOML and written as plain values
- ``listing``: every setting with its type, default and meaning
"""

from aerl_trainer.config.attention import AttentionConfig, ReinforceConfig
from aerl_trainer.config.checks import ConfigError
from aerl_trainer.config.curriculum import CurriculumConfig, LevelConfig
from aerl_trainer.config.learning import (
    LearnerConfig,
    NetworkConfig,
    PolicyConfig,
    ReplayConfig,
)
from aerl_trainer.config.listing import Setting, listing, settings
from aerl_trainer.config.mixture import MIXTURE, MIXTURE_SMALL
from aerl_trainer.config.ray import RayConfig, local_nodes
from aerl_trainer.config.run import InferenceConfig, RunConfig, ValidatorConfig
from aerl_trainer.config.search import SearchConfig
from aerl_trainer.config.whole import Config, from_dict, load, to_dict

__all__ = [
    "MIXTURE",
    "MIXTURE_SMALL",
    "AttentionConfig",
    "Config",
    "ConfigError",
    "CurriculumConfig",
    "InferenceConfig",
    "LearnerConfig",
    "LevelConfig",
    "NetworkConfig",
    "PolicyConfig",
    "RayConfig",
    "ReinforceConfig",
    "ReplayConfig",
    "RunConfig",
    "SearchConfig",
    "Setting",
    "ValidatorConfig",
    "from_dict",
    "listing",
    "load",
    "local_nodes",
    "settings",
    "to_dict",
]
