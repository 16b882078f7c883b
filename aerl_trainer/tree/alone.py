"""A whole search by one worker in this process: the reference for the distributed one."""

import time
from collections.abc import Callable

from aerl_trainer.config import SearchConfig
from aerl_trainer.policy.encoding.evaluator import Evaluator, PriorEvaluator
from aerl_trainer.policy.encoding.states import allocate_states
from aerl_trainer.tree.records import SearchJob, SearchReport
from aerl_trainer.tree.shared_tree import SharedTree
from aerl_trainer.tree.summary import report_of
from aerl_trainer.tree.tree import TreeSize
from aerl_trainer.tree.variation_worker import VariationWorker
from aerl_trainer.tree.worker import SearchWorker
from dagsched_env.problem.schedule import Schedule


def search_alone(
    job: SearchJob,
    evaluator: Evaluator,
    config: SearchConfig,
    *,
    rollout_weight: float,
    explore: bool,
    incumbent: Schedule | None = None,
    spent: Callable[[], float] = lambda: 0.0,
) -> tuple[SharedTree, SearchReport]:
    """Grow a tree until it is finished, or until ``spent()`` reaches 1 between two mini-batches.

    Args:
        job: the problem and its seed.
        evaluator: the network, or ``PriorEvaluator``.
        config: search settings.
        rollout_weight: λ, in [0, 1].
        explore: root noise, as in training.
        incumbent: a known schedule that the result must not be worse than.
        spent: share used up of a limit other than the budget of simulations, such as time.

    Returns:
        The tree, in private memory, and what happened.
    """
    started = time.perf_counter()
    tree = SharedTree.local(TreeSize.for_search(config, 1, job.instance.n_tasks))
    tree.reset()
    if incumbent is not None:
        tree.offer(job.instance, incumbent)
    worker = SearchWorker(
        0,
        job,
        tree,
        allocate_states(config.batch_size, config.max_children, job.instance.n_tasks),
        evaluator,
        config,
        explore=explore,
        network=not isinstance(evaluator, PriorEvaluator),
    )
    while not tree.finished and (share := spent()) < 1.0:
        worker.run_batch(rollout_weight, share)
    return tree, report_of(job, tree, time.perf_counter() - started)


def vary_alone(job: SearchJob, config: SearchConfig) -> tuple[SharedTree, SearchReport]:
    """Grow a tree along the principal variation of the job's policy, until it is finished.

    Args:
        job: the problem, its seed and its policy.
        config: search settings.

    Returns:
        The tree, in private memory, and what happened.
    """
    started = time.perf_counter()
    tree = SharedTree.local(TreeSize.for_search(config, 1, job.instance.n_tasks))
    tree.reset()
    worker = VariationWorker(0, job, tree, config)
    while not tree.finished:
        worker.run_batch()
    return tree, report_of(job, tree, time.perf_counter() - started)
