"""Operators of a genetic algorithm on pairs of a topological order and an assignment.

Order-preserving crossover: Wang, Siegel, Roychowdhury, Maciejewski 1997, "Task matching and
scheduling in heterogeneous computing environments using a genetic-algorithm-based approach", JPDC
47(1), sec. 4.3; here both strings are cut at the same task.
"""

from typing import NamedTuple

import numpy as np

from dagsched_env.kernels.arrays import Floats, InstanceArrays, Ints, Placements
from dagsched_env.kernels.graph.eligibility import Eligibility
from dagsched_env.kernels.graph.release import has_release
from dagsched_env.kernels.graph.resources import has_resources
from dagsched_env.kernels.jit import borrowing, kernel
from dagsched_env.kernels.schedules.decoding import decode_into, justify

MUTATIONS = 4
"""Largest number of mutated tasks of a child; each has the probability ``MUTATION_RATE``."""

MUTATION_RATE = 0.25

CROSSOVER_RATE = 0.5

UNIFORMS_PER_CHILD = 4 + 4 * MUTATIONS
"""Random numbers of a child: a tournament of two, crossover or not, cut, and its mutations."""


class Population(NamedTuple):
    """``k`` individuals; changed in place."""

    order: Ints  # [k, n] a topological order each
    processor: Ints  # [k, n]
    makespan: Floats  # [k]


@kernel
def breed(
    g: InstanceArrays,
    back: InstanceArrays,
    c: Eligibility,
    population: Population,
    first: int,
    scratch: Placements,
    uniforms: Floats,
    insertion: bool,
) -> None:
    """Make children and replace mothers by them.

    The individuals from ``first`` on, cyclically, are the mothers; a tournament selects the father.
    With resources, and without release dates, a child is justified to both sides. A child replaces
    its mother unless its makespan is longer, so the population keeps its variety (Mahfoud 1995,
    "Niching methods for genetic algorithms": deterministic crowding).

    Args:
        back: the problem with time running backwards.
        c: its eligible processors.
        population: changed.
        first: index of the first mother.
        uniforms: ``[children, UNIFORMS_PER_CHILD]`` random numbers in [0, 1), a row per child.
        insertion: decode with idle gaps in use; False appends only.
    """
    k, n = population.order.shape
    order, processor = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    for i in range(uniforms.shape[0]):
        u = uniforms[i]
        mother = (first + i) % k
        father, rival = int(u[0] * k), int(u[1] * k)
        if population.makespan[rival] < population.makespan[father]:
            father = rival
        cut = int(u[3] * (n + 1)) if u[2] < CROSSOVER_RATE else n
        cross(population, mother, father, cut, order, processor)
        for at in range(4, UNIFORMS_PER_CHILD, 4):
            if u[at] < MUTATION_RATE:
                mutate(g, c, order, processor, u[at + 1 : at + 4])
        makespan = decode_into(g, scratch, order, processor, insertion)
        if has_resources(g) and insertion and not has_release(g):
            makespan = justify(g, back, scratch, order, processor)
        if makespan <= population.makespan[mother]:
            population.order[mother] = order
            population.processor[mother] = processor
            population.makespan[mother] = makespan


@kernel
def cross(
    parents: Population, mother: int, father: int, cut: int, order: Ints, processor: Ints
) -> None:
    """A child: the first tasks of the mother as she has them, the others as the father has them.

    Args:
        parents: the population.
        mother: index of the mother.
        father: index of the father.
        cut: number of tasks from the mother.
        order: ``[n]`` receives the order of the child; topological, as those of the parents.
        processor: ``[n]`` receives its assignment.
    """
    taken = np.zeros(order.shape[0], dtype=np.bool_)
    for i in range(cut):
        t = parents.order[mother, i]
        taken[t] = True
        order[i] = t
        processor[t] = parents.processor[mother, t]
    at = cut
    for t in parents.order[father]:
        if not taken[t]:
            order[at] = t
            processor[t] = parents.processor[father, t]
            at += 1


@borrowing
def mutate(
    g: InstanceArrays, c: Eligibility, order: Ints, processor: Ints, uniforms: Floats
) -> None:
    """Give one task another processor, or another position between predecessors and successors.

    Args:
        c: its eligible processors.
        order: ``[n]`` a topological order; changed.
        processor: ``[n]`` an assignment; changed.
        uniforms: ``[3]`` random numbers in [0, 1): the position of the task in the order, processor
            or position, and its new value.
    """
    n = order.shape[0]
    at = int(uniforms[0] * n)
    t = order[at]
    if uniforms[1] < 0.5:
        processor[t] = c.eligible[t, int(uniforms[2] * c.n_eligible[t])]
        return
    first, last = open_places(g, order, at)
    shift(order, at, first + int(uniforms[2] * (last - first + 1)))


@borrowing
def open_places(g: InstanceArrays, order: Ints, at: int) -> tuple[int, int]:
    """The first and the last position to which the task at a position could move alone."""
    t, first, last = order[at], at, at
    while first > 0 and not _is_edge(g, order[first - 1], t):
        first -= 1
    while last < order.shape[0] - 1 and not _is_edge(g, t, order[last + 1]):
        last += 1
    return first, last


@borrowing
def shift(order: Ints, at: int, target: int) -> None:
    """Move the task at a position to another one; those in between move by one."""
    t = order[at]
    step = 1 if target > at else -1
    while at != target:
        order[at] = order[at + step]
        at += step
    order[target] = t


@borrowing
def _is_edge(g: InstanceArrays, source: int, target: int) -> bool:
    return source in g.pred_task[g.pred_ptr[target] : g.pred_ptr[target + 1]]
