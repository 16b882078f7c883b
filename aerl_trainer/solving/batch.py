"""Many problems to solve: here, or at once on a cluster; an earlier call may have solved some."""

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from rich.console import Console
from rich.progress import Progress

from aerl_trainer.config.stored import stored
from aerl_trainer.solving.learned import Policy
from aerl_trainer.solving.loading import load_policy
from aerl_trainer.solving.solutions import Solution
from aerl_trainer.solving.solver import AUTO, SolveResult, solve
from dagsched_env.cli.progress import live
from dagsched_env.io.journal import Journal
from dagsched_env.problem.errors import DAGSchedError, FormatError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.solver import Finding


def solve_here(
    problems: Sequence[tuple[str, Instance]], journal: Journal, **options: Any
) -> Iterator[Solution]:
    """One after the other, with a line that lives.

    Args:
        problems: with their names.
        journal: of this call and earlier ones.
        options: of ``solve``.
    """
    for name, instance in problems:
        result = _found(journal, instance)
        if result is None:
            with live(name) as callback:
                result = solve(instance, callback=callback, **options)
            result.schedule.validate(instance)
            if result.stopped_by != "interrupt":
                journal.add(instance, _record(result))
        yield Solution(name, instance, result)


def solve_there(
    address: str,
    problems: Sequence[tuple[str, Instance]],
    journal: Journal,
    *,
    checkpoint: str | None,
    **options: Any,
) -> Iterator[Solution]:
    """All at once on a Ray cluster, one on a core, with a bar and a line for each that has ended.

    They come in the order in which they end.

    Args:
        address: of the cluster; see ``cluster_of``.
        problems: with their names.
        journal: of this call and earlier ones.
        checkpoint: as of ``solve``; read here, so that the nodes need no file.
        options: others of ``solve``.

    Raises:
        DAGSchedError: the cluster cannot be reached, or a solve fails.
        InvalidScheduleError: what has come back is no schedule of its problem.
    """
    left = []
    for name, instance in problems:
        result = _found(journal, instance)
        if result is None:
            left.append((name, instance))
        else:
            yield Solution(name, instance, result)
    if not left:
        return
    from aerl_trainer.solving.spread import cluster_of  # loads torch, which a cluster needs alone

    named = checkpoint is not None and checkpoint != AUTO
    policy: str | Policy | None = load_policy(str(checkpoint)) if named else checkpoint
    task: Callable[[Instance], SolveResult] = partial(solve, checkpoint=policy, **options)
    with (
        Progress(console=Console(stderr=True), transient=True) as bar,
        cluster_of(address) as spread,
    ):
        line = bar.add_task("solving", total=len(problems), completed=len(problems) - len(left))
        for i, found in spread(task, [instance for _, instance in left]):
            name, instance = left[i]
            found.schedule.validate(instance)
            if named and found.policy is not None:
                found = dataclasses.replace(found, policy=checkpoint)
            if found.stopped_by != "interrupt":
                journal.add(instance, _record(found))
            bar.console.print(f"{name}: {found.makespan:.6g}", markup=False, highlight=False)
            bar.advance(line)
            yield Solution(name, instance, found)


def _record(result: SolveResult) -> dict[str, Any]:
    return {
        **dataclasses.asdict(dataclasses.replace(result, schedule=None)),  # type: ignore[arg-type]
        "schedule": json.loads(result.schedule.to_json()),
    }


def _found(journal: Journal, instance: Instance) -> SolveResult | None:
    """What the journal has of a problem, if it is whole and valid."""
    record = journal.find(instance)
    if record is None:
        return None
    try:
        schedule = Schedule.from_json(json.dumps(stored(record, "schedule", dict)))
        schedule.validate(instance)
        policy = record.get("policy")
        if policy is not None and not isinstance(policy, str):
            raise FormatError("'policy' is no name")
        return SolveResult(
            schedule=schedule,
            lower_bound=stored(record, "lower_bound", float),
            trace=tuple(_finding(entry) for entry in stored(record, "trace", list)),
            elapsed_s=stored(record, "elapsed_s", float),
            stopped_by=stored(record, "stopped_by", str),
            simulations=stored(record, "simulations", int),
            policy=policy,
        )
    except DAGSchedError:
        return None


def _finding(entry: Any) -> Finding:
    if not isinstance(entry, dict):
        raise FormatError("a finding is no object")
    return Finding(
        stored(entry, "elapsed_s", float),
        stored(entry, "makespan", float),
        stored(entry, "found_by", str),
    )
