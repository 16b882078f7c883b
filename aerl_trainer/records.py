"""The data that passes between the parts of AERL-DS; plain and immutable."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dagsched_env.instance import Instance
from dagsched_env.schedule import Schedule

__all__ = [
    "SAMPLES",
    "EvalReport",
    "EvaluationRow",
    "Experience",
    "PolicyReport",
    "SearchJob",
    "SearchReport",
    "TrainReport",
    "TrainingResult",
    "Trajectory",
    "TreeGroup",
]

SAMPLES = 32
"""Schedules that a policy draws where the best of several is judged, beside its greedy one."""


@dataclass(frozen=True)
class SearchJob:
    """One problem for the actors to search together."""

    id: int
    """Number of the job in its run."""
    instance: Instance
    seed: int
    """Root of all randomness of its search."""
    policy: npt.NDArray[np.float32] | None = None
    """Weights of the fast policy, which guides the search; None = prior and rollouts by hand."""


@dataclass(frozen=True)
class SearchReport:
    """What happened on one finished tree."""

    job_id: int
    simulations: int
    simulations_by_actor: tuple[int, ...]
    """How the actors shared them; sums to ``simulations``."""
    interleaving: tuple[tuple[int, int], ...]
    """(actor, simulations) of the latest 1024 mini-batches, in the order of their backup."""
    terminal_paths: int
    nodes: int
    best_makespan: float
    optimal: bool
    """No schedule is shorter than ``best_makespan``, by more than 1e-9 of it: proved."""
    outcome: str
    """``"complete"``, ``"exhausted"`` (every kept action solved), ``"cap"`` (safety cap hit), or
    ``"running"`` (stopped by the caller)."""
    elapsed_s: float


@dataclass(frozen=True)
class Trajectory:
    """A complete action sequence sampled from a finished tree, replayed to its true makespan."""

    actions: npt.NDArray[np.int32]
    """``[n, 2]`` pairs (task, processor)."""
    candidates: tuple[npt.NDArray[np.int32], ...]
    """Per searched state from the root: the actions ``t * p + q`` that the search considered."""
    policies: tuple[npt.NDArray[np.float32], ...]
    """Per searched state: the visit distribution over its candidates."""
    probabilities: npt.NDArray[np.float64]
    """``[n]`` of each action where it was drawn: its share of the visits, or by the policy that
    went on below. An action that nothing drew, as the best schedule's below the searched part, has
    1."""
    makespan: float
    """True makespan from the deterministic simulator (time)."""


@dataclass(frozen=True)
class TreeGroup:
    """The trajectories of one finished tree, as the fast policy learns from them."""

    instance: Instance
    actions: npt.NDArray[np.int64]
    """``[K, n]`` actions ``t * p + q`` in the order of placement."""
    probabilities: npt.NDArray[np.float64]
    """``[K, n]`` as of ``Trajectory``."""
    makespans: npt.NDArray[np.float64]
    """``[K]`` (time)."""


@dataclass(frozen=True)
class Experience:
    """One trajectory with the targets of its n states: what is stored, sampled and learned from."""

    instance: Instance
    """Shared by all experiences of one job."""
    actions: npt.NDArray[np.int32]
    """``[n, 2]`` pairs (task, processor); state d is the one after the first d of them."""
    visited: npt.NDArray[np.int32]
    """``[s]`` how many actions the search has visited in each of the first s states, its searched
    part; 0 ≤ s ≤ n."""
    candidates: npt.NDArray[np.int32]
    """``[sum of visited]`` these actions, ``t * p + q``, state by state."""
    policy: npt.NDArray[np.float32]
    """``[sum of visited]`` the visit distribution over them."""
    imitated_from: int
    """From this state on the actions that are consistent with the schedule are a target: 0 for the
    best of the siblings, s for the others."""
    reward: float
    """Value-weighted softmax rank reward of the trajectory among its siblings."""
    weight: float
    """K times its softmax weight: the elite emphasis, mean 1 over the siblings."""
    makespan: float


@dataclass(frozen=True)
class PolicyReport:
    """One gradient step on the fast policy."""

    step: int
    groups: int
    """Rank groups of the step, each of one problem."""
    trees: int
    """Groups with trajectories of a shared tree."""
    schedules: int
    """Of all groups."""
    relative_spread: float
    """Standard deviation of the makespans of a group over their mean, mean over the groups."""
    gradient_norm: float


@dataclass(frozen=True)
class TrainReport:
    """One step of the network."""

    step: int
    loss: float
    policy_loss: float
    value_loss: float
    entropy: float
    gradient_norm: float
    value_correlation: float
    """Rank correlation of the value head with its target over the states of the batch."""


@dataclass(frozen=True)
class EvaluationRow:
    """One scheduler over all instances of a set."""

    scheduler: str
    member: str | None
    """Which one it is, if ``scheduler`` names a choice."""
    vs_heft: float
    """Mean over instances of makespan / HEFT's makespan."""
    heft_error: float
    """Its standard error over the instances; 0 for one instance."""
    vs_portfolio: float
    """Mean over instances of makespan / the best constructive scheduler's makespan."""
    portfolio_error: float
    """Its standard error over the instances."""
    wins: int
    """Instances with a shorter schedule than HEFT's."""
    ties: int
    losses: int
    ms: float
    """Mean wall time of an instance (ms)."""


@dataclass(frozen=True)
class Example:
    """One instance of a set, scheduled in several ways."""

    title: str
    """Why it was chosen."""
    instance: Instance
    schedules: dict[str, Schedule]
    """Complete ones, by their makers; the first is what the others are compared with."""


@dataclass(frozen=True)
class EvalReport:
    """One validation on a fixed set: of the fast policy, and of the search that it guides."""

    step: int
    level: int
    slr_vs_heft: float
    """One greedy pass: mean over instances of makespan / HEFT's makespan."""
    sampled_vs_heft: float
    """Mean of the best of ``SAMPLES`` schedules and the greedy one / HEFT's makespan."""
    portfolio_vs_heft: float
    """Mean of the best constructive scheduler's makespan / HEFT's: what to beat."""
    ratio_to_best: float
    """Mean over instances of makespan / best scheduler's makespan."""
    mean_slr: float
    wins: int
    ties: int
    losses: int
    seconds_per_instance: float
    guided_vs_heft: float | None
    """Mean of the makespan of a short guided search / HEFT's makespan; None where the policy guides
    none."""
    network_vs_heft: float | None
    """As ``slr_vs_heft``, for the network's greedy policy; None without a network."""
    value_correlation: float | None
    """Rank correlation of what the value head predicts with true makespans, mean over instances;
    see ``validator.value_correlations``. None without a network, as the next one."""
    list_correlation: float | None
    """The same of the list completions, which the value head corrects."""
    accepted: bool
    """The weights have passed the paired test, and guide the searches from now on."""


@dataclass(frozen=True)
class TrainingResult:
    """How a run ended."""

    steps: int
    jobs: int
    interrupted: bool
    test: tuple[Instance, ...]
    """Problems of the SPECs that were used neither for training nor for validation."""
