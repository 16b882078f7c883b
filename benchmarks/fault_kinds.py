"""The kinds of faults that ``faults.py`` makes: whom they strike, when, and what may follow."""

import contextlib
import hashlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from aerl_trainer.checkpoint import MANIFEST
from aerl_trainer.checkpoint.manifest import digest_of
from aerl_trainer.run.reporting.run_directory import RunDirectory

INT, TERM, HUP, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL
STOP, CONT = signal.SIGSTOP, signal.SIGCONT
EXIT_ERROR, EXIT_INTERRUPTED = 2, 130
INTERPRETER_S = 0.15
"""CPU time until which Python itself starts, and answers Ctrl-C with a traceback of its own."""
SET_ASIDE = "set-aside"
"""The folder of what links stand for."""

Strike = Callable[["Run", np.random.Generator], None]
Change = Callable[[Path, np.random.Generator], None]


class Run:
    """One process of ``aerl`` with its children, in a session of its own.

    Args:
        process: its main process, which leads the session.
        directory: where it was started; its run is ``run`` in there.
    """

    def __init__(self, process: "subprocess.Popen[bytes]", directory: Path) -> None:
        self.process, self.directory = process, directory

    @property
    def over(self) -> bool:
        """Whether the main process has ended."""
        return self.process.poll() is not None

    def signal(self, number: int) -> None:
        """To all processes."""
        with contextlib.suppress(ProcessLookupError):  # they have just ended
            os.killpg(self.process.pid, number)

    def processes(self) -> list[int]:
        """All that live."""
        entries = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        return [int(e.name) for e in entries if _session(e) == self.process.pid]

    def children(self, *, tracker: bool = False) -> list[int]:
        """Actors and inference workers; or the resource tracker of multiprocessing."""
        others = [pid for pid in self.processes() if pid != self.process.pid]
        return [pid for pid in others if ("resource_tracker" in command_of(pid)) == tracker]

    def cpu_s(self) -> float:
        """CPU time of the main process so far."""
        fields = _stat(Path(f"/proc/{self.process.pid}"))
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


class Kind(NamedTuple):
    """Of faults."""

    command: str
    meaning: str
    codes: tuple[int, ...]
    """With which the run may end when it is struck, besides 0."""
    strike: Strike | None = None
    call: str = ""
    """What goes wrong instead, see ``faulty_aerl.py``: place, how, and the most calls before."""
    early: bool = False
    """It strikes within the first second, but for the start of Python itself."""
    change: Change | None = None
    """What is then done to the files of the run."""
    mend: Callable[[Path], None] | None = None
    """What a user would do when ``--resume`` says in one line that it cannot go on."""
    resumes: int = 1
    """Of the run, at once."""
    network: bool | None = None
    """Whether the run has one; None leaves it to chance."""

    @property
    def survives(self) -> bool:
        """The run must come to its end without being resumed."""
        return not self.codes


# -- strikes -------------------------------------------------------------------------------------


def to_all(*numbers: int) -> Strike:
    def strike(run: Run, rng: np.random.Generator) -> None:
        for number in numbers:
            run.signal(number)
            time.sleep(rng.uniform(0.0, 1.0))

    return strike


def to_main(number: int) -> Strike:
    return lambda run, rng: run.process.send_signal(number)


def to_child(number: int, *, tracker: bool = False) -> Strike:
    def strike(run: Run, rng: np.random.Generator) -> None:
        children: list[int] = []
        while not children and not run.over:
            children = run.children(tracker=tracker)
            time.sleep(0.05)
        time.sleep(rng.uniform(0.0, 2.0))
        if children:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(int(rng.choice(children)), number)

    return strike


def to_children(number: int) -> Strike:
    """To all at once, when there are some: no tree keeps an actor."""

    def strike(run: Run, rng: np.random.Generator) -> None:
        while not (children := run.children()) and not run.over:
            time.sleep(0.05)
        for pid in children:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(pid, number)

    return strike


def after_two_checkpoints(run: Run, rng: np.random.Generator) -> None:
    """Kill all processes once there is a checkpoint before the last."""
    while not (_checkpoints(run.directory) / "previous").exists() and not run.over:
        time.sleep(0.05)
    time.sleep(rng.uniform(0.0, 0.5))
    run.signal(KILL)
    run.process.wait()


# -- changes of files ----------------------------------------------------------------------------


def damage(directory: Path, rng: np.random.Generator) -> None:
    """A file of the last checkpoint is missing, cut off, or has another bit."""
    if path := _one_of(_checkpoints(directory) / "last", rng):
        content = path.read_bytes()
        match rng.integers(3):
            case 0:
                path.unlink()
            case 1:
                path.write_bytes(content[: rng.integers(len(content))])
            case _:
                path.write_bytes(_flipped(content, rng))


def forge(directory: Path, rng: np.random.Generator) -> None:
    """A file of the last checkpoint has another bit, and all digests are right."""
    last = _checkpoints(directory) / "last"
    if path := _one_of(last, rng):
        manifest = json.loads((last / MANIFEST).read_bytes())
        if path.name == MANIFEST:
            state = _flipped(json.dumps(manifest["state"]).encode(), rng)
            with contextlib.suppress(ValueError):  # no JSON any more: a case of ``damage``
                manifest["state"] = json.loads(state)
        else:
            content = _flipped(path.read_bytes(), rng)
            path.write_bytes(content)
            digest = hashlib.sha256(content).hexdigest()
            manifest["files"][path.name] = [len(content), digest]
        manifest["digest"] = digest_of(manifest)
        (last / MANIFEST).write_text(json.dumps(manifest))


def drop_last(directory: Path) -> None:
    """Take the checkpoint before the last."""
    shutil.rmtree(_checkpoints(directory) / "last")


def link_a_checkpoint(directory: Path, rng: np.random.Generator) -> None:
    """A link stands for a checkpoint, or at a name that its writer uses."""
    checkpoints, aside = _checkpoints(directory), (directory / SET_ASIDE).resolve()
    name = str(rng.choice(["last", "previous", ".last.new", ".last.old"]))
    if (checkpoints / name).exists():
        (checkpoints / name).rename(aside)
    else:
        aside.mkdir()
        (aside / "precious").write_text("a file of somebody else")
    (checkpoints / name).symlink_to(aside)


def full_device(directory: Path, rng: np.random.Generator) -> None:
    """The disk is full for the metrics, or for the log of a child."""
    run = RunDirectory(directory / "run")
    path = rng.choice([run.metrics_file, *sorted(run.logs.glob("*"))])
    path.rename(directory / SET_ASIDE)
    path.symlink_to("/dev/full")


def space_again(directory: Path) -> None:
    """Undo ``full_device``."""
    (path,) = (path for path in (directory / "run").rglob("*") if path.is_symlink())
    (directory / SET_ASIDE).rename(path)


KINDS = {
    "child_killed": Kind("train", "SIGKILL to an actor or worker", (), to_child(KILL)),
    "children_killed": Kind(
        "train", "SIGKILL to all actors and workers at once", (), to_children(KILL)
    ),
    "child_stopped": Kind("train", "SIGSTOP to one", (), to_child(STOP)),
    "tracker_killed": Kind(
        "train",
        "SIGKILL to the resource tracker of multiprocessing",
        (),
        to_child(KILL, tracker=True),
    ),
    "all_stopped": Kind("train", "Ctrl-Z and fg", (), to_all(STOP, CONT)),
    "main_killed": Kind("train", "SIGKILL to the main process", (-KILL,), to_main(KILL)),
    "all_killed": Kind("train", "SIGKILL to all processes", (-KILL,), to_all(KILL)),
    "interrupted": Kind("train", "Ctrl-C", (EXIT_INTERRUPTED,), to_all(INT)),
    "interrupted_early": Kind(
        "train", "Ctrl-C in the first second", (EXIT_INTERRUPTED,), to_all(INT), early=True
    ),
    "interrupted_twice": Kind(
        "train", "Ctrl-C twice within a second", (EXIT_INTERRUPTED,), to_all(INT, INT)
    ),
    "terminated": Kind("train", "SIGTERM to all processes", (-TERM,), to_all(TERM)),
    "hung_up": Kind("train", "the terminal is closed: SIGHUP to all", (-HUP,), to_all(HUP)),
    "resumed_twice": Kind(
        "train", "SIGKILL to all, then two --resume at once", (-KILL,), to_all(KILL), resumes=2
    ),
    "damaged": Kind(
        "train",
        "SIGKILL, and a file of the last checkpoint is damaged",
        (-KILL,),
        after_two_checkpoints,
        change=damage,
    ),
    "forged": Kind(
        "train",
        "the same with right digests",
        (-KILL,),
        after_two_checkpoints,
        change=forge,
        mend=drop_last,
    ),
    "linked": Kind(
        "train",
        "SIGKILL, and a link stands at the place of a checkpoint",
        (-KILL,),
        after_two_checkpoints,
        change=link_a_checkpoint,
    ),
    "disk_full": Kind("train", "a file cannot be synced", (EXIT_ERROR,), call="os:fsync full 60"),
    "disk_full_for_events": Kind(
        "train",
        "an event of TensorBoard cannot be written",
        (EXIT_ERROR,),
        call="aerl_trainer.run.reporting.events:EventFile.add full 30",
    ),
    "disk_full_for_records": Kind(
        "train",
        "SIGKILL, and metrics or a log go to /dev/full",
        (-KILL,),
        after_two_checkpoints,
        change=full_device,
        mend=space_again,
    ),
    "no_memory": Kind(
        "train", "shared memory cannot be had", (EXIT_ERROR,), call="os:truncate full 4"
    ),
    "in_rename": Kind("train", "SIGKILL at a rename", (-KILL,), call="os:rename kill 30"),
    "in_replace": Kind(
        "train", "SIGKILL at the replacement of a file", (-KILL,), call="os:replace kill 5"
    ),
    "in_validation": Kind(
        "train",
        "SIGKILL in it",
        (-KILL,),
        call="aerl_trainer.run.validator:Validator.evaluate kill 4",
    ),
    "in_publishing": Kind(
        "train",
        "SIGKILL while the weights are published",
        (-KILL,),
        call="aerl_trainer.network.inference.weights:WeightBuffer.publish kill 4",
        network=True,
    ),
    "in_harvest": Kind(
        "train",
        "SIGKILL while a tree is harvested",
        (-KILL,),
        call="aerl_trainer.runtime.harvest:Harvester.harvest kill 20",
    ),
    "in_replay": Kind(
        "train",
        "SIGKILL while problems enter the replay",
        (-KILL,),
        call="aerl_trainer.learning.problem_replay:ProblemReplay.learned kill 10",
        network=False,
    ),
    "in_final_table": Kind(
        "train",
        "SIGKILL in it",
        (-KILL,),
        call="aerl_trainer.cli.evaluating:evaluate_policy kill 1",
    ),
    "clock": Kind("train", "the time of day is set back a day", (), call="time:time jump 200"),
    "solve_child_killed": Kind("solve", "as above", (), to_child(KILL)),
    "solve_child_stopped": Kind("solve", "as above", (), to_child(STOP)),
    "solve_all_stopped": Kind("solve", "as above", (), to_all(STOP, CONT)),
    "solve_main_killed": Kind("solve", "as above", (-KILL,), to_main(KILL)),
    "solve_interrupted": Kind("solve", "as above", (EXIT_INTERRUPTED,), to_all(INT)),
    "solve_interrupted_early": Kind(
        "solve", "as above", (EXIT_INTERRUPTED,), to_all(INT), early=True
    ),
    "solve_interrupted_twice": Kind("solve", "as above", (EXIT_INTERRUPTED,), to_all(INT, INT)),
    "solve_terminated": Kind("solve", "as above", (-TERM,), to_all(TERM)),
    "solve_hung_up": Kind("solve", "as above", (-HUP,), to_all(HUP)),
}


def command_of(pid: int) -> str:
    """Its command line; nothing if it is dead."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def _stat(entry: Path) -> list[str]:
    """What follows the name in /proc/PID/stat; nothing of a dead process."""
    try:
        fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []
    return [] if fields[0] == "Z" else fields


def _session(entry: Path) -> int:
    fields = _stat(entry)
    return int(fields[3]) if fields else 0


def _checkpoints(directory: Path) -> Path:
    return RunDirectory(directory / "run").checkpoints


def _one_of(folder: Path, rng: np.random.Generator) -> Path | None:
    """A file of it; None if there are none."""
    files = sorted(folder.glob("*"))
    return files[rng.integers(len(files))] if files else None


def _flipped(content: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(content)
    changed[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    return bytes(changed)
