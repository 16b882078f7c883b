"""Pictures of a run."""

import itertools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from aerl_trainer.reporting.metrics import read_metrics
from dagsched_env.kernels.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["learning_curve"]

LEVEL_COLOURS = ("#1f77b4", "#d95f02", "#1b9e77", "#7570b3", "#e7298a")
SMOOTHING = 50
"""The moving mean of the loss covers this fraction (1 / SMOOTHING) of all points."""

CURVES = (("slr_vs_heft", "o-", "policy alone"), ("guided_vs_heft", "s--", "guided search"))
"""Key of a validation, line style, label."""

Records = list[dict[str, Any]]


def learning_curve(metrics_path: Path, out_png: Path) -> Path:
    """Draw a run: validation makespan relative to HEFT over learner steps, and the loss below.

    Every curriculum level has a separate line, since their validation sets differ; promotions
    are marked in both panels.

    Args:
        metrics_path: a ``metrics.jsonl`` with records of the kinds ``"validation"`` (``level``,
            ``slr_vs_heft``, ``guided_vs_heft``) and ``"train"`` (``loss``); either may be absent.
        out_png: file to write.

    Returns:
        ``out_png``.
    """
    # Takes half a second to import; a figure without pyplot leaves no global state behind.
    from matplotlib.figure import Figure

    records = read_metrics(metrics_path)
    validations = _with(records, "validation", "slr_vs_heft")
    figure = Figure(figsize=(8, 6), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    _draw_validation(top, validations)
    _draw_loss(bottom, _with(records, "train", "loss"))
    for step, level in _promotions(validations):
        for axes in (top, bottom):
            axes.axvline(step, color="0.6", linestyle="--", linewidth=1)
        top.annotate(
            f"level {level + 1}",
            (step, 1),
            xycoords=("data", "axes fraction"),
            xytext=(4, -4),
            textcoords="offset points",
            va="top",
            color="0.4",
        )
    bottom.set_xlabel("learner steps")
    temporary = out_png.with_name(f".{out_png.name}.new")
    figure.savefig(temporary, format="png", dpi=120)
    os.replace(temporary, out_png)
    return out_png


def _with(records: Records, kind: str, key: str) -> Records:
    return [r for r in records if r["kind"] == kind and r.get(key) is not None]


def _promotions(validations: Records) -> list[tuple[int, int]]:
    """(step of the last validation on the level before, new level)."""
    levels = [(r["step"], r.get("level", 0)) for r in validations]
    pairs = itertools.pairwise(levels)
    return [(step, new) for (step, old), (_, new) in pairs if new != old]


def _draw_validation(axes: "Axes", validations: Records) -> None:
    axes.axhline(1.0, color="0.3", linewidth=1, label="HEFT")
    for level in sorted({r.get("level", 0) for r in validations}):
        colour = LEVEL_COLOURS[level % len(LEVEL_COLOURS)]
        for key, style, what in CURVES:
            points = [
                (r["step"], r[key])
                for r in validations
                if r.get("level", 0) == level and r.get(key) is not None
            ]
            if points:
                label = f"level {level + 1}, {what}"
                axes.plot(
                    *zip(*points, strict=True), style, color=colour, markersize=4, label=label
                )
    axes.set_ylabel("validation makespan / HEFT")
    axes.set_title("on the validation set (lower is better)", loc="left", fontsize=10)
    axes.legend(loc="center right", fontsize=8, framealpha=0.9, edgecolor="none")
    axes.grid(alpha=0.25)
    if not validations:
        _note(axes, "no validation yet")


def _draw_loss(axes: "Axes", train: Records) -> None:
    axes.set_ylabel("loss")
    axes.grid(alpha=0.25)
    if not train:
        _note(axes, "no learner step yet")
        return
    steps = np.array([r["step"] for r in train])
    loss = np.array([r["loss"] for r in train])
    window = max(1, len(loss) // SMOOTHING)
    axes.plot(steps, loss, color="0.8", linewidth=0.8)
    axes.plot(steps, _moving_mean(loss, window), color="0.2", linewidth=1.5)
    low, high = np.percentile(loss, (0.5, 99.5))
    margin = 0.1 * max(high - low, 1e-9)
    axes.set_ylim(low - margin, high + margin)


def _moving_mean(values: Floats, window: int) -> Floats:
    """Mean of up to ``window`` values that end at each position."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    end = np.arange(1, len(values) + 1)
    start = np.maximum(end - window, 0)
    mean: Floats = (sums[end] - sums[start]) / (end - start)
    return mean


def _note(axes: "Axes", text: str) -> None:
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color="0.5")
