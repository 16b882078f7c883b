"""The picture of a run: return against time."""

import io
from pathlib import Path

from matplotlib.figure import Figure

from aerl_trainer.run.reporting import read_metrics
from dagsched_env.io.atomic import write_bytes
from llvm_phase.evaluation import Row

__all__ = ["draw"]

CURVES = (
    ("found", "best", "#7570b3", "search, best so far (training programs)"),
    ("train", "best", "#1b9e77", "PPO, best so far (training programs)"),
    ("train", "sampled", "#d95f02", "PPO, sampled (training programs)"),
    ("held_out", "sampled", "#1f77b4", "PPO, sampled (held-out programs)"),
)
"""Kind of record, its value, colour, label."""


def draw(metrics: Path, rows: list[Row], out: Path) -> Path:
    """Draw the mean return over the minutes of training; lines show held-out results at the end.

    Args:
        metrics: ``metrics.jsonl`` of the run.
        rows: of the final table.
        out: PNG file to write.

    Returns:
        ``out``.
    """
    records = read_metrics(metrics)
    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
    axes = figure.subplots()
    lowest = 1.0
    for kind, key, colour, label in CURVES:
        points = [(r["time_s"] / 60, r[key]) for r in records if r["kind"] == kind]
        if points:
            axes.plot(*zip(*points, strict=True), color=colour, label=label)
            lowest = min(lowest, *(value for _, value in points))
    axes.axhline(1.0, color="0.3", linewidth=1, label="−Oz")
    for row in rows:
        if row.name.startswith(("random", "PPO best")):
            # The two kinds may lie on each other: one is named at the left, one at the right.
            chance = row.name.startswith("random")
            at, side, style = (0.01, "left", ":") if chance else (0.99, "right", "--")
            axes.axhline(row.value, color="0.6", linestyle=style, linewidth=1)
            name = axes.annotate(
                f"{row.name} (held-out)",
                (at, row.value),
                xycoords=("axes fraction", "data"),
                ha=side,
                va="bottom",
                fontsize=7,
                color="0.4",
            )
            name.set_in_layout(False)
    axes.set_ylim(bottom=max(lowest, 0.8))
    axes.set_xlabel("minutes of processor time")
    axes.set_ylabel("mean return, −Oz = 1")
    axes.grid(alpha=0.25)
    figure.legend(loc="outside upper center", ncols=2, fontsize=8, edgecolor="none")
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=110)
    write_bytes(out, content.getvalue())
    return out
