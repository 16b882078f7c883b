"""A Gantt chart as an SVG element inside an HTML page; needs no matplotlib."""

from html import escape

from dagsched_env.instance import Instance
from dagsched_env.kernels.graph.csr import depths
from dagsched_env.render.canvas import ACCENT, INK
from dagsched_env.render.gantt import BAR_HEIGHT, require_fit, shorten
from dagsched_env.schedule import Schedule

__all__ = ["gantt_svg"]

# In units of the picture, which is as wide as its place on the page.
WIDTH, LEFT, RIGHT, AXIS = 360.0, 48.0, 8.0, 16.0
MAX_ROW, MAX_ROWS = 22.0, 320.0
FONT, LETTER = 9.0, 5.5
"""Height of the text; width that a letter may take."""
FIRST_HUE, LAST_HUE = 260.0, 60.0


def gantt_svg(schedule: Schedule, instance: Instance, horizon: float | None = None) -> str:
    """Processors as rows, tasks as bars, coloured by their depth in the graph.

    What is not a task has the colour of the text around it, so that the chart fits light and dark
    pages. A task shows its name and times when the pointer rests on it.

    Args:
        schedule: complete.
        instance: its problem.
        horizon: time at the right end, at least the makespan, which is the default; charts with
            the same horizon can be compared.

    Raises:
        DAGSchedError: the schedule does not fit the instance in size.
    """
    require_fit(schedule, instance)
    row = min(MAX_ROW, MAX_ROWS / instance.n_processors)
    bottom = row * instance.n_processors
    scale = (WIDTH - LEFT - RIGHT) / (horizon or schedule.makespan or 1.0)
    end = LEFT + scale * schedule.makespan
    parts = [
        f'<svg viewBox="0 0 {WIDTH:g} {bottom + AXIS:g}" role="img" font-size="{FONT:g}" '
        f'fill="currentColor" aria-label="Gantt chart, makespan {schedule.makespan:g}">',
        *_lanes(instance, row),
        *_tasks(schedule, instance, row, scale),
        f'<path d="M{end:.2f} 0V{bottom:.2f}" stroke="{ACCENT}"/>',
        _text(LEFT, bottom + AXIS - 4.0, "0"),
        _text(end, bottom + AXIS - 4.0, f"{schedule.makespan:g}", anchor="end"),
        "</svg>",
    ]
    return "\n".join(parts)


def _lanes(instance: Instance, row: float) -> list[str]:
    parts = []
    height = BAR_HEIGHT * row
    for q, name in enumerate(instance.processor_names):
        y = (q + 0.5) * row
        parts.append(
            f'<rect x="{LEFT:g}" y="{y - height / 2:.2f}" width="{WIDTH - LEFT - RIGHT:g}" '
            f'height="{height:.2f}" fill-opacity="0.08"/>'
        )
        if row > FONT:
            label = shorten(name, int(LEFT / LETTER))
            parts.append(_text(LEFT - 4.0, y + 0.35 * FONT, label, anchor="end"))
    return parts


def _tasks(schedule: Schedule, instance: Instance, row: float, scale: float) -> list[str]:
    g = instance.arrays
    depth = depths(g.pred_ptr, g.pred_task, g.topo)
    hues = FIRST_HUE + (LAST_HUE - FIRST_HUE) * depth / max(int(depth.max()), 1)
    height = BAR_HEIGHT * row
    parts = []
    columns = (schedule.processor, schedule.start, schedule.finish, hues)
    for name, q, start, finish, hue in zip(instance.task_names, *columns, strict=True):
        x, width = LEFT + scale * start, max(scale * (finish - start), 0.4)
        y = (q + 0.5) * row
        parts.append(
            f'<rect x="{x:.2f}" y="{y - height / 2:.2f}" width="{width:.2f}" '
            f'height="{height:.2f}" rx="1" fill="hsl({hue:.0f} 55% 72%)" '
            f'stroke="hsl({hue:.0f} 40% 40%)" stroke-width="0.3">'
            f"<title>{escape(name)}: {start:g} to {finish:g}</title></rect>"
        )
        if row > FONT and LETTER * len(name) < width:
            parts.append(_text(x + width / 2, y + 0.35 * FONT, name, anchor="middle", colour=INK))
    return parts


def _text(
    x: float, y: float, text: str, *, anchor: str = "start", colour: str = "currentColor"
) -> str:
    return (
        f'<text x="{x:.2f}" y="{y:.2f}" text-anchor="{anchor}" fill="{colour}" '
        f'pointer-events="none">{escape(text)}</text>'
    )
