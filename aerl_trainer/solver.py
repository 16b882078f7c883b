"""Anytime solver: list schedules and a policy's samples, tree search, then annealing."""

import dataclasses
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from aerl_trainer.config import Config
from aerl_trainer.policies import Policy, evaluator_of, load_policy, rollout_weight_of
from aerl_trainer.policy.shipped import shipped_names, shipped_policy
from aerl_trainer.records import SAMPLES, SearchJob
from aerl_trainer.runtime.joint_search import search_together
from aerl_trainer.search.alone import search_alone
from aerl_trainer.search.summary import Found, found_in
from aerl_trainer.search.tree import cut_off
from aerl_trainer.seeding import generator
from dagsched_env.errors import DAGSchedError
from dagsched_env.instance import Instance
from dagsched_env.schedule import Schedule
from dagsched_env.schedulers import best_of_portfolio
from dagsched_env.schedulers.simulated_annealing import Cooling, MoveRules, run_chains

__all__ = ["SolveResult", "solve"]

DEFAULT_SIMULATIONS = 10_000
AUTO = "auto"
"""The checkpoint that is chosen among the shipped ones."""
CHOICE_SHARE, SAMPLES_SHARE = 0.05, 0.1
"""Most of a time budget that the choice of a policy and its samples take."""
SEARCH_SHARE = 0.05
"""Of a time budget; the rest anneals the schedule that the tree has found."""
MOVES_PER_SIMULATION = 20
"""Annealing moves where simulations are the budget: about a third of their time."""
START_TEMPERATURE = 1.5
END_TEMPERATURE = 0.3
REHEATED = 0.8
ROUNDS = 3 * (Cooling(START_TEMPERATURE, END_TEMPERATURE),) + 2 * (
    Cooling(REHEATED, END_TEMPERATURE),
)
MOVES_PER_TASK = 20_000
"""Of a chain: with fewer it has one round alone."""
RULES = MoveRules(pair_share=0.2, cost_bias=4.0, best_place=True, load_weight=8.0)
"""How the annealing moves, and what it judges moves by; chosen in benchmarks/SEARCH_NOTES.md."""
UNLIMITED = 2**40


@dataclass(frozen=True)
class SolveResult:
    """The best schedule found, and what it took."""

    schedule: Schedule
    makespan: float
    lower_bound: float
    """No schedule is shorter than this (time)."""
    optimal: bool
    """No schedule is shorter than this one, by more than 1e-9 of its makespan: proved."""
    simulations: int
    policy: str | None
    """What guided the search and gave samples: the name of a shipped policy, or the checkpoint;
    None: nothing, or what was given did not help here."""
    elapsed_s: float


def solve(
    instance: Instance,
    *,
    budget_s: float | None = None,
    simulations: int | None = None,
    actors: int = 1,
    checkpoint: str | Path | Policy | None = "auto",
    anneal: bool = True,
    seed: int = 0,
) -> SolveResult:
    """Search for a short schedule; never worse than the best classic scheduler.

    The tree search is followed by annealing that starts from its best schedule: of a time budget
    the search has the first twentieth; otherwise each simulation is worth 20 moves of the
    annealing. Several actors run a chain of annealing each, on one core each: for the time that is
    left, or for an equal part of the moves, so that the work is that of one actor. (Parts of the
    moves from one start are worth as much as one long chain, see benchmarks/SEARCH_NOTES.md.)
    A search that proves its schedule optimal ends at once.

    Args:
        instance: the problem.
        budget_s: stop after this many seconds.
        simulations: stop after this many simulations (``10_000`` when both are None). With one
            actor and no ``budget_s`` the result is a function of the arguments alone.
        actors: processes that share the tree, this one among them, and chains of annealing, which
            are threads of this one; with several, call this under ``if __name__ == "__main__"``,
            as the processes import the main module. They take a second or more to start, and no
            part in a tree search that is over by then.
        checkpoint: whose samples join the list schedules, and what guides the search if one of
            them is shorter than every list schedule: a run, a checkpoint, the name of a shipped
            policy, or a loaded ``Policy``. ``"auto"`` takes the shipped policy whose greedy
            schedule of this instance is shortest. None searches with the hand-made prior.
        anneal: False spends the whole budget on the tree search and leaves its schedule as it is.
        seed: of all randomness.

    Raises:
        DAGSchedError: a budget or number of actors that is not positive.
        CheckpointError: the checkpoint cannot be read.
    """
    _check(budget_s, simulations, actors)
    started = time.perf_counter()
    clock = _Clock(None if budget_s is None else started + budget_s, anneal)
    name, policy = _policy_of(checkpoint, instance, clock.left_s)
    known = best_of_portfolio(instance)
    if policy is not None:
        sampled = _sample(instance, policy, clock.left_s, seed)
        if sampled.makespan < known.makespan:
            known = sampled
        else:
            name, policy = None, None
    config = _solve_config(policy, budget_s, simulations, actors)
    search = _search_by_itself if actors == 1 else search_together
    job = SearchJob(0, instance, seed, policy=None if policy is None else policy.fast.weights)
    found = search(job, policy, known, config, clock.spent)
    schedule = found.schedule
    if anneal and found.lower_bound < cut_off(schedule.makespan):
        schedule = _improve(instance, found, clock.left_s, seed, actors)
    makespan = schedule.makespan
    lower_bound = min(max(found.lower_bound, instance.lower_bound), makespan)
    return SolveResult(
        schedule=schedule,
        makespan=makespan,
        lower_bound=lower_bound,
        optimal=bool(lower_bound >= cut_off(makespan)),
        simulations=found.simulations,
        policy=name,
        elapsed_s=time.perf_counter() - started,
    )


class _Clock:
    """When the search ends, and what the annealing has after it.

    Args:
        deadline: end of the whole, by ``time.perf_counter``; None = there is none.
        anneal: whether anything follows the search.
    """

    def __init__(self, deadline: float | None, anneal: bool) -> None:
        self._deadline = deadline
        self._share = SEARCH_SHARE if anneal else 1.0
        self._started: float | None = None
        self._search_s = math.inf

    def spent(self) -> float:
        """Used share of the tree search's time; at 1 the search ends.

        The clock starts at the first call, so that the list schedules before it do not count.
        """
        now = time.perf_counter()
        if self._started is None:
            self._started = now
            if self._deadline is not None:
                self._search_s = max(self._share * (self._deadline - now), 1e-9)
            return 0.0 if self._deadline is None or now < self._deadline else 1.0
        return (now - self._started) / self._search_s

    @property
    def left_s(self) -> float | None:
        """Seconds to the end of the whole, which may have passed; None = there is none."""
        return None if self._deadline is None else self._deadline - time.perf_counter()


def _policy_of(
    checkpoint: str | Path | Policy | None, instance: Instance, left_s: float | None
) -> tuple[str | None, Policy | None]:
    """What is to guide the search, and its name."""
    if checkpoint is None or isinstance(checkpoint, Policy):
        return "as given" if checkpoint else None, checkpoint
    if checkpoint == AUTO:
        checkpoint = _choose_shipped(instance, left_s)
    return str(checkpoint), load_policy(checkpoint)


def _choose_shipped(instance: Instance, left_s: float | None) -> str:
    """The shipped policy whose greedy schedule is shortest, of those for which there is time."""
    end = math.inf if left_s is None else time.perf_counter() + CHOICE_SHARE * left_s
    makespans: dict[str, float] = {}
    for name in shipped_names():
        if makespans and time.perf_counter() >= end:
            break
        makespans[name] = shipped_policy(name).schedule(instance).makespan
    return min(makespans, key=lambda name: makespans[name])


def _sample(instance: Instance, policy: Policy, left_s: float | None, seed: int) -> Schedule:
    """The best of the policy's greedy schedule and its samples, for which there is time."""
    return policy.fast.best_of(
        instance,
        SAMPLES,
        generator(seed, "samples"),
        budget_s=None if left_s is None else SAMPLES_SHARE * left_s,
    )


def _search_by_itself(
    job: SearchJob,
    policy: Policy | None,
    known: Schedule,
    config: Config,
    spent: Callable[[], float],
) -> Found:
    tree, _ = search_alone(
        job,
        evaluator_of(policy),
        config.search,
        rollout_weight=rollout_weight_of(policy),
        explore=False,
        incumbent=known,
        spent=spent,
    )
    return found_in(tree, job.instance)


def _improve(
    instance: Instance,
    found: Found,
    left_s: float | None,
    seed: int,
    actors: int,
) -> Schedule:
    """The schedule found or a better one, by annealing in the time or moves that are left."""
    if left_s is not None and left_s <= 0:
        return found.schedule
    # A search that ended by its budget was not short of time: what follows is in proportion.
    limited = left_s is None or found.by_count
    moves = -(-MOVES_PER_SIMULATION * max(found.simulations, 1) // actors)
    annealed = run_chains(
        instance,
        found.schedule,
        [generator(seed, "annealing", *([i] if i else [])) for i in range(actors)],
        ROUNDS,
        RULES,
        moves_per_task=MOVES_PER_TASK,
        budget_s=left_s,
        moves=moves if limited else None,
    )
    if annealed.makespan >= found.schedule.makespan:
        return found.schedule
    return dataclasses.replace(annealed, algorithm=found.schedule.algorithm)


def _solve_config(
    policy: Policy | None, budget_s: float | None, simulations: int | None, actors: int
) -> Config:
    config = Config() if policy is None else policy.config
    unlimited = UNLIMITED if budget_s is not None else DEFAULT_SIMULATIONS
    budget = unlimited if simulations is None else simulations
    search = config.search.for_solving(budget)
    run = dataclasses.replace(config.run, actors=actors, trees_in_flight=1)
    return dataclasses.replace(config, search=search, run=run)


def _check(budget_s: float | None, simulations: int | None, actors: int) -> None:
    if budget_s is not None and not budget_s > 0:
        raise DAGSchedError(f"budget_s is {budget_s}: it must be positive")
    if simulations is not None and simulations < 1:
        raise DAGSchedError(f"simulations is {simulations}: it must be at least 1")
    if actors < 1:
        raise DAGSchedError(f"actors is {actors}: it must be at least 1")
