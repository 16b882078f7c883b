"""Partial schedules of many problems in lockstep, and the pairs among which the decoder chooses.

The pairs of a state and their features are those of the fast policy (``policy.scoring``): a
placement costs no more than what it changes. The kernels go through all schedules of one problem.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aerl_trainer.policy.context import PolicyContext, policy_context
from aerl_trainer.policy.rollout import take
from aerl_trainer.policy.scoring import begin, describe, short_list
from aerl_trainer.policy.weights import N_FEATURES
from aerl_trainer.policy.workspace import PolicyWorkspace, allocate_policy
from dagsched_env.kernels.arrays import MAKESPAN, N_READY, Floats, Ints, StateArrays
from dagsched_env.kernels.jit import borrowing, embedded
from dagsched_env.kernels.state.transitions import clear
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule

NO_ACTION = -1
"""In place of an action, behind the end of a schedule."""

Float32s = npt.NDArray[np.float32]


class Pairs(NamedTuple):
    """The legal (task, processor) pairs of M states, at most K of each, best prior first."""

    x: Float32s  # [M, K, N_FEATURES]; arbitrary behind the end of a list, as are the next two
    tasks: Ints  # [M, K]
    processors: Ints  # [M, K]
    counts: Ints  # [M] length of the list; 0 where a schedule is complete
    problem: Ints  # [M] whose state it is


class Lanes:
    """S empty schedules of each of B problems, which grow by one task at a time.

    Args:
        problems: B of them.
        starts: S ≥ 1.
        width: K, most pairs of a state.
    """

    def __init__(self, problems: Sequence[Instance], starts: int, width: int) -> None:
        self._problems = problems
        self._contexts = [_listing(instance, width) for instance in problems]
        size = (len(problems), starts)
        self._x = np.zeros((*size, width, N_FEATURES), dtype=np.float32)
        self._tasks = np.zeros((*size, width), dtype=np.int64)
        self._processors = np.zeros((*size, width), dtype=np.int64)
        self._counts = np.zeros(size, dtype=np.int64)
        self._lanes = [self._workspace(b, width) for b in range(len(problems))]
        for f, lanes, counts in zip(self._contexts, self._lanes, self._counts, strict=True):
            _begin_lanes(f, lanes, counts)

    @property
    def active(self) -> Ints:
        """The problems whose schedules are not complete."""
        return np.flatnonzero(self._counts[:, 0])

    @property
    def makespans(self) -> Floats:
        """``[B, S]`` so far (time)."""
        return np.stack([lanes.state.totals[:, MAKESPAN] for lanes in self._lanes])

    def pairs(self, active: Ints) -> Pairs:
        """What there is to choose from in all states of some problems; a copy."""
        starts, width = self._tasks.shape[1:]
        return Pairs(
            x=self._x[active].reshape(-1, width, N_FEATURES),
            tasks=self._tasks[active].reshape(-1, width),
            processors=self._processors[active].reshape(-1, width),
            counts=self._counts[active].reshape(-1),
            problem=np.repeat(active, starts),
        )

    def place(self, active: Ints, chosen: Ints) -> Ints:
        """Place one pair in each state of some problems.

        Args:
            active: A problems, whose schedules are not complete.
            chosen: ``[A, S]`` places in the lists of pairs.

        Returns:
            ``[A, S]`` the actions, ``task * p + processor``.
        """
        actions = np.empty_like(chosen)
        for row, b in enumerate(active):
            lanes = self._lanes[b]
            _advance(self._contexts[b], lanes, chosen[row], self._counts[b], actions[row])
        return actions

    def schedule(self, b: int, start: int) -> Schedule:
        """A complete schedule."""
        s = self._lanes[b].state
        return Schedule(s.processor[start], s.start[start], s.finish[start], algorithm="reinforce")

    def _workspace(self, b: int, width: int) -> PolicyWorkspace:
        """With a leading axis of schedules; what ``pairs`` returns is a part of larger arrays."""
        one, starts = allocate_policy(*self._problems[b].shape, width), self._counts.shape[1]
        many = PolicyWorkspace(
            StateArrays(*_stacked(one.state, starts)), *_stacked(one[1:], starts)
        )
        return many._replace(x=self._x[b], tasks=self._tasks[b], processors=self._processors[b])


def replayed(problems: Sequence[Instance], actions: Ints, width: int) -> tuple[Pairs, Ints]:
    """All states of schedules, but for the complete ones, with the pairs that were chosen in them.

    Args:
        problems: B of them.
        actions: ``[B, S, T]`` of the first n steps of each; the rest is not read.
        width: K, most pairs of a state.

    Returns:
        Pairs of M = Σ S·n states, by problem, schedule and step; and ``[M]`` places of the actions
        in their lists, −1 where one is not listed.
    """
    starts = actions.shape[1]
    sizes = [starts * instance.n_tasks for instance in problems]
    ends = np.cumsum(sizes)
    pairs = Pairs(
        x=np.zeros((ends[-1], width, N_FEATURES), dtype=np.float32),
        tasks=np.zeros((ends[-1], width), dtype=np.int64),
        processors=np.zeros((ends[-1], width), dtype=np.int64),
        counts=np.zeros(ends[-1], dtype=np.int64),
        problem=np.repeat(np.arange(len(problems)), sizes),
    )
    chosen = np.full(ends[-1], -1)
    for b, instance in enumerate(problems):
        f, n = _listing(instance, width), instance.n_tasks
        rows = slice(ends[b] - sizes[b], ends[b])
        taken = np.ascontiguousarray(actions[b, :, :n])
        _replay(
            f,
            allocate_policy(*instance.shape, width),
            taken,
            pairs.x[rows],
            pairs.tasks[rows],
            pairs.processors[rows],
            pairs.counts[rows],
            chosen[rows],
        )
    return pairs, chosen


def _listing(instance: Instance, width: int) -> PolicyContext:
    """The context of an instance, with another length of its lists."""
    return policy_context(instance)._replace(listed=width)


def _stacked(arrays: Sequence[Any], count: int) -> list[npt.NDArray[Any]]:
    """Zeros of the same shapes with another axis before them."""
    return [np.zeros((count, *array.shape), dtype=array.dtype) for array in arrays]


# -- kernels -------------------------------------------------------------------------------------


@borrowing
def _begin_lanes(f: PolicyContext, lanes: PolicyWorkspace, counts: Ints) -> None:
    """Empty all schedules of a problem, and list the pairs of their first states.

    Args:
        lanes: work spaces with a leading axis.
        counts: ``[S]`` out: the pairs that are listed.
    """
    for i in range(counts.shape[0]):
        w = _lane(lanes, i)
        clear(f.c.g, w.state)
        begin(f, w, w.state)
        counts[i] = _look(f, w)


@borrowing
def _advance(
    f: PolicyContext, lanes: PolicyWorkspace, chosen: Ints, counts: Ints, actions: Ints
) -> None:
    """Place a pair in each schedule of a problem, and list the pairs of the next states.

    Args:
        lanes: work spaces with a leading axis.
        chosen: ``[S]`` places in the lists of pairs.
        counts: ``[S]`` out: the pairs that are listed then; 0 where a schedule is complete.
        actions: ``[S]`` out: ``task * p + processor``.
    """
    for i in range(counts.shape[0]):
        w = _lane(lanes, i)
        actions[i] = w.actions[chosen[i]]
        take(f, w, w.state, w.tasks[chosen[i]], w.processors[chosen[i]])
        counts[i] = _look(f, w)


@borrowing
def _replay(
    f: PolicyContext,
    w: PolicyWorkspace,
    actions: Ints,
    x: Float32s,
    tasks: Ints,
    processors: Ints,
    counts: Ints,
    chosen: Ints,
) -> None:
    """List the pairs of all states of some schedules of a problem.

    Args:
        actions: ``[S, n]``.
        x: ``[S * n, K, N_FEATURES]`` out, and so on as in ``Pairs``.
        tasks: out.
        processors: out.
        counts: out.
        chosen: ``[S * n]`` out: places of the actions, left as they are where one is not listed.
    """
    p, row = f.c.g.comp.shape[1], 0
    for k in range(actions.shape[0]):
        clear(f.c.g, w.state)
        begin(f, w, w.state)
        for i in range(actions.shape[1]):
            counts[row] = _look(f, w)
            for j in range(counts[row]):
                tasks[row, j], processors[row, j] = w.tasks[j], w.processors[j]
                for feature in range(x.shape[2]):
                    x[row, j, feature] = w.x[j, feature]
                if w.actions[j] == actions[k, i]:
                    chosen[row] = j
            take(f, w, w.state, actions[k, i] // p, actions[k, i] % p)
            row += 1


@embedded
def _look(f: PolicyContext, w: PolicyWorkspace) -> int:
    """List the pairs of a state with their features; how many there are."""
    if w.state.counts[N_READY] == 0:
        return 0
    count = short_list(f, w, w.state)
    describe(f, w, w.state, count)
    return count


@borrowing
def _lane(lanes: PolicyWorkspace, i: int) -> PolicyWorkspace:
    """The work space of one schedule: row i of every array."""
    s = lanes.state
    return PolicyWorkspace(
        state=StateArrays(
            processor=s.processor[i],
            sequence=s.sequence[i],
            start=s.start[i],
            finish=s.finish[i],
            slot_start=s.slot_start[i],
            slot_finish=s.slot_finish[i],
            slot_load=s.slot_load[i],
            slot_count=s.slot_count[i],
            missing=s.missing[i],
            ready=s.ready[i],
            ready_index=s.ready_index[i],
            bound=s.bound[i],
            touched=s.touched[i],
            counts=s.counts[i],
            totals=s.totals[i],
        ),
        order=lanes.order[i],
        first=lanes.first[i],
        available=lanes.available[i],
        arrival=lanes.arrival[i],
        start=lanes.start[i],
        finish=lanes.finish[i],
        total=lanes.total[i],
        gap=lanes.gap[i],
        beside=lanes.beside[i],
        least_start=lanes.least_start[i],
        least_finish=lanes.least_finish[i],
        next_finish=lanes.next_finish[i],
        least_total=lanes.least_total[i],
        next_total=lanes.next_total[i],
        stale=lanes.stale[i],
        placed_data=lanes.placed_data[i],
        near=lanes.near[i],
        opened=lanes.opened[i],
        load=lanes.load[i],
        crowd=lanes.crowd[i],
        known=lanes.known[i],
        least_known=lanes.least_known[i],
        gain=lanes.gain[i],
        next_gain=lanes.next_gain[i],
        actions=lanes.actions[i],
        tasks=lanes.tasks[i],
        processors=lanes.processors[i],
        delays=lanes.delays[i],
        values=lanes.values[i],
        logits=lanes.logits[i],
        x=lanes.x[i],
        hidden=lanes.hidden[i],
        parts=lanes.parts[i],
        credit=lanes.credit[i],
        slopes=lanes.slopes[i],
        no_gradient=lanes.no_gradient[i],
    )
