"""Search jobs, harvests and group gradients as arrays that travel between machines.

What comes in is checked before it counts: shapes, ranges, and makespans, by replaying the actions
of trajectories and of principal variations, and by bounds for the other schedules of a tree.
Instances travel one way only. Arrays are copied when they come in: those of a transport are
read-only, and the kernels are compiled for others.
"""

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from aerl_trainer.config.stored import stored
from aerl_trainer.learning.group_gradients import GroupGradient, GroupWork
from aerl_trainer.learning.packing import (
    pack,
    pack_groups,
    pack_instances,
    unpack,
    unpack_groups,
    unpack_instances,
)
from aerl_trainer.learning.replay.arrays import Arrays, read
from aerl_trainer.policy.weights import N_WEIGHTS
from aerl_trainer.runtime.harvest import Harvest
from aerl_trainer.tree.records import SearchJob, SearchReport
from dagsched_env.kernels.arrays import Ints
from dagsched_env.kernels.schedules import decoding
from dagsched_env.problem.errors import DAGSchedError, FormatError, InvalidScheduleError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule

TOLERANCE = 1e-9
"""Largest relative difference between a makespan and its replay: machines may round differently."""


def pack_job(job: SearchJob) -> Arrays:
    """Arrays from which ``unpack_job`` restores the job exactly."""
    policy = {} if job.policy is None else {"policy": job.policy}
    return {
        **pack_instances([job.instance]),
        "id_and_seed": np.array([job.id, job.seed], np.int64),
        "step": np.array(job.step, np.int64),
        **policy,
    }


def unpack_job(arrays: Arrays) -> SearchJob:
    """The inverse of ``pack_job``; raises FormatError."""
    arrays = _own(arrays)
    (instance,) = unpack_instances(arrays)
    number, seed = read(arrays, "id_and_seed", np.int64, (2,)).tolist()
    policy = read(arrays, "policy", np.float32, (N_WEIGHTS,)) if "policy" in arrays else None
    step = int(read(arrays, "step", np.int64, ()))
    return SearchJob(number, instance, seed, policy=policy, step=step)


def pack_harvest(harvest: Harvest) -> Arrays:
    """Arrays from which ``unpack_harvest`` restores the harvest, the job at hand."""
    report = dataclasses.asdict(harvest.report)
    interleaving = report.pop("interleaving")
    return {
        **({} if harvest.group is None else pack_groups([harvest.group], with_instances=False)),
        **(pack(harvest.experiences, with_instances=False) if harvest.experiences else {}),
        "report": np.frombuffer(json.dumps(report).encode(), np.uint8),
        "interleaving": np.array(interleaving, np.int64).reshape(-1, 2),
    }


def unpack_harvest(arrays: Arrays, job: SearchJob, *, network: bool) -> Harvest:
    """The inverse of ``pack_harvest``, checked.

    Args:
        arrays: of ``pack_harvest``.
        job: that was searched.
        network: it is for the network; else for the fast policy.

    Raises:
        DAGSchedError: something is missing or out of range, or a makespan is not that of its
            actions.
    """
    arrays = _own(arrays)
    report = _read_report(arrays, job)
    if network:
        experiences = unpack(arrays, [job.instance])
        for experience in experiences:
            pairs = experience.actions.astype(np.int64)
            actions = pairs[:, 0] * job.instance.n_processors + pairs[:, 1]
            _replay(job.instance, actions, experience.makespan)
        return Harvest(report, None, experiences)
    (group,) = unpack_groups(arrays, [job.instance])
    _replay(job.instance, group.actions, group.makespan)
    if (group.makespans < job.instance.lower_bound * (1.0 - TOLERANCE)).any():
        raise FormatError("a makespan of a tree is below the lower bound of its problem")
    shortest = min([group.makespan, *group.makespans.tolist()])
    if abs(shortest - report.best_makespan) > TOLERANCE * shortest:
        raise FormatError("the best makespan of a tree is not that of its shortest schedule")
    return Harvest(report, group, [])


def pack_work(work: Sequence[GroupWork]) -> Arrays:
    """Arrays from which ``unpack_work`` restores the groups to be drawn exactly."""
    return {
        **pack_instances([item.instance for item in work]),
        "seeds": np.array([item.seed for item in work], np.int64),
    }


def unpack_work(arrays: Arrays) -> list[GroupWork]:
    """The inverse of ``pack_work``; raises FormatError."""
    arrays = _own(arrays)
    instances = unpack_instances(arrays)
    seeds = read(arrays, "seeds", np.int64, (len(instances),)).tolist()
    return list(map(GroupWork, instances, seeds))


def pack_gradients(results: Sequence[GroupGradient]) -> Arrays:
    """Arrays from which ``unpack_gradients`` restores the gradients exactly."""
    return {
        "gradients": np.array([result.gradient for result in results], np.float64),
        "spreads": np.array([result.relative_spread for result in results], np.float64),
        "schedules": np.array([result.schedules for result in results], np.int64),
    }


def unpack_gradients(arrays: Arrays, groups: int) -> list[GroupGradient]:
    """The inverse of ``pack_gradients``, checked.

    Args:
        arrays: of ``pack_gradients``.
        groups: how many were asked for.

    Raises:
        FormatError: an array is missing or of a wrong shape, or holds a number out of range.
    """
    arrays = _own(arrays)
    gradients = read(arrays, "gradients", np.float64, (groups, N_WEIGHTS))
    spreads = read(arrays, "spreads", np.float64, (groups,))
    schedules = read(arrays, "schedules", np.int64, (groups,))
    finite = np.isfinite(gradients).all() and np.isfinite(spreads).all()
    if not finite or (spreads < 0).any() or (schedules < 1).any():
        raise FormatError("gradients of a node hold a number that is out of range")
    columns = (gradients, spreads.tolist(), schedules.tolist())
    return [GroupGradient(*column) for column in zip(*columns, strict=True)]


def _own(arrays: Arrays) -> Arrays:
    if not all(isinstance(array, np.ndarray) for array in arrays.values()):
        raise FormatError("a parcel holds something that is no array")
    return {name: array.copy() for name, array in arrays.items()}


def _replay(instance: Instance, actions: Ints, makespan: float) -> None:
    """Actions ``[n]`` are a valid schedule, and its makespan is as claimed."""
    order, processors = np.divmod(actions, instance.n_processors)
    assignment = np.empty_like(processors)
    assignment[order] = processors
    schedule = Schedule.adopt(*decoding.decode(instance.arrays, order, assignment, True))
    if abs(schedule.makespan - makespan) > TOLERANCE * schedule.makespan:
        raise InvalidScheduleError(
            f"a trajectory with makespan {schedule.makespan} is claimed to have {makespan}"
        )
    schedule.validate(instance)


def _read_report(arrays: Arrays, job: SearchJob) -> SearchReport:
    text = read(arrays, "report", np.uint8, (-1,)).tobytes()
    pairs = read(arrays, "interleaving", np.int64, (-1, 2)).tolist()
    try:
        record: dict[str, Any] = json.loads(text)
        report = SearchReport(
            job_id=stored(record, "job_id", int),
            simulations=stored(record, "simulations", int),
            simulations_by_actor=tuple(stored(record, "simulations_by_actor", list)),
            interleaving=tuple((actor, count) for actor, count in pairs),
            terminal_paths=stored(record, "terminal_paths", int),
            nodes=stored(record, "nodes", int),
            best_makespan=stored(record, "best_makespan", float),
            optimal=record.get("optimal") is True,
            outcome=stored(record, "outcome", str),
            elapsed_s=stored(record, "elapsed_s", float),
        )
    except (ValueError, RecursionError, AttributeError) as error:
        raise FormatError(f"the report of a search cannot be read: {error}") from None
    if report.job_id != job.id:
        raise DAGSchedError(f"the report is of job {report.job_id}, not of {job.id}")
    if not 0.0 <= report.best_makespan < np.inf or report.simulations < 0:
        raise FormatError("the report of a search holds a number that is out of range")
    return report
