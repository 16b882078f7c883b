"""Proximal policy optimisation for policies that write sequences of actions.

Schulman et al. 2017 (arXiv:1707.06347) with generalised advantages (Schulman et al. 2016,
arXiv:1506.02438), and the details of Stable-Baselines3: advantages normalised in each minibatch,
and an update that ends early when the policy has moved far. Beside it, self-imitation (Oh et al.
2018, arXiv:1806.05635) of sequences that turned out better than expected, and imitation of given
ones. It knows nothing of the problem: see ``sequences`` for what a policy is called with.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from aerl_trainer.checkpoint import Checkpoint, CheckpointError, take
from aerl_trainer.config.checks import require
from llvm_phase.sequences import Evaluation, Sequences, entropies, log_probabilities

__all__ = ["PPO", "ImitationReport", "PPOConfig", "PPOReport", "gae", "returns_to_go"]

KL_MARGIN = 1.5
"""An update ends where the divergence exceeds this multiple of its target."""


@dataclass(frozen=True)
class PPOConfig:
    """Settings of PPO."""

    learning_rate: float = 3e-4
    """Of Adam, > 0."""
    epochs: int = 4
    """Passes over the sequences of an update, ≥ 1."""
    batch_size: int = 48
    """Sequences in a minibatch, ≥ 1."""
    gamma: float = 1.0
    """Discount γ, in [0, 1]."""
    gae_lambda: float = 0.95
    """λ of the advantages, in [0, 1]."""
    clip: float = 0.2
    """ε > 0: probability ratios beyond 1 ± ε earn nothing."""
    entropy_coefficient: float = 0.01
    """Weight of the entropy, ≥ 0."""
    value_coefficient: float = 0.5
    """Weight of the critic's squared error, ≥ 0."""
    target_kl: float = 0.03
    """Divergence from the old policy that an update may reach, > 0."""
    gradient_clip: float = 0.5
    """Largest norm of a gradient, > 0."""

    def __post_init__(self) -> None:
        for name in ("learning_rate", "clip", "target_kl", "gradient_clip"):
            require(getattr(self, name) > 0, f"ppo.{name} must be positive")
        for name in ("epochs", "batch_size"):
            require(getattr(self, name) >= 1, f"ppo.{name} must be at least 1")
        for name in ("gamma", "gae_lambda"):
            require(0 <= getattr(self, name) <= 1, f"ppo.{name} must lie in [0, 1]")
        for name in ("entropy_coefficient", "value_coefficient"):
            require(getattr(self, name) >= 0, f"ppo.{name} must not be negative")


class PPOReport(NamedTuple):
    """Means over the minibatches of one update."""

    policy_loss: float
    value_loss: float
    entropy: float
    kl: float
    """Divergence of the new policy from the old one, estimated on the actions."""
    clipped: float
    """Share of the actions whose ratio was clipped."""
    explained_variance: float
    """Of the returns by the critic, before the update; 1 is perfect."""
    minibatches: int
    """Gradient steps; fewer than planned where the divergence has ended the update."""


class ImitationReport(NamedTuple):
    """One step of imitation."""

    loss: float
    """Mean −log π of the actions, weighted."""
    accuracy: float
    """Share of the actions that the policy holds most probable."""
    gains: Tensor
    """``[B]`` mean of (R − V)⁺ of each sequence: a priority for its replay."""


def gae(rewards: Tensor, values: Tensor, mask: Tensor, gamma: float, lam: float) -> Tensor:
    """Generalised advantages A_t = Σ_k (γλ)^k δ_{t+k}, δ_t = r_t + γ V_{t+1} − V_t.

    Nothing comes after the last action of a sequence: its V_{t+1} is 0.

    Args:
        rewards: ``[B, T]``.
        values: ``[B, T]`` V before each action.
        mask: ``[B, T]`` the actions of each sequence, which begins at 0.
        gamma: γ in [0, 1].
        lam: λ in [0, 1].

    Returns:
        ``[B, T]``, 0 outside of the mask.
    """
    advantages = torch.zeros_like(rewards)
    after = torch.zeros_like(rewards[:, 0])
    next_value = torch.zeros_like(after)
    for t in reversed(range(rewards.shape[1])):
        delta = rewards[:, t] + gamma * next_value - values[:, t]
        after = torch.where(mask[:, t], delta + gamma * lam * after, 0.0)
        next_value = torch.where(mask[:, t], values[:, t], 0.0)
        advantages[:, t] = after
    return advantages


def returns_to_go(rewards: Tensor, mask: Tensor, gamma: float) -> Tensor:
    """Discounted rewards from each action on: the advantages over V = 0 at λ = 1.

    Args:
        rewards: ``[B, T]``.
        mask: ``[B, T]`` the actions of each sequence.
        gamma: γ in [0, 1].

    Returns:
        ``[B, T]``, 0 outside of the mask.
    """
    return gae(rewards, torch.zeros_like(rewards), mask, gamma, 1.0)


class PPO:
    """The learner of a policy.

    Args:
        policy: a ``SequencePolicy``.
        config: its settings.
    """

    def __init__(self, policy: nn.Module, config: PPOConfig) -> None:
        self.policy, self.config = policy, config
        self._optimizer = torch.optim.Adam(policy.parameters(), lr=config.learning_rate, eps=1e-5)

    def update(self, sequences: Sequences, rng: np.random.Generator) -> PPOReport:
        """Learn from sequences that the policy has just sampled.

        Args:
            sequences: at least one.
            rng: source of the minibatches.
        """
        config = self.config
        advantages = gae(
            sequences.rewards, sequences.values, sequences.mask, config.gamma, config.gae_lambda
        )
        targets = advantages + sequences.values
        explained = _explained(sequences.values[sequences.mask], targets[sequences.mask])
        totals: list[tuple[float, ...]] = []
        for _ in range(config.epochs):
            order = torch.from_numpy(rng.permutation(len(sequences)))
            for rows in torch.split(order, config.batch_size):
                batch = sequences.take(rows)
                terms = self._losses(batch, advantages[rows], targets[rows])
                policy_loss, value_loss, entropy, kl, _ = terms
                totals.append(tuple(float(term.detach()) for term in terms))
                if float(kl.detach()) > KL_MARGIN * config.target_kl:
                    return _report(totals, explained)
                self._step(
                    policy_loss
                    + config.value_coefficient * value_loss
                    - config.entropy_coefficient * entropy
                )
        return _report(totals, explained)

    def imitate(
        self, sequences: Sequences, weights: Tensor, *, only_gains: bool = False
    ) -> ImitationReport:
        """One gradient step towards the actions of given sequences, and of the critic.

        Args:
            sequences: their ``log_probs`` and ``values`` are not used.
            weights: ``[B]`` of the sequences, ≥ 0.
            only_gains: self-imitation: each action weighs (R − V)⁺, and V learns from below; else
                all actions weigh the same, and V learns R.
        """
        mask = sequences.mask
        share = weights.unsqueeze(1) * mask / mask.sum()
        logits, values = self._evaluate(sequences)
        losses = -log_probabilities(logits, sequences.actions)
        surplus = returns_to_go(sequences.rewards, mask, self.config.gamma) - values
        gains = surplus.detach().clamp(min=0.0)
        factor = gains if only_gains else torch.ones_like(gains)
        squares = (surplus.clamp(min=0.0) if only_gains else surplus).square()
        loss = (share * factor * losses).sum()
        self._step(loss + self.config.value_coefficient * (share * squares).sum())
        right = (logits.argmax(dim=-1) == sequences.actions)[mask]
        means = (gains * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)
        return ImitationReport(float(loss.detach()), float(right.float().mean()), means)

    # -- checkpoints -----------------------------------------------------------------------------

    def tensors(self) -> dict[str, dict[str, Tensor]]:
        """Weights and moments, as groups of a checkpoint."""
        moments = {
            f"{number}.{key}": tensor
            for number, of_parameter in self._optimizer.state_dict()["state"].items()
            for key, tensor in of_parameter.items()
        }
        return {"policy": dict(self.policy.state_dict()), "optimizer": moments}

    def restore(self, saved: Checkpoint) -> None:
        """The inverse of ``tensors``.

        Raises:
            CheckpointError: a tensor is missing, or does not fit the policy.
        """
        weights = take(saved, "policy", self.policy.state_dict())
        moments: dict[int, dict[str, Any]] = {}
        if saved.tensors.get("optimizer"):
            like = {
                f"{number}.{key}": torch.zeros(()) if key == "step" else parameter
                for number, parameter in enumerate(self.policy.parameters())
                for key in ("step", "exp_avg", "exp_avg_sq")
            }
            for name, tensor in take(saved, "optimizer", like).items():
                number, key = name.split(".")
                if key == "exp_avg_sq" and (tensor < 0).any():
                    raise CheckpointError(f"tensor {name!r} of 'optimizer' holds negative squares")
                moments.setdefault(int(number), {})[key] = tensor
        self.policy.load_state_dict(weights)
        groups = self._optimizer.state_dict()["param_groups"]
        self._optimizer.load_state_dict({"state": moments, "param_groups": groups})

    # -- one minibatch ---------------------------------------------------------------------------

    def _evaluate(self, sequences: Sequences) -> Evaluation:
        result: Evaluation = self.policy(sequences.inputs, sequences.actions)
        return result

    def _losses(self, batch: Sequences, advantages: Tensor, targets: Tensor) -> tuple[Tensor, ...]:
        """Policy loss, value loss, entropy, divergence, share of clipped ratios."""
        mask, clip = batch.mask, self.config.clip
        logits, values = self._evaluate(batch)
        log_ratio = (log_probabilities(logits, batch.actions) - batch.log_probs)[mask]
        ratio, gain = log_ratio.exp(), _normalised(advantages[mask])
        bounded = ratio.clamp(1.0 - clip, 1.0 + clip)
        with torch.no_grad():
            kl = (ratio - 1.0 - log_ratio).mean()  # http://joschu.net/blog/kl-approx.html
            clipped = (ratio != bounded).float().mean()
        return (
            -torch.minimum(gain * ratio, gain * bounded).mean(),
            (values - targets)[mask].square().mean(),
            entropies(logits)[mask].mean(),
            kl,
            clipped,
        )

    def _step(self, loss: Tensor) -> None:
        self._optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.policy.parameters(), self.config.gradient_clip)
        self._optimizer.step()


def _normalised(values: Tensor) -> Tensor:
    """Mean 0 and deviation 1; a single value is left as it is."""
    if values.numel() < 2:
        return values
    return (values - values.mean()) / (values.std() + 1e-8)


def _explained(predicted: Tensor, actual: Tensor) -> float:
    variance = float(actual.var(correction=0))
    return 1.0 - float((actual - predicted).var(correction=0)) / variance if variance else 0.0


def _report(totals: list[tuple[float, ...]], explained: float) -> PPOReport:
    policy_loss, value_loss, entropy, kl, clipped = np.mean(totals, axis=0).tolist()
    return PPOReport(policy_loss, value_loss, entropy, kl, clipped, explained, len(totals))
