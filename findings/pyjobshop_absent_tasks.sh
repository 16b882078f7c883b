#!/usr/bin/env bash
# pyjobshop 0.0.9: an optional task that is left out hides the earliness of its job.
# Expected: a job ends with its last task that is present. So says ScheduledJob, and so the class
#   Solution computes. A job due at 10 whose only present task ends at 8 at the latest is early by 2
#   at best, and objective 2 is optimal.
# Seen: in the CP-SAT model the end of a job is the greatest end of all its tasks. An absent task
#   has a free end, which the solver puts on the due date. The result is "optimal" with objective 0,
#   the present task ends anywhere, and `result.objective` differs from `result.best.objective`.
#   Without the optional task the same job is solved rightly.
# Why it matters: with optional tasks (other routes of a job) earliness is not minimised at all, and
#   the status says that it is proved.
# In this project: pyjobshop is a rival for the makespan alone, which this does not touch
#   (benchmarks/published.py).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile pyjobshop==0.0.9 ortools==9.15.6755 \
    psplib==0.4.0 fjsplib==0.0.2 numpy==2.4.6
cd "$work"
venv/bin/python - <<'PYTHON'
from pyjobshop import Model


def solved(optional: bool) -> tuple[str, float, int, int]:
    """Status, objective by the solver, objective by the solution, end of the job."""
    model = Model()
    machine = model.add_machine()
    job = model.add_job(due_date=10)
    model.add_mode(model.add_task(job=job, latest_end=8), machine, 2)
    if optional:
        model.add_mode(model.add_task(job=job, optional=True), machine, 9)
    model.set_objective(weight_total_earliness=1)
    result = model.solve(display=False, num_workers=1, random_seed=1)
    return result.status.value, result.objective, result.best.objective, result.best.jobs[0].end


without, absent = solved(optional=False), solved(optional=True)
for what, (status, objective, recomputed, end) in (("no", without), ("an absent", absent)):
    print(f"{what} optional task: {status}, objective {objective:g}, "
          f"of its own solution {recomputed}, the job ends at {end}")
assert without == ("Optimal", 2, 2, 8), "changed: without an optional task"
assert absent[:2] == ("Optimal", 0), "changed: the absent task does not count"
assert absent[2] >= 2, "changed: the solution"
PYTHON
