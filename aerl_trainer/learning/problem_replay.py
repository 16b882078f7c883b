"""The replay of problems: those whose trees have taught most come back, to be searched anew.

A tree is worth most to the policy that grew it, so no tree is learned from twice: of a problem in
the replay another one is grown, by the policy of that time. The shortest makespan of all trees of a
problem is a member of its next rank group. The priority is the length of the gradient that its last
tree gave.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from aerl_trainer.config import ReplayConfig
from aerl_trainer.learning.packing import pack_instances, unpack_instances
from aerl_trainer.learning.replay.arrays import Arrays, read
from aerl_trainer.learning.replay.buffer import PrioritizedReplay
from aerl_trainer.learning.replay.stores import ItemStore
from aerl_trainer.tree.records import TreeGroup
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.instance import Instance

PROBLEM = "problem_"
"""Begins the names of the arrays of problems."""


@dataclass
class KnownProblem:
    """A problem that has been searched."""

    instance: Instance
    makespan: float
    """The shortest of all its trees so far (time)."""


class ProblemReplay(
    PrioritizedReplay[KnownProblem, Sequence[KnownProblem], tuple[KnownProblem, ...]]
):
    """Prioritised replay of problems; may be used from two threads."""

    def __init__(self, config: ReplayConfig) -> None:
        super().__init__(config, ItemStore(_pack, _unpack))

    def draw(self, rng: np.random.Generator) -> tuple[KnownProblem, tuple[int, int]] | None:
        """A problem to search again and its place, or None, where it is the turn of a new one."""
        comes_back = rng.random() < self.config.share
        if not comes_back or len(self) < self.config.min_size:
            return None
        batch = self.sample(1, rng, 0.0)
        return batch.content[0], (int(batch.slots[0]), int(batch.generations[0]))

    def learned(self, trees: Sequence[TreeGroup], lengths: npt.ArrayLike) -> None:
        """Take note of what trees have taught.

        Args:
            trees: that have been learned from.
            lengths: ``[trees]`` of their gradients.
        """
        places = np.empty((len(trees), 2), dtype=np.int64)
        for k, tree in enumerate(trees):
            shortest = min([tree.makespan, *tree.makespans.tolist()])
            if tree.place is None:
                places[k] = self.add(KnownProblem(tree.instance, shortest))
            else:
                places[k] = tree.place
                self._shorten(tree.place, shortest)
        self.update(places[:, 0], places[:, 1], lengths)

    def _shorten(self, place: tuple[int, int], makespan: float) -> None:
        """A problem that is still in its place has a tree with this makespan."""
        slots, generations = np.array([place]).T
        with self._lock:
            if self._ring.current(slots, generations).all():
                (problem,) = self._store.take(slots)
                problem.makespan = min(problem.makespan, makespan)


def _pack(problems: Sequence[KnownProblem]) -> Arrays:
    return {
        **pack_instances([problem.instance for problem in problems], PROBLEM),
        f"{PROBLEM}makespan": np.array([problem.makespan for problem in problems], np.float64),
    }


def _unpack(arrays: Arrays) -> list[KnownProblem]:
    instances = unpack_instances(arrays, PROBLEM)
    makespans = read(arrays, f"{PROBLEM}makespan", np.float64, (len(instances),))
    if not np.isfinite(makespans).all():
        raise FormatError(f"replay: array '{PROBLEM}makespan' holds a number that is not finite")
    return list(map(KnownProblem, instances, makespans.tolist()))
