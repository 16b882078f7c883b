"""A Gantt chart as an SVG element inside an HTML page; needs no matplotlib."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dagsched_env.pictures.canvas import ACCENT
from dagsched_env.pictures.colours import colour_tasks, text_colour
from dagsched_env.pictures.gantt import BAR_HEIGHT, Looks, require_fit
from dagsched_env.pictures.labels import elide, one_line, short_labels, trailing_number
from dagsched_env.pictures.page import plain
from dagsched_env.pictures.stacking import Sizes, Stack, stack_rows
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule

# In units of the picture, which is as wide as its place on the page.
WIDTH, LEFT, RIGHT, AXIS = 360.0, 48.0, 8.0, 16.0
MAX_ROW, MAX_ROWS = 22.0, 320.0
LANE_SIZES = Sizes(lane=9.0, row=22.0, room=MAX_ROWS, strip=14.0, gap=6.0)
"""Of rows whose tasks may overlap."""
LEAST_HEIGHT = 0.5
"""Of a task; one of some lanes among very many would not be seen."""
FONT, LETTER = 9.0, 5.5
"""Height of the text; width that a letter may take."""
USE_FONT = 6.0
"""Height of the labels of resources."""
TASK_LENGTH, PROCESSOR_LENGTH = 40, 12
"""Letters of the longest labels."""


def gantt_svg(
    schedule: Schedule, instance: Instance | None = None, horizon: float | None = None
) -> str:
    """Processors as rows, tasks as bars, coloured by kind, or else by their depth in the graph.

    What is not a task has the colour of the text around it, so that the chart fits light and dark
    pages. A task shows its name and times when the pointer rests on it. A processor with resources
    has lanes, and below them their use, as of ``gantt_figure``; a task shows its demands, too.

    Args:
        schedule: complete, or partial: tasks on a negative processor are not placed yet.
        instance: its problem; without it names are numbers, colours the start times, and tasks that
            overlap have a lane each.
        horizon: time at the right end, at least the makespan, which is the default; charts with
            the same horizon can be compared.

    Raises:
        DAGSchedError: the schedule does not fit the instance in size.
    """
    if instance is not None:
        require_fit(schedule, instance)
    looks = Looks.of(schedule, instance)
    row = min(MAX_ROW, MAX_ROWS / len(looks.processors))
    stack = stack_rows(schedule, instance, LANE_SIZES)
    bottom = row * len(looks.processors) if stack is None else stack.total
    scale = (WIDTH - LEFT - RIGHT) / (horizon or schedule.makespan or 1.0)
    end = LEFT + scale * schedule.makespan
    parts = [
        f'<svg viewBox="0 0 {WIDTH:g} {bottom + AXIS:g}" role="img" font-size="{FONT:g}" '
        f'fill="currentColor" aria-label="Gantt chart, makespan {schedule.makespan:g}">',
        *(
            _rows(looks.processors, row)
            if stack is None
            else _stack(looks.processors, stack, scale)
        ),
        *_tasks(schedule, looks, _boxes(schedule, row, stack), scale, _demands(instance)),
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


class _Box(NamedTuple):
    """A bar of a task."""

    task: int
    top: float
    height: float
    labelled: bool


def _boxes(schedule: Schedule, row: float, stack: Stack | None) -> Iterator[_Box]:
    """The bars of all placed tasks; those of duration 0 come last, on top of the others."""
    if stack is None:
        height = BAR_HEIGHT * row
        for t in np.flatnonzero(schedule.processor >= 0).tolist():
            y = (schedule.processor[t] + 0.5) * row
            yield _Box(t, y - height / 2, height, row > FONT)
        return
    tasks, _, width = stack.pieces
    heights = np.maximum(stack.lane * width, LEAST_HEIGHT)
    for i in np.argsort(schedule.finish[tasks] <= schedule.start[tasks], kind="stable").tolist():
        high = float(heights[i])
        yield _Box(int(tasks[i]), float(stack.piece_top[i]), high, high >= FONT)


def _demands(instance: Instance | None) -> list[str]:
    """What each task needs, after its times; nothing where there are no resources."""
    if instance is None or not instance.n_resources:
        return []
    names = [one_line(name) for name in instance.resource_names]
    return [
        "".join(f", {amount:g} {name}" for amount, name in zip(row, names, strict=True))
        for row in instance.demands.tolist()
    ]


def _rows(names: Sequence[str], row: float) -> list[str]:
    height = BAR_HEIGHT * row
    parts = []
    for q, label in enumerate(short_labels(names, PROCESSOR_LENGTH)):
        y = (q + 0.5) * row
        parts += _row(y - height / 2, height, label if row > FONT else "")
    return parts


def _stack(names: Sequence[str], stack: Stack, scale: float) -> list[str]:
    """The lanes of each processor, and below them the use of its resources."""
    parts = []
    labels = short_labels(names, PROCESSOR_LENGTH)
    for label, top, height in zip(labels, stack.top.tolist(), stack.inside.tolist(), strict=True):
        parts += _row(top, height, label if height > FONT else "")
    for strip in stack.strips:
        base = strip.top + stack.strip
        ends = (LEFT + scale * strip.time).tolist()
        levels = (base - stack.strip * strip.share).tolist()
        steps = "".join(f"H{x:.2f}V{y:.2f}" for x, y in zip(ends, levels, strict=True))
        parts.append(
            f'<path d="M{LEFT:g} {base:.2f}{steps}V{base:.2f}Z" fill-opacity="0.35">'
            f"<title>{plain(one_line(strip.label))}</title></path>"
        )
        if strip.limited:
            parts.append(
                f'<path d="M{LEFT:g} {strip.top:.2f}H{WIDTH - RIGHT:g}" stroke="currentColor" '
                'stroke-opacity="0.6" stroke-width="0.5" stroke-dasharray="3 2"/>'
            )
        if stack.strip > FONT:
            label = elide(one_line(strip.label), int((LEFT - 4.0) * FONT / LETTER / USE_FONT))
            y = base - stack.strip / 2 + 0.35 * USE_FONT
            parts.append(_text(LEFT - 4.0, y, label, anchor="end", size=USE_FONT))
    return parts


def _row(top: float, height: float, label: str) -> list[str]:
    """What is behind the tasks of a processor; its label, if it is not empty, on the left."""
    box = (
        f'<rect x="{LEFT:g}" y="{top:.2f}" width="{WIDTH - LEFT - RIGHT:g}" '
        f'height="{height:.2f}" fill-opacity="0.08"/>'
    )
    if not label:
        return [box]
    fitting = elide(label, int((LEFT - 4.0) / LETTER))
    return [box, _text(LEFT - 4.0, top + height / 2 + 0.35 * FONT, fitting, anchor="end")]


def _tasks(
    schedule: Schedule,
    looks: Looks,
    boxes: Iterable[_Box],
    scale: float,
    demands: Sequence[str],
) -> list[str]:
    colouring = looks.colouring
    ink = [text_colour(colour) for colour in colouring.palette]
    parts = []
    labels = short_labels(looks.tasks, TASK_LENGTH)
    for t, top, height, labelled in boxes:
        start, finish = schedule.start[t], schedule.finish[t]
        x, width = LEFT + scale * start, max(scale * (finish - start), 0.4)
        name = plain(one_line(looks.tasks[t]))
        needs = plain(demands[t]) if demands else ""
        parts.append(
            f'<rect x="{x:.2f}" y="{top:.2f}" width="{width:.2f}" '
            f'height="{height:.2f}" rx="1" fill="{colouring.palette[colouring.position[t]]}" '
            'stroke="#000" stroke-opacity="0.4" stroke-width="0.4">'
            f"<title>{name}: {start:g} to {finish:g}{needs}</title></rect>"
        )
        fitting = _fitting_label(labels[t], int(width / LETTER))
        if labelled and fitting:
            colour = ink[colouring.position[t]]
            y = top + height / 2 + 0.35 * FONT
            parts.append(_text(x + width / 2, y, fitting, "middle", colour))
    return parts


def _fitting_label(label: str, letters: int) -> str:
    """The label or its number, whichever fits, or nothing."""
    return next((text for text in (label, trailing_number(label)) if len(text) <= letters), "")


def _text(
    x: float,
    y: float,
    text: str,
    anchor: str = "start",
    fill: str = "currentColor",
    size: float = FONT,
) -> str:
    other = f' font-size="{size:g}"' if size != FONT else ""
    return (
        f'<text x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}" fill="{fill}"{other} '
        f'pointer-events="none">{plain(text)}</text>'
    )
