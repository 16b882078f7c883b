#!/usr/bin/env bash
# job-shop-lib 1.7.2: a schedule with setup times is read back from its dictionary without them.
# Expected: Schedule.from_dict(**schedule.to_dict()) is the schedule.
# Seen: the dictionary holds the order of the jobs on each machine and no times. Reading puts each
#   operation as early as the order allows, without the calculator of start times (setups,
#   breakdowns, arrivals) that the schedule was made with, and from_dict takes none. The makespan
#   falls from 22 to 7, which no machine with these setups can reach.
# Why it matters: makespans of saved schedules are lower than the real ones, and nothing says so.
# In this project: records of schedules are replayed by the simulator of the problem they belong to,
#   and checked (dagsched_env/records).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile job-shop-lib==1.7.2
cd "$work"
venv/bin/python - <<'PYTHON'
from job_shop_lib import JobShopInstance, Operation, Schedule
from job_shop_lib.dispatching import Dispatcher, get_machine_dependent_setup_time_calculator

SETUP = {0: 5, 1: 5}
problem = JobShopInstance([[Operation(0, 2), Operation(1, 3)], [Operation(0, 4), Operation(1, 1)]])
calculator = get_machine_dependent_setup_time_calculator(SETUP)
dispatcher = Dispatcher(problem, start_time_calculator=calculator)
for operation in (0, 1):
    for job in problem.jobs:
        dispatcher.dispatch(job[operation])
made = dispatcher.schedule
read = Schedule.from_dict(**made.to_dict())
for what, schedule in (("made", made), ("read back", read)):
    starts = [[operation.start_time for operation in machine] for machine in schedule.schedule]
    print(f"{what}: starts {starts}, makespan {schedule.makespan()}")
assert (made.makespan(), read.makespan()) == (22, 7), "changed: other makespans"
PYTHON
