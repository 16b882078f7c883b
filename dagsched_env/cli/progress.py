"""Progress on a terminal (with rich, where it is installed), silence elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dagsched_env.comparison.compare import Progress
from dagsched_env.pictures.labels import one_line
from dagsched_env.solver import Callback, Finding


@contextmanager
def bar(description: str, total: int) -> Iterator[Progress]:
    """Yields a function (done, total) that moves a bar on stderr, which disappears at the end."""
    if total < 2 or not sys.stderr.isatty():
        yield _ignore
        return
    try:
        from rich.console import Console
        from rich.markup import escape
        from rich.progress import Progress as Bar
    except ImportError:
        yield _ignore
        return
    with Bar(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(escape(description), total=total)
        yield lambda done, total: progress.update(task, completed=done, total=total)


@contextmanager
def live(name: str) -> Iterator[Callback | None]:
    """Yields a callback of ``solve`` that keeps one line: the best schedule, its bound and gap."""
    if not sys.stderr.isatty():
        yield None
        return
    try:
        from rich.console import Console
        from rich.markup import escape
        from rich.status import Status
    except ImportError:
        yield None
        return
    with Status(escape(one_line(name)), console=Console(stderr=True)) as status:

        def show(finding: Finding, bound: float) -> None:
            gap = (finding.makespan - bound) / finding.makespan if finding.makespan > 0 else 0.0
            status.update(
                f"{escape(one_line(name))}: makespan {finding.makespan:.6g} ({finding.found_by}), "
                f"bound {bound:.6g}, gap {gap:.1%}"
            )

        yield show


def _ignore(done: int, total: int) -> None:
    """Without a terminal there is no bar."""
