"""Anytime solver: list schedules and a policy's samples, tree search, then a race of searches."""

import dataclasses
import math
import multiprocessing
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from aerl_trainer.config import Config
from aerl_trainer.config.run import MOST_ACTORS
from aerl_trainer.config.seeding import generator
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.policy.shipped import shipped_names, shipped_policy
from aerl_trainer.run.records import SAMPLES
from aerl_trainer.solving.learned import Policy, evaluator_of, rollout_weight_of
from aerl_trainer.solving.loading import load_policy
from aerl_trainer.tree.alone import search_alone
from aerl_trainer.tree.records import SearchJob
from aerl_trainer.tree.summary import Found, found_in
from dagsched_env import solver
from dagsched_env.kernels.interrupts import interrupts
from dagsched_env.problem.errors import DAGSchedError, expect
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers.anytime import check_count
from dagsched_env.solver import Best, Callback, improve, is_shop, run_list_schedulers

__all__ = ["SolveResult", "solve"]

DEFAULT_SIMULATIONS = 10_000
AUTO = "auto"
"""The checkpoint that is chosen among the shipped ones."""
CHOICE_SHARE = 0.05
"""Most of a time budget that the choice of a policy takes."""
AHEAD = 0.96
"""A policy is ahead if one pass of it is shorter than the best list schedule by this factor."""
SAMPLES_SHARE, SAMPLES_SHARE_AHEAD = 0.1, 0.3
"""Most of a time budget that the samples of a policy take, of one that is ahead."""
SEARCH_SHARE, SEARCH_SHARE_AHEAD = 0.05, 0.2
"""Of a time budget, that of the tree; the rest goes to the race."""
MOVES_PER_SIMULATION = 20
"""Annealing moves where simulations are the budget: about a third of their time."""
PASS_COST, SIMULATION_COST = 25, 20
"""Most time of a pass of a policy and of a simulation, in list schedules."""
PASS_SHARE = 0.5
"""Of the time that is left: most that the first pass of a policy may be expected to take."""
BATCHES = 4
"""Least mini-batches of a tree search for which their size is lowered."""
WORTH_PROCESSES_S = 5.0
"""Processes take a second or more to start: a shorter search has one actor alone."""
UNLIMITED = 2**40
NEARLY_OVER = 0.9
"""Used share of a search that is late enough to fix placements."""


@dataclass(frozen=True)
class SolveResult(solver.SolveResult):
    """The best schedule found, and what it took."""

    simulations: int
    policy: str | None
    """What guided the search and gave samples: the name of a shipped policy, or the checkpoint;
    None: nothing, or what was given did not help here."""


def solve(
    instance: Instance,
    *,
    budget_s: float | None = None,
    simulations: int | None = None,
    actors: int = 1,
    checkpoint: str | Path | Policy | None = "auto",
    anneal: bool = True,
    seed: int = 0,
    target: float | None = None,
    patience_s: float | None = None,
    callback: Callback | None = None,
) -> SolveResult:
    """Search for a short schedule; never worse than a list schedule for which there is time.

    It is ``dagsched_env.solver.solve`` with a policy's samples and a tree search after the list
    schedules: of a time budget the search has a twentieth, or a fifth where the policy is far
    ahead; otherwise each simulation is worth 20 moves of the race that follows. Several actors race
    on one core each: for the time that is left, or for an equal part of the moves, so that the
    work is that of one actor.
    A search that proves its schedule optimal ends at once, and so does Ctrl-C: the result is the
    best schedule so far.

    Args:
        instance: the problem.
        budget_s: stop after this many seconds; the time to load kernels and the checkpoint, once
            in a process, is not counted.
        simulations: stop after this many simulations (``10_000`` when both are None). With one
            actor and no ``budget_s`` the result is a function of the arguments alone.
        actors: processes that share the tree, this one among them, and races, which are threads of
            this one; with several, call this under ``if __name__ == "__main__"``, as the processes
            import the main module. A tree search of less than five seconds has one actor, and so
            has one in a daemonic process, which may start none.
        checkpoint: whose samples join the list schedules, and what guides the search if one of
            them is shorter than every list schedule: a run, a checkpoint, the name of a shipped
            policy, or a loaded ``Policy``. ``"auto"`` takes the shipped policy whose greedy
            schedule of this instance is shortest. None searches with the hand-made prior. With
            these two and a budget of seconds alone a problem in which each task can run on one
            processor only, as in a job shop, or in which tasks share processors, has no policy and
            no tree search.
        anneal: False spends the whole budget on the tree search and leaves its schedule as it is.
        seed: of all randomness.
        target: end when the makespan is at most this (time), > 0.
        patience_s: end after so many seconds without an improvement, > 0.
        callback: see ``Callback``; an exception in it ends the solve and is passed on.

    Raises:
        DAGSchedError: ``instance`` is something else, or a limit or number of actors is not
            positive.
        CheckpointError: the checkpoint cannot be read.
    """
    call = "solve(instance), with instance = dagsched_env.io.load(path) for a file"
    expect("instance", instance, Instance, call)
    _check(simulations, actors, seed)
    policy = _given(checkpoint)
    solver.load_for(instance, budget_s)
    _load_kernels()
    most_s = (SEARCH_SHARE_AHEAD if anneal else 1.0) * (math.inf if budget_s is None else budget_s)
    joint_search = _joint_search() if actors > 1 and most_s >= WORTH_PROCESSES_S else None
    best = Best(
        instance, budget_s=budget_s, target=target, patience_s=patience_s, callback=callback
    )
    name, found, share = None, None, SEARCH_SHARE
    try:
        with interrupts():
            solver.prove_bounds(best)
            run_list_schedulers(best)
            # In job shops tabu searches and CP-SAT make more of the time.
            timed = anneal and simulations is None and budget_s is not None
            sharing = instance.n_resources > 0  # no shipped policy has learned that
            unaided = timed and policy is None and (sharing or is_shop(instance))
            if policy or (checkpoint == AUTO and not unaided):
                given = "as given" if isinstance(checkpoint, Policy) else str(checkpoint)
                name, policy, share = _consult(best, policy, given, seed)
            clock = _Clock(best, share if anneal else 1.0)
            batch_size = clock.budget_s / (BATCHES * SIMULATION_COST * best.list_s)
            if best.over is None and not unaided and batch_size >= 1 / BATCHES:
                config = _solve_config(policy, budget_s, simulations, actors, batch_size)
                together = joint_search if clock.budget_s >= WORTH_PROCESSES_S else None
                search = together or _search_by_itself
                weights = None if policy is None else policy.fast.weights
                job = SearchJob(0, instance, seed, policy=weights)
                found = search(job, policy, best.schedule, config, clock.spent)
                best.offer(found.schedule, "tree")
                best.prove(found.lower_bound)
            if anneal and best.over is None:
                limited = budget_s is None or (found is not None and found.by_count)
                moves = MOVES_PER_SIMULATION * max(found.simulations if found else 0, 1)
                rngs = [generator(seed, "annealing", *([i] if i else [])) for i in range(actors)]
                improve(best, rngs, moves if limited else None, prove_too=simulations is None)
    except KeyboardInterrupt:
        best.interrupt()
    return SolveResult(**best.summary(), simulations=found.simulations if found else 0, policy=name)


_Search = Callable[[SearchJob, Policy | None, Schedule, Config, Callable[[], float]], Found]


def _joint_search() -> _Search | None:
    """The search with child processes; None where this process may start none.

    It loads torch, so it is loaded ahead of the budget, and only where it may be needed.
    """
    if multiprocessing.current_process().daemon:
        return None
    from aerl_trainer.solving.joint_search import search_together

    return search_together


class _Clock:
    """The time of the tree search: a share of what is left.

    Args:
        best: of the solve; the search ends when it is over.
        share: in (0, 1].
    """

    def __init__(self, best: Best, share: float) -> None:
        self._best = best
        self._started = best.elapsed_s
        self.budget_s = share * best.left_s

    def spent(self) -> float:
        """Used share of the search's time; at 1 the search ends."""
        self._best.report()
        if self._best.over is not None:
            return 1.0
        return (self._best.elapsed_s - self._started) / max(self.budget_s, 1e-9)


def _given(checkpoint: str | Path | Policy | None) -> Policy | None:
    """The policy that the caller has named."""
    if checkpoint is None or checkpoint == AUTO or isinstance(checkpoint, Policy):
        return checkpoint if isinstance(checkpoint, Policy) else None
    if not isinstance(checkpoint, str | Path):
        raise DAGSchedError(
            f"checkpoint is {type(checkpoint).__name__}: give a path, a name, a Policy or None"
        )
    return load_policy(checkpoint)


def _consult(
    best: Best, policy: Policy | None, name: str, seed: int
) -> tuple[str | None, Policy | None, float]:
    """Offer schedules of a policy.

    Args:
        best: begins with the best list schedule.
        policy: None = the shipped one whose greedy schedule is shortest.
        name: of the policy that is given.
        seed: of the samples.

    Returns:
        The policy and its name, if it has found something shorter, else nothing; the share of the
        time that the tree search has.
    """
    nothing = None, None, SEARCH_SHARE
    if best.over or PASS_COST * best.list_s > PASS_SHARE * best.left_s:
        return nothing
    shortest, started = best.schedule.makespan, best.elapsed_s
    if policy is None:
        name, policy = _choose_shipped(best)
    else:
        best.offer(policy.fast.schedule(best.instance), "policy")
    pass_s = best.elapsed_s - started
    ahead = best.schedule.makespan < AHEAD * shortest
    samples_s = (SAMPLES_SHARE_AHEAD if ahead else SAMPLES_SHARE) * best.left_s
    if best.over is None and pass_s <= samples_s:
        best.offer(_sample(best.instance, policy, samples_s, seed), "policy")
    if best.schedule.makespan >= shortest:
        return nothing
    return name, policy, SEARCH_SHARE_AHEAD if ahead else SEARCH_SHARE


def _choose_shipped(best: Best) -> tuple[str, Policy]:
    """The shipped policy whose greedy schedule is shortest, of those for which there is time."""
    end = best.elapsed_s + CHOICE_SHARE * best.left_s
    makespans: dict[str, float] = {}
    for name in shipped_names():
        if makespans and best.elapsed_s >= end:
            break
        schedule = shipped_policy(name).schedule(best.instance)
        best.offer(schedule, "policy")
        makespans[name] = schedule.makespan
    chosen = min(makespans, key=lambda name: makespans[name])
    return chosen, Policy(shipped_policy(chosen))


def _sample(instance: Instance, policy: Policy, budget_s: float, seed: int) -> Schedule:
    """The best of the policy's greedy schedule and its samples, for which there is time."""
    return policy.fast.best_of(
        instance,
        SAMPLES,
        generator(seed, "samples"),
        budget_s=None if budget_s == math.inf else budget_s,
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


def _solve_config(
    policy: Policy | None,
    budget_s: float | None,
    simulations: int | None,
    actors: int,
    batch_size: float,
) -> Config:
    config = Config() if policy is None else policy.config
    unlimited = UNLIMITED if budget_s is not None else DEFAULT_SIMULATIONS
    budget = unlimited if simulations is None else simulations
    search = config.search.for_solving(budget)
    fitting = int(min(max(batch_size, 1), search.batch_size))
    search = dataclasses.replace(search, batch_size=fitting)
    run = dataclasses.replace(config.run, actors=actors, trees_in_flight=1)
    return dataclasses.replace(config, search=search, run=run)


def _check(simulations: int | None, actors: int, seed: int) -> None:
    if simulations is not None:
        check_count("simulations", simulations)
    check_count("actors", actors)
    if actors > MOST_ACTORS:
        raise DAGSchedError(f"actors is {actors}: give at most {MOST_ACTORS}")
    if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
        raise DAGSchedError(f"seed is {seed!r}: give a whole number >= 0")


@cache
def _load_kernels() -> None:
    """So that no kernel has to be loaded or compiled within a budget."""
    tiny = Instance([[2.0, 3.0], [4.0, 3.0], [1.0, 2.0]], [(0, 1), (0, 2)], [5.0, 1.0])
    policy = Policy(FastPolicy())
    known = _sample(tiny, policy, math.inf, 0)
    for guide in (None, policy):
        weights = None if guide is None else guide.fast.weights
        job = SearchJob(0, tiny, 0, policy=weights)
        config = _solve_config(guide, None, 1, 1, math.inf)
        search = dataclasses.replace(config.search, fix_every=1)  # else nothing is fixed so early
        config = dataclasses.replace(config, search=search)
        _search_by_itself(job, guide, known, config, lambda: NEARLY_OVER)
