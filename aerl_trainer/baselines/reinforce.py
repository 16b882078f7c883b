"""REINFORCE for policies that write their solution as a sequence of actions; for any problem.

A step draws sequences from the policy without gradient, and recomputes their log-probabilities in
one batched, teacher-forced pass: ∇J = E[(L(π) − b(s)) ∇ log p(π | s)] (Williams 1992), where L is
the cost of the sequence π and b a baseline of the problem s. Two baselines:

- ``GreedyRollout``: the cost of the greedy sequence of a frozen copy of the policy (Kool, van Hoof,
  Welling 2019, arXiv:1803.08475, algorithm 1)
- ``SharedBaseline``: the mean cost of several sequences of the same problem, each with another
  first action (POMO: Kwon et al. 2020, arXiv:2010.16011, equation 4)
"""

import contextlib
import copy
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import torch
from torch import Tensor, nn

from aerl_trainer.checkpoint import Checkpoint, CheckpointError, take
from aerl_trainer.config.stored import stored
from aerl_trainer.learning.adam_state import load_moments, moments
from dagsched_env.problem.errors import DAGSchedError

__all__ = [
    "Baseline",
    "GreedyRollout",
    "Reinforce",
    "Rollouts",
    "SequencePolicy",
    "SharedBaseline",
    "StepReport",
    "greedy_costs",
    "paired_t_test",
]

SIGNIFICANCE = 0.05
"""Of the test by which the frozen copy is replaced: section 4 of Kool et al."""
DECAY = 0.8
"""Of the moving mean that is the baseline during the warm-up."""

Problems = TypeVar("Problems", contravariant=True)
"""A batch of problems: whatever the policy understands."""


class Rollouts(NamedTuple):
    """S sequences of T actions for each of B problems."""

    actions: Tensor
    """int64 ``[B, S, T]``."""
    costs: Tensor
    """Floats ``[B, S]``; lower is better."""


class SequencePolicy(Protocol[Problems]):
    """What is trained here; also a ``torch.nn.Module``.

    ``encode`` stands apart so that its work is done once a step: ``rollouts`` and
    ``log_probabilities`` are given the same encoding.
    """

    def encode(self, problems: Problems) -> Any:
        """All that the decoder needs to know of the problems, with gradient."""

    def rollouts(self, encoded: Any, starts: int, *, generator: torch.Generator | None) -> Rollouts:
        """Write ``starts`` sequences for each problem; called without gradient.

        Args:
            encoded: of ``encode``.
            starts: S; what tells the sequences of a problem apart is up to the policy.
            generator: draws the actions; None takes the most probable ones.
        """

    def log_probabilities(self, encoded: Any, actions: Tensor) -> Tensor:
        """``[B, S]``: log p of each sequence, 0 for actions that were not chosen; with gradient.

        Args:
            encoded: of ``encode``.
            actions: of ``rollouts``.
        """


class Baseline(Protocol[Problems]):
    """The cost that is expected of a problem; independent of the action that it is set against."""

    def costs(self, problems: Problems, rollouts: Rollouts) -> Tensor:
        """``[B, 1]`` or ``[B, S]``; called without gradient."""

    def after_epoch(self, policy: nn.Module) -> bool:
        """To be called at the end of each epoch; whether a frozen copy was replaced."""

    def state(self) -> Checkpoint:
        """What ``restore`` needs."""

    def restore(self, saved: Checkpoint) -> None:
        """The inverse of ``state``."""


class SharedBaseline(Generic[Problems]):
    """The mean over the S sequences of a problem, S ≥ 2; it has no state."""

    def costs(self, problems: Problems, rollouts: Rollouts) -> Tensor:
        """``[B, 1]``.

        Raises:
            DAGSchedError: there is one sequence a problem, which is no better than its own mean.
        """
        if rollouts.costs.shape[1] < 2:
            raise DAGSchedError("a shared baseline needs two starts or more: set starts")
        return rollouts.costs.mean(dim=1, keepdim=True)

    def after_epoch(self, policy: nn.Module) -> bool:
        """Nothing is to be done."""
        return False

    def state(self) -> Checkpoint:
        """Empty."""
        return Checkpoint({}, {}, {})

    def restore(self, saved: Checkpoint) -> None:
        """Nothing is to be done."""


class GreedyRollout(Generic[Problems]):
    """What a frozen copy of the policy reaches greedily; it is replaced when the policy is better.

    At the end of an epoch policy and copy are compared on a validation set; when the copy is
    replaced, the next set is drawn, so that no copy is chosen for the problems it is judged on.
    In the first epochs the copy is as bad as the policy, and a moving mean of the costs takes its
    place: with weight 1 in the first epoch, then less by 1 / ``warm_up`` an epoch.

    Args:
        policy: its present weights are the first copy.
        draw: batches of problems for the validation set of a number; the same for the same number.
        test: ``"t"`` asks for a one-sided paired t-test at ``SIGNIFICANCE``, ``"means"`` for a
            lower mean.
        warm_up: number of epochs, ≥ 0.

    Raises:
        DAGSchedError: ``test`` is another word, or ``warm_up`` is negative.
    """

    def __init__(
        self,
        policy: nn.Module,
        draw: Callable[[int], Sequence[Problems]],
        *,
        test: str = "t",
        warm_up: int = 1,
    ) -> None:
        if test not in ("t", "means"):
            raise DAGSchedError(f"the test of the baseline is {test!r}: choose 't' or 'means'")
        if warm_up < 0:
            raise DAGSchedError(f"warm_up is {warm_up}: it must not be negative")
        self._draw, self._test, self._warm_up = draw, test, warm_up
        self._epochs = self._replaced = 0
        self._mean: float | None = None
        self._freeze(policy)

    @property
    def weight(self) -> float:
        """Of the frozen copy against the moving mean, in [0, 1]."""
        return min(1.0, self._epochs / self._warm_up) if self._warm_up else 1.0

    def costs(self, problems: Problems, rollouts: Rollouts) -> Tensor:
        """``[B, 1]``."""
        batch_mean = float(rollouts.costs.mean())
        if self._mean is None:
            self._mean = batch_mean
        self._mean = DECAY * self._mean + (1 - DECAY) * batch_mean
        warm = rollouts.costs.new_full((rollouts.costs.shape[0], 1), self._mean)
        if self.weight == 0.0:
            return warm  # the copy's rollout would be thrown away
        greedy = _greedy(self.frozen, problems)[:, None]
        return self.weight * greedy + (1.0 - self.weight) * warm

    def after_epoch(self, policy: nn.Module) -> bool:
        """Compare the policy with the frozen copy, and replace the copy if the policy is better."""
        self._epochs += 1
        found = greedy_costs(policy, self._validation)
        better = bool(found.mean() < self._costs.mean())
        if better and self._test == "t":
            better = paired_t_test(found, self._costs) < SIGNIFICANCE
        if better:
            self._replaced += 1
            self._freeze(policy)
        return better

    def state(self) -> Checkpoint:
        """The frozen copy and the counters."""
        record = {"epochs": self._epochs, "replaced": self._replaced, "mean": self._mean}
        return Checkpoint({"frozen": self.frozen.state_dict()}, {}, {"baseline": record})

    def restore(self, saved: Checkpoint) -> None:
        """The inverse of ``state``.

        Raises:
            DAGSchedError: something is missing or of another kind.
        """
        record = stored(saved.state, "baseline", dict)
        epochs, replaced = stored(record, "epochs", int), stored(record, "replaced", int)
        mean = None if record.get("mean") is None else stored(record, "mean", float)
        self.frozen.load_state_dict(take(saved, "frozen", self.frozen.state_dict()))
        self._epochs, self._replaced, self._mean = epochs, replaced, mean
        self._freeze(self.frozen)

    def _freeze(self, policy: nn.Module) -> None:
        self.frozen: Any = copy.deepcopy(policy).eval().requires_grad_(False)
        self._validation = self._draw(self._replaced)
        self._costs = greedy_costs(self.frozen, self._validation)


class StepReport(NamedTuple):
    """Means over the sequences of a step."""

    cost: float
    baseline: float
    spread: float
    """Standard deviation of the costs of a problem over their mean; 0 with one sequence of each."""
    surprise: float
    """−log p of a sequence, in nats: an estimate of the policy's entropy."""
    gradient_norm: float
    """Before clipping."""


class Reinforce(Generic[Problems]):
    """Gradient steps on a policy.

    Args:
        policy: a ``SequencePolicy``, in the mode of training.
        optimizer: Adam or AdamW on its parameters; its learning rate may be changed on the way.
        baseline: which one.
        starts: sequences for each problem, S ≥ 1.
        seed: of the actions that are drawn.
        clip: the gradient is scaled down to this norm.

    Raises:
        DAGSchedError: ``starts`` is not positive.
    """

    def __init__(
        self,
        policy: Any,
        optimizer: torch.optim.Optimizer,
        baseline: Baseline[Problems],
        *,
        starts: int = 1,
        seed: int = 0,
        clip: float = 1.0,
    ) -> None:
        if starts < 1:
            raise DAGSchedError(f"starts is {starts}: it must be positive")
        self.policy, self.optimizer, self.baseline = policy, optimizer, baseline
        self._starts, self._clip = starts, clip
        self._generator = torch.Generator().manual_seed(seed)
        self.steps = 0

    def step(self, problems: Problems) -> StepReport:
        """One gradient step on a batch of problems."""
        encoded = self.policy.encode(problems)
        with torch.no_grad():
            rollouts = self.policy.rollouts(encoded, self._starts, generator=self._generator)
            baseline = self.baseline.costs(problems, rollouts)
        log_p = self.policy.log_probabilities(encoded, rollouts.actions)
        loss = ((rollouts.costs - baseline) * log_p).mean()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(self.policy.parameters(), self._clip)
        self.optimizer.step()
        self.steps += 1
        return StepReport(
            cost=float(rollouts.costs.mean()),
            baseline=float(baseline.mean()),
            spread=float(_spread(rollouts.costs)),
            surprise=-float(log_p.detach().mean()),
            gradient_norm=float(norm),
        )

    def state(self) -> Checkpoint:
        """Everything that ``restore`` needs to go on exactly, the baseline's state included."""
        own = self.baseline.state()
        return Checkpoint(
            tensors={
                "policy": self.policy.state_dict(),
                "optimizer": moments(self.optimizer),
                **own.tensors,
            },
            arrays={"actions_rng": self._generator.get_state().numpy(), **own.arrays},
            state={"reinforce": {"steps": self.steps}, **own.state},
        )

    def restore(self, saved: Checkpoint) -> None:
        """The inverse of ``state``; what else the checkpoint holds is left alone.

        Raises:
            DAGSchedError: something is missing, or does not fit the policy.
        """
        steps = stored(stored(saved.state, "reinforce", dict), "steps", int)
        weights = take(saved, "policy", self.policy.state_dict())
        try:
            self._generator.set_state(torch.from_numpy(saved.arrays["actions_rng"]))
        except (KeyError, RuntimeError, TypeError) as error:
            raise CheckpointError(
                f"'actions_rng' is not the state of a generator: {error}"
            ) from None
        load_moments(self.optimizer, saved, "optimizer")
        self.baseline.restore(saved)
        self.policy.load_state_dict(weights)
        self.steps = steps


def greedy_costs(policy: nn.Module, batches: Iterable[Any]) -> Tensor:
    """Costs ``[N]`` of the greedy sequences for all problems of the batches, in their order."""
    with _evaluating(policy):
        return torch.cat([_greedy(policy, problems) for problems in batches])


def paired_t_test(lower: Tensor, higher: Tensor) -> float:
    """The p-value of a one-sided paired t-test that the mean of ``lower`` is the lower one.

    Student's distribution is summed exactly: Abramowitz, Stegun 1964, 26.7.3 and 26.7.4.

    Args:
        lower: ``[N]``, N ≥ 2.
        higher: ``[N]``.
    """
    difference = (higher - lower).double()
    count, freedom = len(difference), len(difference) - 1
    mean, deviation = float(difference.mean()), float(difference.std())
    if deviation == 0.0:
        return 1.0 if mean <= 0.0 else 0.0
    angle = math.atan(mean / (deviation / math.sqrt(count)) / math.sqrt(freedom))
    odd = freedom % 2
    term, total = (math.cos(angle) if odd else 1.0), 0.0
    for k in range(2 + odd, freedom + 1, 2):
        total += term
        term *= math.cos(angle) ** 2 * (k - 1) / k
    within = math.sin(angle) * total
    if odd:
        within = 2.0 / math.pi * (angle + within)
    return 0.5 * (1.0 - within)


def _spread(costs: Tensor) -> Tensor:
    """Mean over the problems of what ``StepReport.spread`` says."""
    mean, deviation = costs.mean(dim=1), costs.std(dim=1, correction=0)
    return torch.where(mean != 0, deviation / mean, 0.0).mean()


def _greedy(policy: Any, problems: Any) -> Tensor:
    with torch.no_grad():
        costs: Tensor = policy.rollouts(policy.encode(problems), 1, generator=None).costs
    return costs[:, 0]


@contextlib.contextmanager
def _evaluating(policy: nn.Module) -> Iterator[None]:
    """The policy's mode is that of evaluation until the block ends."""
    before = policy.training
    policy.eval()
    try:
        yield
    finally:
        policy.train(before)
