"""Pictures: tours beside the best known ones, and the gap against time."""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from torch import Tensor

from aerl_trainer.run.reporting import read_metrics
from dagsched_env.io.atomic import write_bytes
from tsp.points import tour_lengths

__all__ = ["draw_curves", "draw_tours"]

COLUMNS, MOST = 4, 8
COLOURS = {"rollout": "#1f77b4", "multi-start": "#d95f02"}


def draw_tours(path: Path, points: Tensor, tours: Tensor, optimal: Tensor) -> None:
    """Draw the first few tours of a policy, each with its gap.

    Args:
        path: PNG file to write.
        points: ``[N, n, 2]``.
        tours: ``[N, n]`` of the policy.
        optimal: ``[N, n]``, drawn below them where they differ.
    """
    count = min(MOST, len(points))
    rows = -(-count // COLUMNS)
    figure = Figure(figsize=(3 * COLUMNS, 3.2 * rows), layout="constrained")
    both = [tour_lengths(points, found[:, None])[:, 0] for found in (tours, optimal)]
    for i, axes in enumerate(figure.subplots(rows, COLUMNS, squeeze=False).flat):
        axes.set_axis_off()
        if i >= count:
            continue
        for tour, style in ((optimal[i], {"color": "0.75", "linewidth": 5}), (tours[i], {})):
            x, y = points[i][tour.tolist() + tour[:1].tolist()].T.tolist()
            axes.plot(x, y, **{"color": COLOURS["multi-start"], "linewidth": 1.5, **style})
        axes.plot(*points[i].T.tolist(), "o", color="0.2", markersize=4)
        axes.set_aspect("equal")
        gap = float(both[0][i] / both[1][i]) - 1
        axes.set_title("optimal" if gap < 1e-6 else f"+{gap:.1%}", fontsize=10)
    figure.suptitle("tours of the policy (thin) on the best known ones (thick)", fontsize=11)
    _write(figure, path)


def draw_curves(path: Path, metrics: Mapping[str, Path]) -> None:
    """Draw the gap on the test set against CPU time.

    Args:
        path: PNG file to write.
        metrics: mode → its ``metrics.jsonl``.
    """
    figure = Figure(figsize=(7.5, 4.8), layout="constrained")
    axes = figure.subplots()
    for mode, source in metrics.items():
        records = [r for r in read_metrics(source) if r["kind"] == "validation"]
        _line(axes, records, "gap", "o-", f"{mode}, one greedy tour", COLOURS[mode])
        if any(r["best"] != r["gap"] for r in records):
            _line(axes, records, "best", "^--", f"{mode}, best start", COLOURS[mode])
    axes.set_yscale("log")
    axes.set_xlabel("CPU minutes of training, one thread")
    axes.set_ylabel("length above the optimum, %")
    axes.yaxis.set_major_formatter("{x:g}")
    axes.grid(alpha=0.3, which="both")
    axes.legend(edgecolor="none")
    _write(figure, path)


def _line(
    axes: Any, records: list[dict[str, Any]], key: str, style: str, label: str, colour: str
) -> None:
    minutes = [r["time_s"] / 60 for r in records]
    percent = [100 * r[key] for r in records]
    axes.plot(minutes, percent, style, color=colour, markersize=4, label=label)


def _write(figure: Figure, path: Path) -> None:
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110)
    write_bytes(path, picture.getvalue())
