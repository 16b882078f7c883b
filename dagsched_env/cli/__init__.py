"""``dagsched``: make, convert, inspect and schedule instances; check and compare schedules.

In reading order:

- ``arguments``: what the commands share;
- ``terminal``: prints any text, and errors in a line;
- ``outputs``: files to be written, checked before the work;
- ``machines``: the machines of a problem whose file describes none;
- ``progress``: a progress bar on a terminal;
- ``policies``: trained policies as schedulers;
- ``schedulers``: the schedulers that a command line can name;
- ``clusters``: comparisons on a cluster, and journals of them;
- ``inspection``: ``dagsched info`` and ``dagsched verify``;
- ``scheduling``: ``dagsched schedule`` and ``dagsched plot``;
- ``comparison``: ``dagsched compare``;
- ``dispatchers``: the dispatchers that a command line can name;
- ``simulation``: ``dagsched simulate``;
- ``archive``: ``dagsched records``;
- ``runs``: ``dagsched import``, ``explain``, ``order`` and ``history``;
- ``files``: ``dagsched generate`` and ``dagsched convert``;
- ``compilation``: ``dagsched warm-up``, and the line that says that a command compiles.
"""

import argparse
import re
import shlex
import sys
from collections.abc import Sequence

from dagsched_env import __version__
from dagsched_env.cli import (
    archive,
    comparison,
    compilation,
    files,
    inspection,
    runs,
    scheduling,
    simulation,
)
from dagsched_env.cli.compilation import announced_compilation
from dagsched_env.cli.terminal import leave_unread, line_of, print_any_text
from dagsched_env.kernels.interrupts import EXIT_INTERRUPTED, interrupts
from dagsched_env.problem.errors import DAGSchedError

__all__ = ["main"]

EXIT_ERROR = 2

MODULES = (inspection, scheduling, comparison, simulation, archive, runs, files, compilation)
"""In the order of their commands in the help."""

EXAMPLES = """examples:
  dagsched info montage
  dagsched schedule montage --scheduler heft --out schedule.json --gantt gantt.png
  dagsched schedule montage --scheduler annealing --time-limit 5
  dagsched schedule graph.dot --platform identical --processors 2 --scheduler cp_sat
  dagsched plot montage schedule.json --out gantt.html
  dagsched verify montage schedule.json
  dagsched compare --suite heldout --schedulers heft peft annealing --time-limit 0.1
  dagsched compare --suite heldout --schedulers heft --checkpoint runs/first
  dagsched generate cholesky tiles=6 --processors 8 --ccr 2 --seed 7 --out instance.json
  dagsched convert instance.json instance.dot
  dagsched simulate family:cholesky?tiles=8 --noise lognormal?cv=0.3
  dagsched records verify docs/records
  dagsched explain workflow/ --html why.html
  dagsched warm-up

exit codes: 0 done, 1 a record is wrong, 2 wrong usage or bad input (one line on stderr),
130 interrupted"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: the arguments without the program's name; ``sys.argv`` when None.

    Returns:
        The exit code: 0, 1 where ``records verify`` finds a wrong record, or 2 after a one-line
        error on stderr. Wrong usage exits by ``SystemExit(2)``, as argparse does.
    """
    print_any_text()
    words = sys.argv[1:] if argv is None else argv
    command_line = argparse.Namespace(command_line=shlex.join(["dagsched", *words]))
    parser = _parser()
    arguments, rest = parser.parse_known_args(words, command_line)
    if hasattr(arguments, "settings") and all(re.match(r"\w[\w-]*=", word) for word in rest):
        arguments.settings += rest  # argparse takes no more of them after an option
    elif rest:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    code: int | None = None
    try:
        with interrupts(), announced_compilation("dagsched"):
            code = arguments.run(arguments)
            sys.stdout.flush()  # within reach of the errors below
    except BrokenPipeError:
        leave_unread()
    except (DAGSchedError, OSError, UnicodeEncodeError) as error:
        print(f"dagsched: error: {line_of(error)}", file=sys.stderr)
        return EXIT_ERROR
    except MemoryError as error:
        print(f"dagsched: error: not enough memory: {line_of(error)}", file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return code or 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dagsched",
        description="Schedule task graphs with communication costs on unrelated processors.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"dagsched {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in MODULES:
        module.add_commands(commands)
    return parser
