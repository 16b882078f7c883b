"""Random faults in small runs of ``aerl``: is anything lost, left behind, or said as a traceback?

    python benchmarks/faults.py [--faults 200] [--kinds KIND …] [--seed 0] [--record faults.jsonl]
        [--directory runs/faults] [--jobs 1]

Each fault begins a small run in a directory of its own and strikes it once, at a random moment.
Then the run goes on: a training is resumed, a solve repeated. As by default, two actors grow the
trees that the policy learns from, and problems come back from the replay; the run without a fault
that comes first must show it. Some trainings have a network, some draw problems of many sizes, so
that the largest one changes in mid-run. What counts:

  lost        the run does not come to its end, or its checkpoint or schedule cannot be read
  leftovers   processes, shared memory, temporary files, or a change to what a link names
  tracebacks  in what the run prints or its processes log; noise of multiprocessing counts, too
  exit codes  others than those that the documents name

Every fault is a line of --record; a second call with this file makes the missing ones only. The
directory of a fault that left something wrong stays. Faults are of these kinds, in turn:

"""

import argparse
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from fault_kinds import (
    EXIT_ERROR,
    HUP,
    INT,
    INTERPRETER_S,
    KILL,
    KINDS,
    SET_ASIDE,
    Kind,
    Run,
    command_of,
)

from aerl_trainer.run.reporting import RunDirectory, read_metrics
from aerl_trainer.solving.loading import load_policy
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.schedule import Schedule

BENCHMARKS = Path(__file__).parent
AERL = ("-m", "aerl_trainer")
SMALL = """
    run.max_steps=12 run.evaluation_budget_s=0.01 run.evaluation_simulations=10
    search.budget=40 search.min_trajectories=3 search.batch_size=4 search.max_children=16
    policy.instances=3 policy.schedules=4 policy.decay_steps=12
    learner.batch_size=4 learner.steps_per_job=2.0
    learner.checkpoint_interval=2 learner.publish_interval=3 replay.capacity=32 replay.min_size=4
    validator.interval=4 validator.instances=3 validator.fresh_instances=30
"""
NETWORK = "learner.network=true network.width=8 network.layers=1 inference.backend=server"
ALIKE = "--instances family:cholesky?tiles=3"
NETWORK_SHARE, MIXTURE_SHARE = 0.3, 0.3
"""Of trainings: those with a network, and those on the default mixture, of many sizes."""
TRAIN = "train --run-dir run --actors 2 --minutes 5"
SOLVE = "solve montage --actors 3 --simulations 2000 --checkpoint none --out schedule.json"
RESUME = "train --resume --run-dir run"
STARTED_S = 1.0
"""Most kinds strike from then on, the others before."""
PATIENCE_S = 400.0
"""A run that takes longer hangs."""
TRACEBACK = re.compile(r"Traceback|Exception ignored|Fatal Python|leaked|resource_tracker")
OF_TORCH = "torchinductor"
"""A cache that torch makes among the temporary files, whatever is done with it."""
TEMPORARY = re.compile(r"^\..*\.(new|old|tmp)$")


class Outcome(NamedTuple):
    """Of one fault: a line of the record."""

    kind: str
    number: int
    """Among those of its kind."""
    codes: list[int]
    """Exit codes of the run that was struck, and of those that went on."""
    lost: str
    """Why, or nothing."""
    leftovers: list[str]
    tracebacks: list[str]
    """The files with one."""
    wrong_codes: list[int]
    seconds: float

    @property
    def bad(self) -> bool:
        return bool(self.lost or self.leftovers or self.tracebacks or self.wrong_codes)


def make(name: str, number: int, seed: int, directory: Path, duration_s: float) -> Outcome:
    """Make one fault, go on after it, and look at what is there then.

    Args:
        name: its kind.
        number: among those of its kind.
        seed: of the campaign.
        directory: of all runs.
        duration_s: of a run without a fault.
    """
    kind, started = KINDS[name], time.monotonic()
    rng = np.random.default_rng([seed, number, *name.encode()])
    here = directory / f"{name}-{number}"
    command, code, leftovers = struck(kind, rng, here, duration_s)
    codes, wrong = [code], [code] if code not in (0, *kind.codes) else []
    lost = unreadable(here, kind.command) if code == 0 else f"ended with {code}"
    if kind.change is not None and code != 0:
        kind.change(here, rng)
    aside = contents(here / SET_ASIDE)
    if lost and not kind.survives:
        ends, left = gone_on(here, command, kind.resumes)
        if kind.mend is not None and ends == [EXIT_ERROR]:
            codes += ends
            kind.mend(here)
            ends, more = gone_on(here, command)
            left += more
        codes += ends
        leftovers += left
        # Of several at once, those that find the run in use say so.
        wrong += [end for end in ends if end not in (0, *[EXIT_ERROR][: kind.resumes - 1])]
        lost = unreadable(here, kind.command) if 0 in ends else f"went on to end with {ends}"
    leftovers += temporary_files(here)
    if (here / SET_ASIDE).exists() and contents(here / SET_ASIDE) != aside:
        leftovers.append("a change to what a link names")
    logs = [here / "output", *(path for path in here.glob("run/logs/*.log") if path.is_file())]
    tracebacks = [path.name for path in logs if TRACEBACK.search(path.read_text(errors="replace"))]
    seconds = round(time.monotonic() - started, 1)
    outcome = Outcome(name, number, codes, lost, leftovers, tracebacks, wrong, seconds)
    if not outcome.bad:
        shutil.rmtree(here)
    return outcome


def struck(
    kind: Kind, rng: np.random.Generator, here: Path, duration_s: float
) -> tuple[str, int, list[str]]:
    """Begin a run and strike it; where it has ended before, another one, and earlier.

    Args:
        kind: of the fault.
        rng: of the moment.
        here: the directory.
        duration_s: of a run without a fault.

    Returns:
        The command, its exit code and what it left.
    """
    shortening, hit = 1.0, False
    while not hit:
        shutil.rmtree(here, ignore_errors=True)
        (here / "tmp").mkdir(parents=True)
        command, entry = SOLVE, AERL
        if kind.command == "train":
            by_chance = rng.random() < NETWORK_SHARE
            network = by_chance if kind.network is None else kind.network
            problems = "" if rng.random() < MIXTURE_SHARE else ALIKE
            command = f"{TRAIN} {problems} --set {SMALL} {NETWORK if network else ''}"
        if kind.call:
            place, how, most = kind.call.split()
            this = 1 + int(rng.integers(int(most)) * shortening)
            entry = (str(BENCHMARKS / "faulty_aerl.py"), place, str(this), how)
        run = begin(here, *entry, *command.split())
        if kind.strike is not None:
            if kind.early:
                while run.cpu_s() < INTERPRETER_S and not run.over:
                    time.sleep(0.01)
            begins, most_s = (0.0, 1.0) if kind.early else (STARTED_S, duration_s)
            time.sleep(begins + rng.uniform(0.0, most_s) * shortening)
            hit = not run.over
            if hit:
                kind.strike(run, rng)
        code, leftovers = end(run)
        hit |= bool(kind.call) and (code != 0 or kind.survives)
        shortening /= 2.0
    return command, code, leftovers


def gone_on(here: Path, command: str, times: int = 1) -> tuple[list[int], list[str]]:
    """Resume a training that has begun, or give the command again; several times at once.

    Returns:
        The exit codes, and what was left.
    """
    begun = (here / "run" / "config.toml").exists()
    runs = [begin(here, *AERL, *(RESUME if begun else command).split()) for _ in range(times)]
    codes, leftovers = zip(*map(end, runs), strict=True)
    return list(codes), [path for left in leftovers for path in left]


def begin(directory: Path, *arguments: str) -> Run:
    """Start a command of Python; what it prints is added to the directory's ``output``."""
    with (directory / "output").open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | {"TMPDIR": str((directory / "tmp").resolve())},
            start_new_session=True,
        )
    return Run(process, directory)


def end(run: Run) -> tuple[int, list[str]]:
    """Wait for a run; its exit code, and the processes that stay, which are ended."""
    try:
        code = run.process.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        code = 124  # as timeout(1) says it
        run.signal(KILL)
        run.process.wait()
    deadline = time.monotonic() + 30.0
    while (left := run.processes()) and time.monotonic() < deadline:
        time.sleep(0.1)  # children look after their parent now and then
    for pid in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, KILL)
    memory = Path("/dev/shm").glob(f"*-{run.process.pid}-*")
    return code, [f"process {command_of(pid)}" for pid in left] + [str(path) for path in memory]


def contents(path: Path) -> dict[Path, bytes]:
    """Of a file, or of all files of a folder."""
    return {p: p.read_bytes() for p in [path, *path.rglob("*")] if p.is_file()}


def temporary_files(directory: Path) -> list[str]:
    """Those that a run has not removed, relative to its directory."""
    files = [path for path in directory.rglob("*") if TEMPORARY.match(path.name)]
    own = (directory / "tmp").iterdir()
    files += [path for path in own if not path.name.startswith(OF_TORCH)]
    return sorted({path.relative_to(directory).as_posix() for path in files})


def unreadable(directory: Path, command: str) -> str:
    """Why what a run has made cannot be read; nothing if it can."""
    try:
        if command == "train":
            load_policy(directory / "run")
            json.loads((directory / "run" / "results.json").read_text())
        else:
            Schedule.from_json((directory / "schedule.json").read_text())
    except (DAGSchedError, OSError, ValueError) as error:
        return str(error)
    return ""


def unlike_a_default_run(directory: Path) -> str:
    """What a default run has and this one has not; nothing if it has all.

    Args:
        directory: of a training without a network.
    """
    records = list(read_metrics(RunDirectory(directory / "run").metrics_file))
    steps = [record for record in records if record["kind"] == "policy"]
    if not steps or any(not 0 < step["trees"] == step["groups"] for step in steps):
        return "the policy learns from something else than trees"
    if not any(step["replayed"] for step in steps):
        return "no problem has come back from the replay"
    shared = [r["simulations_by_actor"] for r in records if r["kind"] == "search"]
    if not any(sum(count > 0 for count in counts) > 1 for counts in shared):
        return "no tree was grown by two actors"
    return ""


def table(outcomes: list[Outcome]) -> str:
    """A line for each kind, and one for all."""
    lines = [
        "| fault | runs | lost | leftovers | tracebacks | exit codes | gone on after |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    names = [name for name in KINDS if any(outcome.kind == name for outcome in outcomes)]
    for title, chosen in [
        *((f"`{name}`", [o for o in outcomes if o.kind == name]) for name in names),
        ("all", outcomes),
    ]:
        counts = (
            len(chosen),
            sum(bool(o.lost) for o in chosen),
            sum(bool(o.leftovers) for o in chosen),
            sum(bool(o.tracebacks) for o in chosen),
            sum(bool(o.wrong_codes) for o in chosen),
            sum(len(o.codes) > 1 for o in chosen),
        )
        lines.append(f"| {title} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(lines)


def recorded(path: Path, seed: int) -> tuple[dict[str, float], list[Outcome]]:
    """Durations without a fault, and the faults so far; a line that was cut off is dropped."""
    durations: dict[str, float] = {}
    outcomes = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if "durations" in record:
            if record["seed"] != seed:
                raise SystemExit(f"{path} is of --seed {record['seed']}: give it, or another file")
            durations |= record["durations"]
        else:
            outcomes.append(Outcome(**record))
    return durations, outcomes


def measured(commands: set[str], directory: Path) -> dict[str, float]:
    """Seconds of each command without a fault, which must end well."""
    durations = {}
    for command in sorted(commands):
        line = SOLVE if command == "solve" else f"{TRAIN} {ALIKE} --set {SMALL}"
        here = directory / f"no-fault-{command}"
        shutil.rmtree(here, ignore_errors=True)
        (here / "tmp").mkdir(parents=True)
        started = time.monotonic()
        code, left = end(begin(here, *AERL, *line.split()))
        if code or left or unreadable(here, command):
            raise SystemExit(f"{here}: goes wrong without a fault (exit code {code}, {left})")
        if command == "train" and (missing := unlike_a_default_run(here)):
            raise SystemExit(f"{here}: {missing}: its faults would say little about default runs")
        durations[command] = round(time.monotonic() - started, 1)
        shutil.rmtree(here)
    return durations


def planned(kinds: list[str], count: int) -> Iterator[tuple[str, int]]:
    """Kind and number of each fault: the kinds in turn."""
    return ((kinds[i % len(kinds)], i // len(kinds)) for i in range(count))


def main() -> None:
    lines = "\n".join(f"  {name:24} {kind.meaning}" for name, kind in KINDS.items())
    parser = argparse.ArgumentParser(
        description=f"{__doc__}{lines}", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", type=Path, default=Path("faults.jsonl"))
    parser.add_argument("--directory", type=Path, default=Path("runs/faults"))
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    options = parser.parse_args()
    signal.signal(INT, signal.default_int_handler)  # runs must not ignore it after a "&", …
    signal.signal(HUP, lambda *_: None)  # … nor this one after nohup, but the campaign may
    durations, outcomes = recorded(options.record, options.seed)
    writing = threading.Lock()

    def write(record: dict[str, object]) -> None:
        with writing, options.record.open("a") as file:  # the line before may be cut off
            file.write(f"\n{json.dumps(record)}\n")

    plan = list(planned(options.kinds, options.faults))
    if unknown := {KINDS[name].command for name, _ in plan} - durations.keys():
        durations |= measured(unknown, options.directory)
        write({"seed": options.seed, "durations": durations})

    def made(fault: tuple[str, int]) -> Outcome:
        name, number = fault
        duration_s = durations[KINDS[name].command]
        outcome = make(name, number, options.seed, options.directory, duration_s)
        write(outcome._asdict())
        verdict = "BAD " if outcome.bad else "good"
        print(f"{verdict} {name} {number}: {outcome.codes} {outcome.lost}", flush=True)
        return outcome

    done = {(outcome.kind, outcome.number) for outcome in outcomes}
    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes += pool.map(made, [fault for fault in plan if fault not in done])
    chosen = set(plan)
    print(table([o for o in outcomes if (o.kind, o.number) in chosen]))


if __name__ == "__main__":
    main()
