"""Rebuild sampled experiences as the network's inputs and targets."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from aerl_trainer.config import SearchConfig
from aerl_trainer.encoding.candidates import INSERTION
from aerl_trainer.encoding.context import EncodingContext, encoding_context
from aerl_trainer.encoding.states import (
    EncodedStates,
    Workspace,
    allocate_states,
    allocate_workspace,
    encode_state,
)
from aerl_trainer.encoding.static import StaticFeatures, static_features
from aerl_trainer.nn.batching import NetworkInputs, Rows, batch_graphs, batch_states
from aerl_trainer.nn.network import GraphTensors, StateTensors
from aerl_trainer.records import Experience
from dagsched_env.instance import Instance
from dagsched_env.kernels.arrays import StateArrays
from dagsched_env.kernels.jit import kernel
from dagsched_env.kernels.state.transitions import place, recompute_bounds, reset

__all__ = ["BatchBuilder", "TrainBatch"]

CACHED_INSTANCES = 4096


class TrainBatch(NamedTuple):
    """B states with targets; K candidates at most."""

    graphs: GraphTensors
    states: StateTensors
    prior_logits: Tensor  # [B, K] of the hand-made prior
    policy_target: Tensor  # [B, K] rows sum to 1, or to 0 where there is no target
    value_target: Tensor  # [B] in units of the value head
    elite: Tensor  # [B] weight of the trajectory among its siblings
    importance: Tensor  # [B] importance weights of the replay


class BatchBuilder:
    """Replays action prefixes and computes features exactly as the search does.

    Args:
        config: the candidates of the search.
        device: where the tensors go.
    """

    def __init__(self, config: SearchConfig, device: torch.device) -> None:
        self._config, self._device = config, device
        self._static: dict[str, StaticFeatures] = {}
        self._workspaces: dict[tuple[int, int], Workspace] = {}

    def build(
        self, experiences: Sequence[Experience], importance: npt.NDArray[np.float64]
    ) -> TrainBatch:
        """Inputs and targets of a sample; instances that occur twice are encoded once."""
        instances = list(dict.fromkeys(e.instance for e in experiences))
        index = {instance: i for i, instance in enumerate(instances)}
        encoded = allocate_states(len(experiences), self._config.max_children)
        targets = np.zeros_like(encoded.policy)
        values = np.zeros(len(experiences), dtype=np.float32)
        for row, experience in enumerate(experiences):
            self._encode(experience, encoded, row)
            _write_target(experience, encoded, row, targets[row])
            values[row] = self._value(experience, float(encoded.completion_makespan[row]))
        inputs = NetworkInputs.of(encoded, len(experiences))
        width = inputs.candidates.shape[1]
        rows = Rows.of([index[e.instance] for e in experiences], [i.comp.shape for i in instances])
        return TrainBatch(
            graphs=batch_graphs([self._features(i) for i in instances], self._device),
            states=batch_states(inputs, rows, self._device),
            prior_logits=self._tensor(encoded.prior_logits[:, :width]),
            policy_target=self._tensor(targets[:, :width]),
            value_target=self._tensor(values),
            elite=self._tensor(np.array([e.weight for e in experiences])),
            importance=self._tensor(importance),
        )

    def _encode(self, experience: Experience, encoded: EncodedStates, row: int) -> None:
        context = encoding_context(experience.instance)
        n, p = experience.instance.comp.shape
        if (n, p) not in self._workspaces:
            self._workspaces[n, p] = allocate_workspace(n, p)
        w = self._workspaces[n, p]
        replay_prefix(context, w.state, experience.actions, experience.depth)
        encode_state(context, w, w.state, encoded, row, self._config.min_prior, True)

    def _value(self, experience: Experience, completion_makespan: float) -> float:
        """Target of the value head: what the list completion is worse by, or the rank reward."""
        if self._config.value_target == "rank":
            return experience.reward
        gain = completion_makespan - experience.makespan
        return gain / encoding_context(experience.instance).rank_scale

    def _features(self, instance: Instance) -> StaticFeatures:
        key = instance.fingerprint
        if key not in self._static:
            if len(self._static) >= CACHED_INSTANCES:
                self._static.pop(next(iter(self._static)))
            self._static[key] = static_features(instance)
        return self._static[key]

    def _tensor(self, array: npt.NDArray[np.floating]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array, dtype=np.float32)).to(self._device)


@kernel
def replay_prefix(
    c: EncodingContext, s: StateArrays, actions: npt.NDArray[np.int32], depth: int
) -> None:
    """Make ``s`` the state after the first placements of a trajectory.

    Args:
        c: the problem.
        s: out.
        actions: ``[n, 2]`` pairs (task, processor).
        depth: how many of them to make.
    """
    reset(c.g, s)
    for i in range(depth):
        place(c.g, s, actions[i, 0], actions[i, 1], INSERTION, False)
    recompute_bounds(c.g, s)


def _write_target(
    experience: Experience, encoded: EncodedStates, row: int, target: npt.NDArray[np.float32]
) -> None:
    """Align a stored policy with the candidates of the rebuilt state; the rest is renormalised.

    A target whose actions are all below the prior's threshold stays empty.
    """
    count = int(encoded.n_candidates[row])
    position = {int(a): i for i, a in enumerate(encoded.candidates[row, :count])}
    for action, share in zip(experience.candidates.tolist(), experience.policy, strict=True):
        if action in position:
            target[position[action]] = share
    total = target.sum()
    if total > 0:
        target /= total
