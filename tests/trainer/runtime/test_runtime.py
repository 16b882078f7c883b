"""Pools of searching processes: results, deaths in mid-run, and nothing left behind."""

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnContext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from aerl_trainer.config import Config
from aerl_trainer.network.evaluator import TorchEvaluator, flat_weights
from aerl_trainer.network.inference.metrics import BATCHES, LEAVES
from aerl_trainer.network.network import Network
from aerl_trainer.policy.encoding.evaluator import PriorEvaluator
from aerl_trainer.runtime import crew, supervisor
from aerl_trainer.runtime.children import Child, cause_of_death, start_child
from aerl_trainer.runtime.errors import SearchPoolError
from aerl_trainer.runtime.pool import Finished, LockstepPool
from aerl_trainer.solving.solver import solve
from aerl_trainer.tree.alone import search_alone
from aerl_trainer.tree.records import SearchJob
from aerl_trainer.tree.shared_tree import SharedTree
from aerl_trainer.tree.tree import BROKEN, OUTCOME, ROOT, SIMS_DONE, WRITER, TreeArrays
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.schedulers import SCHEDULERS
from helpers import TESTS, actions
from helpers.faults import check_finished, kill
from helpers.pools import OpenPool
from helpers.small_runs import (
    eventually,
    is_running,
    lockstep_config,
    problem,
    replaced,
    shared_memory_of,
    small_config,
)
from helpers.tree_invariants import edges_of

CONFIG = small_config(run={"actors": 2, "trees_in_flight": 2})
LONG = replaced(CONFIG, "search", budget=6000)
"""A search in whose middle something can happen, on ``BIG``."""


def job(number: int = 0, n: int = 8) -> SearchJob:
    return SearchJob(number, problem(n=n, seed=number), seed=number)


BIG = job(9, n=60)


@contextmanager
def pool_of(config: Config = CONFIG, max_tasks: int = 60, **options: Any) -> Iterator[OpenPool]:
    options = {"backend": "prior", "explore": False, **options}
    pool = OpenPool(config, max_tasks, **options)
    try:
        yield pool
    finally:
        pool.close()


def next_finished(pool: OpenPool) -> Finished:
    finished: Finished = eventually(lambda: pool.wait(1.0), "a finished tree")
    return finished


def talking_network(seed: int) -> Network:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = Network(CONFIG.network)
        nn.init.normal_(network.decoder.policy.weight)
        nn.init.normal_(network.decoder.value.weight)
    return network


def searched_alone(network: Network, number: int = 0) -> TreeArrays:
    """The same job in this process."""
    tree, _ = search_alone(
        job(number), TorchEvaluator(network), CONFIG.search, rollout_weight=0.5, explore=False
    )
    return tree.arrays


def root_of(t: TreeArrays) -> np.ndarray:
    """Actions and priors of the root, which do not depend on the order of simulations."""
    edges = list(edges_of(t, ROOT))
    return np.stack([t.edge_action[edges], t.edge_prior[edges]])


# -- in lock-step --------------------------------------------------------------------------------


def test_the_lockstep_pool_searches_one_task_at_a_time() -> None:
    pool = LockstepPool(lockstep_config())
    assert pool.free == 1
    assert pool.wait(0.0) is None
    simulations = 0
    for number in range(3):
        pool.submit(job(number), 1.0)
        assert pool.free == 0
        finished = pool.wait(0.0)
        assert finished is not None
        assert finished.job.id == number
        assert pool.free == 1
        check_finished(finished, CONFIG)
        simulations += finished.report.simulations
        pool.release(finished)
    stats = pool.stats()
    assert stats.inference.total(LEAVES) == simulations
    assert 0 < stats.inference.total(BATCHES) <= simulations
    assert stats.restarts == 0
    pool.close()


def test_the_lockstep_pool_uses_published_weights() -> None:
    pool = LockstepPool(lockstep_config(search={"noise_fraction": 0.0}))
    network = talking_network(1)
    pool.publish(flat_weights(network))
    pool.submit(job(), 0.5)
    finished = pool.wait(0.0)
    assert finished is not None
    for one, other in zip(finished.tree.arrays, searched_alone(network), strict=True):
        assert np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


# -- processes -----------------------------------------------------------------------------------


def test_several_tasks_without_a_network() -> None:
    environment = dict(os.environ)
    with pool_of() as pool:
        assert dict(os.environ) == environment, "limits are for the children alone"
        assert pool.worker_pids() == []
        assert len(set(pool.actor_pids())) == 2
        waiting = [job(number, n=6 + number % 9) for number in range(40)]
        seen = []
        while len(seen) < 40:
            while pool.free and waiting:
                pool.submit(waiting.pop(0), 1.0)
            finished = next_finished(pool)
            check_finished(finished, CONFIG)
            seen.append(finished.job.id)
            pool.release(finished)
        assert sorted(seen) == list(range(40))
        assert pool.stats().restarts == 0
        assert not pool.stats().inference.counts.any()
        assert pool.wait(0.0) is None


@pytest.mark.parametrize("backend", ["server", "inline"])
def test_published_weights_reach_the_search(backend: str) -> None:
    """The root's policy is that of the published network, before and after a change."""
    with pool_of(backend=backend) as pool:
        for version in (1, 2):
            network = talking_network(version)
            pool.publish(flat_weights(network))
            for number in (0, 1):
                pool.submit(job(number), 0.5)
            for _ in range(2):
                finished = next_finished(pool)
                check_finished(finished, CONFIG)
                found = root_of(finished.tree.arrays)
                expected = root_of(searched_alone(network, finished.job.id))
                assert found == pytest.approx(expected, abs=1e-5)
                pool.release(finished)
        assert pool.stats().restarts == 0
        counted = pool.stats().inference
        assert 0 < counted.total(BATCHES) <= counted.total(LEAVES)
        assert counted.total(LEAVES) >= 4 * CONFIG.search.budget


def test_an_offered_schedule_is_the_start() -> None:
    """And the result, where the search is too short to find a better one."""
    hard = job(3, n=30)
    offer = solve(hard.instance, simulations=3000).schedule
    tiny = replaced(CONFIG, "search", budget=1, min_trajectories=1)
    with pool_of(tiny) as pool:
        for incumbent in (None, offer):
            pool.submit(hard, 1.0, incumbent)
            finished = next_finished(pool)
            best = finished.tree.incumbent(30, algorithm="pool")
            best.validate(hard.instance)
            assert (best == offer) == (incumbent is offer)
            pool.release(finished)


def test_all_actors_explore_with_the_same_root_noise() -> None:
    with pool_of(explore=True) as pool:
        pool.submit(job(), 1.0)
        noisy = root_of(next_finished(pool).tree.arrays)
    roots = []
    for explore in (True, False):
        alone, _ = search_alone(
            job(), PriorEvaluator(), CONFIG.search, rollout_weight=1.0, explore=explore
        )
        roots.append(root_of(alone.arrays))
    assert noisy == pytest.approx(roots[0], abs=1e-6)
    assert noisy != pytest.approx(roots[1], abs=1e-3)


# -- deaths --------------------------------------------------------------------------------------


def under_way(pool: OpenPool) -> SharedTree:
    tree = pool.tree(0)
    eventually(lambda: tree.counter(SIMS_DONE) > 50, "the search to be under way")
    assert not tree.finished
    return tree


@pytest.mark.parametrize("backend", ["prior", "server"])
def test_killing_actors_does_not_stop_the_search(backend: str) -> None:
    config = replaced(LONG, "search", budget=2000) if backend == "server" else LONG
    with pool_of(config, backend=backend) as pool:
        pool.submit(BIG, 1.0)
        under_way(pool)
        victims = pool.actor_pids()
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        finished = next_finished(pool)
        check_finished(finished, config)
        assert pool.stats().restarts == 2
        assert not set(pool.actor_pids()) & set(victims)
        pool.release(finished)
        pool.submit(job(1, n=20), 1.0)
        check_finished(next_finished(pool), config)


def test_killing_the_inference_worker_does_not_stop_the_search() -> None:
    config = replaced(LONG, "search", budget=2000)
    with pool_of(config, backend="server") as pool:
        network = talking_network(1)
        pool.publish(flat_weights(network))
        pool.submit(BIG, 1.0)
        under_way(pool)
        (victim,) = pool.worker_pids()
        os.kill(victim, signal.SIGKILL)
        finished = next_finished(pool)
        check_finished(finished, config)
        assert pool.stats().restarts == 1
        assert pool.worker_pids() != [victim]
        pool.release(finished)
        pool.submit(job(), 0.5)
        found = root_of(next_finished(pool).tree.arrays)
        assert found == pytest.approx(root_of(searched_alone(network)), abs=1e-5)


def test_a_tree_broken_in_mid_write_is_searched_again() -> None:
    """As if an actor had died between two changes of the tree that belong together."""
    with pool_of(LONG) as pool:
        pool.submit(BIG, 1.0, SCHEDULERS["heft"](BIG.instance))
        tree = under_way(pool)
        with tree.lock:
            tree.arrays.counters[WRITER] = 1
            tree.arrays.edge_visits[0] += 1000
        finished = next_finished(pool)
        check_finished(finished, LONG)
        assert finished.report.best_makespan <= SCHEDULERS["heft"](BIG.instance).makespan


def test_a_tree_broken_before_its_first_schedule_is_searched_again() -> None:
    """There is nothing to save."""
    with pool_of(LONG) as pool:
        tree = pool.tree(0)
        with tree.lock:  # nobody has searched yet
            pool.submit(BIG, 1.0)
            tree.arrays.counters[WRITER] = 1
        check_finished(next_finished(pool), LONG)


def test_a_dead_writer_is_found_by_the_parent() -> None:
    """The only actor dies holding the marker: its tree starts again with its successor."""
    config = replaced(LONG, "run", actors=1)
    with pool_of(config) as pool:
        pool.submit(BIG, 1.0)
        tree = under_way(pool)
        with tree.lock:  # the actor cannot be writing now
            (victim,) = pool.actor_pids()
            os.kill(victim, signal.SIGKILL)
            eventually(lambda: not is_running(victim), "the actor's end")
            tree.arrays.counters[WRITER] = 1
        pool.tend()
        assert pool.stats().restarts == 1
        assert tree.counter(SIMS_DONE) == tree.counter(WRITER) == 0
        check_finished(next_finished(pool), config)


def test_a_broken_tree_hands_its_schedule_on() -> None:
    """Unless that is half written: then the search starts with what was offered."""
    heft = SCHEDULERS["heft"](BIG.instance)
    better = solve(BIG.instance, simulations=300).schedule
    with pool_of(LONG) as pool:
        for torn, expected in [(False, better), (True, heft)]:
            pool.submit(BIG, 1.0, heft)
            tree = under_way(pool)
            with tree.lock:
                tree.arrays.counters[[WRITER, OUTCOME]] = 1, BROKEN
                tree.arrays.incumbent_processor[:60] = better.processor
                tree.arrays.incumbent_start[:60] = better.start
                tree.arrays.incumbent_finish[:60] = better.finish
                if torn:
                    tree.arrays.incumbent_finish[30:60] = heft.finish[30:]
            while tree.finished:  # until it begins again
                assert pool.wait(0.01) is None
            assert pool.slots[0].incumbent == expected
            finished = next_finished(pool)
            check_finished(finished, LONG)
            assert finished.report.best_makespan <= expected.makespan
            pool.release(finished)


def test_an_actor_that_is_asked_to_end_is_replaced_too() -> None:
    """SIGTERM, as from an administrator, is a death like any other."""
    with pool_of(LONG) as pool:
        pool.submit(BIG, 1.0)
        under_way(pool)
        os.kill(pool.actor_pids()[0], signal.SIGTERM)
        check_finished(next_finished(pool), LONG)
        eventually(lambda: pool.tend() or pool.stats().restarts == 1, "the replacement")


def test_endless_deaths_end_the_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Children that die before they get anything done are not started for ever."""
    monkeypatch.setattr(supervisor, "FRUITLESS_DEATHS", 1)
    with pool_of(log_dir=tmp_path) as pool:
        for _ in range(2):
            kill(pool.actor_pids()[0])
            pool.tend()
        kill(pool.actor_pids()[0])
        message = f"actor-0 was killed by SIGKILL, .*, death number 3 .*{tmp_path.name}"
        with pytest.raises(SearchPoolError, match=message):
            pool.tend()


def test_deaths_in_the_course_of_a_long_run_are_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each comes after the search has got further than at the one before."""
    monkeypatch.setattr(supervisor, "FRUITLESS_DEATHS", 0)
    with pool_of(replaced(CONFIG, "search", budget=10**6)) as pool:
        pool.submit(BIG, 1.0)
        tree, reached = pool.tree(0), 0
        for death in range(4):
            while tree.counter(SIMS_DONE) <= reached:
                pool.wait(0.001)
            with tree.lock:  # its victim is not writing, or the search would begin again
                kill(pool.actor_pids()[death % 2])
            pool.tend()
            reached = pool.slots[0].furthest
        assert pool.stats().restarts == 4


def test_the_cause_of_death_is_put_in_words() -> None:
    causes = {
        "raise SystemExit(3)": "ended with exit code 3",
        "import os; os.kill(os.getpid(), 10)": "was killed by SIGUSR1",
        "import os; os.kill(os.getpid(), 9)": "was killed by SIGKILL, as the kernel does where "
        "memory is used up",
    }
    context = multiprocessing.get_context("spawn")
    for code, words in causes.items():
        assert cause_of_death(start_child(context, actions.runs, "victim", code)) == words


# -- the end -------------------------------------------------------------------------------------


@pytest.mark.parametrize("busy", [False, True])
def test_closing_leaves_nothing_behind(busy: bool) -> None:
    before = shared_memory_of(os.getpid())
    pool = OpenPool(LONG, 60, backend="server", explore=True)
    assert len(shared_memory_of(os.getpid())) > len(before)
    pids = [*pool.actor_pids(), *pool.worker_pids()]
    if busy:
        pool.submit(BIG, 1.0)
        under_way(pool)
    assert not [name for name in os.listdir("/dev/shm") if f"-{os.getpid()}-" in name]
    pool.close()
    assert shared_memory_of(os.getpid()) == before
    assert not any(is_running(pid) for pid in pids)
    assert not multiprocessing.active_children()
    pool.close()  # once more is no mistake


def test_a_child_that_hangs_does_not_hold_up_the_end() -> None:
    with pool_of(LONG) as pool:
        pool.submit(BIG, 1.0)
        under_way(pool)
        hanging = pool.actor_pids()[1]
        os.kill(hanging, signal.SIGSTOP)
    assert not is_running(hanging)


def test_a_start_that_fails_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    before = shared_memory_of(os.getpid())
    started = []

    def start_one(context: SpawnContext, *arguments: Any) -> Child:
        if started:
            raise OSError(11, "Resource temporarily unavailable")
        started.append(start_child(context, *arguments))
        return started[0]

    monkeypatch.setattr(crew, "start_child", start_one)
    with pytest.raises(OSError, match="temporarily"):
        OpenPool(CONFIG, 20, backend="prior", explore=False)
    assert not started[0].process.is_alive()
    assert shared_memory_of(os.getpid()) == before


def test_two_pools_live_side_by_side() -> None:
    with pool_of() as one, pool_of() as other:
        for pool in (one, other):
            pool.submit(job(0), 1.0)
        finished = next_finished(one)
        check_finished(finished, CONFIG)
        one.close()
        check_finished(next_finished(other), CONFIG)


# -- warming up ----------------------------------------------------------------------------------


def test_a_problem_that_is_too_large_is_refused() -> None:
    with pool_of(max_tasks=5, backend="prior", explore=False) as pool:
        with pytest.raises(DAGSchedError, match=r"15 tasks, but .* room for 5: .* max_tasks"):
            pool.submit(SearchJob(0, problem(15, 3), 0), 1.0)
        assert pool.free == CONFIG.run.trees_in_flight


@pytest.mark.parametrize("backend", ["prior", "server"])
def test_problems_may_come_with_more_processors_and_edges_than_before(backend: str) -> None:
    """Only the number of tasks has a limit that is set at the start."""
    n = 15
    pairs = [(u, v) for v in range(n) for u in range(v)]
    dense = Instance(np.ones((n, 40)), pairs, np.ones(len(pairs)))
    with pool_of(max_tasks=n, backend=backend) as pool:
        for number, instance in enumerate([problem(6, 2), dense, problem(6, 2)]):
            pool.submit(SearchJob(number, instance, seed=number), 1.0)
            finished = next_finished(pool)
            check_finished(finished, CONFIG)
            finished.tree.incumbent(instance.n_tasks, algorithm="pool").validate(instance)
            pool.release(finished)
        assert pool.stats().restarts == 0


AFTER_WARM_UP = """
import importlib, pkgutil, tempfile
import aerl_trainer, dagsched_env
from numba.core.dispatcher import Dispatcher
from helpers.sharing import sharing_instance
from helpers.small_runs import lockstep_config, problem
from aerl_trainer.run.reporting import RunDirectory
from aerl_trainer.cli import main
from aerl_trainer.tree.simulation import forget
from aerl_trainer.solving.solver import solve
from aerl_trainer.run.training import train
from dagsched_env.environment.env import DAGSchedEnv

def signatures():
    found = set()
    for package in (dagsched_env, aerl_trainer):
        for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if module.name.endswith("__main__"):
                continue
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, Dispatcher):
                    found |= {(value.py_func.__qualname__, str(s)) for s in value.signatures}
    return found

instance = problem()
assert main(["warm-up", "--training"]) == 0
before = signatures()
by_default = lockstep_config(run={"max_steps": 3}, learner={"network": False})
assert by_default.variations
with tempfile.TemporaryDirectory() as directory:
    train(by_default, RunDirectory(directory))
print("MISSING TO TRAIN", sorted({name for name, _ in signatures() - before}))
assert main(["warm-up"]) == 0
before = signatures()
with tempfile.TemporaryDirectory() as directory:
    train(lockstep_config(run={"max_steps": 6}), RunDirectory(directory))
    solve(instance, simulations=20, checkpoint=directory).schedule.validate(instance)
solve(instance, simulations=20)
solve(sharing_instance(12, 0, [[5, 2.0], [4, 3.0]]), simulations=20)
env = DAGSchedEnv(instance)
_, info = env.reset(seed=0)
env.step(int(info["action_mask"].argmax()))
print("MISSING", sorted({name for name, _ in signatures() - before}))
"""


def test_warming_up_covers_every_kernel_in_use() -> None:
    """In a fresh process: training, solving and the environment need nothing beyond it."""
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-c", AFTER_WARM_UP]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert "MISSING TO TRAIN []" in lines
    assert lines[-1] == "MISSING []"
