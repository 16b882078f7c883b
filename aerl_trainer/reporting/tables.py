"""Tables in the terminal."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from aerl_trainer.records import EvaluationRow

__all__ = ["print_table"]


def print_table(
    rows: Sequence[EvaluationRow], title: str, *, console: Console | None = None
) -> None:
    """Print schedulers side by side, the best mean ratio to HEFT in bold.

    Args:
        rows: of ``evaluation.evaluate``.
        title: what they were compared on.
        console: where to print; by default standard output.
    """
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,  # with borders the rows would not fit into 80 columns
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    table.add_column("scheduler", no_wrap=True)
    for heading in ("vs heft", "vs portfolio", "wins", "ties", "losses", "ms"):
        table.add_column(heading, justify="right", no_wrap=True)
    best = min((row.vs_heft for row in rows), default=0.0)
    for row in rows:
        table.add_row(
            row.scheduler if row.member is None else f"{row.scheduler}: {row.member}",
            f"{row.vs_heft:.4f}",
            f"{row.vs_portfolio:.4f}",
            *(str(count) for count in (row.wins, row.ties, row.losses)),
            f"{row.ms:.3g}",
            style="bold" if row.vs_heft == best else None,
        )
    (console or Console()).print(table)
