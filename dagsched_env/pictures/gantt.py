"""Gantt charts of complete and partial schedules; needs matplotlib, which is imported lazily."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dagsched_env.pictures.canvas import (
    ACCENT,
    LANE,
    PAPER,
    QUIET,
    SCREEN_DPI,
    drawable,
    dress,
    new_figure,
    require_matplotlib,
    save_figure,
    text_width,
)
from dagsched_env.pictures.colours import Colouring, by_start, colour_tasks, text_colour
from dagsched_env.pictures.labels import elide, short_labels, trailing_number
from dagsched_env.pictures.stacking import STRIP_SHARE, Sizes, Stack, stack_rows
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAR_HEIGHT = 0.76
"""Height of a task in units of a processor's row."""
ROW_INCHES, MAX_ROWS_INCHES = 0.48, 11.0
TITLE_INCHES, AXIS_INCHES = 0.45, 0.9
"""Height of what stands above each chart, and of what stands below and around all of them."""
MIN_LABEL_POINTS, MAX_LABEL_POINTS = 5.0, 8.5
TASK_LENGTH, PROCESSOR_LENGTH, TITLE_LENGTH = 40, 18, 64
"""Letters of the longest labels."""
LANE_SIZES = Sizes(lane=0.2, row=0.45, room=MAX_ROWS_INCHES, strip=0.32, gap=0.14)
"""Of rows whose tasks may overlap, in inches."""
LANE_LABEL_SHARE, ROW_LABEL_INCHES = 0.62, 0.13
"""Height of a task's name in units of its bar; least distance of names of rows."""
USE_COLOUR, USE_POINTS = "#a9b4c4", 7.5
"""Of the use of resources below the lanes: colour, and size of its labels."""
MIN_ELIDED = 8
"""With fewer letters than this an elided name says less than its number."""
LEGEND_POINTS, LEGEND_WIDTH, SWATCH_POINTS = 8.5, 640.0, 38.0
"""Size of the text, width of all columns, and room around a label."""


class Looks(NamedTuple):
    """How rows and tasks are called, and what colours the tasks have."""

    processors: tuple[str, ...]
    tasks: tuple[str, ...]
    colouring: Colouring

    @classmethod
    def of(cls, schedule: Schedule, instance: Instance | None) -> "Looks":
        """Those of the instance; without one, numbers, and the start times as colours."""
        if instance is not None:
            return cls(instance.processor_names, instance.task_names, colour_tasks(instance))
        rows = int(schedule.processor.max(initial=0)) + 1
        placed_at = np.where(schedule.processor >= 0, schedule.start, 0.0)
        return cls(
            tuple(f"P{q}" for q in range(rows)),
            tuple(map(str, range(schedule.processor.shape[0]))),
            by_start(placed_at),
        )


class _Chart(NamedTuple):
    """What is drawn: the placed tasks and the frame around them; times in the unit of the user."""

    tasks: npt.NDArray[np.int64]  # [bars] indices; of a task in several lanes more than once
    row: npt.NDArray[np.float64]  # [bars] middle
    height: npt.NDArray[np.float64]  # [bars] in units of a row
    start: npt.NDArray[np.float64]  # [bars]
    duration: npt.NDArray[np.float64]  # [bars]
    colour: npt.NDArray[np.int64]  # [bars] positions in the palette
    palette: tuple[str, ...]
    colour_means: str
    legend: tuple[str, ...]
    makespan: float
    horizon: float
    row_names: tuple[str, ...]
    row_inches: float
    task_names: tuple[str, ...]
    stack: Stack | None  # its rows where tasks may overlap; then a unit of a row is an inch

    @property
    def rows_inches(self) -> float:
        if self.stack is not None:
            return self.row_inches * self.stack.total
        return self.row_inches * max(len(self.row_names), 2)

    @property
    def legend_columns(self) -> int:
        widest = max(text_width(label, LEGEND_POINTS) for label in self.legend)
        return min(len(self.legend), int(LEGEND_WIDTH / (widest + SWATCH_POINTS)))

    @property
    def legend_inches(self) -> float:
        if not self.legend:
            return 0.0
        return 0.1 + 0.18 * math.ceil(len(self.legend) / self.legend_columns)


def gantt_figure(
    schedule: Schedule | Sequence[Schedule], instance: Instance | None = None
) -> "Figure":
    """Processors as rows, tasks as bars, coloured by kind, or else by their depth in the graph.

    Several schedules are drawn below each other on one scale of time, with the same colours.

    A processor with resources has lanes, and a task is as high as its demand for the first resource
    (see ``place_in_lanes`` in ``dagsched_env.problem.lanes``). A task that finds no lanes beside
    each other has several bars. Below the lanes the use of each other resource is drawn between 0
    and the capacity or, where there is none, the largest use.

    Args:
        schedule: one, or several of one problem. Complete, or partial: tasks on a negative
            processor are not placed yet.
        instance: the problem: gives the names with the kinds of tasks, the SLR and a row for every
            processor; without it the tasks are coloured by their start time. Several schedules
            need it.

    Raises:
        DAGSchedError: no schedule, several without their instance, or one that does not fit the
            instance in size.
        MissingExtraError: matplotlib is not installed.
    """
    require_matplotlib()
    schedules = several(schedule, instance)
    charts = _charts(schedules, instance)
    first, last = charts[0], charts[-1]
    above = TITLE_INCHES + first.rows_inches
    figure = new_figure(round(above * len(charts) + AXIS_INCHES + first.legend_inches, 1))
    panels = figure.subplots(len(charts), sharex=True, squeeze=False)[:, 0]
    for axes, chart, drawn in zip(panels, charts, schedules, strict=True):
        if chart.stack is None:
            _draw_rows(axes, chart)
        _draw_frame(axes, chart)
        _draw_title(axes, chart, drawn, instance)
        if chart.stack is not None:
            _draw_stack(axes, chart, chart.stack)
    means = f"time · colour: {last.colour_means}"
    if last.stack is not None and last.stack.unit is not None:
        means += f" · height: {drawable(last.stack.unit, PROCESSOR_LENGTH)}"
    panels[-1].set_xlabel(means, color=QUIET, fontsize=9, parse_math=False)
    if first.legend:
        _draw_legend(figure, first)
    figure.draw_without_rendering()  # after this the width of a bar is known
    for axes, chart in zip(panels, charts, strict=True):
        _draw_tasks(axes, chart)
    return figure


def save_gantt(
    schedule: Schedule | Sequence[Schedule], path: str | Path, instance: Instance | None = None
) -> Path:
    """Write ``gantt_figure`` as PNG, SVG or PDF, by the suffix.

    The file appears whole or not at all.

    Args:
        schedule: one or several, as of ``gantt_figure``.
        path: the file to write.
        instance: as of ``gantt_figure``.

    Raises:
        DAGSchedError: an unknown suffix, or as of ``gantt_figure``.
        MissingExtraError: matplotlib is not installed.
        OSError: the file cannot be written.
    """
    return save_figure(lambda: gantt_figure(schedule, instance), path)


def rgb_array(schedule: Schedule, instance: Instance | None = None) -> npt.NDArray[np.uint8]:
    """``gantt_figure`` as pixels, uint8 ``[height, width, 3]``; both sizes are even, as for video.

    The size depends on the instance alone: all frames of an episode have one size.

    Raises:
        DAGSchedError: the schedule does not fit the instance in size.
        MissingExtraError: matplotlib is not installed.
    """
    canvas: Any = gantt_figure(schedule, instance).canvas
    canvas.draw()
    return np.array(canvas.buffer_rgba(), dtype=np.uint8)[:, :, :3].copy()


def several(
    schedule: Schedule | Sequence[Schedule], instance: Instance | None
) -> tuple[Schedule, ...]:
    """One schedule or several, as a tuple that can be drawn below each other.

    Raises:
        DAGSchedError: no schedule, several without their instance, or one that does not fit the
            instance in size.
    """
    schedules = (schedule,) if isinstance(schedule, Schedule) else tuple(schedule)
    if not schedules:
        raise DAGSchedError("there is no schedule to draw: give at least one")
    if instance is None and len(schedules) > 1:
        raise DAGSchedError("several schedules in one chart need their instance: pass instance=")
    if instance is not None:
        for each in schedules:
            require_fit(each, instance)
    return schedules


def _charts(schedules: Sequence[Schedule], instance: Instance | None) -> list[_Chart]:
    """One for each schedule; all have one scale of time."""
    charts = [_chart(schedule, instance) for schedule in schedules]
    horizon = max(chart.horizon for chart in charts)
    rows = sum(len(chart.row_names) for chart in charts)
    row_inches = min(ROW_INCHES, MAX_ROWS_INCHES / rows)
    if charts[0].stack is not None:
        highest = sum(chart.stack.total for chart in charts if chart.stack is not None)
        row_inches = min(1.0, (LANE_SIZES.room * (1 + STRIP_SHARE)) / highest)
    return [chart._replace(horizon=horizon, row_inches=row_inches) for chart in charts]


def _chart(schedule: Schedule, instance: Instance | None) -> _Chart:
    placed = np.flatnonzero(schedule.processor >= 0)
    makespan = float(schedule.finish[placed].max(initial=0.0))
    rows, names, colouring = Looks.of(schedule, instance)
    horizon = makespan if instance is None else max(makespan, instance.lower_bound)
    stack = stack_rows(schedule, instance, LANE_SIZES)
    tasks, row, height = _bars(schedule, placed, stack)
    return _Chart(
        tasks=tasks,
        row=row,
        height=height,
        start=schedule.start[tasks],
        duration=schedule.finish[tasks] - schedule.start[tasks],
        colour=colouring.position[tasks],
        palette=colouring.palette,
        colour_means=colouring.means,
        legend=_drawable(colouring.legend),
        makespan=makespan,
        horizon=horizon or 1.0,
        row_names=_drawable(short_labels(rows, PROCESSOR_LENGTH)),
        row_inches=ROW_INCHES,
        task_names=_drawable(short_labels(names, TASK_LENGTH)),
        stack=stack,
    )


def _bars(
    schedule: Schedule, placed: npt.NDArray[np.int64], stack: Stack | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Task, middle and height of each bar; the shortest tasks come last, on top of the others."""
    if stack is None:
        return (
            placed,
            schedule.processor[placed].astype(np.float64),
            np.full(placed.size, BAR_HEIGHT),
        )
    tasks, height = stack.pieces.task, (stack.lane * stack.pieces.width).astype(np.float64)
    last = np.argsort(schedule.start[tasks] - schedule.finish[tasks], kind="stable")
    return tasks[last], (stack.piece_top + height / 2)[last], height[last]


def _drawable(labels: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(drawable(label, len(label)) for label in labels)


def require_fit(schedule: Schedule, instance: Instance) -> None:
    """Raise DAGSchedError unless the schedule has the tasks and processors of the instance."""
    n, p = schedule.processor.shape[0], int(schedule.processor.max(initial=-1)) + 1
    if n != instance.n_tasks or p > instance.n_processors:
        raise DAGSchedError(
            f"the schedule has {n} tasks on {p} processors, {instance} does not: "
            "draw it with its own instance"
        )


def _draw_rows(axes: "Axes", chart: _Chart) -> None:
    """A row for each processor."""
    rows = len(chart.row_names)
    axes.set_ylim(rows - 0.45, -0.55)
    for row in range(rows):
        axes.axhspan(row - 0.44, row + 0.44, color=LANE, linewidth=0, zorder=0)
    step = 1 if chart.row_inches > 0.15 else int(np.ceil(0.15 / chart.row_inches))
    shown = range(0, rows, step)
    labels = [chart.row_names[row] for row in shown]
    axes.set_yticks(list(shown), labels, parse_math=False)


def _draw_stack(axes: "Axes", chart: _Chart, stack: Stack) -> None:
    """The lanes of each processor, and below them the use of its resources."""
    axes.set_ylim(stack.total + 0.05, -0.05)
    for top, height in zip(stack.top, stack.inside, strict=True):
        axes.axhspan(top, top + height, color=LANE, linewidth=0, zorder=0)
    for strip in stack.strips:
        base = strip.top + stack.strip
        time = np.append(strip.time, max(chart.horizon, strip.time[-1]))
        level = base - stack.strip * np.append(strip.share, 0.0)
        axes.fill_between(time, base, level, step="post", color=USE_COLOUR, linewidth=0, zorder=3)
        if strip.limited:
            axes.axhline(strip.top, color=QUIET, linewidth=0.7, linestyle=(0, (4, 3)), zorder=3)
    middles = [*(stack.top + stack.height / 2), *(s.top + stack.strip / 2 for s in stack.strips)]
    names = [*chart.row_names, *(drawable(s.label, PROCESSOR_LENGTH) for s in stack.strips)]
    shown = _apart(middles, ROW_LABEL_INCHES / chart.row_inches)
    axes.set_yticks([middles[i] for i in shown], [names[i] for i in shown], parse_math=False)
    for i, label in zip(shown, axes.get_yticklabels(), strict=True):
        if i >= len(chart.row_names):
            label.set(fontsize=USE_POINTS, color=QUIET)


def _apart(middles: Sequence[float], least: float) -> list[int]:
    """Those that are at least so far from all before them; the first ones are preferred."""
    kept: list[int] = []
    for i, middle in enumerate(middles):
        if all(abs(middle - middles[j]) >= least for j in kept):
            kept.append(i)
    return kept


def _draw_frame(axes: "Axes", chart: _Chart) -> None:
    """The scale of time and the line at the makespan."""
    axes.set_xlim(0.0, chart.horizon * 1.015)
    if chart.tasks.size:
        axes.axvline(chart.makespan, color=ACCENT, linewidth=1.3, zorder=4)


def _draw_title(axes: "Axes", chart: _Chart, schedule: Schedule, instance: Instance | None) -> None:
    """Grid; name and algorithm on the left, figures on the right."""
    name = instance.name if instance is not None else None
    parts = [elide(part, TITLE_LENGTH) for part in (name, schedule.algorithm) if part]
    placed, n = int((schedule.processor >= 0).sum()), schedule.processor.shape[0]
    figures = f"makespan {chart.makespan:g}"
    if placed < n:
        figures = f"{placed} of {n} tasks placed · makespan so far {chart.makespan:g}"
    elif instance is not None:
        figures += f" · SLR {schedule.slr(instance):.3f}"
    dress(axes, drawable(" · ".join(parts), TITLE_LENGTH))
    axes.tick_params(axis="x", labelcolor=QUIET)
    axes.set_title(figures, loc="right", color=ACCENT, fontsize=10)


def _draw_legend(figure: "Figure", chart: _Chart) -> None:
    """The kinds of tasks, below the chart."""
    from matplotlib.patches import Patch

    legend = figure.legend(
        handles=[Patch(facecolor=colour) for colour in chart.palette],
        labels=[str(i) for i in range(len(chart.legend))],
        loc="outside lower left",
        ncols=chart.legend_columns,
        fontsize=LEGEND_POINTS,
        frameon=False,
        borderpad=0.0,
        borderaxespad=0.8,
        handlelength=1.2,
        handleheight=0.8,
    )
    # Set afterwards: the constructor leaves out labels that begin with "_" and reads formulas.
    for text, label in zip(legend.get_texts(), chart.legend, strict=True):
        text.set_parse_math(False)
        text.set_text(label)


def _draw_tasks(axes: "Axes", chart: _Chart) -> None:
    """Bars, with names in those that are large enough."""
    palette = np.array(chart.palette)
    width = np.maximum(chart.duration, 0.001 * chart.horizon)
    points_per_unit = axes.get_window_extent().width / SCREEN_DPI * 72.0 / axes.get_xlim()[1]
    room = width * points_per_unit
    height = chart.height * chart.row_inches * 72.0
    lanes = chart.stack is not None
    label_share = LANE_LABEL_SHARE if lanes else 0.5
    widest_edge = np.minimum(0.8, 0.1 * height) if lanes else 0.8
    axes.barh(
        chart.row,
        width,
        left=chart.start,
        height=chart.height,
        color=palette[chart.colour],
        edgecolor=PAPER,
        linewidth=np.clip(0.15 * room, 0.0, widest_edge),
        zorder=3,
    )
    points = np.minimum(MAX_LABEL_POINTS, label_share * height)
    ink = [text_colour(colour) for colour in chart.palette]
    for i in np.flatnonzero((room > points) & (points >= MIN_LABEL_POINTS)):
        axes.text(
            chart.start[i] + 0.5 * width[i],
            chart.row[i],
            _fitting_label(chart.task_names[chart.tasks[i]], points[i], room[i] - 4.0),
            ha="center",
            va="center_baseline",
            fontsize=points[i],
            color=ink[chart.colour[i]],
            zorder=5,
            clip_on=True,
            parse_math=False,
        )


def _fitting_label(label: str, points: float, room: float) -> str:
    """The label, or its ends, or the number at its end, or nothing, whichever fits."""
    width = text_width(label, points)
    if width <= room:
        return label
    number = trailing_number(label)
    least = max(MIN_ELIDED, 2 * len(number) + 2)  # so many that the number stays whole
    for letters in range(math.ceil(len(label) * room / width), least - 1, -1):
        elided = elide(label, letters)
        if text_width(elided, points) <= room:
            return elided
    return number if text_width(number, points) <= room else ""
