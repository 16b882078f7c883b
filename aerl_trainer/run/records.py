"""What a run says of its policy and of its end; plain and immutable."""

from dataclasses import dataclass

from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule

SAMPLES = 32
"""Schedules that a policy draws where the best of several is judged, beside its greedy one."""


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
    guided_vs_heft: float | None = None
    """Mean of the makespan of a short guided search / HEFT's makespan; None where the policy guides
    none."""
    network_vs_heft: float | None = None
    """As ``slr_vs_heft``, for the network's greedy policy; None without a network."""
    value_correlation: float | None = None
    """Rank correlation of what the value head predicts with true makespans, mean over instances;
    see ``validator.value_correlations``. None without a network, as the next one."""
    list_correlation: float | None = None
    """The same of the list completions, which the value head corrects."""
    by_level: tuple[float, ...] = ()
    """``slr_vs_heft`` on each level's set, or ``network_vs_heft`` where a search is judged that a
    network guides: on levels to come as well. Empty of the attention model."""
    accepted: bool = True
    """The weights have passed the paired test, and guide the searches from now on."""


@dataclass(frozen=True)
class TrainingResult:
    """How a run ended."""

    steps: int
    jobs: int
    interrupted: bool
    test: tuple[Instance, ...]
    """Problems of the SPECs, kept back from training and from validation."""
    test_is_new: bool = True
    """False: there were too few to keep any back, and those of ``test`` were trained on."""
