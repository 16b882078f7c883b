"""Settings: defaults, TOML round trip, and errors that name the key."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from aerl_trainer import config as settings
from aerl_trainer.config import Config, ConfigError, CurriculumConfig, LevelConfig, RunConfig
from dagsched_env.problem.errors import DAGSchedError

SECTIONS = [section.name for section in dataclasses.fields(Config)]
KEYS = [
    (section.name, key.name)
    for section in dataclasses.fields(Config)
    for key in dataclasses.fields(section.default_factory)  # type: ignore[arg-type]
]
LEVEL = {"tasks": [4, 8], "processors": [2, 3], "ccr": [0.5, 1], "threshold": 0.9}


def load(tmp_path: Path, text: str) -> Config:
    path = tmp_path / "config.toml"
    path.write_text(text)
    return settings.load(path)


def test_empty_file_is_the_defaults(tmp_path: Path) -> None:
    assert load(tmp_path, "") == Config()
    assert load(tmp_path, "\n".join(f"[{name}]" for name in SECTIONS)) == Config()


def test_round_trip_through_toml(tmp_path: Path) -> None:
    changed = Config(
        search=settings.SearchConfig(budget=17, backup="value"),
        replay=settings.ReplayConfig(capacity=100, min_size=3, beta=1.0),
        curriculum=CurriculumConfig(
            levels=(
                LevelConfig((3, 3), (1,), (0.0,), 1.0),
                LevelConfig((4, 9), (2, 5), (2.5,), 0.5),
            )
        ),
        run=RunConfig(minutes=0.1, seed=123456789),
    )
    for config in (Config(), changed):
        assert load(tmp_path, tomli_w.dumps(settings.to_dict(config))) == config
        assert settings.from_dict(settings.to_dict(config)) == config


def test_a_file_overrides_single_keys(tmp_path: Path) -> None:
    config = load(tmp_path, "[search]\nbudget = 9\n[run]\nminutes = 2\n")
    assert config.search.budget == 9
    assert config.run.minutes == 2
    expected = dataclasses.replace(
        Config(),
        search=dataclasses.replace(Config().search, budget=9),
        run=dataclasses.replace(Config().run, minutes=2),
    )
    assert config == expected


def test_settings_of_earlier_versions_are_read_over(tmp_path: Path) -> None:
    """Their runs can still be used."""
    old = '[search]\nbudget = 9\nroot_selection = "gumbel"\nconsidered_actions = 8\n'
    old += '[policy]\nratio_clip = 1.0\n[learner]\ngroups = "both"\n'
    assert load(tmp_path, old) == load(tmp_path, "[search]\nbudget = 9\n")


def test_levels_from_toml(tmp_path: Path) -> None:
    text = """
    [[curriculum.levels]]
    tasks = [4, 8]
    processors = [2, 3]
    ccr = [0.5, 1]
    threshold = 0.9
    """
    assert load(tmp_path, text).curriculum.levels == (LevelConfig((4, 8), (2, 3), (0.5, 1), 0.9),)


def test_config_is_frozen_and_hashable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Config().run.minutes = 3.0  # type: ignore[misc]
    assert hash(Config()) == hash(settings.from_dict({}))


@pytest.mark.parametrize(("section", "key"), KEYS)
def test_a_wrong_type_names_the_key(section: str, key: str) -> None:
    for wrong in ({"a": 1}, None):
        with pytest.raises(ConfigError, match=rf"{section}\.{key} is "):
            settings.from_dict({section: {key: wrong}})
    default = getattr(getattr(Config(), section), key)
    if not isinstance(default, str):
        with pytest.raises(ConfigError, match=rf"{section}\.{key}"):
            settings.from_dict({section: {key: "many"}})
    if not isinstance(default, bool):
        with pytest.raises(ConfigError, match=rf"{section}\.{key}"):
            settings.from_dict({section: {key: True}})


OUT_OF_RANGE = [
    ("search", "budget", 0),
    ("search", "min_trajectories", 0),
    ("search", "batch_size", -3),
    ("search", "max_children", 0),
    ("search", "cap_factor", 0.5),
    ("search", "c_puct", -0.1),
    ("search", "c_puct_base", 0.0),
    ("search", "best_weight", 1.1),
    ("search", "rollout_weight", -0.1),
    ("search", "rollout_weight_end", 2.0),
    ("search", "rollout_decay_steps", -1),
    ("search", "noise_fraction", 1.5),
    ("search", "noise_concentration", 0.0),
    ("search", "min_prior", 1.0),
    ("search", "backup", "other"),
    ("search", "rollout", "other"),
    ("search", "rollout", "none"),  # with backup = "return"
    ("search", "prior", "other"),
    ("search", "prior", "none"),  # with min_prior > 0
    ("inference", "backend", "other"),
    ("inference", "deadline_ms", -1.0),
    ("inference", "devices", []),
    ("inference", "devices", [0]),
    ("inference", "devices", ["auto", "cpu"]),
    ("network", "width", 3),
    ("network", "layers", -1),
    ("replay", "capacity", 0),
    ("replay", "alpha", 1.5),
    ("replay", "beta", -0.1),
    ("replay", "beta_steps", -1),
    ("replay", "kind", "other"),
    ("replay", "normalise", "other"),
    ("replay", "min_size", 0),
    ("replay", "min_size", 10**9),
    ("learner", "batch_size", 0),
    ("learner", "learning_rate", 0.0),
    ("learner", "weight_decay", -1.0),
    ("learner", "gradient_clip", 0.0),
    ("learner", "value_coefficient", -1.0),
    ("learner", "entropy_coefficient", -1.0),
    ("learner", "rank_temperature", 0.0),
    ("learner", "steps_per_job", 0.0),
    ("learner", "publish_interval", 0),
    ("learner", "checkpoint_interval", 0),
    ("curriculum", "levels", []),
    ("curriculum", "window", 1),
    ("curriculum", "max_variance", 0.0),
    ("validator", "interval", 0),
    ("validator", "instances", 0),
    ("attention", "width", 63),
    ("attention", "heads", 0),
    ("attention", "layers", -1),
    ("attention", "candidates", 0),
    ("reinforce", "baseline", "other"),
    ("reinforce", "problems", 0),
    ("reinforce", "starts", 1),
    ("reinforce", "learning_rate", 0.0),
    ("reinforce", "epoch_steps", 0),
    ("reinforce", "baseline_problems", 1),
    ("reinforce", "test", "other"),
    ("run", "algorithm", "other"),
    ("run", "minutes", 0.0),
    ("run", "max_steps", -1),
    ("run", "actors", -1),
    ("run", "trees_in_flight", 0),
    ("run", "seed", -1),
    ("run", "evaluation_simulations", 0),
]


@pytest.mark.parametrize(("section", "key", "value"), OUT_OF_RANGE)
def test_a_value_out_of_range_names_the_key(section: str, key: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=rf"{section}\.{key}") as caught:
        settings.from_dict({section: {key: value}})
    assert "\n" not in str(caught.value)


def test_the_attention_model_has_no_cluster(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="leave --ray out"):
        load(tmp_path, '[run]\nalgorithm = "reinforce"\n[ray]\naddress = "local:2"\n')


def test_nan_is_in_no_range() -> None:
    for section, key in KEYS:
        if isinstance(getattr(getattr(Config(), section), key), float):
            with pytest.raises(ConfigError, match=rf"{section}\.{key}"):
                settings.from_dict({section: {key: float("nan")}})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tasks": [8, 4]}, "tasks"),
        ({"tasks": [0, 4]}, "tasks"),
        ({"tasks": 4}, "tasks"),
        ({"tasks": [4]}, "tasks"),
        ({"tasks": [4.5, 8]}, "tasks"),
        ({"tasks": "ab"}, "tasks"),
        ({"processors": []}, "processors"),
        ({"processors": [0]}, "processors"),
        ({"processors": 3}, "processors"),
        ({"processors": [2.5]}, "processors"),
        ({"ccr": []}, "ccr"),
        ({"ccr": [-1.0]}, "ccr"),
        ({"ccr": ["x"]}, "ccr"),
        ({"threshold": 0.0}, "threshold"),
        ({"threshold": "x"}, "threshold"),
        ({"colour": 3}, r"unknown key curriculum\.levels\.colour"),
    ],
)
def test_levels_are_checked(changes: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        settings.from_dict({"curriculum": {"levels": [{**LEVEL, **changes}]}})


@pytest.mark.parametrize("key", LEVEL)
def test_a_level_needs_every_key(key: str) -> None:
    level = {name: value for name, value in LEVEL.items() if name != key}
    with pytest.raises(ConfigError, match=key):
        settings.from_dict({"curriculum": {"levels": [level]}})


def test_unknown_names_list_what_there_is() -> None:
    with pytest.raises(ConfigError, match=r"unknown section \[serch\]; there are policy, search, "):
        settings.from_dict({"serch": {}})
    with pytest.raises(ConfigError, match=r"unknown key search\.budgt; there are budget, "):
        settings.from_dict({"search": {"budgt": 3}})
    with pytest.raises(ConfigError, match=r"\[search\] is not a table"):
        settings.from_dict({"search": 3})
    with pytest.raises(ConfigError, match=r"curriculum\.levels"):
        settings.from_dict({"curriculum": {"levels": [3]}})


def test_bad_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: "):
        settings.load(tmp_path / "none.toml")
    for text in ("[search", "[search]\nbudget = 0", "[x]"):
        with pytest.raises(ConfigError, match=r"config\.toml: ") as caught:
            load(tmp_path, text)
        assert "\n" not in str(caught.value)
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match=r"binary\.toml: "):
        settings.load(tmp_path / "binary.toml")
    assert issubclass(ConfigError, DAGSchedError)


def test_the_listing_has_every_setting() -> None:
    keys = [setting.key for setting in settings.settings()]
    assert set(keys) == {
        *(f"{section}.{key}" for section, key in KEYS),
        *(f"curriculum.levels.{field.name}" for field in dataclasses.fields(LevelConfig)),
    }
    text = settings.listing()
    for setting in settings.settings():
        assert setting.meaning, setting.key
        assert setting.type, setting.key
        assert f"\n  {setting.key}" in text


def test_the_listing_shows_types_and_defaults_as_in_a_file(tmp_path: Path) -> None:
    found = {setting.key: setting for setting in settings.settings()}
    assert found["replay.kind"].type == '"proportional", "rank", "uniform"'
    assert found["inference.devices"].type == "list of str"
    assert found["curriculum.levels.tasks"].type == "list of int"
    assert found["curriculum.levels"].type == "list of table"
    assert found["learner.network"].default == "false"
    for section in SECTIONS:
        own = [s for s in found.values() if s.section == section and s.default]
        text = "\n".join(f"{setting.name} = {setting.default}" for setting in own)
        assert load(tmp_path, f"[{section}]\n{text}") == Config()
