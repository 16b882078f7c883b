"""A Gantt chart for a page, drawn by its script: zoom, details on hover, critical path.

``gantt.html`` is the inside of an element of class ``gantt``, ``gantt.css`` its style; ``gantt.js``
defines ``ganttChart``, of which ``ganttChart(element).show(data)`` draws it.
"""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from dagsched_env.io.atomic import write_text
from dagsched_env.pictures.colours import colour_tasks, text_colour
from dagsched_env.pictures.gantt import several
from dagsched_env.pictures.labels import MAX_LENGTH, elide, short_labels
from dagsched_env.pictures.page import asset, document, embed
from dagsched_env.problem.critical import critical_chain
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.lanes import place_in_lanes, resource_use
from dagsched_env.problem.schedule import Schedule

LABEL_LENGTH = 40
"""Letters of the longest label; the details have up to ``MAX_LENGTH``."""


def gantt_page(schedule: Schedule | Sequence[Schedule], instance: Instance) -> str:
    """A page with one chart, as text; script, style and data are inside, nothing is fetched.

    Of several schedules the page shows the first; a list leads to the others, on the same scale of
    time.

    Args:
        schedule: one, or several of the same problem; complete.
        instance: its problem: gives names, edges, and the kinds or depths that colour the tasks.

    Raises:
        DAGSchedError: no schedule, or one that does not fit the instance in size.
    """
    schedules = several(schedule, instance)
    data = problem_data(instance)
    data["horizon"] = max(instance.lower_bound, *(each.makespan for each in schedules))
    data["schedules"] = shown = [schedule_data(each, instance) for each in schedules]
    return document(
        str(shown[0]["title"]),
        [f'<div class="gantt page">\n{asset("gantt.html")}</div>', embed("data", data)],
        styles=[asset("page.css"), asset("gantt.css")],
        scripts=[asset("gantt.js"), asset("gantt_page.js")],
    )


def save_page(
    schedule: Schedule | Sequence[Schedule], path: str | Path, instance: Instance
) -> Path:
    """Write ``gantt_page``; the file appears whole or not at all.

    Args:
        schedule: one or several, as of ``gantt_page``.
        path: the file to write.
        instance: the problem of the schedules.

    Raises:
        DAGSchedError: as of ``gantt_page``.
        OSError: the file cannot be written.
    """
    write_text(path, gantt_page(schedule, instance))
    return Path(path)


def problem_data(instance: Instance) -> dict[str, object]:
    """What the charts of all schedules of an instance share, as JSON values."""
    colouring = colour_tasks(instance)
    data: dict[str, object] = {
        "processors": [elide(name, MAX_LENGTH) for name in instance.processor_names],
        "processorLabels": short_labels(instance.processor_names, LABEL_LENGTH),
        "tasks": [elide(name, MAX_LENGTH) for name in instance.task_names],
        "taskLabels": short_labels(instance.task_names, LABEL_LENGTH),
        "edges": instance.edges.tolist(),
        "colourMeans": colouring.means,
        "palette": [[colour, text_colour(colour)] for colour in colouring.palette],
        "legend": list(colouring.legend),
        "colour": colouring.position.tolist(),
        "horizon": instance.lower_bound,
    }
    if instance.n_resources:
        data["resources"] = [elide(name, LABEL_LENGTH) for name in instance.resource_names]
        data["demands"] = instance.demands.tolist()
        data["capacities"] = [
            [None if math.isinf(amount) else amount for amount in row]
            for row in instance.capacities.tolist()
        ]
    return data


def schedule_data(schedule: Schedule, instance: Instance) -> dict[str, object]:
    """What the chart of one complete, valid schedule needs besides ``problem_data``."""
    labels = [elide(part, MAX_LENGTH) for part in (instance.name, schedule.algorithm) if part]
    data: dict[str, object] = {
        "title": " · ".join(labels) or "schedule",
        "figures": f"makespan {schedule.makespan:g} · SLR {schedule.slr(instance):.3f}",
        "makespan": schedule.makespan,
        "processor": schedule.processor.tolist(),
        "start": schedule.start.tolist(),
        "finish": schedule.finish.tolist(),
        "chain": [list(link) for link in critical_chain(schedule, instance)],
    }
    lanes = place_in_lanes(schedule, instance)
    if lanes is not None:
        data["lanes"] = {
            "pieces": np.stack(lanes.pieces, axis=1).tolist(),
            "height": lanes.height.tolist(),
            "inside": lanes.inside.tolist(),
            "unit": lanes.unit and elide(lanes.unit, LABEL_LENGTH),
        }
        data["use"] = [
            {"time": use.time.tolist(), "amount": use.amount.tolist()}
            for use in resource_use(schedule, instance)
        ]
    return data
