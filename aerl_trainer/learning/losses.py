"""The training loss: the search's policy, imitation, value regression, entropy."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from aerl_trainer.config import LearnerConfig
from aerl_trainer.learning.batches import TrainBatch


class Losses(NamedTuple):
    """Scalars, but for ``errors [S]``, the unweighted error of each state."""

    total: Tensor
    policy: Tensor
    value: Tensor
    entropy: Tensor
    errors: Tensor


def compute_losses(
    logits: Tensor, prediction: Tensor, batch: TrainBatch, config: LearnerConfig
) -> Losses:
    """Loss of one batch, importance weighted.

    The policy term is the divergence from the search's policy plus ``-log`` of the probability of
    the consistent actions together, both weighted by the elite weight K·w of the trajectory. The
    divergence differs from the cross-entropy by a constant, and so, unlike it, is a fair priority:
    like the other part it is 0 when the policy is right.

    Args:
        logits: ``[N]`` of the network, without the prior's: those of a state side by side.
        prediction: ``[S]`` of the value head.
        batch: targets and weights.
        config: coefficients.
    """
    mask, target = batch.mask, batch.visits
    padded = torch.zeros_like(batch.prior_logits).masked_scatter(mask, logits)
    total_logits = (padded + batch.prior_logits).masked_fill(~mask, -torch.inf)
    log_policy = torch.log_softmax(total_logits, dim=1)
    finite = log_policy.masked_fill(~mask, 0.0)
    divergence = (torch.special.xlogy(target, target) - target * finite).sum(dim=1)
    imitated = batch.consistent.any(dim=1)
    log_share = log_policy[imitated].masked_fill(~batch.consistent[imitated], -torch.inf)
    imitation = torch.zeros_like(prediction).masked_scatter(imitated, -log_share.logsumexp(dim=1))
    policy_error = batch.elite * (divergence + imitation)
    value_error = functional.huber_loss(
        prediction, batch.value_target, reduction="none", delta=VALUE_DELTA
    )
    entropy = -(finite.exp() * finite).sum(dim=1).mean()
    policy = (batch.importance * policy_error).mean()
    value = (batch.importance * value_error).mean()
    return Losses(
        total=policy + config.value_coefficient * value - config.entropy_coefficient * entropy,
        policy=policy,
        value=value,
        entropy=entropy,
        errors=(policy_error + config.value_coefficient * value_error).detach(),
    )


VALUE_DELTA = 0.1
"""Where the value loss turns from quadratic to linear, in units of the rank scale."""
