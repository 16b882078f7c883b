"""A Gantt chart as an SVG element inside an HTML page; needs no matplotlib."""

from collections.abc import Sequence

import numpy as np

from dagsched_env.pictures.canvas import ACCENT
from dagsched_env.pictures.colours import colour_tasks, text_colour
from dagsched_env.pictures.gantt import BAR_HEIGHT, Looks, require_fit
from dagsched_env.pictures.labels import elide, one_line, short_labels, trailing_number
from dagsched_env.pictures.page import plain
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule

# In units of the picture, which is as wide as its place on the page.
WIDTH, LEFT, RIGHT, AXIS = 360.0, 48.0, 8.0, 16.0
MAX_ROW, MAX_ROWS = 22.0, 320.0
FONT, LETTER = 9.0, 5.5
"""Height of the text; width that a letter may take."""
TASK_LENGTH, PROCESSOR_LENGTH = 40, 12
"""Letters of the longest labels."""


def gantt_svg(
    schedule: Schedule, instance: Instance | None = None, horizon: float | None = None
) -> str:
    """Processors as rows, tasks as bars, coloured by kind, or else by their depth in the graph.

    What is not a task has the colour of the text around it, so that the chart fits light and dark
    pages. A task shows its name and times when the pointer rests on it.

    Args:
        schedule: complete, or partial: tasks on a negative processor are not placed yet.
        instance: its problem; without it names are numbers, and colours the start times.
        horizon: time at the right end, at least the makespan, which is the default; charts with
            the same horizon can be compared.

    Raises:
        DAGSchedError: the schedule does not fit the instance in size.
    """
    if instance is not None:
        require_fit(schedule, instance)
    looks = Looks.of(schedule, instance)
    row = min(MAX_ROW, MAX_ROWS / len(looks.processors))
    bottom = row * len(looks.processors)
    scale = (WIDTH - LEFT - RIGHT) / (horizon or schedule.makespan or 1.0)
    end = LEFT + scale * schedule.makespan
    parts = [
        f'<svg viewBox="0 0 {WIDTH:g} {bottom + AXIS:g}" role="img" font-size="{FONT:g}" '
        f'fill="currentColor" aria-label="Gantt chart, makespan {schedule.makespan:g}">',
        *_lanes(looks.processors, row),
        *_tasks(schedule, looks, row, scale),
        f'<path d="M{end:.2f} 0V{bottom:.2f}" stroke="{ACCENT}"/>',
        _text(LEFT, bottom + AXIS - 4.0, "0"),
        _text(end, bottom + AXIS - 4.0, f"{schedule.makespan:g}", anchor="end"),
        "</svg>",
    ]
    return "\n".join(parts)


def gantt_legend(instance: Instance) -> str:
    """What the colours of ``gantt_svg`` stand for, as an HTML element of class ``legend``."""
    colouring = colour_tasks(instance)
    if not colouring.legend:
        return f'<p class="legend">colour: {plain(colouring.means)}</p>'
    entries = zip(colouring.legend, colouring.palette, strict=True)
    items = "".join(
        f'<li><i style="background:{colour}"></i>{plain(label)}</li>' for label, colour in entries
    )
    return f'<ul class="legend">{items}</ul>'


def _lanes(names: Sequence[str], row: float) -> list[str]:
    parts = []
    height = BAR_HEIGHT * row
    for q, label in enumerate(short_labels(names, PROCESSOR_LENGTH)):
        y = (q + 0.5) * row
        parts.append(
            f'<rect x="{LEFT:g}" y="{y - height / 2:.2f}" width="{WIDTH - LEFT - RIGHT:g}" '
            f'height="{height:.2f}" fill-opacity="0.08"/>'
        )
        if row > FONT:
            fitting = elide(label, int((LEFT - 4.0) / LETTER))
            parts.append(_text(LEFT - 4.0, y + 0.35 * FONT, fitting, anchor="end"))
    return parts


def _tasks(schedule: Schedule, looks: Looks, row: float, scale: float) -> list[str]:
    colouring = looks.colouring
    ink = [text_colour(colour) for colour in colouring.palette]
    height = BAR_HEIGHT * row
    parts = []
    labels = short_labels(looks.tasks, TASK_LENGTH)
    for t in np.flatnonzero(schedule.processor >= 0).tolist():
        start, finish = schedule.start[t], schedule.finish[t]
        x, width = LEFT + scale * start, max(scale * (finish - start), 0.4)
        y = (schedule.processor[t] + 0.5) * row
        name = plain(one_line(looks.tasks[t]))
        parts.append(
            f'<rect x="{x:.2f}" y="{y - height / 2:.2f}" width="{width:.2f}" '
            f'height="{height:.2f}" rx="1" fill="{colouring.palette[colouring.position[t]]}" '
            'stroke="#000" stroke-opacity="0.4" stroke-width="0.4">'
            f"<title>{name}: {start:g} to {finish:g}</title></rect>"
        )
        fitting = _fitting_label(labels[t], int(width / LETTER))
        if row > FONT and fitting:
            colour = ink[colouring.position[t]]
            parts.append(_text(x + width / 2, y + 0.35 * FONT, fitting, "middle", colour))
    return parts


def _fitting_label(label: str, letters: int) -> str:
    """The label or its number, whichever fits, or nothing."""
    return next((text for text in (label, trailing_number(label)) if len(text) <= letters), "")


def _text(x: float, y: float, text: str, anchor: str = "start", fill: str = "currentColor") -> str:
    return (
        f'<text x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}" fill="{fill}" '
        f'pointer-events="none">{plain(text)}</text>'
    )
