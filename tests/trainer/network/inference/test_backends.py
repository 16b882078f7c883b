"""Which backend and which devices a pool uses, and what a run says of it."""

import json
import os
import signal
from pathlib import Path

import pytest
import torch

from aerl_trainer.config import ConfigError
from aerl_trainer.network.inference.metrics import BATCHES, LEAVES
from aerl_trainer.run.reporting import RunDirectory, read_metrics
from aerl_trainer.run.training import train
from aerl_trainer.runtime import backend_choice
from aerl_trainer.runtime.backend_choice import (
    HAND_OVER_S,
    Timings,
    choose_backend,
    predicted_rates,
    take_timings,
)
from aerl_trainer.runtime.devices import resolve_devices
from aerl_trainer.tree.records import SearchJob
from aerl_trainer.tree.tree import SIMS_DONE
from helpers.pools import OpenPool
from helpers.small_runs import eventually, problem, replaced, small_config

CONFIG = small_config(run={"actors": 2, "trees_in_flight": 1})
TWO_WORKERS = replaced(CONFIG, "inference", backend="server", devices=("cpu", "cpu"))

# -- the choice ----------------------------------------------------------------------------------


def test_one_actor_gains_nothing_from_a_server_as_fast_as_itself() -> None:
    same = Timings(search=1.0, inline=1.0, server=1.0, together=1.0)
    server, inline = predicted_rates(same, actors=1, workers=1, cores=8)
    assert inline == 0.5
    assert server == pytest.approx(1 / (2.0 + HAND_OVER_S))


@pytest.mark.parametrize(("actors", "cores", "rate"), [(2, 8, 1.0), (8, 2, 1.0), (8, 6, 3.0)])
def test_inline_no_more_actors_work_than_there_are_cores(
    actors: int, cores: int, rate: float
) -> None:
    timings = Timings(search=0.5, inline=1.5, server=9.0, together=9.0)
    assert predicted_rates(timings, actors=actors, workers=1, cores=cores)[1] == rate


def test_a_worker_beside_few_cores_gets_small_batches() -> None:
    """A pass over b mini-batches takes 0.5 + b / 2: dear unless all eight actors come in time."""
    timings = Timings(search=1.0, inline=1.0, server=1.0, together=4.5)
    server, inline = predicted_rates(timings, actors=8, workers=1, cores=2)
    assert inline == 1.0
    assert server == pytest.approx(2 / (2.0 + HAND_OVER_S)), "one core for them: one a pass"
    server, inline = predicted_rates(timings, actors=8, workers=1, cores=16)
    assert inline == 4.0
    assert server == pytest.approx(8 / (5.5 + HAND_OVER_S)), "all of them in every pass"


def test_batching_pays_where_a_pass_costs_the_same_for_all() -> None:
    """On one core the actors post three mini-batches in a pass of three seconds."""
    timings = Timings(search=1.0, inline=6.0, server=3.0, together=3.0)
    server, inline = predicted_rates(timings, actors=8, workers=1, cores=2)
    assert inline == pytest.approx(2 / 7)
    assert server == pytest.approx(2 / (1.0 + 3.0 / 3 + HAND_OVER_S)), "the cores are the limit"
    server, _ = predicted_rates(timings, actors=8, workers=1, cores=9)
    assert server == pytest.approx(8 / (4.0 + HAND_OVER_S)), "the worker is the limit"


def test_more_workers_have_fewer_actors_each() -> None:
    timings = Timings(search=1.0, inline=100.0, server=50.0, together=50.0)
    for workers, together in [(1, 7), (2, 4), (7, 1)]:
        server, _ = predicted_rates(timings, actors=7, workers=workers, cores=2)
        limits = 7 / (51 + HAND_OVER_S), 2 / (1 + 50 / together + HAND_OVER_S)
        assert server == pytest.approx(min(limits))


def test_six_actors_on_two_cores_do_without_a_server() -> None:
    """So it was measured; a worker with a full batch, which never comes, would be the faster."""
    timings = Timings(search=0.00022, inline=0.00028, server=0.00028, together=0.00088)
    server, inline = predicted_rates(timings, actors=6, workers=1, cores=2)
    assert inline > server


@pytest.mark.parametrize(("server_s", "expected"), [(0.001, "server"), (1.0, "inline")])
def test_the_faster_backend_is_chosen(
    monkeypatch: pytest.MonkeyPatch, server_s: float, expected: str
) -> None:
    timings = Timings(search=0.001, inline=0.01, server=server_s, together=server_s)
    monkeypatch.setattr(backend_choice, "take_timings", lambda *_: (timings, 10.0))
    chosen = choose_backend(CONFIG, 8)
    assert chosen.backend == expected
    assert chosen.reason.startswith(f"{expected}, by measurement: expects ")
    assert "leaves/s of server on cpu, " in chosen.reason
    assert "\n" not in chosen.reason


def test_timings_are_those_of_this_machine() -> None:
    timings, leaves = take_timings(CONFIG, 8, ["cpu"])
    assert all(0 < seconds < 1 for seconds in timings)
    assert 1 <= leaves <= CONFIG.search.batch_size


# -- devices -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gpus", "found"), [(0, ["cpu"]), (1, ["cuda:0"]), (2, ["cuda:0", "cuda:1"])]
)
def test_auto_takes_every_gpu_there_is(
    monkeypatch: pytest.MonkeyPatch, gpus: int, found: list[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpus > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: gpus)
    assert resolve_devices(["auto"]) == found
    assert resolve_devices(["cpu", "cpu"]) == ["cpu", "cpu"]
    if gpus:
        assert resolve_devices(["cuda", "cpu"]) == ["cuda:0", "cpu"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gpu", "inference.devices: 'gpu' is no torch device"),
        ("cuda:1", "inference.devices: no GPU 'cuda:1': there are cuda:0"),
    ],
)
def test_a_device_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(ConfigError, match=message) as caught:
        resolve_devices([name])
    assert "\n" not in str(caught.value)


def test_without_a_gpu_the_error_says_what_to_take(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ConfigError, match='there is none; take "cpu"'):
        resolve_devices(["cuda:0"])


# -- pools ---------------------------------------------------------------------------------------


def test_a_pool_measures_when_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    timings = Timings(search=0.001, inline=0.01, server=1.0, together=1.0)
    monkeypatch.setattr(backend_choice, "take_timings", lambda *_: (timings, 10.0))
    pool = OpenPool(CONFIG, 8, backend="auto", explore=False)
    try:
        assert pool.worker_pids() == []
        pool.submit(SearchJob(0, problem(), 0), 1.0)
        finished = eventually(lambda: pool.wait(1.0), "a finished tree")
        stats = pool.stats()
        assert stats.backend.startswith("inline, by measurement")
        assert stats.inference.total(LEAVES) == finished.report.simulations
        assert stats.inference.counts.shape[0] == 2, "a row for each actor"
    finally:
        pool.close()


def test_a_missing_device_is_named_before_anything_starts() -> None:
    config = replaced(CONFIG, "inference", devices=("cpu", "cuda:99"))
    with pytest.raises(ConfigError, match=r"inference\.devices: no GPU 'cuda:99'"):
        OpenPool(config, 8, backend="server", explore=False)


def test_no_more_workers_than_actors() -> None:
    config = replaced(CONFIG, "inference", devices=("cpu",) * 5)
    pool = OpenPool(replaced(config, "run", actors=1), 8, backend="server", explore=False)
    try:
        assert len(pool.worker_pids()) == 1
    finally:
        pool.close()


def test_the_death_of_a_worker_replaces_that_one_alone() -> None:
    config = replaced(TWO_WORKERS, "search", budget=2000)
    pool = OpenPool(config, 60, backend="server", explore=False)
    try:
        pool.submit(SearchJob(0, problem(n=60), 0), 1.0)
        tree = pool.tree(0)
        eventually(lambda: tree.counter(SIMS_DONE) > 50, "the search to be under way")
        actors, (kept, victim) = pool.actor_pids(), pool.worker_pids()
        os.kill(victim, signal.SIGKILL)
        finished = eventually(lambda: pool.wait(1.0), "a finished tree")
        assert finished.report.outcome == "complete"
        assert finished.report.simulations >= 2000
        assert pool.stats().restarts == 1
        assert pool.actor_pids() == actors
        assert pool.worker_pids()[0] == kept
        assert pool.worker_pids()[1] != victim
        pool.release(finished)
        before = pool.stats().inference.counts[1, BATCHES]
        pool.submit(SearchJob(1, problem(n=60, seed=1), 1), 1.0)
        eventually(lambda: pool.wait(1.0), "a finished tree")
        after = pool.stats().inference
        assert after.counts[1, BATCHES] > before, "the new worker works"
        assert after.total(LEAVES) >= 4000
    finally:
        pool.close()


# -- runs ----------------------------------------------------------------------------------------


def test_a_run_says_who_evaluates_and_how_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = RunDirectory(tmp_path)
    train(replaced(TWO_WORKERS, "run", max_steps=3), directory)
    assert "inference: server, as set" in capsys.readouterr().out
    assert json.loads(directory.system_file.read_text())["inference"] == "server, as set"
    rates = [r for r in read_metrics(directory.metrics_file) if r["kind"] == "rates"]
    assert rates
    found = rates[0]["inference"]
    assert 1 <= found["mean_batch"] <= 2 * CONFIG.search.batch_size
    assert 1 <= found["queue_depth"] <= 2
    assert found["latency_ms"] > 0
    assert found["staleness"] >= 0
    assert 0 < found["busy"] <= 1
    assert set(rates[0]["workers"]) <= {"0", "1"}
    assert all(set(worker) == set(found) for worker in rates[0]["workers"].values())
