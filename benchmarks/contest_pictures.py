"""Pictures of a contest of solvers: performance profiles, and mean ratios against time."""

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from contestants import OURS
from meetings import Meeting, best_known, makespans, mean_to_known, with_budget

from dagsched_env.comparison.compare import ratios

WIDEST = 1.25
"""Right end of the performance profiles."""
LABEL_GAP = 0.058
"""Least distance of two labels at the ends of lines, in heights of the picture."""


def styles_of(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Name → how its line looks; ``solve`` stands out."""
    rivals = [name for name in names if name != OURS]
    styles: dict[str, dict[str, Any]] = {
        name: {"color": f"C{i}", "lw": 1.4, "ls": ("-", "--", ":")[i % 3], "label": name}
        for i, name in enumerate(rivals)
    }
    return {**styles, OURS: {"color": "black", "lw": 2.4, "ls": "-", "label": OURS}}


def draw_profiles(axes: Any, meetings: Sequence[Meeting], styles: dict[str, Any]) -> None:
    """Share of the problems on which each contestant is within a factor of the best one.

    Args:
        axes: of matplotlib.
        meetings: of one budget.
        styles: name → how its line looks.
    """
    best = [min(turn["makespan"] for turn in m["turns"].values()) for m in meetings]
    for name, style in styles.items():
        factors = np.sort(ratios(makespans(meetings, name), best))
        shares = np.arange(len(factors) + 1) / len(factors)
        ends = max(factors[-1], WIDEST)
        axes.step([1.0, *factors, ends], [*shares, 1.0], where="post", **style)
    axes.set_xlabel("makespan / best of all contestants")
    axes.set_xlim(1.0 - 0.01 * (WIDEST - 1.0), WIDEST)
    axes.set_ylim(0.0, 1.02)


def draw_means(
    axes: Any,
    of_budget: dict[float, list[Meeting]],
    known: dict[str, float],
    styles: dict[str, Any],
) -> None:
    """Mean ratio of each contestant to the best known makespan, against the budget.

    Args:
        axes: of matplotlib.
        of_budget: budget (s) → its meetings.
        known: problem → best known makespan.
        styles: name → how its line looks.
    """
    for name, style in styles.items():
        means = [mean_to_known(meetings, known, name) for meetings in of_budget.values()]
        axes.plot(list(of_budget), means, marker="o", ms=4, **style)
    axes.set_title("mean makespan / best known", loc="left", fontsize=10)
    axes.set_xlabel("seconds for each problem, one core")
    axes.set_xscale("log")
    axes.set_xticks(list(of_budget), [f"{budget_s:g}" for budget_s in of_budget])
    axes.minorticks_off()


def picture(meetings: Sequence[Meeting], budgets: Sequence[float]) -> bytes:
    """PNG: performance profiles of each budget, and mean ratios to the best known makespans."""
    from matplotlib.figure import Figure

    styles = styles_of(list(meetings[0]["turns"]))
    of_budget = {budget_s: with_budget(meetings, budget_s) for budget_s in sorted(budgets)}
    figure = Figure(figsize=(4 * (len(budgets) + 1), 4.6), layout="constrained")
    *panels, last = figure.subplots(1, len(budgets) + 1)
    for axes, (budget_s, chosen) in zip(panels, of_budget.items(), strict=True):
        draw_profiles(axes, chosen, styles)
        axes.set_title(f"share of problems, {budget_s:g} s", loc="left", fontsize=10)
    draw_means(last, of_budget, best_known(meetings), styles)
    for axes in (*panels, last):
        axes.grid(alpha=0.25)
    figure.legend(*last.get_legend_handles_labels(), loc="outside lower center", ncols=5)
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=110)
    return stream.getvalue()


def apart(heights: Sequence[float], gap: float) -> list[float]:
    """Heights of labels: the given ones, moved until none is too close to the next.

    Args:
        heights: from the top down, in [0, 1].
        gap: least distance.
    """
    placed = list(heights)
    for i in range(1, len(placed)):
        placed[i] = min(placed[i], placed[i - 1] - gap)
    placed[-1] = max(placed[-1], 0.0)
    for i in reversed(range(len(placed) - 1)):
        placed[i] = max(placed[i], placed[i + 1] + gap)
    return placed


def label_ends(axes: Any, styles: dict[str, Any]) -> None:
    """Names beside the right ends of the lines.

    Args:
        axes: of matplotlib; its lines have the names as labels.
        styles: name → how its line looks.
    """
    ends = {line.get_label(): line.get_ydata()[-1] for line in axes.lines}
    names = sorted(ends, key=lambda name: -ends[name])
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = [to_axes.transform((1.0, ends[name]))[1] for name in names]
    x = to_axes.transform((max(axes.lines[0].get_xdata()), 1.0))[0]
    for name, height, placed in zip(names, heights, apart(heights, LABEL_GAP), strict=True):
        axes.annotate(
            name,
            (x, height),
            xytext=(1.05, placed),
            xycoords="axes fraction",
            textcoords="axes fraction",
            va="center",
            weight="bold" if name == OURS else "normal",
            arrowprops={
                "arrowstyle": "-",
                "color": styles[name]["color"],
                "linewidth": 0.8,
                "relpos": (0.0, 0.5),
            },
        )


def curve(meetings: Sequence[Meeting], budgets: Sequence[float]) -> bytes:
    """PNG: mean ratios to the best known makespans against the budget, names at the lines."""
    from matplotlib.figure import Figure

    styles = styles_of(list(meetings[0]["turns"]))
    of_budget = {budget_s: with_budget(meetings, budget_s) for budget_s in sorted(budgets)}
    figure = Figure(figsize=(8, 4.4), layout="constrained")
    axes = figure.add_subplot()
    known = best_known(meetings)
    draw_means(axes, of_budget, known, styles)
    axes.set_title(f"mean makespan / best known, {len(known)} problems", loc="left", fontsize=10)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    label_ends(axes, styles)
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=160)
    return stream.getvalue()
