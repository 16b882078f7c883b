"""``dagsched warm-up``, which compiles all kernels beforehand; the line that a command compiles."""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context

import numpy as np
from numba.core import event

from dagsched_env.cli.arguments import Commands, add_command
from dagsched_env.environment.env import DAGSchedEnv
from dagsched_env.environment.online.env import DAGSchedOnlineEnv
from dagsched_env.environment.vector import DAGSchedVectorEnv
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.online import Fifo, ListOrder, Outage, Replanning, World, simulate
from dagsched_env.problem.bounds import lower_bounds
from dagsched_env.problem.destructive import destructive_bound
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms.altered import altered
from dagsched_env.schedulers import SCHEDULERS, SEARCHERS, heft
from dagsched_env.solver import load_kernels

Step = Callable[[], None]
"""Calls some kernels, and can be sent to another process; it needs no other step."""


def add_commands(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "warm-up",
        "compile all numeric kernels beforehand, so that later commands start at once",
        "  dagsched warm-up",
    )
    parser.set_defaults(run=lambda _: call_all(STEPS))


@contextmanager
def announced_compilation(program: str) -> Iterator[None]:
    """Within, the first kernel that is compiled, not read from disk, is announced on stderr."""
    with event.install_listener("numba:compile", _Announcer(program)):
        yield


def announce(program: str) -> None:
    """Say on stderr that the command compiles."""
    line = f"compiling kernels, once: it may take minutes ({program} warm-up compiles all of them)"
    print(f"{program}: {line}", file=sys.stderr)


class _Announcer(event.Listener):
    def __init__(self, program: str) -> None:
        self._program: str | None = program

    def on_start(self, event: event.Event) -> None:
        if self._program is not None:
            announce(self._program)
        self._program = None

    def on_end(self, event: event.Event) -> None:
        """The line is said before."""


def call_all(steps: Sequence[Step]) -> None:
    """Call steps one after the other, so that their kernels are on disk and in this process.

    Numba compiles in one thread. So there is a process for each other core that calls steps from
    the end of the sequence on; when this one comes to them, it reads from disk what is there.

    Args:
        steps: in any order.
    """
    others = len(os.sched_getaffinity(0)) - 1
    with contextlib.ExitStack() as stack:
        if others > 0:
            pool = ProcessPoolExecutor(others, get_context("spawn"), _die_by_interrupt)
            stack.callback(pool.shutdown, cancel_futures=True)
            for step in reversed(steps[1:]):
                pool.submit(step)  # what fails there fails here, too, with its message
        for step in steps:
            step()


def small_problem() -> Instance:
    """A problem that takes no time; always the same."""
    return TopcuogluGenerator(n_tasks=6, n_processors=2)(np.random.default_rng(0))


def sharing_problem() -> Instance:
    """The problem with tasks that share processors; no first schedule of it is at the bound."""
    problem = small_problem()
    return altered(
        problem,
        demands=1 + np.arange(problem.n_tasks)[:, None] % 2,
        capacities=np.full((problem.n_processors, 1), 3),
    )


def call_searchers(make: Callable[[], Instance] = small_problem) -> None:
    """Schedulers that search, and the races of ``solve``."""
    problem = make()
    for name in SEARCHERS:
        SCHEDULERS[name](problem, max_evaluations=200)
    load_kernels(resources=problem.n_resources > 0)


def call_schedulers(make: Callable[[], Instance] = small_problem) -> None:
    """All other schedulers."""
    problem = make()
    for name, scheduler in SCHEDULERS.items():
        if name not in SEARCHERS:
            scheduler(problem)


def call_environments(make: Callable[[], Instance] = small_problem) -> None:
    """Environments and bounds."""
    instance = make()
    lower_bounds(instance)
    destructive_bound(instance)
    float(instance.lower_bound)  # computed when it is first asked for
    for environment in (DAGSchedEnv(instance), DAGSchedVectorEnv(instance, num_envs=2)):
        _, info = environment.reset(seed=0)
        environment.step(info["action_mask"].argmax(axis=-1))


def call_runs(make: Callable[[], Instance] = small_problem) -> None:
    """Runs that go on by events."""
    instance = make()
    world = World(instance, outages=[Outage(0, 0.5, 1.0)], forgets=True)
    for dispatcher in (Fifo(), ListOrder(instance), Replanning(lambda left, _: heft(left))):
        simulate(world, dispatcher)
    environment = DAGSchedOnlineEnv(instance, objective="slowdown")
    _, info = environment.reset(seed=0)
    environment.step(int(info["action_mask"].argmax()))


STEPS: tuple[Step, ...] = (
    call_environments,
    call_runs,
    partial(call_runs, sharing_problem),
    call_schedulers,
    call_searchers,
    partial(call_environments, sharing_problem),
    partial(call_schedulers, sharing_problem),
    partial(call_searchers, sharing_problem),
)
"""Together they call every kernel of this package."""


def _die_by_interrupt() -> None:
    """Ctrl-C reaches all processes; only the first one has something to say."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
