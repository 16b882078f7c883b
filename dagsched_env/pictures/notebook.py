"""What a notebook shows of a problem, a schedule or a solution: an element of HTML."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from dagsched_env.pictures.colours import NUMBERED
from dagsched_env.pictures.inline import gantt_svg
from dagsched_env.pictures.labels import one_line
from dagsched_env.pictures.page import plain
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.kinds import MAX_KINDS, task_kinds
from dagsched_env.problem.platforms import ccr
from dagsched_env.problem.schedule import Schedule

MAX_TASKS = 2000
"""A notebook keeps what it shows: larger charts would weigh hundreds of kilobytes."""


def facts(title: str, entries: Mapping[str, str]) -> str:
    """A table with a line for each entry.

    Args:
        title: above the table; any text, as the entries.
        entries: what it is → its value.
    """
    rows = "".join(
        f'<tr><th style="text-align:left">{plain(what)}</th>'
        f'<td style="text-align:left">{plain(value)}</td></tr>'
        for what, value in entries.items()
    )
    caption = f'<caption style="text-align:left;font-weight:bold">{plain(title)}</caption>'
    return f"<table>{caption}<tbody>{rows}</tbody></table>"


def instance_html(instance: Instance) -> str:
    """Sizes, CCR, resources with their capacity on all processors, and kinds of tasks."""
    entries = {
        "tasks": str(instance.n_tasks),
        "edges": str(instance.n_edges),
        "processors": str(instance.n_processors),
        "CCR": f"{ccr(instance):.3g}",
    }
    if instance.n_resources:
        totals = zip(instance.resource_names, instance.capacities.sum(axis=0), strict=True)
        entries["resources"] = ", ".join(
            f"{one_line(name)} ({'no limit' if total == np.inf else f'{total:.6g} in all'})"
            for name, total in totals
        )
    kinds = task_kinds(instance.task_names)
    if kinds is not None:
        counts = Counter(kinds)
        shown = counts.most_common(MAX_KINDS)
        texts = [f"{one_line(kind or NUMBERED)} ({count})" for kind, count in shown]
        more = len(counts) - len(shown)
        entries["kinds of tasks"] = ", ".join([*texts, f"{more} more"] if more else texts)
    name = f"Instance {one_line(instance.name)}" if instance.name else "Instance"
    return facts(name, entries)


def schedule_html(schedule: Schedule) -> str:
    """Makespan, sizes and a Gantt chart; a schedule knows no names and no demands of tasks."""
    placed = schedule.processor[schedule.processor >= 0]
    total = schedule.processor.shape[0]
    entries = {
        "makespan": f"{schedule.makespan:.6g}",
        "tasks": str(total) if placed.size == total else f"{placed.size} of {total} placed",
        "processors used": str(np.unique(placed).size),
    }
    by = f" by {one_line(schedule.algorithm)}" if schedule.algorithm else ""
    table = facts(f"Schedule{by}", entries)
    if not 0 < placed.size <= MAX_TASKS:
        return table
    return f'{table}<div style="max-width:48rem">{gantt_svg(schedule)}</div>'
