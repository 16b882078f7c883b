"""Random candidates of the searches over order × assignment, and what they are checked with."""

import numpy as np
import numpy.typing as npt
import pytest

from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.kernels.arrays import InstanceArrays
from dagsched_env.kernels.moves import solution
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.simulator import replay
from helpers import references

Order = npt.NDArray[np.int64]


def random_candidate(instance: Instance, rng: np.random.Generator) -> tuple[Order, Order]:
    """A random topological order and a random eligible processor for every task."""
    partial = references.Partial(instance, insertion=True)
    order = []
    while ready := partial.ready_tasks():
        order.append(int(rng.choice(ready)))
        partial.placed[order[-1]] = (0, 0.0, 0.0)
    processor = [int(rng.choice(np.flatnonzero(np.isfinite(row)))) for row in instance.comp]
    return np.array(order), np.array(processor)


def is_topological(instance: Instance, order: Order) -> bool:
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    edges = instance.edges
    complete = sorted(order.tolist()) == list(range(instance.n_tasks))
    return complete and bool((position[edges[:, 0]] < position[edges[:, 1]]).all())


def length(instance: Instance, order: Order, processor: Order, *, insertion: bool) -> float:
    actions = np.stack((order, processor[order]), axis=1)
    return replay(instance, actions, insertion=insertion).makespan


def medium_instance() -> Instance:
    """40 tasks whose optimum no lower bound reaches."""
    generator = TopcuogluGenerator(n_tasks=40, n_processors=4, ccr=1.0, beta=1.0)
    return generator(np.random.default_rng(5))


def assert_consistent(g: InstanceArrays, s: solution.Solution) -> None:
    """All is as in a schedule made from scratch; a sum has other rounding errors."""
    fresh = solution.solution(g, s.order, s.processor)
    assert s.load == pytest.approx(fresh.load, rel=1e-12)
    for ours, theirs in zip(s._replace(load=fresh.load), fresh, strict=True):
        assert np.array_equal(ours, theirs)
