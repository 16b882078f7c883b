"""The table at the end of a run: what the policy and its rivals make of programs never seen."""

import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from aerl_trainer.config import seeding
from llvm_phase.compiler import Compiler
from llvm_phase.passes import O3
from llvm_phase.policy import PassPolicy
from llvm_phase.rollouts import Rollout, sample
from llvm_phase.search import greedy, random_search
from llvm_phase.settings import Settings
from llvm_phase.tasks import Task

__all__ = ["Row", "evaluate", "geometric_mean", "print_table"]

LEAST = 1e-3
"""Returns count as at least this in a geometric mean."""

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Row:
    """One contestant on all programs."""

    name: str
    returns: tuple[float, ...]
    """Of each program; −Oz = 1."""
    steps: float
    """Passes run, mean over the programs."""

    @property
    def value(self) -> float:
        """Geometric mean of the returns."""
        return geometric_mean(np.array(self.returns))


def geometric_mean(values: Floats) -> float:
    """Of numbers, which count as at least ``LEAST``."""
    return float(np.exp(np.log(np.maximum(values, LEAST)).mean()))


def evaluate(
    settings: Settings,
    policy: PassPolicy,
    compiler: Compiler,
    passes: tuple[str, ...],
    tasks: list[Task],
    first: int,
) -> list[Row]:
    """The rows of the table.

    Random search and the samples see the best state on the way; all others count at their end.

    Args:
        settings: of the run.
        policy: trained.
        compiler: runs the passes.
        passes: names of the actions.
        tasks: the held-out programs.
        first: row of the first of them in the table of the policy.
    """
    draws = torch.Generator().manual_seed(settings.seed)
    rows = [*range(first, first + len(tasks))]
    one = sample(policy, compiler, tasks, rows, passes, None)
    k = settings.k
    many = sample(policy, compiler, tasks * k, rows * k, passes, draws)
    found = [greedy(compiler, task, passes, settings.horizon) for task in tasks]
    # Each step tries all passes, and so does the one that finds none to take.
    tried = [len(passes) * min(len(f.actions) + 1, settings.horizon) for f in found]
    timed, equal = [], []
    for task in tasks:
        timed.append(_random(settings, compiler, task, passes, settings.random_seconds, None))
        equal.append(_random(settings, compiler, task, passes, None, k * settings.horizon))
    return [
        Row("−Oz", tuple(task.value_of(task.oz) for task in tasks), 1),
        Row("−O3", tuple(_o3(compiler, task) for task in tasks), 1),
        Row("greedy", tuple(f.value for f in found), _mean(tried)),
        Row(
            f"random {settings.random_seconds:g} s",
            tuple(value for value, _ in timed),
            _mean([steps for _, steps in timed]),
        ),
        Row(
            f"random {k} × {settings.horizon}",
            tuple(value for value, _ in equal),
            _mean([steps for _, steps in equal]),
        ),
        Row("PPO greedy", tuple(one.values), _length(one)),
        Row("PPO sampled", tuple(many.values.reshape(k, -1).mean(axis=0)), _length(many)),
        Row(f"PPO best of {k}", tuple(many.best.reshape(k, -1).max(axis=0)), k * _length(many)),
    ]


def _o3(compiler: Compiler, task: Task) -> float:
    """Return of −O3; 0 where it is lost, since the program stays as it was."""
    (after,) = compiler.apply_many([(task.initial, O3)])
    return 0.0 if after is None else task.value(after)


def _random(
    settings: Settings,
    compiler: Compiler,
    task: Task,
    passes: tuple[str, ...],
    seconds: float | None,
    most: int | None,
) -> tuple[float, int]:
    """Best return and passes of random search, for a time or a number of passes."""
    start, counters = time.process_time(), compiler.counters
    cpu, taken = counters.cpu_s, 0

    def going(steps: int) -> bool:
        nonlocal taken
        taken = steps
        if most is not None:
            return steps < most
        return time.process_time() - start + counters.cpu_s - cpu < (seconds or 0.0)

    kind = "timed" if most is None else "equal"
    rng = seeding.generator(settings.seed, "random", kind, task.name)
    return random_search(compiler, task, passes, settings.horizon, rng, going).value, taken


def _length(rollout: Rollout) -> float:
    return float(rollout.sequences.mask.sum(dim=1).float().mean())


def _mean(values: list[int]) -> float:
    return float(np.mean(values))


def print_table(rows: list[Row], console: Console) -> None:
    """Geometric mean, least and largest return of each row, the best mean in bold."""
    table = Table(box=SIMPLE_HEAD, show_edge=False)
    table.add_column("held-out programs")
    for name in ("return", "least", "largest", "passes"):
        table.add_column(name, justify="right")
    best = max(row.value for row in rows)
    for row in rows:
        cells = (f"{v:.4f}" for v in (row.value, min(row.returns), max(row.returns)))
        style = "bold" if row.value == best else None
        table.add_row(row.name, *cells, f"{row.steps:.0f}", style=style)
    console.print(table)
