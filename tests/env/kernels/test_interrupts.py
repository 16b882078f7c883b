"""Ctrl-C at any moment gives the best schedule so far, or one exception."""

import _thread
import gc
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import aerl_trainer
from dagsched_env import solver
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.kernels.interrupts import interrupts
from dagsched_env.schedulers import SCHEDULERS

INSTANCE = TopcuogluGenerator(2000, 16)(np.random.default_rng(0))


@pytest.fixture(autouse=True)
def heard() -> Iterator[None]:
    """Ctrl-C is not ignored, as where a shell says "&", nor lost while garbage is collected.

    Python drops an exception in a callback of the collector or of a weak reference.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    gc.disable()
    yield
    gc.enable()
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("solve", [solver.solve, aerl_trainer.solve])
def test_a_solve_ends_with_its_best_schedule_whenever_ctrl_c_comes(
    solve: Callable[..., Any],
) -> None:
    """Within list schedulers, half of the time comes while a kernel hands over its result."""
    solve(INSTANCE, budget_s=0.01)  # kernels are loaded
    for delay_s in np.linspace(0.001, 0.2, 20):
        ctrl_c = threading.Timer(delay_s, _thread.interrupt_main)

        def once_there_is_a_schedule(*_: object, ctrl_c: threading.Timer = ctrl_c) -> None:
            if ctrl_c.ident is None:
                ctrl_c.start()

        result = solve(INSTANCE, budget_s=60, callback=once_there_is_a_schedule)
        ctrl_c.join()
        assert result.stopped_by == "interrupt"
        result.schedule.validate(INSTANCE)


@interrupts()
def schedule_until(ctrl_c: threading.Timer) -> None:
    ctrl_c.start()
    while True:
        SCHEDULERS["dls"](INSTANCE)


def test_within_a_scheduler_it_is_one_exception() -> None:
    SCHEDULERS["dls"](INSTANCE)
    for delay_s in np.linspace(0.001, 0.02, 20):
        ctrl_c = threading.Timer(delay_s, _thread.interrupt_main)
        with pytest.raises(KeyboardInterrupt):
            schedule_until(ctrl_c)
        ctrl_c.join()


UNDER_A_TIMER = """
import functools, signal, time
import numpy as np
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.kernels.interrupts import interrupts
from dagsched_env.schedulers import SCHEDULERS, SEARCHERS
from dagsched_env.schedulers.anytime import DECODINGS, Budget, Incumbent, execution_order
from dagsched_env.schedulers.genetic import Evolution
from dagsched_env.schedulers.simulated_annealing import Chain

def interrupt(*_):
    raise KeyboardInterrupt

@interrupts()
def repeat(function):
    end = time.monotonic() + 0.1  # an interrupt within a destructor is lost
    signal.setitimer(signal.ITIMER_REAL, 0.001)
    while time.monotonic() < end:
        function()

rng = np.random.default_rng(0)
instance = TopcuogluGenerator(10, 3)(rng)
budget = Budget(None, 1, DECODINGS)
incumbent = Incumbent(instance, budget, algorithm="", insertion=True, trace=None)
order = execution_order(instance, incumbent.schedule)
chain = Chain(incumbent, rng)
functions = [
    functools.partial(chain.restart, order, incumbent.schedule.processor),
    functools.partial(Chain, incumbent, rng),
    functools.partial(Evolution, incumbent, rng, 2),
]
for name, scheduler in SCHEDULERS.items():
    options = {"max_evaluations": 20} if name in SEARCHERS else {}
    functions.append(functools.partial(scheduler, instance, **options))
signal.signal(signal.SIGALRM, interrupt)
for function in functions:
    function()  # kernels are loaded
    interrupted = 0
    for _ in range(30):
        try:
            repeat(function)
        except KeyboardInterrupt:
            interrupted += 1
    assert interrupted > 15, function
"""


def test_a_timer_that_interrupts_kernels_never_ends_the_process() -> None:
    """They hand over their results a thousand times a second and more."""
    command = [sys.executable, "-c", UNDER_A_TIMER]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@interrupts()
def fail_after_an_interrupt() -> None:
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        raise SystemError("broken")  # noqa: B904 - the interrupt is not its cause


def test_other_errors_are_left_alone() -> None:
    with pytest.raises(SystemError, match="broken"), interrupts():
        raise SystemError("broken") from ValueError("why")
    with pytest.raises(SystemError, match="broken"):
        fail_after_an_interrupt()
