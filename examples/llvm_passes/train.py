"""Train a policy to order LLVM's passes, and compare it on programs that it has not seen.

    python examples/llvm_passes/train.py --minutes 10

The last line of the output is JSON: geometric means of the returns on the held-out programs, by
sampled sequences, by the best of K of them, and by random search with as many passes; −Oz = 1.
"""

import dataclasses
import json
import signal
import sys
from collections.abc import Sequence
from types import FrameType

import tomli_w
import torch
import tyro
from rich.console import Console

from aerl_trainer.run.reporting import RunDirectory, system_info
from dagsched_env.io.atomic import write_text
from dagsched_env.problem.errors import DAGSchedError, MissingExtraError
from llvm_phase import programs
from llvm_phase.compiler import Compiler
from llvm_phase.evaluation import Row, evaluate, print_table
from llvm_phase.pictures import draw
from llvm_phase.settings import Settings, as_plain
from llvm_phase.tasks import make_tasks
from llvm_phase.training import Training

EXIT_ERROR, EXIT_INTERRUPTED = 2, 130


def run(settings: Settings, console: Console) -> int:
    """Train, evaluate, print the table and the line of JSON; returns the exit status.

    Raises:
        DAGSchedError: no LLVM, a bad program, or a directory that cannot be used.
    """
    torch.set_num_threads(1)  # the transformer is small, and the other processor is LLVM's
    folder = RunDirectory(settings.run_dir)
    parts = programs.split(programs.load(settings.programs or programs.OWN))
    with folder.hold(), Compiler(settings.backend, workers=settings.workers) as compiler:
        folder.make_folders(resume=settings.resume)
        if settings.resume and not folder.holds_run:
            raise DAGSchedError(f"{folder.path} holds no run to resume: leave --resume out")
        train, test = make_tasks(compiler, parts.train), make_tasks(compiler, parts.test)
        console.print(
            f"{compiler.backend}; {len(train)} programs to learn from, {len(test)} held out"
        )
        training = Training(settings, folder, compiler, train, test, console.print)
        if settings.resume:
            training.restore()
        write_text(folder.system_file, json.dumps(system_info(), indent=2) + "\n")
        write_text(folder.config_file, tomli_w.dumps(as_plain(settings)))
        learn(training)
        if training.interrupted:
            console.print("stopped; go on with the same options and  --resume")
            return EXIT_INTERRUPTED
        rows = evaluate(settings, training.policy, compiler, training.passes, test, len(train))
    report(folder, rows, [task.name for task in test], console)
    print(json.dumps(summary(settings, rows)), flush=True)
    return 0


def learn(training: Training) -> None:
    """Train; SIGINT and SIGTERM end it after what it is at, with a checkpoint."""

    def stop(_signal: int, _frame: FrameType | None) -> None:
        training.interrupted = True

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        training.learn()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def report(folder: RunDirectory, rows: list[Row], names: list[str], console: Console) -> None:
    """Print the table, write it to the run's directory, and draw the picture."""
    print_table(rows, console)
    record = [{**dataclasses.asdict(row), "mean": row.value} for row in rows]
    text = json.dumps({"programs": names, "rows": record}, indent=2) + "\n"
    write_text(folder.results_file, text)
    picture = draw(folder.metrics_file, rows, folder.learning_curve)
    console.print(f"picture: {picture}")


def summary(settings: Settings, rows: list[Row]) -> dict[str, float]:
    """What the last line says."""
    value = {row.name: round(row.value, 4) for row in rows}
    return {
        "sampled": value["PPO sampled"],
        "best_of_k": value[f"PPO best of {settings.k}"],
        "random": value[f"random {settings.k} × {settings.horizon}"],
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit status: 2 after a one-line error, 130 after Ctrl-C."""
    console = Console(markup=False, highlight=False, soft_wrap=True)
    try:
        settings = tyro.cli(Settings, prog="train.py", description=__doc__, args=argv)
        return run(settings, console)
    except (DAGSchedError, MissingExtraError, OSError) as error:
        print(f"train.py: error: {' '.join(str(error).split())}", file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
