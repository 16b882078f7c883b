"""Tables in the terminal."""

from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from aerl_trainer.run.records import EvaluationRow

HEADINGS = ("scheduler", "vs heft", "vs portfolio", "w/t/l", "ms")


def cells(row: EvaluationRow) -> tuple[str, ...]:
    """The texts under ``HEADINGS``; behind a mean its standard error over the instances."""
    several = row.wins + row.ties + row.losses > 1  # or nothing is known of the error
    return (
        row.scheduler if row.member is None else f"{row.scheduler}: {row.member}",
        f"{row.vs_heft:.4f}" + f" ±{row.heft_error:.3f}" * several,
        f"{row.vs_portfolio:.4f}" + f" ±{row.portfolio_error:.3f}" * several,
        f"{row.wins}/{row.ties}/{row.losses}",
        f"{row.ms:.3g}",
    )


def best_ratio(rows: Sequence[EvaluationRow]) -> float:
    """The least mean ratio to HEFT, which tables show in bold."""
    return min((row.vs_heft for row in rows), default=0.0)


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
        box=SIMPLE_HEAD,  # with borders the rows would not fit into 80 columns
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    for i, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="right" if i else "left", no_wrap=True)
    best = best_ratio(rows)
    for row in rows:
        table.add_row(*cells(row), style="bold" if row.vs_heft == best else None)
    out = console or Console(markup=False)
    out.print(title, style="bold", highlight=False)  # of the table, it would wrap at its width
    out.print(table)
