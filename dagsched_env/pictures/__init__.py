"""Pictures of schedules: Gantt charts as PNG, SVG, PDF, pixels, or an interactive HTML page.

In reading order:

- ``labels``: short labels for names of any kind;
- ``colours``: the colours of tasks;
- ``canvas``: what all matplotlib pictures share;
- ``stacking``: the rows of processors whose tasks overlap;
- ``gantt``: Gantt charts as pictures;
- ``page``: what all HTML pages share, and tables that can be sorted;
- ``interactive``: a Gantt chart with its script, on a page of its own or on another;
- ``inline``: a Gantt chart as an element of any HTML page;
- ``notebook``: what a notebook shows of a problem, a schedule or a solution;
- ``comparison``: a picture of a comparison of schedulers;
- ``profile``: performance profiles of schedulers for an HTML page.
"""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from types import NoneType

from dagsched_env.pictures.gantt import gantt_figure, rgb_array, save_gantt
from dagsched_env.pictures.inline import gantt_legend, gantt_svg
from dagsched_env.pictures.interactive import gantt_page, save_page
from dagsched_env.pictures.notebook import instance_html, schedule_html
from dagsched_env.problem.errors import DAGSchedError, expect
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule

__all__ = [
    "gantt_figure",
    "gantt_legend",
    "gantt_page",
    "gantt_svg",
    "instance_html",
    "rgb_array",
    "save",
    "save_gantt",
    "save_page",
    "schedule_html",
]


def save(
    schedule: Schedule | Sequence[Schedule], path: str | Path, instance: Instance | None = None
) -> Path:
    """Write a Gantt chart as PNG, SVG, PDF or HTML, by the suffix of ``path``.

    Several schedules stand below each other on one scale of time; an HTML page has a list of them.

    Args:
        schedule: one, or several of one problem; complete for HTML.
        path: the file; it appears whole or not at all.
        instance: the problem: gives names and depths; HTML and several schedules need it.

    Raises:
        DAGSchedError: arguments are swapped, an unknown suffix, no schedule, HTML or several
            schedules without an instance, or a schedule that does not belong to the instance.
        MissingExtraError: matplotlib is not installed (HTML does without it).
        OSError: the file cannot be written.
    """
    call = 'save(schedule, "gantt.png", instance)'
    expect("schedule", schedule, (Schedule, list, tuple), call)
    for i, each in enumerate([] if isinstance(schedule, Schedule) else schedule):
        expect(f"schedule[{i}]", each, Schedule, call)
    expect("path", path, (str, PathLike), call)
    expect("instance", instance, (Instance, NoneType), call)
    if Path(path).suffix.lower() not in (".html", ".htm"):
        return save_gantt(schedule, path, instance)
    if instance is None:
        raise DAGSchedError(f"{path}: an HTML chart needs the instance: pass instance=")
    return save_page(schedule, path, instance)
