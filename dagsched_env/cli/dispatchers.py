"""The dispatchers that a command line can name.

Beside the built-in ones, whoever has dispatchers declares, in the entry-point group
``dagsched.dispatchers``, functions ``(instance) -> Dispatcher`` by name. ``NAME:FILE`` calls the
function with ``(instance, file)``.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from dagsched_env.cli.schedulers import NAMES, SOLVE
from dagsched_env.comparison.compare import Scheduler
from dagsched_env.comparison.runs import MakeDispatcher
from dagsched_env.online.dispatchers import Dispatcher, Fifo, ListOrder, Order, PlanOrder
from dagsched_env.online.judging import Judge
from dagsched_env.online.replanning import Planner, Replanning, When
from dagsched_env.online.situation import Situation
from dagsched_env.online.world import World
from dagsched_env.problem.errors import DAGSchedError, InvalidScheduleError, MissingExtraError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.solver import solve
from dagsched_env.sources import plugins
from dagsched_env.sources.parameters import settings_of, value_of

LISTS: dict[str, Order] = {
    "mct": "arrival",
    "heft": "rank_u",
    "peft": "oct",
    "shortest": "shortest",
}
"""Name → ``by`` of a ``ListOrder``."""
PLANS: dict[str, When] = {
    "plan": "once",
    "times": "once",
    "replan-changes": "changes",
    "replan-late": "late",
    "replan": "always",
}
"""What stands before a scheduler, as in ``plan:heft`` → ``when`` of a ``Replanning``."""
GROUP = "dagsched.dispatchers"
FIFO, CLAIRVOYANT = "fifo", "clairvoyant"
DEFAULT = [FIFO, *LISTS, "plan:heft", "replan:heft", f"plan:{SOLVE}", f"replan:{SOLVE}"]

HELP = (
    f"{FIFO}; {', '.join(LISTS)}: list scheduling at each event; plan:SCHEDULER, its plan as an "
    "order; times:SCHEDULER, its plan with its times; replan:SCHEDULER, a new plan whenever a task "
    "ends, replan-late: when the run is late, by 5 %% of what is left or as replan-late:SCHEDULER"
    "?late=0.1 says, replan-changes: when graphs arrive or machines fail; "
    "SCHEDULER is one of dagsched compare, with --checkpoint policy, too; "
    f"{CLAIRVOYANT}, {SOLVE} with the real durations; learned, the network of aerl-ds[trainer], "
    f"learned:RUN, of your own aerl train --online; default: {' '.join(DEFAULT)}"
)


def scheduler_of(name: str) -> str | None:
    """The scheduler that a dispatcher plans with; None where it makes no plans."""
    kind, colon, scheduler = name.partition("?")[0].partition(":")
    return scheduler if colon and kind in PLANS else None


def schedulers_of(names: Iterable[str]) -> Iterator[str]:
    """All schedulers that dispatchers plan with."""
    yield from filter(None, map(scheduler_of, names))


def choose_dispatchers(
    names: Iterable[str],
    schedulers: Mapping[str, Scheduler],
    time_limit: float,
    objective: str = "makespan",
) -> dict[str, MakeDispatcher]:
    """Name → what makes the dispatcher for a run.

    Args:
        names: see ``HELP``.
        schedulers: those of ``schedulers_of``, by name.
        time_limit: of ``solve`` for each plan (seconds).
        objective: a key of ``dagsched_env.online.OBJECTIVES``; plans for several graphs are chosen
            by it (``Judge``).

    Raises:
        DAGSchedError: an unknown name.
    """
    return {name: _maker(name, schedulers, time_limit, objective) for name in names}


def _maker(
    name: str, schedulers: Mapping[str, Scheduler], time_limit: float, objective: str
) -> MakeDispatcher:
    if name == FIFO:
        return lambda world: Fifo()
    if name in LISTS:
        return lambda world: ListOrder(world.instance, LISTS[name])
    if name == CLAIRVOYANT:
        return partial(_clairvoyant, time_limit)
    scheduler = scheduler_of(name)
    if scheduler is None and (declared := _declared(name)) is not None:
        return declared
    if scheduler is None:
        known = [FIFO, *LISTS, CLAIRVOYANT, *_points(), *(f"{kind}:SCHEDULER" for kind in PLANS)]
        close = difflib.get_close_matches(name, known, n=1)
        question = f"did you mean {close[0]!r}? " if close else ""
        raise DAGSchedError(f"no dispatcher {name!r}: {question}There are {', '.join(known)}")
    kind = name.partition(":")[0]
    planner: Planner = partial(_plan, scheduler, schedulers[scheduler])
    if scheduler == SOLVE:
        planner = partial(_solve, time_limit)
    make = partial(Replanning, planner, PLANS[kind], fixed=kind == "times", **_settings(name, kind))
    make()  # or a wrong setting would be told in the first run
    return lambda world: make(judge=_judge(world, objective))


def _judge(world: World, objective: str) -> Judge | None:
    """Of one graph the shortest plan is the best one, too."""
    return None if world.n_graphs == 1 or objective == "makespan" else Judge(world, objective)


def _settings(name: str, kind: str) -> dict[str, Any]:
    """What stands behind ``?``."""
    try:
        settings = settings_of(name.partition("?")[2])
        for key in settings:
            if key != "late" or PLANS[kind] != "late":
                raise DAGSchedError(
                    f"no parameter {key!r}: there is replan-late:SCHEDULER?late=0.1"
                )
        return {key: value_of(key, text, float) for key, text in settings.items()}
    except DAGSchedError as error:
        raise DAGSchedError(f"{name}: {error}") from None


def _points() -> dict[str, EntryPoint]:
    """What is installed."""
    return {point.name: point for point in entry_points(group=GROUP)}


def _declared(name: str) -> MakeDispatcher | None:
    """A dispatcher of another package, ``NAME`` or ``NAME:FILE``; None if there is no such name."""
    kind, colon, file = name.partition(":")
    if (point := _points().get(kind)) is None:
        return None
    if colon and not file:
        raise DAGSchedError(f"dispatcher {name!r} names no file: write {kind}:FILE, or {kind}")
    try:
        make = point.load()
    except ModuleNotFoundError as error:
        if point.value.startswith("aerl_trainer."):
            raise MissingExtraError(error.name or point.value, "trainer") from None
        raise plugins.failed(f"loading the dispatcher {kind}", error) from error
    given = (file,) if colon else ()

    def dispatcher(world: World) -> Dispatcher:
        with _named(name):
            made: Dispatcher = make(world.instance, *given)
        return _OfOthers(name, made)

    return dispatcher


class _OfOthers:
    """A dispatcher of another package, of which an error names it."""

    def __init__(self, name: str, dispatcher: Dispatcher) -> None:
        self._name, self._dispatcher = name, dispatcher

    def starts(self, situation: Situation) -> Iterator[tuple[int, int]]:
        with _named(self._name):
            yield from self._dispatcher.starts(situation)


@contextmanager
def _named(name: str) -> Iterator[None]:
    try:
        yield
    except (DAGSchedError, OSError):
        raise
    except Exception as error:  # whatever the function of somebody else does
        raise plugins.failed(f"the dispatcher {name}", error) from error


def _plan(name: str, scheduler: Scheduler, left: Instance, previous: Schedule | None) -> Schedule:
    plan = scheduler(left)
    if name not in NAMES:
        try:
            plan.validate(left)
        except InvalidScheduleError as error:
            raise DAGSchedError(f"{name} planned what breaks a rule: {error}") from None
    return plan


def _solve(budget_s: float, left: Instance, previous: Schedule | None) -> Schedule:
    """What the plan so far comes to is where the search begins."""
    return solve(left, budget_s=budget_s, start=previous).uninterrupted().schedule


def _clairvoyant(time_limit: float, world: World) -> Dispatcher:
    """It plans once, for as long as plans that are made anew after each task take in all."""
    known = world.clairvoyant()
    plan = solve(known, budget_s=time_limit * known.n_tasks).uninterrupted().schedule
    return PlanOrder(known, plan)
