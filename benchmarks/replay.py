"""A cycle of prioritised replay beside cpprb and beside plain numpy.

    python benchmarks/replay.py [--capacity 1000000] [--seconds 1] [--rounds 5]

A cycle stores 16 transitions, samples 256 with their contents and importance weights (β = 0.4,
divided by the largest of the buffer), and writes 256 new priorities (α = 0.6). The buffers are
full. A transition has two observations of 17 numbers, an action of 6, a reward and a flag, all
float32. The 16 transitions come one at a time, as from a single environment, or in one call, as
from a vector environment.

All contenders are measured in turn; of each the fastest round counts. The plain numpy reference
keeps the priorities in one array and sums it up for each sample. cpprb is compared if it is
installed (``pip install cpprb``).
"""

import argparse
import importlib.util
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from timing import best_in_turn

from aerl_trainer.config import ReplayConfig
from aerl_trainer.learning.replay import PrioritizedReplay, RowStore

COLUMNS: dict[str, tuple[int, ...]] = {
    "observation": (17,),
    "action": (6,),
    "reward": (1,),
    "next_observation": (17,),
    "done": (1,),
}
ADDED, SAMPLED = 16, 256
ALPHA, BETA = 0.6, 0.4
CHUNK = 1000
"""Rows added and priorities written at a time while a buffer is filled."""

Rows = Mapping[str, npt.NDArray[np.float32]]
Cycle = Callable[[], Any]


def draw_rows(count: int, rng: np.random.Generator) -> Rows:
    """Random transitions."""
    return {name: rng.random((count, *shape), dtype=np.float32) for name, shape in COLUMNS.items()}


class Ours:
    """``aerl_trainer.learning.replay`` with rows."""

    def __init__(self, capacity: int, kind: Literal["proportional", "rank"] = "proportional"):
        config = ReplayConfig(
            capacity=capacity, min_size=1, kind=kind, alpha=ALPHA, normalise="buffer"
        )
        columns = {name: (shape, np.float32) for name, shape in COLUMNS.items()}
        self.replay = PrioritizedReplay(config, RowStore(capacity, columns))
        self.add, self.add_many = self.replay.add, self.replay.add_many
        self.rng = np.random.default_rng(0)

    def learn(self, losses: npt.NDArray[np.float64]) -> object:
        """Sample as many transitions as there are losses, then write these."""
        batch = self.replay.sample(losses.shape[0], self.rng, BETA)
        self.replay.update(batch.slots, batch.generations, losses)
        # The columns are views of rows; the other contenders return columns without gaps.
        return {name: np.ascontiguousarray(column) for name, column in batch.content.items()}


class Cpprb:
    """``cpprb.PrioritizedReplayBuffer``."""

    def __init__(self, capacity: int) -> None:
        from cpprb import PrioritizedReplayBuffer

        columns = {name: {"shape": shape, "dtype": np.float32} for name, shape in COLUMNS.items()}
        self.replay = PrioritizedReplayBuffer(capacity, columns, alpha=ALPHA)

    def add(self, row: Rows) -> None:
        """Store one transition."""
        self.replay.add(**row)

    add_many = add

    def learn(self, losses: npt.NDArray[np.float64]) -> object:
        """As above."""
        batch = self.replay.sample(losses.shape[0], beta=BETA)
        self.replay.update_priorities(batch["indexes"], losses)
        return batch


class Plain:
    """Arrays and nothing else."""

    def __init__(self, capacity: int) -> None:
        self.columns = {
            name: np.zeros((capacity, *shape), np.float32) for name, shape in COLUMNS.items()
        }
        self.priorities = np.zeros(capacity)
        self.position, self.count, self.highest = 0, 0, 1.0
        self.rng = np.random.default_rng(0)

    def add_many(self, rows: Rows) -> None:
        """Store several transitions."""
        count = next(iter(rows.values())).shape[0]
        slots = (self.position + np.arange(count)) % self.priorities.shape[0]
        for name, column in self.columns.items():
            column[slots] = rows[name]
        self.priorities[slots] = self.highest
        self.position = (self.position + count) % self.priorities.shape[0]
        self.count = min(self.count + count, self.priorities.shape[0])

    def add(self, row: Rows) -> None:
        """Store one transition."""
        self.add_many({name: entry[None] for name, entry in row.items()})

    def learn(self, losses: npt.NDArray[np.float64]) -> object:
        """As above."""
        size = losses.shape[0]
        stored = self.priorities[: self.count]
        ends = np.cumsum(stored)
        targets = (np.arange(size) + self.rng.random(size)) * (ends[-1] / size)
        slots = np.minimum(np.searchsorted(ends, targets, side="right"), self.count - 1)
        weights = (stored[slots] / stored.min()) ** -BETA
        batch = {name: column[slots] for name, column in self.columns.items()}
        self.priorities[slots] = (losses + 1e-6) ** ALPHA
        self.highest = max(self.highest, float(self.priorities[slots].max()))
        return batch, weights


def fill(contender: Any, capacity: int) -> None:
    """Fill a buffer and give most transitions a priority of their own."""
    rng = np.random.default_rng(1)
    rows = draw_rows(CHUNK, rng)
    for start in range(0, capacity, CHUNK):
        contender.add_many({n: column[: capacity - start] for n, column in rows.items()})
        if not isinstance(contender, Plain):
            contender.learn(rng.exponential(size=CHUNK))
    if isinstance(contender, Plain):  # a thousand samples would take long, and change nothing
        contender.priorities[:] = rng.exponential(size=capacity) ** ALPHA


def cycles(contender: Any) -> tuple[Cycle, Cycle]:
    """The cycle with single transitions, and that with all in one call."""
    rng = np.random.default_rng(2)
    rows = draw_rows(ADDED, rng)
    single = [{name: column[i] for name, column in rows.items()} for i in range(ADDED)]
    losses = rng.exponential(size=SAMPLED)

    def one_by_one() -> None:
        for row in single:
            contender.add(row)
        contender.learn(losses)

    def at_once() -> None:
        contender.add_many(rows)
        contender.learn(losses)

    return one_by_one, at_once


def rate(cycle: Cycle, seconds: float) -> float:
    """Cycles a second."""
    cycle()
    done, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        cycle()
        done += 1
    return done / (time.perf_counter() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--capacity", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    capacity = arguments.capacity
    contenders: dict[str, Any] = {
        "proportional": Ours(capacity),
        "rank": Ours(capacity, "rank"),
        "plain numpy": Plain(capacity),
    }
    if importlib.util.find_spec("cpprb"):
        contenders["cpprb"] = Cpprb(capacity)
    for contender in contenders.values():
        fill(contender, capacity)
    both = [cycle for contender in contenders.values() for cycle in cycles(contender)]
    rates = best_in_turn(
        [lambda cycle=cycle: rate(cycle, arguments.seconds) for cycle in both], arguments.rounds
    )
    base = np.array(rates[:2])
    print("                cycles per second        proportional / this one")
    print("                one by one    at once    one by one    at once")
    for name, found in zip(contenders, np.reshape(rates, (-1, 2)), strict=True):
        ratio = base / found
        print(f"{name:14s}  {found[0]:10.0f} {found[1]:10.0f} {ratio[0]:13.2f} {ratio[1]:10.2f}")
    if "cpprb" not in contenders:
        print("cpprb is not installed: not measured")


if __name__ == "__main__":
    main()
