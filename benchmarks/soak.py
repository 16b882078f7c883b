"""Does a long training grow? Memory and file descriptors of each of its processes.

    python benchmarks/soak.py [--minutes 60] [--actors 2] [--settled 10] [--record soak.jsonl]
    python benchmarks/soak.py --table soak.jsonl

Trains the network and the fast policy by shared trees, with actors, an inference worker and a
replay buffer that is soon full, and looks at all processes twice a minute. The first column has
each process's resident memory: the mean of the five minutes after ``--settled`` minutes. Over it,
the means of the last five minutes and of the largest five, and the largest look of all since then,
which holds what a step of the learner works on; then its open files at both times. Every look is a
line of ``--record``, from which ``--table`` prints the table again.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

SETTINGS = (
    "learner.network=true",
    "inference.backend=server",
    "replay.capacity=2000",
)
LOOK_S = 30.0
WINDOW_S = 300.0


class Look(NamedTuple):
    """At one process."""

    seconds: float
    pid: int
    command: str
    resident_kib: int
    files: int


def look(seconds: float, pid: int, command: str) -> Look | None:
    """A process now; None if it has ended."""
    process = Path("/proc", str(pid))
    try:
        sizes = (process / "smaps_rollup").read_text().split()
        files = sum(1 for _ in (process / "fd").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return None
    return Look(seconds, pid, command, int(sizes[sizes.index("Rss:") + 1]), files)


def children(pid: int) -> list[int]:
    """Of a process, whichever of its threads has started them."""
    found: list[int] = []
    for task in Path("/proc", str(pid), "task").iterdir():
        found += map(int, (task / "children").read_text().split())
    return found


def watch(run: subprocess.Popen[bytes], record: Path) -> list[Look]:
    """Look at a run and its children until it ends."""
    started, looks = time.monotonic(), []
    while True:
        try:
            run.wait(LOOK_S)
        except subprocess.TimeoutExpired:
            seconds = time.monotonic() - started
            these = [look(seconds, run.pid, "main")]
            these += [look(seconds, pid, "child") for pid in children(run.pid)]
            looks += (found := [one for one in these if one is not None])
            with record.open("a") as file:
                file.writelines(json.dumps(one._asdict()) + "\n" for one in found)
        else:
            return looks


def row(looks: list[Look], settled_s: float) -> str | None:
    """A line of the table; None for a process that has not lived long enough."""
    end = looks[-1].seconds
    first = [one for one in looks if settled_s <= one.seconds < settled_s + WINDOW_S]
    later = [one for one in looks if one.seconds >= settled_s]
    last = [one for one in looks if one.seconds > end - WINDOW_S]
    if not first or end < settled_s + 2 * WINDOW_S:
        return None
    base = statistics.mean(one.resident_kib for one in first)
    windows: dict[int, list[int]] = {}
    for one in later:
        windows.setdefault(int((one.seconds - settled_s) // WINDOW_S), []).append(one.resident_kib)
    figures = (
        statistics.mean(one.resident_kib for one in last),
        max(map(statistics.mean, windows.values())),
        max(one.resident_kib for one in later),
    )
    ratios = " | ".join(f"{figure / base:.3f}" for figure in figures)
    return (
        f"| {looks[0].command} {looks[0].pid} | {base / 1024:.0f} | {ratios} | "
        f"{first[0].files} | {last[-1].files} |"
    )


def print_table(looks: list[Look], settled_s: float) -> None:
    """A line for each process."""
    print("| process | MiB | end / start | largest mean | largest look | files | at the end |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for pid in dict.fromkeys(one.pid for one in looks):
        line = row([one for one in looks if one.pid == pid], settled_s)
        if line is not None:
            print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--actors", type=int, default=2)
    parser.add_argument("--settled", type=float, default=10.0, help="minutes before the first look")
    parser.add_argument("--record", type=Path, default=Path("soak.jsonl"))
    parser.add_argument("--table", type=Path, metavar="RECORD", help="of a run before; no new one")
    arguments = parser.parse_args()
    settled_s = 60.0 * arguments.settled
    if arguments.table is not None:
        lines = arguments.table.read_text().splitlines()
        print_table([Look(**json.loads(line)) for line in lines], settled_s)
        return
    with tempfile.TemporaryDirectory() as folder:
        options = (
            f"--minutes {arguments.minutes} --actors {arguments.actors} --run-dir {folder}/run"
        )
        command = [sys.executable, "-m", "aerl_trainer", "train", *options.split()]
        with Path(folder, "out").open("wb") as out:
            run = subprocess.Popen([*command, "--set", *SETTINGS], stdout=out, stderr=out)
            looks = watch(run, arguments.record)
        print(Path(folder, "out").read_text()[-2000:])
    print(f"exit code {run.returncode}\n")
    print_table(looks, settled_s)


if __name__ == "__main__":
    main()
