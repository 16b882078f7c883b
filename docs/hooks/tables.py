"""Tables of the documentation that are made from the code when the site is built.

A line ``{{ name }}`` of a page stands for the table of that name in ``TABLES``.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import docstring_parser
from mkdocs.exceptions import PluginError

from aerl_trainer.config import Setting, settings
from dagsched_env import DAGSchedEnv, io, records, suites
from dagsched_env.environment.actions import ACTIONS
from dagsched_env.environment.features import FEATURES, FLAT_FEATURES, LIMIT, Feature
from dagsched_env.environment.online.env import DAGSchedOnlineEnv
from dagsched_env.environment.online.features import ONLINE_FEATURES
from dagsched_env.environment.rewards import REDUCTIONS, REWARDS, Reduction, RewardFn
from dagsched_env.generators import GENERATORS
from dagsched_env.io import MachineOptions
from dagsched_env.pictures.page import Cell, plain, sortable_table, sorting
from dagsched_env.problem.platforms import PLATFORMS
from dagsched_env.schedulers import CONSTRUCTIVE, SCHEDULERS, SEARCHERS
from dagsched_env.sources import specs
from dagsched_env.sources.parameters import parameters

MARKER = re.compile(r"^\{\{ (\w+) \}\}$", re.MULTILINE)

SHAPES = {
    "task": "[N]",
    "processor": "[P]",
    "pair": "[N·P]",
    "demand": "[N·K]",
    "capacity": "[P·K]",
    "edge": "[M]",
}
RANGES = {
    "CP_MIN": "time\u00a0/\u00a0CP_MIN",
    "ratio": "ratio",
    "flag": "0 or 1",
    "mask": "0 or 1, int8",
    "index": "task, int64",
}

ARCHIVE = Path(__file__).parents[1] / "records"
RECORD_HEAD = ("instance", "tasks", "makespan", "published", "lower bound", "gap %")
RECORD_HEAD += ("solver", "seconds", "date")

COMMON = ("instance", "insertion")
"""What every scheduler takes."""


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for each page."""
    return MARKER.sub(lambda found: made(found[1]), markdown)


def made(name: str) -> str:
    """One table as Markdown."""
    if name not in TABLES:
        raise PluginError(f"no table {name!r}: there are {', '.join(TABLES)}")
    return TABLES[name]()


# -- the environment ---------------------------------------------------------------------------


def observations() -> str:
    """A row for each key of the observation ``graph``."""
    rows = [_feature_row(feature, feature in FLAT_FEATURES) for feature in FEATURES]
    note = f"Times and ratios are cut off at {LIMIT:g}; all but masks and indices are float32."
    head = ("key", "shape", "value", "changes", "in `flat`", "meaning")
    return f"{table(head, rows)}\n\n{note}"


def online_observations() -> str:
    """A row for each key of the observations of a run; its times have another unit."""
    rows = [
        _feature_row(f, f.unit not in ("mask", "index") and f.group != "edge")
        for f in ONLINE_FEATURES
    ]
    return table(("key", "shape", "value", "changes", "in `flat`", "meaning"), rows)


def _feature_row(feature: Feature, flat: bool) -> tuple[str, ...]:
    return (
        code(feature.name),
        SHAPES[feature.group],
        RANGES[feature.unit],
        yes(feature.dynamic),
        yes(flat),
        feature.meaning,
    )


def actions() -> str:
    """A row for each action mode."""
    return table(
        ("`action=`", "space and meaning"),
        [(code(name), text_of(mode)) for name, mode in ACTIONS.items()],
    )


def rewards() -> str:
    """A row for each reward with a name."""
    rows = [(code(name), _reward(reward)) for name, reward in REWARDS.items()]
    return table(("`reward=`", "what a step earns"), rows)


def _reward(reward: RewardFn) -> str:
    if isinstance(reward, Reduction):
        return f"0 before the last placement, which earns {REDUCTIONS[reward.kind]}"
    return text_of(reward)


def environment() -> str:
    """A row for each argument of the environment."""
    return _arguments(DAGSchedEnv)


def online_environment() -> str:
    """A row for each argument of the environment of runs."""
    return _arguments(DAGSchedOnlineEnv)


def _arguments(environment: Callable[..., Any]) -> str:
    defaults = inspect.signature(environment).parameters
    rows = [
        (code(name), code(repr(defaults[name].default)), meaning)
        for name, meaning in meanings_of(environment).items()
    ]
    return table(("argument", "default", "meaning"), rows)


# -- families, platforms, schedulers, formats --------------------------------------------------


def families() -> str:
    """A section for each family: its graphs, then its parameters."""
    return "\n\n".join(_section(name, family) for name, family in GENERATORS.items())


def platforms() -> str:
    """A section for each platform."""
    return "\n\n".join(_section(name, platform) for name, platform in PLATFORMS.items())


def _section(name: str, factory: Callable[..., Any]) -> str:
    meanings = meanings_of(factory)
    rows = [
        (code(parameter.key), parameter.kind, code(parameter.shown_default), meanings[argument])
        for parameter in parameters(factory).values()
        for argument in [parameter.name]
    ]
    parts = [f"### `{name}`", prose_of(factory)]
    if rows:
        parts.append(table(("parameter", "takes", "default", "meaning"), rows))
    if factory in GENERATORS.values() and not specs.takes_platform(factory):
        parts.append("It makes its own processors: leave `platform` out.")
    return "\n\n".join(parts)


def schedulers() -> str:
    """A row for each scheduler by name, which leads to its docstring."""
    rows = []
    for name, scheduler in SCHEDULERS.items():
        kind = "builds" if name in CONSTRUCTIVE else "searches" if name in SEARCHERS else "control"
        options = [code(key) for key in meanings_of(scheduler) if key not in COMMON]
        link = f"[{code(name)}][{scheduler.__module__}.{scheduler.__name__}]"
        rows.append((link, kind, summary_of(scheduler), ", ".join(options)))
    return table(("name", "kind", "rule", "options of its own"), rows)


def formats() -> str:
    """The table in the docstring of ``dagsched_env.io``."""
    return table_in(io)


def suites_table() -> str:
    """The table in the docstring of ``dagsched_env.suites``."""
    return table_in(suites)


def machine_options() -> str:
    """A row for each parameter of the machines of a file."""
    rows = [
        (code(f"--{name.replace('_', '-')}"), code(name), meaning)
        for name, meaning in meanings_of(MachineOptions).items()
    ]
    return table(("option", "in a SPEC and in Python", "meaning"), rows)


# -- the archive -------------------------------------------------------------------------------


def archive() -> str:
    """A section for each set on record, with a table that can be sorted."""
    sections = "\n\n".join(map(_record_section, records.read_folder(ARCHIVE)))
    return f'{sections}\n\n<script>\n"use strict";\n{sorting()}</script>'


def _record_section(found: records.RecordSet) -> str:
    entries = list(found.entries.values())
    optimal = sum(entry.optimal for entry in entries)
    gap = sum(entry.gap for entry in entries) / max(len(entries), 1)
    return "\n\n".join(
        [
            f"### {code(found.name)}",
            f"{len(entries)} instances, {optimal} of them optimal; mean gap {gap:.2%}. From: "
            f"{found.source}. File: [{found.name}.json](../records/{found.name}.json).",
            "\n".join(sortable_table(RECORD_HEAD, map(_record_row, entries))),
        ]
    )


def _record_row(entry: records.Entry) -> list[Cell | str]:
    return [
        entry.name,
        _number(len(entry.order)),
        _number(entry.makespan),
        "-" if entry.published is None else _number(entry.published),
        _number(entry.lower_bound),
        Cell(f"{100 * entry.gap:.2f}", 100 * entry.gap),
        entry.solver,
        "-" if entry.seconds is None else Cell(f"{entry.seconds:.3g}", entry.seconds),
        entry.date,
    ]


def _number(value: float) -> Cell:
    return Cell(plain(f"{value:.6g}"), value)


# -- settings ----------------------------------------------------------------------------------


def all_settings() -> str:
    """A section with a table for each section of the settings."""
    sections = dict.fromkeys(setting.section for setting in settings())
    return "\n\n".join(_settings_section(section) for section in sections)


def _settings_section(section: str) -> str:
    own = [setting for setting in settings() if setting.section == section]
    rows = map(_setting_row, own)
    return f"## {section}\n\n" + table(("key", "type", "default", "meaning"), rows)


def _setting_row(setting: Setting) -> tuple[str, ...]:
    return (code(setting.name), setting.type, code(setting.default), setting.meaning)


TABLES: dict[str, Callable[[], str]] = {
    "actions": actions,
    "archive": archive,
    "environment": environment,
    "families": families,
    "formats": formats,
    "machine_options": machine_options,
    "observations": observations,
    "online_environment": online_environment,
    "online_observations": online_observations,
    "platforms": platforms,
    "rewards": rewards,
    "schedulers": schedulers,
    "settings": all_settings,
    "suites": suites_table,
}
"""Name in a page → its table."""


# -- docstrings and Markdown -------------------------------------------------------------------


def summary_of(thing: Any) -> str:
    """First line of a docstring."""
    return inspect.getdoc(thing).partition("\n")[0]  # type: ignore[union-attr]


def prose_of(thing: Any) -> str:
    """A docstring without the sections on arguments and errors."""
    return re.split(r"^(?:Args|Raises|Returns):$", inspect.getdoc(thing) or "", flags=re.M)[0]


def text_of(thing: Any) -> str:
    """The same in one line."""
    return " ".join(prose_of(thing).split())


def meanings_of(thing: Any) -> dict[str, str]:
    """Argument → what the docstring says of it."""
    parsed = docstring_parser.parse(inspect.getdoc(thing) or "")
    return {p.arg_name: " ".join((p.description or "").split()) for p in parsed.params}


def table_in(module: Any) -> str:
    """The Markdown table in the docstring of a module."""
    lines = [line for line in inspect.getdoc(module).splitlines() if line.startswith("|")]  # type: ignore[union-attr]
    return "\n".join(lines)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    )


def code(text: str) -> str:
    """In the font of code; nothing for nothing."""
    return f"`{text}`" if text else ""


def yes(value: bool) -> str:
    """``yes`` or nothing."""
    return "yes" if value else ""
