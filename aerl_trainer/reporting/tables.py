"""Tables in the terminal."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from dagsched_env.compare import Row

__all__ = ["print_table"]


def print_table(
    rows: Sequence[Row], title: str, *, reference: str = "heft", console: Console | None = None
) -> None:
    """Print schedulers side by side, the best mean SLR in bold.

    Args:
        rows: from ``dagsched_env.compare.summarise``.
        title: what they were compared on.
        reference: the scheduler of the ratio and of wins, ties and losses.
        console: where to print; by default standard output.
    """
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("scheduler", no_wrap=True)
    for heading in ("mean SLR", f"vs {reference}", "wins", "ties", "losses"):
        table.add_column(heading, justify="right", no_wrap=True)
    best = min((row.mean_slr for row in rows), default=0.0)
    for row in rows:
        table.add_row(
            row.name,
            f"{row.mean_slr:.3f}",
            f"{row.ratio_to_reference:.4f}",
            *(str(count) for count in (row.wins, row.ties, row.losses)),
            style="bold" if row.mean_slr == best else None,
        )
    (console or Console()).print(table)
