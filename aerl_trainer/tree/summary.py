"""The result of a search: a report for training, a schedule for solving."""

from typing import NamedTuple

from aerl_trainer.tree.records import SearchJob, SearchReport
from aerl_trainer.tree.shared_tree import SharedTree
from aerl_trainer.tree.tree import N_NODES, TERMINAL_PATHS
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule


class Found(NamedTuple):
    """What a search for one good schedule comes back with."""

    schedule: Schedule
    lower_bound: float
    """As proved by the tree (time); -∞ if it has proved nothing."""
    simulations: int
    by_count: bool
    """It ended by the number of simulations, and was not short of time."""


def found_in(tree: SharedTree, instance: Instance) -> Found:
    """The result of a tree that nobody writes to any more."""
    return Found(
        tree.incumbent(instance.n_tasks, algorithm="aerl"),
        tree.lower_bound,
        tree.simulations,
        by_count=tree.outcome in ("complete", "cap"),
    )


def report_of(job: SearchJob, tree: SharedTree, elapsed_s: float) -> SearchReport:
    """Sum up a tree that nobody writes to any more.

    Args:
        job: what was searched.
        tree: its tree.
        elapsed_s: seconds since the search began.
    """
    return SearchReport(
        job_id=job.id,
        simulations=tree.simulations,
        simulations_by_actor=tuple(tree.arrays.actor_simulations.tolist()),
        interleaving=tree.interleaving,
        terminal_paths=tree.counter(TERMINAL_PATHS),
        nodes=tree.counter(N_NODES),
        best_makespan=tree.best_makespan,
        optimal=tree.proved,
        outcome=tree.outcome,
        elapsed_s=elapsed_s,
    )
