"""Swapped arguments: the error names the argument and shows the call."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dagsched_env import io, pictures, solver
from dagsched_env.comparison import compare
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.schedulers import heft

INSTANCE = Instance([[1.0, 2.0]], [], [])
SCHEDULE = heft(INSTANCE)
PLOT = 'write schedule.plot("gantt.png", instance)'
COMPARE = 'write compare([instance, ...], {"heft": heft, ...})'
SOLVE = "write solve(instance), with instance = dagsched_env.io.load(path) for a file"
SAVE = 'write save(schedule, "gantt.png", instance)'


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SCHEDULE.plot(INSTANCE, "x.png"), f"path is of type Instance: {PLOT}"),
        (lambda: SCHEDULE.plot("x.png", SCHEDULE), f"instance is of type Schedule: {PLOT}"),
        (lambda: SCHEDULE.validate("x.json"), "instance is of type str: write schedule.validate(i"),
        (lambda: SCHEDULE.validate(SCHEDULE), "instance is of type Schedule: write schedule.valid"),
        (lambda: SCHEDULE.slr(1.0), "instance is of type float: write schedule.slr(instance)"),
        (lambda: SCHEDULE.speedup(None), "instance is of type NoneType: write schedule.speedup("),
        (lambda: SCHEDULE.efficiency(2), "instance is of type int: write schedule.efficiency(inst"),
        (
            lambda: compare.compare({"heft": heft}, [INSTANCE]),
            f"instances is of type dict: {COMPARE}",
        ),
        (lambda: compare.compare(INSTANCE, {"heft": heft}), "instances is of type Instance: write"),
        (lambda: compare.compare([INSTANCE], [heft]), f"schedulers is of type list: {COMPARE}"),
        (lambda: compare.compare(["x.json"], {}), f"instances[0] is of type str: {COMPARE}"),
        (lambda: solver.solve("montage", budget_s=1), f"instance is of type str: {SOLVE}"),
        (lambda: solver.solve(None), f"instance is of type NoneType: {SOLVE}"),
        (lambda: pictures.save("x.png", SCHEDULE), f"schedule is of type str: {SAVE}"),
        (lambda: pictures.save([SCHEDULE, "x"], "x.png"), f"schedule[1] is of type str: {SAVE}"),
        (lambda: pictures.save(SCHEDULE, INSTANCE, "x.png"), f"path is of type Instance: {SAVE}"),
        (lambda: io.save("x.json", INSTANCE), 'instance is of type str: write save(instance, "in'),
    ],
)
def test_swapped_arguments(
    call: Callable[[], Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DAGSchedError) as caught:
        call()
    assert str(caught.value).startswith(message)
    assert list(tmp_path.iterdir()) == []
