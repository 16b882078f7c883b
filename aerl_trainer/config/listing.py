"""Every setting with its type, its default and its meaning, as the classes of the sections say."""

import dataclasses
import textwrap
from collections.abc import Iterator
from types import UnionType
from typing import Any, Literal, NamedTuple, get_args, get_origin, get_type_hints

import docstring_parser

from aerl_trainer.config.curriculum import CurriculumConfig, LevelConfig
from aerl_trainer.config.whole import Config

WIDTH = 96


class Setting(NamedTuple):
    """One key of one section."""

    section: str
    """As in TOML: ``search``, ``curriculum.levels``."""
    name: str
    type: str
    """``int``, ``float``, ``bool``, the texts to choose from, ``list of str`` …"""
    default: str
    """As in TOML; empty where it is too long for a table."""
    meaning: str

    @property
    def key(self) -> str:
        """``section.name``."""
        return f"{self.section}.{self.name}"


def settings() -> list[Setting]:
    """All settings, in the order of the sections and of their keys."""
    return [setting for section, cls in _sections() for setting in _of_class(section, cls)]


def listing() -> str:
    """All settings as text: the key with its default, then what it means."""
    blocks = []
    for section, cls in _sections():
        lines = [f"[{section}]  {_summary(cls)}"]
        for setting in _of_class(section, cls):
            default = f" = {setting.default}" if setting.default else ""
            lines.append(f"  {setting.key}{default}  ({setting.type})")
            indent = " " * 6
            lines.append(
                textwrap.fill(
                    setting.meaning.replace("``", ""),
                    WIDTH,
                    initial_indent=indent,
                    subsequent_indent=indent,
                    break_on_hyphens=False,
                )
            )
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def _sections() -> Iterator[tuple[str, Any]]:
    """Name → class of the sections; the levels of the curriculum follow the curriculum."""
    hints = get_type_hints(Config)
    for field in dataclasses.fields(Config):
        yield field.name, hints[field.name]
        if hints[field.name] is CurriculumConfig:
            yield f"{field.name}.levels", LevelConfig


def _summary(cls: Any) -> str:
    return docstring_parser.parse_from_object(cls).short_description or ""


def _of_class(section: str, cls: Any) -> Iterator[Setting]:
    hints = get_type_hints(cls)
    described = docstring_parser.parse_from_object(cls).params
    meanings = {p.arg_name: " ".join((p.description or "").split()) for p in described}
    for field in dataclasses.fields(cls):
        name = field.name
        yield Setting(
            section, name, _type(hints[name]), _as_toml(field.default), meanings.get(name, "")
        )


def _type(hint: Any) -> str:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return ", ".join(map(_as_toml, arguments))
    if origin is UnionType:
        return _type(arguments[0])
    if origin is tuple:
        return f"list of {_type(arguments[0])}"
    return "table" if dataclasses.is_dataclass(hint) else str(hint.__name__)


def _as_toml(value: Any) -> str:
    """A plain value as it stands in a file; nothing for tables."""
    if isinstance(value, tuple):
        if any(dataclasses.is_dataclass(item) for item in value):
            return ""
        return f"[{', '.join(map(_as_toml, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"
