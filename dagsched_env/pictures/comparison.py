"""A picture of a comparison: makespans relative to the reference, instance by instance."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dagsched_env.pictures.canvas import (
    ACCENT,
    INK,
    LANE,
    PAPER,
    QUIET,
    drawable,
    dress,
    new_figure,
    save_figure,
)
from dagsched_env.problem.errors import DAGSchedError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME_LENGTH, TITLE_LENGTH = 36, 80
"""Letters of a scheduler's name, and of the title."""
LEAST_SPAN = 0.02
"""Of the axis of ratios: where all are equal, their differences are noise."""


def comparison_figure(
    ratios: Mapping[str, Sequence[float]], reference: str, title: str = ""
) -> "Figure":
    """A row per scheduler, best mean first, with every ratio, the quartiles and the mean.

    Args:
        ratios: scheduler → makespan / the reference's makespan, one per instance; infinite ones
            are left out.
        reference: name of the line at 1.
        title: what was compared.

    Raises:
        DAGSchedError: nothing to draw.
        MissingExtraError: matplotlib is not installed.
    """
    finite = {name: np.asarray(r)[np.isfinite(r)] for name, r in ratios.items()}
    finite = {name: values for name, values in finite.items() if values.size}
    if not finite:
        raise DAGSchedError("no finite ratios to draw")
    names = sorted(finite, key=lambda name: float(finite[name].mean()))
    figure = new_figure(height=1.3 + 0.34 * len(names))
    axes = figure.add_subplot()
    for row, name in enumerate(names):
        values = finite[name]
        low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
        axes.axhspan(row - 0.4, row + 0.4, color=LANE, linewidth=0, zorder=0)
        spread = np.linspace(-0.24, 0.24, values.size) if values.size > 1 else np.zeros(1)
        axes.scatter(values, row + spread, s=7, color=QUIET, alpha=0.35, linewidths=0, zorder=2)
        axes.plot([low, high], [row, row], color=INK, linewidth=5, alpha=0.75, zorder=3)
        axes.plot([middle], [row], "|", color=PAPER, markersize=7, zorder=4)
        axes.plot([values.mean()], [row], "D", color=ACCENT, markersize=5, zorder=5)
    axes.axvline(1.0, color=ACCENT, linewidth=1.0, zorder=1)
    axes.ticklabel_format(axis="x", useOffset=False)
    least, most = axes.get_xlim()
    if (missing := LEAST_SPAN - (most - least)) > 0:
        axes.set_xlim(least - missing / 2, most + missing / 2)
    labels = [drawable(name, NAME_LENGTH) for name in names]
    axes.set_yticks(range(len(names)), labels, parse_math=False)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel(
        f"makespan / {drawable(reference, NAME_LENGTH)} · diamond: mean, bar: quartiles, "
        "dots: instances",
        color=QUIET,
        fontsize=9,
        parse_math=False,
    )
    dress(axes, drawable(title, TITLE_LENGTH))
    return figure


def save_comparison(
    ratios: Mapping[str, Sequence[float]], reference: str, path: str | Path, title: str = ""
) -> Path:
    """Write ``comparison_figure`` as PNG, SVG or PDF, by the suffix.

    The file appears whole or not at all.

    Args:
        ratios: scheduler → makespan / the reference's makespan, one per instance.
        reference: name of the line at 1.
        path: the file to write.
        title: what was compared.

    Raises:
        DAGSchedError: an unknown suffix, or nothing to draw.
        MissingExtraError: matplotlib is not installed.
        OSError: the file cannot be written.
    """
    return save_figure(lambda: comparison_figure(ratios, reference, title), path)
