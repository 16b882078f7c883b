"""The commands of ``aerl`` together, and what becomes of their errors."""

import sys
from collections.abc import Sequence

import tyro

from aerl_trainer import __version__
from aerl_trainer.runtime.errors import FleetError, SearchPoolError
from aerl_trainer.solving.learned import DamageWarning
from dagsched_env.cli.compilation import announced_compilation
from dagsched_env.cli.machines import warnings_on_stderr
from dagsched_env.cli.terminal import leave_unread, line_of, print_any_text
from dagsched_env.kernels.interrupts import interrupts
from dagsched_env.problem.errors import DAGSchedError, MissingExtraError

EXIT_ERROR, EXIT_INTERRUPTED = 2, 130
REPEATED = ("--instances", "--set", "--validate")
"""Options of many values, which may be given more than once."""


def warm_up(*, training: bool = False) -> None:
    """Compile all numeric kernels into the cache on disk, so that later commands start at once.

    Args:
        training: only those of a training by default, on problems without resources.
    """
    from aerl_trainer.cli.warm_up import warm_up as compile_kernels

    compile_kernels(training=training)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: the arguments without the program's name; ``sys.argv`` when None.

    Returns:
        The exit code: 0, or 2 after a one-line error on stderr, or 130 after Ctrl-C.
    """
    print_any_text()
    arguments = joined(sys.argv[1:] if argv is None else argv)
    try:
        with (
            interrupts(),
            warnings_on_stderr("aerl", DamageWarning),
            announced_compilation("aerl"),
        ):
            if arguments == ["--version"]:
                print(f"aerl {__version__}")
            else:
                _commands(arguments).cli(
                    prog="aerl",
                    description="AERL-DS: search and learning for DAG scheduling. "
                    "aerl --version prints the version.",
                    args=arguments,
                    config=(tyro.conf.DisallowNone,),
                    sort_subcommands=False,
                )
            sys.stdout.flush()  # within reach of the errors below
    except BrokenPipeError:
        leave_unread()
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "aerl_trainer", "dagsched_env"):
            raise
        print(f"aerl: error: {MissingExtraError(package, 'trainer')}", file=sys.stderr)
        return EXIT_ERROR
    except (DAGSchedError, OSError, FleetError, SearchPoolError) as error:
        print(f"aerl: error: {line_of(error)}", file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    return 0


def _commands(arguments: Sequence[str]) -> tyro.extras.SubcommandApp:
    """All commands, or ``solve`` alone where it is asked for: the others load torch."""
    from aerl_trainer.cli.solving import solve

    app = tyro.extras.SubcommandApp()
    if arguments[:1] != ["solve"]:
        from aerl_trainer.cli.evaluating import evaluate
        from aerl_trainer.cli.training import train

        app.command(train)
        app.command(evaluate)
    app.command(solve)
    app.command(name="warm-up")(warm_up)
    return app


def joined(arguments: Sequence[str]) -> list[str]:
    """The arguments with a repeated option of many values once, with the values of all.

    ``--set a=1 --set b=2`` is ``--set a=1 b=2``; otherwise the last one alone would count.
    """
    kept: list[str] = []
    values: dict[str, list[str]] = {}
    current = kept
    for argument in arguments:
        if argument.startswith("--"):
            option, _, value = argument.partition("=")
            if option not in REPEATED:
                current = kept
                kept.append(argument)
                continue
            current = values.setdefault(option, [])
            current += [value] if value else []
        else:
            current.append(argument)
    return [*kept, *(word for option, these in values.items() for word in (option, *these))]
