"""The table at the end of a run: what a policy adds, alone, in a search and in ``solve``."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from aerl_trainer.baselines.attention.scheduler import AttentionScheduler
from aerl_trainer.config import seeding
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.run.records import SAMPLES, EvaluationRow, Example
from aerl_trainer.run.validator import greedy_schedule
from aerl_trainer.solving.learned import Policy, Trained, evaluator_of
from aerl_trainer.solving.solver import solve
from dagsched_env.comparison.compare import compare, count_wins, mean_error, mean_ratio, ratios
from dagsched_env.io.assumptions import stated
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import CONSTRUCTIVE, SCHEDULERS

REFERENCE = "heft"
SEARCH = "search_trained"
ATTENTION_SAMPLED = f"reinforce_sampled_{SAMPLES}"
_Scheduler = Callable[[Instance], Schedule]


class Evaluation(NamedTuple):
    """Of a policy on some instances."""

    rows: list[EvaluationRow]
    shown_vs_heft: Floats
    """[instances] makespan / HEFT's makespan, of the row by which examples are chosen."""
    assumptions: list[str]
    """What was assumed of the instances."""


def evaluate(
    instances: Sequence[Instance],
    policy: Trained,
    *,
    simulations: int,
    budget_s: float,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Compare on the same instances; every schedule is validated.

    Args:
        instances: the problems, at least one.
        policy: what has been trained.
        simulations: of a search, per instance; it is not followed by annealing.
        budget_s: of ``solve``, per instance, with the policy and without: everything included.
        seed: of samples, searches and annealing.
        progress: called with (done, total) after each schedule.

    Returns:
        Rows ``heft``, ``best_single`` (the constructive scheduler with the least mean ratio to
        HEFT on these instances), ``portfolio`` (the best of them for each instance), ``policy``,
        ``policy_sampled_32``, ``network`` (one greedy pass of it) where one has been trained, and
        searches and ``solve`` without and with the policy. Of an
        attention model the rows are ``reinforce``, ``reinforce_sampled_32``, and the search and
        ``solve`` without a policy.
    """
    classic = {name: SCHEDULERS[name] for name in CONSTRUCTIVE}
    rivals = contestants(policy, simulations=simulations, budget_s=budget_s, seed=seed)
    for scheduler in rivals.values():
        scheduler(instances[0])  # loads the kernels, which is not to be timed
    result = compare(instances, {**classic, **rivals}, progress)
    makespans = {name: np.array(values) for name, values in result.makespans.items()}
    ms = {name: 1000.0 * float(np.mean(values)) for name, values in result.seconds.items()}
    heft = makespans[REFERENCE]
    portfolio: Floats = np.min([makespans[name] for name in classic], axis=0)
    best = min(classic, key=lambda name: mean_ratio(makespans[name], heft))

    def row(
        name: str, values: Floats, milliseconds: float, member: str | None = None
    ) -> EvaluationRow:
        wins, ties, losses = count_wins(values.tolist(), heft.tolist())
        return EvaluationRow(
            scheduler=name,
            member=member,
            vs_heft=mean_ratio(values, heft),
            heft_error=mean_error(values, heft),
            vs_portfolio=mean_ratio(values, portfolio),
            portfolio_error=mean_error(values, portfolio),
            wins=wins,
            ties=ties,
            losses=losses,
            ms=milliseconds,
        )

    rows = [
        row(REFERENCE, heft, ms[REFERENCE]),
        row("best_single", makespans[best], ms[best], best),
        row("portfolio", portfolio, sum(ms[name] for name in classic)),
        *(row(name, makespans[name], ms[name]) for name in rivals),
    ]
    shown = np.array(ratios(makespans[_shown(rivals)], heft))
    return Evaluation(rows, shown, stated(instances))


def examples(
    instances: Sequence[Instance],
    evaluation: Evaluation,
    policy: Trained,
    *,
    simulations: int,
    seed: int = 0,
) -> list[Example]:
    """Where what was trained gains most against HEFT and where least, scheduled once more.

    That is the trained search, or of an attention model the best of its samples.

    Args:
        instances: the problems.
        evaluation: what ``evaluate`` gave for them.
        policy: what has been trained.
        simulations: of a search.
        seed: of the searches.

    Returns:
        Two examples, or one if there is only one instance.
    """
    schedulers: dict[str, _Scheduler] = {"HEFT": SCHEDULERS[REFERENCE]}
    if isinstance(policy, Policy):
        search = partial(_search, checkpoint=policy, simulations=simulations, seed=seed)
        schedulers |= {"policy, one pass": policy.fast.schedule, "trained search": search}
    else:
        sampled = _best_of_samples(policy, seed)
        schedulers |= {"one pass": policy.schedule, f"best of {SAMPLES}": sampled}
    chosen = {int(evaluation.shown_vs_heft.argmin()): "largest gain"}
    chosen.setdefault(int(evaluation.shown_vs_heft.argmax()), "smallest gain")
    return [
        Example(title, instances[i], {name: f(instances[i]) for name, f in schedulers.items()})
        for i, title in chosen.items()
    ]


def contestants(
    policy: Trained, *, simulations: int, budget_s: float, seed: int
) -> dict[str, _Scheduler]:
    """The rows of ``evaluate`` that are not classic schedulers, by name.

    Args:
        policy: what has been trained.
        simulations: of a search.
        budget_s: of ``solve``.
        seed: of samples, searches and annealing.
    """

    def solved(instance: Instance, checkpoint: Policy | None) -> Schedule:
        result = solve(instance, budget_s=budget_s, checkpoint=checkpoint, seed=seed)
        return result.uninterrupted().schedule

    search = partial(_search, simulations=simulations, seed=seed)
    if not isinstance(policy, Policy):
        return {
            "reinforce": policy.schedule,
            ATTENTION_SAMPLED: _best_of_samples(policy, seed),
            "search_untrained": partial(search, checkpoint=None),
            "solve_untrained": partial(solved, checkpoint=None),
        }
    network = {} if policy.network is None else {"network": _greedy_by(policy)}
    return {
        "policy": policy.fast.schedule,
        f"policy_sampled_{SAMPLES}": _best_of_samples(policy.fast, seed),
        **network,
        "search_untrained": partial(search, checkpoint=None),
        SEARCH: partial(search, checkpoint=policy),
        "solve_untrained": partial(solved, checkpoint=None),
        "solve_trained": partial(solved, checkpoint=policy),
    }


def example_of(instance: Instance, policy: Trained, *, simulations: int, seed: int) -> Schedule:
    """The best that what was trained makes of one problem: for the Gantt chart of a run.

    Args:
        instance: the problem.
        policy: what has been trained.
        simulations: of the search in ``solve``, where the policy guides one.
        seed: of samples, search and annealing.
    """
    if not isinstance(policy, Policy):
        return _best_of_samples(policy, seed)(instance)
    result = solve(instance, simulations=simulations, checkpoint=policy, seed=seed)
    return result.uninterrupted().schedule


def _shown(rivals: Mapping[str, object]) -> str:
    """The row by which examples are chosen."""
    return SEARCH if SEARCH in rivals else ATTENTION_SAMPLED


def _greedy_by(policy: Policy) -> _Scheduler:
    """The network's most probable action in every state."""
    evaluator = evaluator_of(policy)
    return lambda instance: greedy_schedule(instance, evaluator, policy.config)


def _best_of_samples(policy: FastPolicy | AttentionScheduler, seed: int) -> _Scheduler:
    """The same samples whatever was scheduled before."""

    def sampled(instance: Instance) -> Schedule:
        return policy.best_of(instance, SAMPLES, seeding.generator(seed, "samples"))

    return sampled


def _search(
    instance: Instance, *, checkpoint: Policy | None, simulations: int, seed: int
) -> Schedule:
    result = solve(
        instance, simulations=simulations, checkpoint=checkpoint, anneal=False, seed=seed
    )
    return result.uninterrupted().schedule
