"""The simulator of Spark in ArchieGertsman/spark-sched-sim, and its schedulers, for ``decima.py``.

Their model needs compiled libraries for sums only, which are written in plain PyTorch here. The
queries of hongzimao/decima-sim are read without unpickling.
"""

import gc
import os
import random
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from time import process_time
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
import tpch
import yaml

from dagsched_env.kernels.arrays import Floats, Ints

FAIR, DECIMA = "fair", "Decima"
NAMES = ("FIFO", FAIR, DECIMA, f"{DECIMA}, greedy")
"""Their schedulers; ``greedy`` takes the most probable actions."""


class Batch(dict[str, Any]):
    """Tensors by name, in place of PyTorch Geometric's."""

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def to(self, *_: object, **__: object) -> "Batch":
        """Itself: all is on the CPU."""
        return self


class Adjacency(NamedTuple):
    """In place of torch_sparse's matrix: entries of value 1."""

    row: torch.Tensor
    col: torch.Tensor

    def t(self) -> "Adjacency":
        return Adjacency(self.col, self.row)

    def matmul(self, values: torch.Tensor) -> torch.Tensor:
        """Its product with values of the shape ``[v, w]``."""
        return torch.zeros_like(values).index_add_(0, self.row, values[self.col])


def sums_of_segments(values: torch.Tensor, first: torch.Tensor) -> torch.Tensor:
    """Sums of the rows ``first[i]:first[i + 1]``, as torch_scatter's ``segment_csr`` has them."""
    lengths = first.diff()
    segment = torch.arange(len(lengths)).repeat_interleave(lengths)
    return values.new_zeros(len(lengths), *values.shape[1:]).index_add_(0, segment, values)


def mask(index: torch.Tensor, size: int) -> torch.Tensor:
    """``[size]``, true at an index."""
    return torch.zeros(size, dtype=torch.bool).index_fill_(0, index, True)


def stand_ins() -> dict[str, ModuleType]:
    """Modules that have what their model calls of the compiled libraries, by name."""

    def module(name: str, **has: object) -> ModuleType:
        made = ModuleType(name)
        vars(made).update(has)
        return made

    return {
        "torch_scatter": module("torch_scatter", segment_csr=sums_of_segments),
        "torch_sparse": module(
            "torch_sparse",
            SparseTensor=lambda row, col, **_: Adjacency(row, col),
            matmul=Adjacency.matmul,
        ),
        "torch_geometric": module(
            "torch_geometric",
            data=SimpleNamespace(Batch=Batch),
            utils=SimpleNamespace(
                index_to_mask=mask, mask_to_index=lambda chosen: chosen.nonzero().view(-1)
            ),
        ),
    }


@cache
def read_query(folder: Path, query: int) -> tuple[Floats, dict[int, dict[str, dict[int, Ints]]]]:
    """A query: adjacent stages, and of each stage how long tasks took: kind, executors → ms."""
    stages = {
        stage: {
            kind: {executors: np.array(times) for executors, times in runs.items()}
            for kind, runs in kinds.items()
        }
        for stage, kinds in tpch.recorded(folder / f"task_duration_{query}.npy").items()
    }
    return np.load(folder / f"adj_mat_{query}.npy", allow_pickle=False), stages


class Simulator:
    """Their simulator with their settings.

    It changes what ``import`` finds, and the working folder, where they look for recorded queries.

    Args:
        simulator: clone of spark-sched-sim.
        profiles: clone of decima-sim.
        folder: an empty one; the new working folder.

    Raises:
        SystemExit: one is no such clone; it says how to get it.
    """

    def __init__(self, simulator: Path, profiles: Path, folder: Path) -> None:
        queries = profiles.resolve() / "spark_env" / "tpch"
        self._clone = simulator.resolve()
        for needed, owner in (
            (self._clone / "spark_sched_sim", "ArchieGertsman/spark-sched-sim"),
            (queries / "100g", "hongzimao/decima-sim"),
        ):
            if not needed.is_dir():
                sys.exit(f"{needed} is missing: git clone https://github.com/{owner}, and name it")
        (folder / "data").mkdir()
        (folder / "data" / "tpch").symlink_to(queries)  # otherwise they download it
        os.chdir(folder)
        sys.modules.update(stand_ins())
        sys.path.insert(0, str(self._clone))
        self._schedulers = import_module("schedulers")
        self._utils: Any = import_module("schedulers.decima.utils")
        self._drawn = self._utils.sample
        self._environment = import_module("spark_sched_sim.spark_sched_sim").SparkSchedSimEnv
        sampler = import_module("spark_sched_sim.data_samplers.tpch").TPCHDataSampler

        def load(query: int, size: str) -> tuple[Floats, dict[int, dict[str, Any]]]:
            edges, stages = read_query(queries / size, int(query))
            return edges, {stage: dict(kinds) for stage, kinds in stages.items()}  # they change it

        sampler._load_query = staticmethod(load)
        self._settings = yaml.safe_load((self._clone / "config" / "decima_tpch.yaml").read_text())

    def scheduler(self, name: str, executors: int) -> Any:
        """One of theirs by name, a key of ``NAMES``; only the latest one works."""
        if name in ("FIFO", FAIR):
            return self._schedulers.RoundRobinScheduler(executors, dynamic_partition=name == FAIR)
        made = self._schedulers.make_scheduler(
            self._settings["agent"] | {"num_executors": executors}
        )
        weights = self._clone / "models" / "decima" / "model.pt"
        made.load_state_dict(torch.load(weights, weights_only=True))
        self._utils.sample = self._drawn if name == DECIMA else most_probable
        return made

    def run(self, scheduler: Any, executors: int, jobs: int, seed: int) -> dict[str, float]:
        """One stream of jobs to its end.

        Args:
            scheduler: theirs or ours.
            executors: of the cluster.
            jobs: that arrive.
            seed: of the jobs, and of actions that are drawn.

        Returns:
            Times from arrival to completion (``mean``, ``p95``, s), the end of the last job
            (``makespan``, s), and the time of a decision (``decision``, ms).
        """
        env = self._environment(
            self._settings["env"]
            | {"num_executors": executors, "job_arrival_cap": jobs}
            | {"data_sampler_cls": "TPCHDataSampler"}
        )
        if scheduler.env_wrapper_cls:
            env = scheduler.env_wrapper_cls(env)
        random.seed(seed)
        gc.collect()
        observation, _ = env.reset(seed=seed)
        ended, decisions, spent = False, 0, 0.0
        while not ended:
            begin = process_time()
            action, _ = scheduler.schedule(observation)
            spent += process_time() - begin
            decisions += 1
            observation, _, ended, _, _ = env.step(action)
        made = env.unwrapped
        took = np.array([job.t_completed - job.t_arrival for job in made.jobs.values()]) / 1000
        return {
            "mean": float(took.mean()),
            "p95": float(np.percentile(took, 95)),
            "makespan": float(made.wall_time) / 1000,
            "decision": 1000 * spent / decisions,
        }


def most_probable(logits: torch.Tensor) -> tuple[int, float]:
    """In place of their draw; the second is never used."""
    return int(logits.argmax()), 0.0
