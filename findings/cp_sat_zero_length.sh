#!/usr/bin/env bash
# OR-Tools 9.15: a task of length 0 blocks a machine in add_no_overlap, not in add_cumulative.
# Expected: a machine that runs one task at a time is the same problem in both models.
# Seen: in add_no_overlap nothing else may be running at the moment of an empty interval; for
#   add_cumulative with capacity 1 there is no such interval. The optima differ, 6 and 4. The
#   comments of the protocol buffer say so, those of CpModel do not.
# Why it matters: workflows have tasks without runtime, such as joins, and rounding to a grid makes
#   more. "Proved optimal" then means two things, and a bound from one model may be above an optimum
#   of the other.
# In this project: dagsched_env/exact/model.py has add_no_overlap, and Schedule.validate has the
#   same rule: a task of duration 0 on a processor may not start while another one runs.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile ortools==9.15.6755
cd "$work"
venv/bin/python - <<'PYTHON'
from ortools.sat.python import cp_model


def makespan(cumulative: bool) -> int:
    """Machine A: a task of 4 and the join; machine B: 2 before the join, 2 behind it."""
    model = cp_model.CpModel()
    end = model.new_int_var(0, 20, "makespan")
    start = {name: model.new_int_var(0, 20, name) for name in ("long", "before", "join", "behind")}
    length = {"long": 4, "before": 2, "join": 0, "behind": 2}
    on_a = [
        model.new_fixed_size_interval_var(start[name], length[name], name)
        for name in ("long", "join")
    ]
    if cumulative:
        model.add_cumulative(on_a, [1, 1], 1)
    else:
        model.add_no_overlap(on_a)
    model.add(start["join"] >= start["before"] + 2)
    model.add(start["behind"] >= start["join"])
    for name in start:
        model.add(end >= start[name] + length[name])
    model.minimize(end)
    solver = cp_model.CpSolver()
    assert solver.solve(model) == cp_model.OPTIMAL
    return solver.value(end)


results = makespan(cumulative=False), makespan(cumulative=True)
print("proved optimal: add_no_overlap %d, add_cumulative %d" % results)
assert results == (6, 4), "changed: other optima"
PYTHON
