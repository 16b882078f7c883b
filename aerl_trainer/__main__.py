"""Entry point of ``aerl`` and of ``python -m aerl_trainer``.

Spawned processes import the program's main module again, so it must not load torch and the whole
command line before it is asked to.
"""

import os
import sys

__all__ = ["main"]


def main() -> int:
    """Run the command line; returns the exit code."""
    # Networks this small gain nothing from threads, and on a busy machine lose a hundredfold.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from aerl_trainer.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
