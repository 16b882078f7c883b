"""Live progress of a training run: a panel on a terminal, plain lines elsewhere."""

import contextlib
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.markup import escape
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table

from aerl_trainer.run.records import SAMPLES

REFRESH_PER_SECOND = 2
LINE_EVERY_S = 10.0
"""Between plain lines."""


@dataclass(frozen=True)
class Status:
    """Where a run stands; None = not known yet."""

    step: int = 0
    """Of training."""
    nodes: int | None = None
    """Node workers; where the run has a cluster."""
    jobs: int = 0
    """Finished trees."""
    simulations_per_s: float | None = None
    staleness: float | None = None
    """Learner steps between the policy that made a tree and the one that learns from it."""
    replay: int | None = None
    """Problems in the replay."""
    mean_batch: float | None = None
    """Leaves per evaluation of the network."""
    latency_ms: float | None = None
    """Mean time that a mini-batch waits for its evaluation."""
    busy: float | None = None
    """Share of the time that those who evaluate do so, in [0, 1]."""
    loss: float | None = None
    """Of the network."""
    schedules: int = 0
    """That the fast policy has learned from."""
    spread: float | None = None
    """Of the makespans of a rank group, relative to their mean."""
    policy: float | None = None
    """Latest validation, mean of makespan / HEFT's: one greedy pass of the fast policy, …"""
    sampled: float | None = None
    """… the best of several samples, …"""
    guided: float | None = None
    """… a short search that it guides, …"""
    network: float | None = None
    """… one greedy pass of the network, if there is one, …"""
    portfolio: float | None = None
    """… and the best constructive scheduler of each problem."""
    level: int = 0
    """Curriculum level, from 0."""
    levels: int = 1
    """How many levels there are."""

    def rows(self) -> list[list[tuple[str, str]]]:
        """Names and values: what is done, and what it is worth."""
        return [list(_work(self)), list(_quality(self))]


class Figures(Protocol):
    """What ``Progress`` shows; a ``Status``, or the like of another problem."""

    def rows(self) -> list[list[tuple[str, str]]]:
        """Names with their values, in rows of the panel."""


class Progress:
    """Context manager that shows the latest ``Figures`` with the time left.

    On a terminal a panel is redrawn in place, and the clock runs on between updates; elsewhere a
    line is printed every ``LINE_EVERY_S`` at most, and one at the end. Where nobody reads it any
    more, as when the terminal is closed, the run goes on all the same.

    Args:
        total_s: duration of the run.
        title: name of the run.
        console: where to print; by default standard output.
        clock: seconds from any origin; tests replace it.
        figures: those that are shown first.
    """

    def __init__(
        self,
        total_s: float,
        title: str = "AERL-DS",
        *,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
        figures: Figures | None = None,
    ) -> None:
        self._total_s = total_s
        self._title = title
        self._console = console or Console(markup=False)
        self._clock = clock
        self._figures = figures or Status()
        self._start = self._next_line = clock()
        self._live: Live | None = None

    def __enter__(self) -> "Progress":
        self._start = self._next_line = self._clock()
        if self._console.is_terminal and not self._console.is_dumb_terminal:
            self._live = Live(
                console=self._console,
                get_renderable=self._panel,
                refresh_per_second=REFRESH_PER_SECOND,
            )
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            with contextlib.suppress(OSError):
                self._live.stop()
            self._live = None
        else:
            self._print_line()

    def update(self, figures: Figures) -> None:
        """Show these from now on."""
        self._figures = figures
        if self._live is None and self._clock() >= self._next_line:
            self._print_line()
            self._next_line = self._clock() + LINE_EVERY_S

    def message(self, text: str) -> None:
        """Print a line of text, above the panel if there is one."""
        with contextlib.suppress(OSError):
            self._console.print(text, markup=False, highlight=False)

    def _print_line(self) -> None:
        everything = itertools.chain.from_iterable(self._figures.rows())
        cells = "  ".join(f"{name} {value}" for name, value in everything)
        times = f"[{_duration(self._elapsed())} / {_duration(self._total_s)}]"
        line = f"{times}  {cells}"
        with contextlib.suppress(OSError):
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _panel(self) -> Panel:
        elapsed = min(self._elapsed(), self._total_s)
        clock = Table.grid(expand=True, padding=(0, 2, 0, 0))
        clock.add_column(ratio=1)
        clock.add_column(justify="right", no_wrap=True)
        clock.add_row(
            ProgressBar(total=self._total_s, completed=elapsed),
            f"{_duration(self._total_s - elapsed)} left",
        )
        rows = map(_row, self._figures.rows())
        return Panel(Group(clock, *rows), title=escape(self._title), title_align="left")

    def _elapsed(self) -> float:
        return self._clock() - self._start


def _row(cells: list[tuple[str, str]]) -> Table:
    """Names above values."""
    row = Table.grid(expand=True, padding=(0, 2, 0, 0))
    for _ in cells:
        row.add_column(justify="left", no_wrap=True)
    row.add_row(*(name for name, _ in cells), style="dim")
    row.add_row(*(value for _, value in cells), style="bold")
    return row


def _work(status: Status) -> Iterator[tuple[str, str]]:
    """What is done; a run without a cluster, search jobs or a network has fewer cells."""
    yield "step", str(status.step)
    if status.nodes is not None:
        yield "nodes", str(status.nodes)
    yield "schedules", f"{status.schedules / 1000:.0f}k"
    if status.jobs > 0:
        yield "trees", str(status.jobs)
        yield "sims/s", _number(status.simulations_per_s, ".0f")
    if status.staleness is not None:
        yield "stale", _number(status.staleness, ".1f")
    if status.replay is not None:
        yield "replay", str(status.replay)
    if status.mean_batch is not None:
        yield "batch", _number(status.mean_batch, ".1f")
        yield "eval ms", _number(status.latency_ms, ".1f")
        yield "busy", _number(status.busy, ".0%")
    if status.loss is not None:
        yield "loss", _number(status.loss, ".3f")
    yield "spread", _number(status.spread, ".3f")


def _quality(status: Status) -> Iterator[tuple[str, str]]:
    """Mean makespans in units of HEFT's, and the level that they are judged on."""
    yield "HEFT", "1"
    yield "portfolio", _number(status.portfolio, ".4f")
    yield "policy", _number(status.policy, ".4f")
    yield f"best of {SAMPLES}", _number(status.sampled, ".4f")
    yield "search", _number(status.guided, ".4f")
    if status.network is not None:
        yield "network", _number(status.network, ".4f")
    yield "level", f"{status.level + 1}/{status.levels}"


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
