"""Pictures of a run."""

import io
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from aerl_trainer.run.records import SAMPLES
from aerl_trainer.run.reporting.metrics import read_metrics
from dagsched_env.io.atomic import write_bytes
from dagsched_env.kernels.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMOOTHING = 50
"""The moving mean of the lower panel covers this fraction (1 / SMOOTHING) of all points."""

CURVES = (
    ("slr_vs_heft", "#1f77b4", "o-", "policy, one pass"),
    ("sampled_vs_heft", "#d95f02", "^-", f"policy, best of {SAMPLES}"),
    ("guided_vs_heft", "#1b9e77", "s-", "search guided by it"),
    ("network_vs_heft", "#7570b3", "x-", "network, one pass"),
    ("portfolio_vs_heft", "0.5", "--", "best classic scheduler of each graph"),
)
"""Key of a validation, colour, line style, label."""

MOST_BANDS = 8
"""Actors that the legend names."""

Records = list[dict[str, Any]]


def learning_curve(metrics_path: Path, out_png: Path) -> Path:
    """Draw a run: validation makespans relative to HEFT's over its steps, and what drives them.

    Below: by how much the schedules of a rank group differ; and, where the policy learns from
    trees, the simulations of each actor, the share of trees whose problems have come back from the
    replay, and how many steps a tree is behind the policy that learns from it. Lines break where
    the curriculum goes on to another level, since the validation sets differ.

    Args:
        metrics_path: a ``metrics.jsonl`` with records of the kinds ``"validation"``, ``"policy"``
            and ``"rates"``; any may be absent.
        out_png: file to write.

    Returns:
        ``out_png``.
    """
    # Takes half a second to import; a figure without pyplot leaves no global state behind.
    from matplotlib.figure import Figure

    records = read_metrics(metrics_path)
    validations = _with(records, "validation", "slr_vs_heft")
    steps = _with(records, "policy", "relative_spread")
    trees = [r for r in steps if r.get("trees")]
    count = 4 if trees else 2
    figure = Figure(figsize=(8, 4 + count), layout="constrained")
    panels = figure.subplots(count, 1, sharex=True, height_ratios=(2.5, *[1] * (count - 1)))
    top, bottom = panels[0], panels[-1]
    _draw_validation(top, validations)
    _draw_spread(panels[1], steps)
    if trees:
        _draw_actors(panels[2], _with(records, "rates", "actors"))
        _draw_replay(panels[3], trees)
    for step, level in _promotions(validations):
        for axes in panels:
            axes.axvline(step, color="0.6", linestyle="--", linewidth=1)
        top.annotate(
            f"level {level + 1}",
            (step, 1),
            xycoords=("data", "axes fraction"),
            xytext=(4, -4),
            textcoords="offset points",
            va="top",
            color="0.4",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        )
    bottom.set_xlabel("steps")
    # Above the axes, where it hides no curve.
    figure.legend(loc="outside upper center", ncols=3, fontsize=8, edgecolor="none")
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=120)
    write_bytes(out_png, picture.getvalue())
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
    for key, colour, style, what in CURVES:
        for number, (_, group) in enumerate(itertools.groupby(validations, _level)):
            points = [(r["step"], r[key]) for r in group if r.get(key) is not None]
            if points:
                label = None if number else what
                axes.plot(
                    *zip(*points, strict=True), style, color=colour, markersize=3, label=label
                )
    axes.set_ylabel("validation makespan / HEFT")
    axes.set_title("on the validation set (lower is better)", loc="left", fontsize=10)
    axes.grid(alpha=0.25)
    if not validations:
        _note(axes, "no validation yet")


def _level(validation: dict[str, Any]) -> int:
    return int(validation.get("level", 0))


def _draw_spread(axes: "Axes", policy: Records) -> None:
    axes.set_ylabel("spread in a group")
    axes.grid(alpha=0.25)
    if not policy:
        _note(axes, "no step yet")
        return
    steps = np.array([r["step"] for r in policy])
    spread = np.array([r["relative_spread"] for r in policy])
    window = max(1, len(spread) // SMOOTHING)
    axes.plot(steps, spread, color="0.8", linewidth=0.8)
    axes.plot(steps, _moving_mean(spread, window), color="0.2", linewidth=1.5)
    axes.set_ylim(bottom=0.0)


def _draw_actors(axes: "Axes", rates: Records) -> None:
    """Stacked: the top is what all do together."""
    axes.set_ylabel("simulations / s")
    axes.grid(alpha=0.25)
    if not rates:
        _note(axes, "no tree yet")
        return
    rates = [{**rates[0], "step": 0}, *rates]  # the first one is the rate until then
    numbers = sorted({actor for r in rates for actor in r["actors"]}, key=int)
    below = np.zeros(len(rates))
    for actor in numbers:
        above = below + [r["actors"].get(actor, 0.0) for r in rates]
        band = f"actor {actor}" if len(numbers) <= MOST_BANDS else None
        axes.fill_between([r["step"] for r in rates], below, above, alpha=0.6, label=band)
        below = above
    axes.set_ylim(bottom=0.0)


def _draw_replay(axes: "Axes", trees: Records) -> None:
    steps = [r["step"] for r in trees]
    window = max(1, len(trees) // SMOOTHING)
    share = _moving_mean(np.array([r["replayed"] / r["trees"] for r in trees]), window)
    behind = _moving_mean(np.array([r["staleness"] for r in trees]), window)
    axes.plot(steps, share, color="#7570b3", label="trees of problems from the replay (share)")
    axes.set_ylabel("replay")
    axes.set_ylim(0.0, 1.0)
    axes.grid(alpha=0.25)
    right = axes.twinx()
    right.plot(steps, behind, color="#e7298a", linewidth=1.5, label="steps behind the learner")
    right.set_ylabel("staleness")
    right.set_ylim(bottom=0.0)


def _moving_mean(values: Floats, window: int) -> Floats:
    """Mean of up to ``window`` values that end at each position."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    end = np.arange(1, len(values) + 1)
    start = np.maximum(end - window, 0)
    mean: Floats = (sums[end] - sums[start]) / (end - start)
    return mean


def _note(axes: "Axes", text: str) -> None:
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color="0.5")
