"""What a run records of its search: the rates of each stretch of a session."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from aerl_trainer.config import Config
from aerl_trainer.run import observers
from aerl_trainer.run.observers import FIRST_S, RATE_WINDOW_S, RunObserver
from aerl_trainer.run.reporting import RunDirectory, read_metrics
from aerl_trainer.runtime.pool import no_pool
from aerl_trainer.tree.records import SearchReport
from dagsched_env.kernels.arrays import Ints


@dataclass
class Counters:
    """What the jobs of a session add up to, in a run of one actor."""

    simulations: int
    finished: int = 0
    forgotten: int = 0
    by_actor: Ints = field(default_factory=lambda: np.zeros(1, dtype=np.int64))


def tree(number: int) -> SearchReport:
    return SearchReport(number, 9, (9,), ((0, 9),), 9, 9, 1.0, False, "complete", 0.1)


def test_rates_are_those_of_stretches_within_one_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The processes start before the first tree, and a later session counts from what it found."""
    now = 100.0
    monkeypatch.setattr(observers.time, "monotonic", lambda: now)
    directory = RunDirectory(tmp_path / "run")
    directory.make_folders()
    for session, done in enumerate((0, 50_000)):
        with RunObserver(Config(), directory, no_pool) as observer:
            observer.resume(step=3, time_s=60.0 * session, level=0)
            moments = [
                (5.0, 1000),  # the first tree: nothing is known yet
                (FIRST_S / 2, 100),
                (FIRST_S / 2, 200),
                (RATE_WINDOW_S / 2, 1000),
                (RATE_WINDOW_S / 2, 2000),
                (2.0, 800),  # what is left at the end
            ]
            for i, (seconds, simulations) in enumerate(moments):
                now += seconds
                done += simulations
                observer.searched(tree(i), 3, Counters(done))
            observer.ended()
            observer.ended()
    records = read_metrics(directory.metrics_file)
    rates = [record["simulations_per_s"] for record in records if record["kind"] == "rates"]
    one = [300 / FIRST_S, 3000 / RATE_WINDOW_S, 400.0]
    assert rates == pytest.approx(one * 2)
