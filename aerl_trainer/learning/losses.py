"""The training loss: divergence from the search's policy, value regression, entropy."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from aerl_trainer.config import LearnerConfig
from aerl_trainer.learning.batches import TrainBatch

__all__ = ["Losses", "compute_losses"]


class Losses(NamedTuple):
    """Scalars, but for ``priority [B]``, the unweighted error of each sample."""

    total: Tensor
    policy: Tensor
    value: Tensor
    entropy: Tensor
    priority: Tensor


def compute_losses(
    logits: Tensor, prediction: Tensor, batch: TrainBatch, config: LearnerConfig
) -> Losses:
    """Loss of one batch, importance weighted.

    The policy term is the divergence from the target weighted by the elite weight K·w of the
    trajectory. The divergence differs from the cross-entropy by a constant, and so, unlike it,
    is a fair priority: 0 when the policy is right.

    Args:
        logits: ``[B, K]`` of the network, without the prior's.
        prediction: ``[B]`` of the value head.
        batch: targets and weights.
        config: coefficients.
    """
    mask = batch.states.mask
    total_logits = (logits + batch.prior_logits).masked_fill(~mask, -torch.inf)
    log_policy = torch.log_softmax(total_logits, dim=1).masked_fill(~mask, 0.0)
    target = batch.policy_target
    divergence = (torch.special.xlogy(target, target) - target * log_policy).sum(dim=1)
    policy_error = batch.elite * divergence
    value_error = functional.huber_loss(
        prediction, batch.value_target, reduction="none", delta=VALUE_DELTA
    )
    entropy = -(log_policy.exp() * log_policy * mask).sum(dim=1).mean()
    policy = (batch.importance * policy_error).mean()
    value = (batch.importance * value_error).mean()
    return Losses(
        total=policy + config.value_coefficient * value - config.entropy_coefficient * entropy,
        policy=policy,
        value=value,
        entropy=entropy,
        priority=(policy_error + config.value_coefficient * value_error).detach(),
    )


VALUE_DELTA = 0.1
"""Where the value loss turns from quadratic to linear, in units of the rank scale."""
