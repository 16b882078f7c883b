"""A progress bar on a terminal (with rich, where it is installed), silence elsewhere."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from dagsched_env.compare import Progress

__all__ = ["bar"]


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


def _ignore(done: int, total: int) -> None:
    """Without a terminal there is no bar."""
