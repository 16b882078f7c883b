"""Batches of action sequences, as a policy sees them that writes one action after the other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

__all__ = ["Evaluation", "SequencePolicy", "Sequences", "entropies", "log_probabilities"]


class Evaluation(NamedTuple):
    """What a policy says of B sequences of at most T actions, before each action."""

    logits: Tensor
    """``[B, T, A]``; those at t depend on the actions before t alone."""
    values: Tensor
    """``[B, T]`` expected sum of the rewards from t on."""


class SequencePolicy(Protocol):
    """A torch module that is called with what it sees of the sequences, and their actions."""

    def __call__(self, inputs: Mapping[str, Tensor], actions: Tensor, /) -> Evaluation:
        """Logits and values at each position, in one pass.

        Args:
            inputs: tensors ``[B, ...]``.
            actions: ``[B, T]``; the policy itself shifts them by one and begins with a token of
                its own, so that the first action has a probability like the others.
        """
        ...


@dataclass(frozen=True)
class Sequences:
    """B finished sequences of at most T actions; what is behind the end of one is ignored."""

    inputs: Mapping[str, Tensor]
    """What the policy was given, ``[B, ...]`` each."""
    actions: Tensor
    """``[B, T]`` int64."""
    mask: Tensor
    """``[B, T]`` bool: True from the first action to the last one."""
    rewards: Tensor
    """``[B, T]`` reward of each action."""
    log_probs: Tensor
    """``[B, T]`` of each action, when it was chosen."""
    values: Tensor
    """``[B, T]`` predicted before each action, when it was chosen."""

    def __len__(self) -> int:
        return int(self.actions.shape[0])

    @property
    def returns(self) -> Tensor:
        """``[B]`` sums of the rewards."""
        return torch.where(self.mask, self.rewards, 0.0).sum(dim=1)

    def take(self, rows: Tensor) -> "Sequences":
        """Some of the sequences."""
        return Sequences(
            {name: values[rows] for name, values in self.inputs.items()},
            *(
                values[rows]
                for values in (self.actions, self.mask, self.rewards, self.log_probs, self.values)
            ),
        )


def log_probabilities(logits: Tensor, actions: Tensor) -> Tensor:
    """``[B, T]`` log π(a_t | …) of the actions ``[B, T]`` under logits ``[B, T, A]``."""
    return torch.log_softmax(logits, dim=-1).gather(-1, actions.unsqueeze(-1)).squeeze(-1)


def entropies(logits: Tensor) -> Tensor:
    """``[B, T]`` entropy at each position, in nats; actions with logit −∞ count nothing."""
    log_p = torch.log_softmax(logits, dim=-1)
    return -(log_p.exp() * log_p.masked_fill(log_p.isinf(), 0.0)).sum(dim=-1)
