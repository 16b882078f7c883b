"""Rebuild sampled experiences as the network's inputs and targets."""

from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from aerl_trainer.config import SearchConfig
from aerl_trainer.learning.records import Experience
from aerl_trainer.network.batching import (
    HostBuffers,
    NetworkInputs,
    Rows,
    batch_graphs,
    pack_states,
)
from aerl_trainer.network.network import GraphTensors, StateTensors
from aerl_trainer.policy.encoding.candidates import INSERTION
from aerl_trainer.policy.encoding.context import EncodingContext, encoding_context
from aerl_trainer.policy.encoding.states import (
    EncodedStates,
    Workspace,
    allocate_states,
    allocate_workspace,
    encode_state,
)
from aerl_trainer.policy.encoding.static import StaticFeatures, static_features
from dagsched_env.kernels.arrays import StateArrays, allocate_state
from dagsched_env.kernels.jit import borrowing, inlined
from dagsched_env.kernels.state.transitions import place, reset
from dagsched_env.problem.instance import Instance


class Targets(NamedTuple):
    """Of S states with at most K candidates each, in the order of the candidates."""

    visits: npt.NDArray[np.float32]  # [S, K] rows sum to 1, or to 0 where there is no target
    consistent: npt.NDArray[np.bool_]  # [S, K] rows without any have no target


class TrainBatch(NamedTuple):
    """All states of T trajectories, S together, with targets; K candidates at most."""

    graphs: GraphTensors
    states: StateTensors
    mask: Tensor  # [S, K] True where there is a candidate
    prior_logits: Tensor  # [S, K] of the prior; any number where there is no candidate
    visits: Tensor  # [S, K] the search's policy; rows sum to 1, or to 0 where it has not been
    consistent: Tensor  # [S, K] True for the actions to be imitated
    value_target: Tensor  # [S] in units of the value head
    elite: Tensor  # [S] weight of the trajectory among its siblings
    importance: Tensor  # [S] importance weight of the trajectory
    first: npt.NDArray[np.int64]  # [T] the first state of each trajectory


class BatchBuilder:
    """Replays trajectories and computes features exactly as the search does.

    Args:
        config: the candidates of the search.
        device: where the tensors go.
    """

    def __init__(self, config: SearchConfig, device: torch.device) -> None:
        self._config, self._device = config, device
        self._buffers = HostBuffers(device)
        self._static: WeakKeyDictionary[Instance, StaticFeatures] = WeakKeyDictionary()
        self._workspaces: dict[tuple[int, int, int], tuple[Workspace, StateArrays]] = {}
        self._encoded = allocate_states(0, config.max_children, 0)

    def build(
        self, experiences: Sequence[Experience], importance: npt.NDArray[np.float64]
    ) -> TrainBatch:
        """Inputs and targets of all states of a sample; instances that repeat are encoded once.

        Args:
            experiences: the sample.
            importance: its importance weights.

        Returns:
            A batch that is valid until the next call.
        """
        instances = list(dict.fromkeys(e.instance for e in experiences))
        index = {instance: i for i, instance in enumerate(instances)}
        lengths = np.array([e.actions.shape[0] for e in experiences])
        count = int(lengths.sum())
        encoded, targets = self._encode(experiences, lengths)
        inputs = NetworkInputs.of(encoded, count)
        width = int(inputs.n_candidates.max())
        graph = np.repeat([index[e.instance] for e in experiences], lengths)
        rows = Rows.of(graph, [i.comp.shape for i in instances])

        def of_trajectories(values: npt.ArrayLike) -> Tensor:
            return self._tensor(np.repeat(np.asarray(values, dtype=np.float32), lengths))

        return TrainBatch(
            graphs=batch_graphs([self._features(i) for i in instances], self._device),
            states=pack_states([inputs], rows, self._buffers),
            mask=self._tensor(np.arange(width) < inputs.n_candidates[:, None]),
            prior_logits=self._tensor(encoded.prior_logits[:count, :width]),
            visits=self._tensor(targets.visits[:, :width]),
            consistent=self._tensor(targets.consistent[:, :width]),
            value_target=self._tensor(self._values(experiences, lengths, encoded)),
            elite=of_trajectories([e.weight for e in experiences]),
            importance=of_trajectories(importance),
            first=np.cumsum(lengths) - lengths,
        )

    def _encode(
        self, experiences: Sequence[Experience], lengths: npt.NDArray[np.int64]
    ) -> tuple[EncodedStates, Targets]:
        count, width = int(lengths.sum()), self._config.max_children
        tasks = max(e.instance.n_tasks for e in experiences)
        room, most = self._encoded.status.shape
        if room < count or most < tasks:
            self._encoded = allocate_states(max(room, 2 * count), width, max(most, tasks))
        targets = Targets(
            np.zeros((count, width), dtype=np.float32), np.zeros((count, width), dtype=np.bool_)
        )
        first = 0
        for experience, length in zip(experiences, lengths.tolist(), strict=True):
            workspace, schedule = self._workspace(experience.instance.shape)
            encode_trajectory(
                encoding_context(experience.instance),
                workspace,
                schedule,
                experience.actions,
                experience.visited,
                experience.candidates,
                experience.policy,
                experience.imitated_from,
                self._config.min_prior,
                self._config.prior != "none",
                first,
                self._encoded,
                targets,
            )
            first += length
        return self._encoded, targets

    def _values(
        self,
        experiences: Sequence[Experience],
        lengths: npt.NDArray[np.int64],
        encoded: EncodedStates,
    ) -> npt.NDArray[np.float32]:
        """Targets of the value head: what list completions are worse by, or the rank rewards."""
        if self._config.value_target == "rank":
            return np.repeat(np.array([e.reward for e in experiences], dtype=np.float32), lengths)
        scale = np.array([encoding_context(e.instance).rank_scale for e in experiences])
        makespan = np.repeat([e.makespan for e in experiences], lengths)
        gain = encoded.completion_makespan[: makespan.shape[0]] - makespan
        values: npt.NDArray[np.float32] = (gain / np.repeat(scale, lengths)).astype(np.float32)
        return values

    def _workspace(self, shape: tuple[int, int, int]) -> tuple[Workspace, StateArrays]:
        if shape not in self._workspaces:
            self._workspaces[shape] = allocate_workspace(*shape), allocate_state(*shape)
        return self._workspaces[shape]

    def _features(self, instance: Instance) -> StaticFeatures:
        """Computed once as long as the replay holds the instance."""
        if instance not in self._static:
            self._static[instance] = static_features(instance)
        return self._static[instance]

    def _tensor(self, array: npt.NDArray[np.floating] | npt.NDArray[np.bool_]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)


@borrowing
def encode_trajectory(
    c: EncodingContext,
    w: Workspace,
    schedule: StateArrays,
    actions: npt.NDArray[np.int32],
    visited: npt.NDArray[np.int32],
    candidates: npt.NDArray[np.int32],
    policy: npt.NDArray[np.float32],
    imitated_from: int,
    min_prior: float,
    prior: bool,
    first: int,
    states: EncodedStates,
    targets: Targets,
) -> None:
    """Write the n states of a trajectory, from the empty schedule on, with their targets.

    Args:
        schedule: out: the complete schedule.
        actions: of an ``Experience``, as are the next four.
        min_prior: as of ``encode_state``, as is the next.
        first: row of the empty schedule.
        states: out: n rows, as ``encode_state`` writes them.
        targets: out: the same rows; they are zero before.
    """
    reset(c.g, schedule)
    for d in range(actions.shape[0]):
        place(c.g, schedule, actions[d, 0], actions[d, 1], INSERTION, False)
    reset(c.g, w.state)
    done, completed = 0, False
    for d in range(actions.shape[0]):
        row, task = first + d, actions[d, 0]
        encode_state(c, w, w.state, states, row, min_prior, prior, True, completed)
        if d < visited.shape[0]:
            _write_visits(states, row, candidates, policy, done, visited[d], targets.visits[row])
            done += visited[d]
        if d >= imitated_from:
            _mark_consistent(w, schedule, states, row, targets.consistent[row])
        place(c.g, w.state, task, actions[d, 1], INSERTION, True)
        # The list completion takes the other tasks in the same order. Where it has placed this one
        # just so, the places that it gave to them are still free, and still the best.
        completed = _same_place(w.state, w.completion, task)


@borrowing
def _write_visits(
    states: EncodedStates,
    row: int,
    candidates: npt.NDArray[np.int32],
    policy: npt.NDArray[np.float32],
    begin: int,
    count: int,
    target: npt.NDArray[np.float32],
) -> None:
    """Align a stored policy with the candidates of the rebuilt state; the rest is renormalised.

    A target whose actions are all below the prior's threshold stays empty.
    """
    total = np.float32(0.0)
    for i in range(states.n_candidates[row]):
        for k in range(begin, begin + count):
            if candidates[k] == states.candidates[row, i]:
                target[i] = policy[k]
                total += policy[k]
    if total > 0.0:
        for i in range(states.n_candidates[row]):
            target[i] /= total


@borrowing
def _mark_consistent(
    w: Workspace,
    schedule: StateArrays,
    states: EncodedStates,
    row: int,
    consistent: npt.NDArray[np.bool_],
) -> None:
    """Mark the candidates that place a task as the schedule does: same processor, same start.

    Any sequence of such actions ends in this schedule. The order among independent tasks, which is
    arbitrary, thus does not matter.
    """
    p = schedule.slot_count.shape[0]
    for i in range(states.n_candidates[row]):
        task, processor = states.candidates[row, i] // p, states.candidates[row, i] % p
        start = w.starts[w.positions[i]]
        same = schedule.processor[task] == processor and schedule.start[task] == start
        consistent[i] = same


@inlined
def _same_place(a: StateArrays, b: StateArrays, task: int) -> bool:
    return bool(a.processor[task] == b.processor[task] and a.start[task] == b.start[task])
