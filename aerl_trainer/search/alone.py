"""A whole search by one worker in this process: the reference for the distributed one."""

import time
from collections.abc import Callable

from aerl_trainer.config import SearchConfig
from aerl_trainer.records import SearchReport, Task
from aerl_trainer.search.commitment import descend
from aerl_trainer.search.leaves import Evaluator, PriorEvaluator, allocate_leaves
from aerl_trainer.search.tree import (
    N_NODES,
    SIMS_DONE,
    TERMINAL_PATHS,
    SharedTree,
    TreeSize,
)
from aerl_trainer.search.worker import SearchWorker
from dagsched_env.schedule import Schedule

__all__ = ["report_of", "search_alone"]


def search_alone(
    task: Task,
    evaluator: Evaluator,
    config: SearchConfig,
    *,
    tail_weight: float,
    explore: bool,
    incumbent: Schedule | None = None,
    spent: Callable[[], float] = lambda: 0.0,
) -> tuple[SharedTree, SearchReport]:
    """Grow a tree until it is finished, or until ``spent()`` reaches 1 between two mini-batches.

    Args:
        task: the problem and its seed.
        evaluator: the network, or ``PriorEvaluator``.
        config: search settings.
        tail_weight: λ.
        explore: root noise, as in training.
        incumbent: a known schedule that the result must not be worse than.
        spent: share used up of a limit other than the budget of simulations, such as time.

    Returns:
        The tree, in private memory, and what happened.
    """
    started = time.perf_counter()
    tree = SharedTree.local(TreeSize.for_search(config, 1, task.instance.n_tasks))
    tree.reset()
    if incumbent is not None:
        tree.offer(task.instance, incumbent)
    worker = SearchWorker(
        0,
        task,
        tree,
        allocate_leaves(config.batch_size, config.max_children),
        evaluator,
        config,
        explore=explore,
        network=not isinstance(evaluator, PriorEvaluator),
    )
    while not tree.finished and (share := spent()) < 1.0:
        worker.run_batch(tail_weight)
        descend(worker, share)
    return tree, report_of(task, tree, time.perf_counter() - started)


def report_of(task: Task, tree: SharedTree, elapsed_s: float) -> SearchReport:
    """Sum a tree up."""
    return SearchReport(
        task_id=task.id,
        simulations=tree.counter(SIMS_DONE),
        simulations_by_actor=tuple(tree.arrays.actor_simulations.tolist()),
        interleaving=tree.interleaving,
        terminal_paths=tree.counter(TERMINAL_PATHS),
        nodes=tree.counter(N_NODES),
        best_makespan=tree.best_makespan,
        optimal=tree.proved,
        outcome=tree.outcome,
        elapsed_s=elapsed_s,
    )
