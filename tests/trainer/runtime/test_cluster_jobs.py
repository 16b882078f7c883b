"""Jobs and groups that node workers search and grade: as here, checked, bounded."""

import dataclasses
import socket
from collections.abc import Iterator

import numpy as np
import pytest

from aerl_trainer.config import Config
from aerl_trainer.learning.group_gradients import (
    GroupGrader,
    GroupGradient,
    GroupWork,
    ThreadedGradients,
)
from aerl_trainer.learning.rank_reward import rank_rewards
from aerl_trainer.learning.replay.arrays import Arrays
from aerl_trainer.network.evaluator import weight_count
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.runtime.cluster import parcels
from aerl_trainer.runtime.cluster.cluster_jobs import ClusterGradients, ClusterJobs, rooms
from aerl_trainer.runtime.cluster.fleet import Fleet
from aerl_trainer.runtime.cluster.ray_nodes import connected
from aerl_trainer.runtime.errors import FleetError
from aerl_trainer.runtime.harvest import Harvest, LocalJobs
from aerl_trainer.runtime.pool import LockstepPool
from aerl_trainer.tree.records import SearchJob
from dagsched_env.problem.errors import DAGSchedError
from helpers.node_sites import ThreadSite
from helpers.small_runs import eventually, lockstep_config, problem, small_config


def test_where_nobody_listens_there_is_no_cluster() -> None:
    pytest.importorskip("ray")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}", "127.0.0.1:x"):
        with pytest.raises(DAGSchedError, match="no Ray cluster at"), connected(address):
            pass


@pytest.fixture
def config() -> Config:
    return small_config(inference={"backend": "inline"}, learner={"network": False})


@pytest.fixture
def site(config: Config) -> Iterator[ThreadSite]:
    site = ThreadSite(config, 8, "a", "b")
    yield site
    site.close()


@pytest.fixture
def jobs(config: Config, site: ThreadSite) -> Iterator[ClusterJobs]:
    fleet = Fleet(site, rooms(config), stall_s=60.0)
    jobs = ClusterJobs(config, fleet, lambda weights: weights)
    yield jobs
    jobs.close()


def job_of(number: int, policy: FastPolicy | None = None) -> SearchJob:
    weights = (policy or FastPolicy()).weights
    return SearchJob(number, problem(seed=number), 100 + number, policy=weights)


@pytest.fixture(scope="module")
def harvest() -> tuple[SearchJob, Harvest]:
    """Of a job with a network, searched here."""
    return harvested(lockstep_config())


@pytest.fixture(scope="module")
def tree_harvest() -> tuple[SearchJob, Harvest]:
    """Of a job for the fast policy, searched here."""
    return harvested(lockstep_config(learner={"network": False}))


def harvested(config: Config) -> tuple[SearchJob, Harvest]:
    jobs = LocalJobs(config, LockstepPool(config))
    job = job_of(3)
    jobs.submit(job, 1.0)
    found = jobs.wait(0.0)
    jobs.close()
    assert found is not None
    return job, found


def same(one: object, other: object) -> bool:
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and np.array_equal(one, other)
    if dataclasses.is_dataclass(one) and type(one) is type(other):
        names = [field.name for field in dataclasses.fields(one) if field.name != "instance"]
        return all(same(getattr(one, name), getattr(other, name)) for name in names)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


# -- parcels -------------------------------------------------------------------------------------


def test_a_job_arrives_as_it_was_sent() -> None:
    job = job_of(5)
    back = parcels.unpack_job(parcels.pack_job(job))
    assert same(job, back)
    assert back.instance.fingerprint == job.instance.fingerprint
    assert (
        parcels.unpack_job(parcels.pack_job(dataclasses.replace(job, policy=None))).policy is None
    )


def test_a_harvest_arrives_as_it_was_sent(harvest: tuple[SearchJob, Harvest]) -> None:
    job, sent = harvest
    back = parcels.unpack_harvest(parcels.pack_harvest(sent), job, network=True)
    assert same(sent.experiences, back.experiences)
    assert sent.report == back.report
    assert back.group is None
    assert back.experiences[0].instance is job.instance


def test_a_tree_arrives_as_it_was_sent(tree_harvest: tuple[SearchJob, Harvest]) -> None:
    job, sent = tree_harvest
    back = parcels.unpack_harvest(parcels.pack_harvest(sent), job, network=False)
    assert sent.group is not None
    assert back.group is not None
    assert same(sent.group, back.group)
    assert sent.report == back.report
    assert back.group.instance is job.instance
    assert back.experiences == []


def spoiled(arrays: Arrays, key: str, place: int, value: float) -> Arrays:
    array = arrays[key].copy()
    array.flat[place] = value
    return {**arrays, key: array}


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("experience_makespan", 1.0, "is claimed to have"),
        ("experience_makespan", np.nan, "not finite"),
        ("experience_actions", 10**6, "out of range"),
        ("experience_visited", 10**6, "its lengths say"),
        ("experience_reward", np.inf, "not finite"),
        ("report", 200, "cannot be read"),
    ],
)
def test_a_harvest_that_cannot_be_is_refused(
    harvest: tuple[SearchJob, Harvest], key: str, value: float, message: str
) -> None:
    job, sent = harvest
    arrays = spoiled(parcels.pack_harvest(sent), key, 0, value)
    with pytest.raises(DAGSchedError, match=message):
        parcels.unpack_harvest(arrays, job, network=True)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("tree_makespan", 1.0, "is claimed to have"),
        ("tree_makespans", -1.0, "below the lower bound"),
        ("tree_makespans", np.nan, "not finite"),
        ("tree_actions", 10**6, "out of range"),
        ("tree_inclusion", 0.0, r"not in \(0, 1\]"),
        ("tree_inclusion", 1.5, r"not in \(0, 1\]"),
    ],
)
def test_a_tree_that_cannot_be_is_refused(
    tree_harvest: tuple[SearchJob, Harvest], key: str, value: float, message: str
) -> None:
    job, sent = tree_harvest
    arrays = spoiled(parcels.pack_harvest(sent), key, 0, value)
    with pytest.raises(DAGSchedError, match=message):
        parcels.unpack_harvest(arrays, job, network=False)


def test_a_schedule_with_its_tasks_in_an_impossible_order_is_refused(
    tree_harvest: tuple[SearchJob, Harvest],
) -> None:
    job, sent = tree_harvest
    arrays = parcels.pack_harvest(sent)
    actions = arrays["tree_actions"][::-1].copy()
    with pytest.raises(DAGSchedError, match="not legal"):
        parcels.unpack_harvest({**arrays, "tree_actions": actions}, job, network=False)


@pytest.mark.parametrize(
    ("field", "value"), [("best_makespan", -1.0), ("best_makespan", np.inf), ("simulations", -1)]
)
def test_a_report_with_a_number_out_of_range_is_refused(
    harvest: tuple[SearchJob, Harvest], field: str, value: float
) -> None:
    job, sent = harvest
    report = dataclasses.replace(sent.report, **{field: value})
    arrays = parcels.pack_harvest(sent._replace(report=report))
    with pytest.raises(DAGSchedError, match="report of a search"):
        parcels.unpack_harvest(arrays, job, network=True)


def test_what_is_no_array_is_refused(harvest: tuple[SearchJob, Harvest]) -> None:
    job, sent = harvest
    with pytest.raises(DAGSchedError, match="no array"):
        parcels.unpack_harvest({**parcels.pack_harvest(sent), "report": None}, job, network=True)  # type: ignore[dict-item]


def test_the_harvest_of_another_job_is_refused(harvest: tuple[SearchJob, Harvest]) -> None:
    job, sent = harvest
    with pytest.raises(DAGSchedError, match="is of job 3, not of 4"):
        parcels.unpack_harvest(
            parcels.pack_harvest(sent), dataclasses.replace(job, id=4), network=True
        )


@pytest.mark.parametrize("key", ["gradients", "spreads"])
def test_gradients_that_are_no_numbers_are_refused(key: str) -> None:
    arrays = parcels.pack_gradients(graded_here([GroupWork(problem(), 1)]))
    assert len(parcels.unpack_gradients(arrays, 1)) == 1
    with pytest.raises(DAGSchedError, match="out of range"):
        parcels.unpack_gradients(spoiled(arrays, key, 0, np.nan), 1)
    with pytest.raises(DAGSchedError, match="expected"):
        parcels.unpack_gradients(arrays, 2)


# -- jobs ----------------------------------------------------------------------------------------


def test_every_job_is_harvested_once(jobs: ClusterJobs, config: Config) -> None:
    eventually(lambda: jobs.free == 8, "two node workers with room for four each")
    sent = {number: job_of(number) for number in range(8)}
    for job in sent.values():
        jobs.submit(job, 1.0)
    assert jobs.free == 0
    found = [eventually(lambda: jobs.wait(1.0), "a harvest") for _ in sent]
    assert sorted(harvest.report.job_id for harvest in found) == sorted(sent)
    assert jobs.free == 8
    for harvest in found:
        job = sent[harvest.report.job_id]
        assert harvest.group is not None
        assert harvest.group.instance is job.instance
        report = harvest.report
        assert report.outcome == "exhausted" or report.simulations == config.search.budget
        assert harvest.experiences == []


def test_a_node_worker_that_is_lost_loses_no_job(jobs: ClusterJobs, site: ThreadSite) -> None:
    eventually(lambda: jobs.free == 8, "two node workers")
    for number in range(8):
        jobs.submit(job_of(number), 1.0)
    site.names.discard("a")
    site.handles[0].lose()
    found = [eventually(lambda: jobs.wait(1.0), "a harvest") for _ in range(8)]
    assert sorted(harvest.report.job_id for harvest in found) == list(range(8))
    stats = jobs.stats().cluster
    assert stats is not None
    assert (stats.nodes, stats.lost) == (1, 1)


def test_harvests_that_are_too_old_are_searched_again(config: Config, site: ThreadSite) -> None:
    config = dataclasses.replace(config, ray=dataclasses.replace(config.ray, staleness=1))
    jobs = ClusterJobs(config, Fleet(site, rooms(config), stall_s=60.0), lambda weights: weights)
    eventually(lambda: jobs.free > 0, "a node worker")
    jobs.submit(job_of(0), 1.0)
    for version in (1, 2):
        jobs.publish(np.zeros(weight_count(config.network), np.float32), version)
    eventually(lambda: not jobs._arrived.empty(), "the old harvest")
    assert jobs.wait(1.0) is None
    assert eventually(lambda: jobs.wait(1.0), "the new one").report.job_id == 0
    stats = jobs.stats().cluster
    assert stats is not None
    assert (stats.dropped, stats.largest_staleness) == (1, 0)
    jobs.close()


def test_harvests_that_cannot_be_are_searched_again_and_then_end_the_run(
    jobs: ClusterJobs, site: ThreadSite
) -> None:
    eventually(lambda: jobs.free == 8, "two node workers")
    for handle in site.handles:
        search = handle.worker.search
        handle.worker.search = (  # type: ignore[method-assign]
            lambda *arguments, search=search: spoiled(search(*arguments), "tree_makespan", 0, 1.0)
        )
    jobs.submit(job_of(0), 1.0)

    def until_refused() -> None:
        for _ in range(100):
            assert jobs.wait(1.0) is None

    with pytest.raises(FleetError, match="3 harvests of job 0 were not valid"):
        until_refused()
    stats = jobs.stats().cluster
    assert stats is not None
    assert stats.refused == 3


def test_a_problem_that_is_too_large_ends_the_run_with_its_error(jobs: ClusterJobs) -> None:
    eventually(lambda: jobs.free > 0, "a node worker")
    jobs.submit(SearchJob(0, problem(20), 1, policy=FastPolicy().weights), 1.0)
    with pytest.raises(DAGSchedError, match="20 tasks, but the searches have room for 8"):
        eventually(lambda: jobs.wait(1.0), "the error")


def test_the_driver_never_holds_more_than_it_should(config: Config, site: ThreadSite) -> None:
    config = dataclasses.replace(config, ray=dataclasses.replace(config.ray, unlearned=3))
    jobs = ClusterJobs(config, Fleet(site, rooms(config), stall_s=60.0), lambda weights: weights)
    eventually(lambda: jobs.free == 3, "room for three in all")
    for number in range(3):
        jobs.submit(job_of(number), 1.0)
    eventually(lambda: jobs._arrived.qsize() == 3, "all three")
    assert jobs.free == 0, "those that nobody has taken count"
    assert jobs.wait(1.0) is not None
    assert jobs.free == 1
    jobs.close()


# -- group gradients -----------------------------------------------------------------------------


def grader(config: Config) -> GroupGrader:
    return GroupGrader(config.policy.schedules, rank_rewards)


def graded_here(work: list[GroupWork]) -> list[GroupGradient]:
    return [grader(small_config())(FastPolicy(), item) for item in work]


def test_groups_are_graded_as_here_to_the_bit(config: Config, site: ThreadSite) -> None:
    work = [GroupWork(problem(seed=i), i) for i in range(7)]
    here = ThreadedGradients(grader(config), 1)
    expected = here(FastPolicy(), work)
    fleet = Fleet(site, rooms(config), stall_s=60.0)
    there = ClusterGradients(fleet, here)
    assert same(there(FastPolicy(), work), expected), "while nobody is there yet, or later"
    eventually(lambda: fleet.room("gradients") == 2, "two node workers")
    assert same(there(FastPolicy(), work), expected)
    site.names.discard("a")
    site.handles[0].lose()
    assert same(there(FastPolicy(), work), expected)
    site.names.clear()
    site.handles[1].lose()
    assert same(there(FastPolicy(), work), expected), "nobody is there any more"
    fleet.close()


def test_gradients_say_what_has_ended_the_fleet(config: Config, site: ThreadSite) -> None:
    fleet = Fleet(site, rooms(config), stall_s=60.0)
    fleet.error = FleetError("they keep dying")
    there = ClusterGradients(fleet, ThreadedGradients(grader(config), 1))
    with pytest.raises(FleetError, match="they keep dying"):
        there(FastPolicy(), [GroupWork(problem(), 1)])
    fleet.close()


def test_what_a_harvest_is_made_of_is_what_a_run_here_learns_from() -> None:
    config = lockstep_config()
    jobs = LocalJobs(config, LockstepPool(config))
    job = job_of(1)
    jobs.submit(job, 1.0)
    found = jobs.wait(0.0)
    assert found is not None
    assert found.group is None
    assert min(e.makespan for e in found.experiences) == found.report.best_makespan
    assert len(found.experiences) == config.search.min_trajectories
    assert jobs.wait(0.0) is None
    jobs.close()
