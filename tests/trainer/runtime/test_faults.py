"""Fifty violent deaths at random and at the worst moments: every search still comes to its end.

Victims are actors, the inference worker and the parent. After each round of deaths the searches
finish with sound trees, nothing is in flight and no lock is held; in the end no process and no
shared memory is left.
"""

import dataclasses
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from aerl_trainer.config import Config
from aerl_trainer.policy.encoding.evaluator import PriorEvaluator
from aerl_trainer.policy.encoding.states import allocate_states
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.runtime.pool import Finished
from aerl_trainer.runtime.processes import Backend
from aerl_trainer.tree.alone import vary_alone
from aerl_trainer.tree.records import SearchJob
from aerl_trainer.tree.tree import SIMS_DONE
from aerl_trainer.tree.variation import group_of
from aerl_trainer.tree.worker import SearchWorker
from dagsched_env.schedulers import SCHEDULERS
from helpers import TESTS
from helpers.faults import (
    check_finished,
    children_of,
    freeze_when,
    is_free,
    is_writing,
    kill,
    locks_of,
    nap,
)
from helpers.pools import OpenPool
from helpers.small_runs import (
    eventually,
    is_running,
    problem,
    replaced,
    shared_memory_of,
    small_config,
)

pytestmark = pytest.mark.slow

ACTORS, N_TASKS, BATCH = 2, 120, 32
KILLS = {"prior": 20, "server": 16, "inline": 4}
GUEST_KILLS, PARENT_KILLS = 4, 6
BUDGET = {"prior": 10_000, "server": 6000, "inline": 2000}
"""Simulations of one search, by backend: tenths of a second and more, so that a busy machine still
finds an actor at work."""

Moment = Callable[[OpenPool, np.random.Generator], int]
"""Waits for a moment and returns the process to kill in it; that one may stand still."""


def test_there_are_fifty_deaths() -> None:
    assert sum(KILLS.values()) + GUEST_KILLS + PARENT_KILLS == 50


# -- moments -------------------------------------------------------------------------------------


def reach(pool: OpenPool, simulations: int) -> None:
    """Let the search get so far; it may be over by then."""
    tree = pool.tree(0)
    while not tree.finished and tree.counter(SIMS_DONE) < simulations:
        pool.wait(0.001)


def one_of(pids: list[int], rng: np.random.Generator) -> int:
    return int(rng.choice(pids))


def living(pool: OpenPool) -> list[int]:
    """Children to choose from; the parent may not know yet that the others are dead."""
    while not (pids := [pid for pid in children(pool) if is_running(pid)]):
        pool.tend()
    return pids


def children(pool: OpenPool) -> list[int]:
    return [*pool.actor_pids(), *pool.worker_pids()]


def an_actor(pool: OpenPool, rng: np.random.Generator) -> tuple[int, int]:
    """Number and pid of one that is at work; the successor of a dead one may not be ready yet."""
    actor = int(rng.choice(np.flatnonzero(pool.tree(0).arrays.actor_simulations)))
    return actor, pool.actor_pids()[actor]


def anywhere(pool: OpenPool, rng: np.random.Generator) -> int:
    nap(rng, 0.3)
    return one_of(living(pool), rng)


def near_the_end(pool: OpenPool, rng: np.random.Generator) -> int:
    reach(pool, pool.config.search.budget - int(rng.integers(1, 100)))
    return one_of(living(pool), rng)


def just_started(pool: OpenPool, rng: np.random.Generator) -> int:
    """The successor of whoever died last, before or soon after it has read its first message."""
    before = children(pool)
    pool.tend()
    nap(rng, 1.0)
    return one_of(sorted(set(children(pool)) - set(before)) or living(pool), rng)


def freeze(pool: OpenPool, pid: int, condition: Callable[[], bool]) -> None:
    """Stop a process while ``condition()`` holds, or when the search is over."""
    assert freeze_when(pid, lambda: condition() or pool.tree(0).finished)


def holding_the_lock(pool: OpenPool, rng: np.random.Generator) -> int:
    actor, pid = an_actor(pool, rng)
    freeze(pool, pid, lambda: is_writing(pool, actor))
    return pid


def waiting(pool: OpenPool) -> list[int]:
    """Actors whose request has no answer yet."""
    return [ticket.actor for ticket in pool.crew.requests.waiting(0)]


def waiting_for_an_answer(pool: OpenPool, rng: np.random.Generator) -> int:
    actor, pid = an_actor(pool, rng)
    freeze(pool, pid, lambda: actor in waiting(pool))
    return pid


def answering(pool: OpenPool, rng: np.random.Generator) -> int:
    (pid,) = pool.worker_pids()
    freeze(pool, pid, lambda: bool(waiting(pool)))
    return pid


RANDOM: list[Moment] = [anywhere, near_the_end, just_started]
WORST: dict[str, list[Moment]] = {
    "prior": [holding_the_lock, anywhere, holding_the_lock, near_the_end],
    "server": [answering, waiting_for_an_answer, anywhere, holding_the_lock],
    "inline": [holding_the_lock, anywhere],
}
"""The first deaths of the rounds, while all actors are at work."""


# -- rounds --------------------------------------------------------------------------------------


@contextmanager
def pool_of(backend: Backend, **options: Any) -> Iterator[OpenPool]:
    """A pool that leaves nothing behind; its actors are ready."""
    before = shared_memory_of(os.getpid())
    pool = OpenPool(config_of(backend), N_TASKS, backend=backend, explore=True, **options)
    try:
        pool.submit(job(0), 1.0)
        finish(pool)
        yield pool
    finally:
        pool.close()
    assert shared_memory_of(os.getpid()) == before
    assert not multiprocessing.active_children()


def config_of(backend: Backend) -> Config:
    config = small_config(run={"actors": ACTORS, "trees_in_flight": 1})
    return replaced(config, "search", budget=BUDGET[backend], batch_size=BATCH)


def job(number: int) -> SearchJob:
    return SearchJob(number, problem(n=N_TASKS, seed=number), seed=number)


def finish(pool: OpenPool) -> Finished:
    """The search comes to its end and leaves a sound tree and free locks."""
    finished: Finished = eventually(lambda: pool.wait(1.0), "a finished tree", 120.0)
    check_finished(finished, pool.config)
    pool.release(finished)
    assert all(is_free(path) for path in locks_of(os.getpid()))
    return finished


def mourn(pool: OpenPool, deaths: int) -> None:
    """The parent replaces all of the dead, those too that died when the search was over."""
    eventually(lambda: pool.tend() or pool.stats().restarts >= deaths, "their successors", 20.0)
    assert pool.stats().restarts == deaths


@pytest.mark.parametrize(("backend", "deaths"), [("prior", 4), ("server", 4), ("inline", 2)])
def test_searches_survive_every_death(backend: Backend, deaths: int) -> None:
    rng = np.random.default_rng([20261121, *backend.encode()])
    rounds = KILLS[backend] // deaths
    with pool_of(backend) as pool:
        for number in range(rounds):
            heft = SCHEDULERS["heft"](job(number).instance)
            pool.submit(job(number), 1.0, heft)
            worst = WORST[backend][number % len(WORST[backend])]
            reach(pool, 1)
            for moment in [worst, *rng.choice(np.array(RANDOM), size=deaths - 1)]:
                kill(moment(pool, rng))
            finished = finish(pool)
            assert finished.report.best_makespan <= heft.makespan
            mourn(pool, (number + 1) * deaths)


def test_what_a_default_run_learns_from_survives_every_death() -> None:
    """To the bit it is what one process finds that nobody kills."""
    rng = np.random.default_rng(5)
    config = small_config(learner={"network": False}, run={"actors": ACTORS, "trees_in_flight": 1})
    config = replaced(config, "search", budget=1500, batch_size=BATCH)
    task = SearchJob(0, problem(n=200, p=4), seed=7, policy=FastPolicy().weights)
    alone, _ = vary_alone(task, config.search)
    expected = group_of(task, alone.arrays)
    pool = OpenPool(config, 200, backend="prior", explore=True)
    try:
        pool.submit(dataclasses.replace(task, id=1, seed=1), 1.0)  # until all have started
        pool.release(eventually(lambda: pool.wait(1.0), "a first tree", 120.0))
        for number in range(2, 5):
            pool.submit(dataclasses.replace(task, id=number), 1.0)
            for moment in sorted(rng.choice(1000, size=2)):
                reach(pool, int(moment))
                kill(one_of(living(pool), rng))
            finished = eventually(lambda: pool.wait(1.0), "a finished tree", 120.0)
            found = group_of(task, finished.tree.arrays)
            for name in ("actions", "depths", "others", "inclusion", "makespans"):
                assert np.array_equal(getattr(found, name), getattr(expected, name)), name
            assert finished.report.simulations == 1500
            pool.release(finished)
            mourn(pool, 2 * (number - 1))
    finally:
        pool.close()


def test_a_guest_survives_the_actors() -> None:
    """The guest searches in this process and holds the tree's lock in turn with the victims."""
    rng = np.random.default_rng(4)
    with pool_of("prior", guests=1) as pool:
        search = pool.config.search
        pool.submit(job(0), 1.0)
        worker = SearchWorker(
            ACTORS,
            job(0),
            pool.tree(0),
            allocate_states(search.batch_size, search.max_children, job(0).instance.n_tasks),
            PriorEvaluator(),
            search,
            explore=True,
            network=False,
        )
        moments = sorted(rng.choice(search.budget // 4, size=GUEST_KILLS))
        while worker.tree.outcome in ("running", "broken"):
            worker.run_batch(1.0)
            if moments and worker.tree.counter(SIMS_DONE) >= moments[0]:
                moments.pop(0)
                kill(one_of(living(pool), rng))
            pool.tend()
        finish(pool)
        assert not moments
        mourn(pool, GUEST_KILLS)


# -- the parent ----------------------------------------------------------------------------------

PARENT = """
import sys
if __name__ == "__main__":  # what stands before this is imported by every child
    from trainer.runtime.test_faults import N_TASKS, OpenPool, config_of, job, replaced
    endless = replaced(config_of(sys.argv[1]), "search", budget=10**6)
    pool = OpenPool(endless, N_TASKS, backend=sys.argv[1], explore=True)
    pool.submit(job(0), 1.0)
    print(flush=True)
    pool.wait(600)
"""


@contextmanager
def parent(script: Path, backend: str) -> Iterator[subprocess.Popen[str]]:
    environment = os.environ | {"PYTHONPATH": str(TESTS)}
    with subprocess.Popen(
        [sys.executable, script, backend],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        text=True,
        start_new_session=True,  # a process group of its own
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("seed", range(PARENT_KILLS // 2))
def test_nothing_outlives_a_killed_parent(seed: int, tmp_path: Path) -> None:
    """Neither children nor shared memory, from whatever moment on after the first segment.

    Once the whole process group dies at a time, as when a terminal or a container is killed: then
    nobody is left who would tidy up.
    """
    rng = np.random.default_rng([6, seed])
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    backends = rng.choice(["prior", "server", "inline"], size=2)
    with parent(script, backends[0]) as starting, parent(script, backends[1]) as searching:
        assert searching.stdout is not None
        eventually(lambda: shared_memory_of(starting.pid), "shared memory")
        orphans = bereave(starting, rng, 0.3)
        searching.stdout.readline()
        orphans += bereave(searching, rng, 3.0, with_its_group=seed == 0)
        eventually(lambda: not any(map(is_running, orphans)), "the orphans' end")
        assert shared_memory_of(starting.pid) == shared_memory_of(searching.pid) == []


def bereave(
    process: subprocess.Popen[str],
    rng: np.random.Generator,
    longest_s: float,
    *,
    with_its_group: bool = False,
) -> list[int]:
    """Kill a parent at a random moment; returns the children that it had."""
    nap(rng, longest_s)
    process.send_signal(signal.SIGSTOP)  # no further children
    orphans = children_of(process.pid)
    if with_its_group:
        os.killpg(process.pid, signal.SIGKILL)
    kill(process.pid)
    return orphans
