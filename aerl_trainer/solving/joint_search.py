"""One search by this process together with child processes, for ``solve``."""

import dataclasses
import math
import time
from collections.abc import Callable

from aerl_trainer.config import Config
from aerl_trainer.network.evaluator import flat_weights
from aerl_trainer.policy.encoding.states import allocate_states
from aerl_trainer.runtime.actor import COLLISION_WAIT_S
from aerl_trainer.runtime.processes import Backend
from aerl_trainer.runtime.supervisor import Supervisor
from aerl_trainer.solving.learned import Policy, evaluator_of, rollout_weight_of
from aerl_trainer.tree.records import SearchJob
from aerl_trainer.tree.summary import Found, found_in
from aerl_trainer.tree.worker import SearchWorker
from dagsched_env.problem.schedule import Schedule


def search_together(
    job: SearchJob,
    policy: Policy | None,
    known: Schedule,
    config: Config,
    spent: Callable[[], float],
) -> Found:
    """Share a tree with child processes; this one searches too, from the first moment on.

    Args:
        job: the problem and its seed.
        policy: None = the hand-made prior.
        known: a schedule that the result must not be worse than.
        config: of the search; ``run.actors`` counts this process.
        spent: share used up of a limit other than the budget of simulations, such as time.
    """
    children = config.run.actors - 1
    config = dataclasses.replace(config, run=dataclasses.replace(config.run, actors=children))
    network = None if policy is None else policy.network
    backend: Backend = "prior" if network is None else "inline"
    supervisor = Supervisor(config, job.instance.n_tasks, backend=backend, explore=False, guests=1)
    try:
        if network is not None:
            supervisor.crew.publish(flat_weights(network))
        slot = supervisor.start(job, rollout_weight_of(policy), known)
        tree = supervisor.slots[slot].tree
        worker = SearchWorker(
            children,
            job,
            tree,
            allocate_states(
                config.search.batch_size, config.search.max_children, job.instance.n_tasks
            ),
            evaluator_of(policy),
            config.search,
            explore=False,
            network=network is not None,
        )
        try:
            _work_as_guest(worker, supervisor, rollout_weight_of(policy), spent)
        finally:
            _halt(supervisor)  # the annealing that follows wants the cores
        if tree.broken:  # it may hold half a schedule
            return Found(known, -math.inf, tree.simulations, by_count=False)
        return found_in(tree, job.instance)
    finally:
        supervisor.close()


def _halt(supervisor: Supervisor) -> None:
    """Kill the actors now, none of them in the middle of a change: the tree can still be read."""
    with supervisor.slots.nobody_writing():
        supervisor.crew.kill_actors()


def _work_as_guest(
    worker: SearchWorker,
    supervisor: Supervisor,
    rollout_weight: float,
    spent: Callable[[], float],
) -> None:
    """Search beside the actors until the end; the supervisor starts a broken tree again."""
    tree = worker.tree
    while tree.outcome in ("running", "broken") and (share := spent()) < 1.0:
        if worker.run_batch(rollout_weight, share) == 0:
            time.sleep(COLLISION_WAIT_S)
        supervisor.tend()
