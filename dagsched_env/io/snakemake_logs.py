"""The log files of Snakemake: what each call was given, and the jobs that it started.

There is one file for each call, named by the local time of its start. It has what the records of
outputs lack: threads, resources, benchmarks, and which jobs failed. With ``--quiet`` it is empty.
"""

import math
import re
import shlex
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

SUFFIX = ".snakemake.log"
BLOCK = re.compile(r"(?:    )?(?:local)?(rule|checkpoint) (\S+):")
ERROR = re.compile(r"(?:    )?Error in rule (\S+):")
ENTRY = re.compile(r"\s+([a-z_]+): (.*)")
FINISHED = re.compile(r"(?:    )?Finished job(?:id:)? (\d+)")
PROVIDED = re.compile(r"(\w+)=(?:Resource\(\"\w+\", )?(\d+)\)?")
HEADER = re.compile(r" *(?:Command|Host|host|Provided [a-z ]+): ")
AMOUNT = re.compile(r"(\w+)=(\d+(?:\.\d+)?)")
CLOCK = re.compile(r"\[(\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})\]")
"""Stands alone, before a job that starts or has finished."""
FLAG = re.compile(r" \([a-z -]+\)$")
"""What follows a file that is no ordinary one, such as ``x (pipe)``."""


@dataclass
class Started:
    """A job as a call started it, perhaps several times."""

    rule: str
    outputs: tuple[str, ...] = ()
    threads: float = 1.0
    resources: dict[str, float] = field(default_factory=dict)
    benchmark: str | None = None
    is_checkpoint: bool = False
    failures: int = 0
    finished: bool = False
    began: float = math.nan
    """By the clock of the log, in whole seconds; NaN = not said."""
    ended: float = math.nan

    @property
    def failed(self) -> bool:
        """Whether it was tried, and never succeeded."""
        return self.failures > 0 and not self.finished


@dataclass
class Call:
    """One call of Snakemake."""

    file: Path
    began: float
    """Seconds since 1970, if this machine is in the time zone of that call."""
    command: tuple[str, ...] = ()
    host: str | None = None
    cores: float | None = None
    """That it was allowed to use; None = not said, or none of this machine."""
    remote: bool = False
    """Whether a cluster or a cloud ran the jobs."""
    provided: dict[str, float] = field(default_factory=dict)
    """Limits of named resources."""
    jobs: dict[str, Started] = field(default_factory=dict)
    """By job number."""

    def says(self, *options: str) -> bool:
        """Whether its command line has one of these options."""
        return any(word in options for word in self.command)


def read_calls(hidden: Path) -> list[Call]:
    """All calls, in the order of their starts.

    Args:
        hidden: the folder ``.snakemake``.

    Raises:
        OSError: a file cannot be read.
    """
    files = sorted((hidden / "log").glob(f"*{SUFFIX}"))
    begins = [(began, file) for file in files if (began := _began(file)) is not None]
    return [_call(file, began) for began, file in sorted(begins)]


def _began(file: Path) -> float | None:
    name = file.name.removesuffix(SUFFIX)
    for form in ("%Y-%m-%dT%H%M%S.%f", "%Y-%m-%dT%H%M%S"):
        try:
            return datetime.strptime(name, form).timestamp()
        except ValueError:
            continue
    return None


def _call(file: Path, began: float) -> Call:
    call = Call(file, began)
    lines, now = file.read_text(encoding="utf-8", errors="replace").splitlines(), math.nan
    for i, line in enumerate(lines):
        if match := CLOCK.fullmatch(line):
            now = datetime.strptime(match[1], "%a %b %d %H:%M:%S %Y").timestamp()
        elif match := BLOCK.fullmatch(line):
            _start(call, match[2], match[1] == "checkpoint", _entries(lines, i + 1), now)
        elif match := ERROR.fullmatch(line):
            _fail(call, match[1], _entries(lines, i + 1))
        elif match := FINISHED.match(line):
            job = call.jobs.setdefault(match[1], Started(""))
            job.finished, job.ended = True, now
        elif HEADER.match(line):
            _head(call, line.strip())
    return call


def _head(call: Call, line: str) -> None:
    key, _, value = line.partition(": ")
    if key == "Command":
        try:
            call.command = tuple(shlex.split(value))
        except ValueError:  # it has a quotation mark of its own
            call.command = tuple(value.split())
    elif key in ("Host", "host"):
        call.host = value
    elif key == "Provided cores" and (number := re.match(r"\d+", value)):
        call.cores = float(number[0])
    elif key == "Provided remote nodes":
        call.remote = True
    elif key == "Provided resources":
        call.provided = {name: float(amount) for name, amount in PROVIDED.findall(value)}


def _entries(lines: list[str], first: int) -> dict[str, str]:
    """The indented lines ``key: value`` from a line on."""
    found: dict[str, str] = {}
    for i in range(first, len(lines)):
        match = ENTRY.fullmatch(lines[i])
        if match is None:
            break
        found[match[1]] = match[2]
    return found


def _start(
    call: Call, rule: str, is_checkpoint: bool, entries: dict[str, str], began: float
) -> None:
    before = call.jobs.get(entries.get("jobid", ""))
    call.jobs[entries.get("jobid", "")] = Started(
        rule,
        _files(entries),
        float(entries["threads"]) if entries.get("threads", "").isdigit() else 1.0,
        {name: float(amount) for name, amount in AMOUNT.findall(entries.get("resources", ""))},
        entries.get("benchmark"),
        is_checkpoint,
        0 if before is None else before.failures,
        began=began,
    )


def _fail(call: Call, rule: str, entries: dict[str, str]) -> None:
    # A rule with a message of its own has no block.
    job = call.jobs.setdefault(entries.get("jobid", ""), Started(rule, _files(entries)))
    job.failures += 1


def _files(entries: dict[str, str]) -> tuple[str, ...]:
    texts = entries.get("output", "").split(", ")
    return tuple(FLAG.sub("", text) for text in texts if text)
