"""``aerl train --online``: the dispatcher that learns."""

import shlex
from pathlib import Path

from aerl_trainer.online.files import WEIGHTS_FILE
from aerl_trainer.online.training import train_online
from aerl_trainer.run.launch import new_run_directory
from dagsched_env.problem.errors import DAGSchedError

MINUTES, SEED = 5.0, 0


def train_dispatcher(
    minutes: float | None, run_dir: Path | None, resume: bool, seed: int | None
) -> None:
    """Train, and say how to use what was learned.

    Args:
        minutes: default: 5.
        run_dir: where it is written; default runs/aerl-DATE-TIME.
        resume: go on with the run of ``run_dir``.
        seed: of all randomness; default: 0.

    Raises:
        DAGSchedError: see ``train_online``.
        OSError: a file cannot be read or written.
    """
    if resume and run_dir is None:
        raise DAGSchedError("--resume needs the --run-dir of the run")
    directory = run_dir or new_run_directory()
    result = train_online(
        directory,
        minutes=MINUTES if minutes is None else minutes,
        seed=SEED if seed is None else seed,
        resume=resume,
        say=lambda line: print(line, flush=True),
    )
    if result.interrupted:
        print(f"interrupted at step {result.steps}; all is saved")
    file = directory / WEIGHTS_FILE
    print(f"weights  {file}  ({result.best:.4f} of list scheduling)")
    print("next:")
    learned = shlex.quote(f"learned:{directory}")
    print(f"  aerl train --online --resume --run-dir {shlex.quote(str(directory))} --minutes 10")
    print(f"  dagsched simulate family:cholesky --dispatchers heft learned {learned}")
