"""The report of a run: one HTML page that needs nothing else, neither files nor a network."""

import base64
import json
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w

from aerl_trainer import config as settings
from aerl_trainer.config import Config
from aerl_trainer.run.records import EvaluationRow, Example
from aerl_trainer.run.reporting.run_directory import RunDirectory
from aerl_trainer.run.reporting.tables import HEADINGS, best_ratio, cells
from dagsched_env.comparison.compare import ratio
from dagsched_env.io.atomic import write_text
from dagsched_env.pictures import gantt_legend, gantt_svg
from dagsched_env.pictures.labels import one_line
from dagsched_env.pictures.page import asset, document, plain, sortable_table, sorting

MAX_DEFAULT = 80
"""Letters of a default value; all of them are in the list of all settings."""

LEGEND = (
    '<p class="quiet">vs heft, vs portfolio: mean of makespan / HEFT’s makespan, or that of the '
    "best classic scheduler of each instance, ± standard error over the instances; less than 1 is "
    "better. w/t/l: wins, ties and losses against HEFT. ms: mean wall time of an instance. Charts: "
    "where what was trained gains most and least against HEFT, with one scale of time.</p>"
)

STYLE = """
.settings :is(th, td) { text-align: left; }
figure { margin: 0; }
img, svg { display: block; width: 100%; height: auto; }
img { max-width: 60rem; background: white; border-radius: 4px; }
.charts { display: grid; gap: 1rem; margin-top: .5rem; }
@media (min-width: 50rem) { .charts { grid-template-columns: repeat(3, 1fr); } }
pre { overflow-x: auto; font-size: .875rem; }
summary { cursor: pointer; }
"""


class Section(NamedTuple):
    """What is shown of one set of instances."""

    title: str
    rows: list[EvaluationRow]
    examples: list[Example]
    assumptions: Sequence[str] = ()


def write_report(
    directory: RunDirectory, config: Config, steps: int, sections: Sequence[Section]
) -> Path:
    """Write ``report.html``: tables, the learning curve, Gantt charts and settings of a run.

    The file appears whole or not at all.

    Args:
        directory: of the run; its system file and its learning curve are read.
        config: settings of the run.
        steps: that it has taken.
        sections: the sets on which it has been evaluated.

    Returns:
        The path of the page.
    """
    name = directory.path.resolve().name
    body = [
        f"<h1>{plain(name)}</h1>",
        _origin(directory, steps),
        LEGEND,
        *(part for section in sections for part in _section(section)),
        "<h2>Learning curve</h2>",
        _picture(directory.learning_curve, "makespans of the validations over the steps"),
        "<h2>Settings</h2>",
        *_settings(config),
    ]
    page = document(
        f"{name} – AERL-DS", body, styles=[asset("page.css"), STYLE], scripts=[sorting()]
    )
    write_text(directory.report, page)
    return directory.report


def _origin(directory: RunDirectory, steps: int) -> str:
    """How the run was made; the system file of an older version may know less."""
    system: dict[str, Any] = json.loads(directory.system_file.read_text(encoding="utf-8"))
    facts = {
        "steps": steps,
        "started": system.get("started"),
        "version": system.get("packages", {}).get("aerl-ds"),
        "commit": system.get("git_commit"),
        "command": shlex.join(system.get("command", ())),
    }
    known = (f"{name} {plain(str(fact))}" for name, fact in facts.items() if fact not in (None, ""))
    return f'<p class="quiet">{" · ".join(known)}</p>'


def _picture(png: Path, what: str) -> str:
    data = base64.b64encode(png.read_bytes()).decode("ascii")
    return f'<figure><img alt="{plain(what)}" src="data:image/png;base64,{data}"></figure>'


def _section(section: Section) -> Iterator[str]:
    """The table, with the best mean in bold, and the charts."""
    best = best_ratio(section.rows)
    marked = [i for i, row in enumerate(section.rows) if row.vs_heft == best]
    yield f"<h2>{plain(section.title)}</h2>"
    yield from sortable_table(HEADINGS, map(cells, section.rows), best=marked)
    for text in section.assumptions:
        yield f'<p class="quiet">assumed: {plain(text)}</p>'
    for example in section.examples:
        yield from _charts(example)


def _charts(example: Example) -> Iterator[str]:
    """Side by side, on one scale of time."""
    instance, schedules = example.instance, example.schedules
    sizes = f"{instance.n_tasks} tasks, {instance.n_processors} processors"
    title = f"{example.title}: {one_line(instance.name or 'an instance without a name')} ({sizes})"
    yield f'<h3>{plain(title)}</h3>\n{gantt_legend(instance)}\n<div class="charts">'
    makespans = {maker: schedule.makespan for maker, schedule in schedules.items()}
    reference, base = next(iter(makespans.items()))
    for maker, makespan in makespans.items():
        text = f"{maker}: makespan {makespan:g}"
        if maker != reference:
            text += f", {ratio(makespan, base):.4f} of {reference}"
        chart = gantt_svg(schedules[maker], instance, max(makespans.values()))
        yield f"<figure><figcaption>{plain(text)}</figcaption>\n{chart}\n</figure>"
    yield "</div>"


def _settings(config: Config) -> Iterator[str]:
    """Those that differ from the defaults; all of them folded."""
    record, defaults = settings.to_dict(config), settings.to_dict(Config())
    changed = [
        (f"{section}.{key}", json.dumps(value), _short(json.dumps(defaults[section][key])))
        for section, values in record.items()
        for key, value in values.items()
        if value != defaults[section][key]
    ]
    if changed:
        yield from sortable_table(("setting", "value", "default"), changed, kind="settings")
    else:
        yield "<p>All settings have their defaults.</p>"
    yield "<details><summary>All settings</summary>"
    yield f"<pre>{escape(tomli_w.dumps(record))}</pre>\n</details>"


def _short(text: str) -> str:
    return textwrap.shorten(text, MAX_DEFAULT, placeholder=" …")
