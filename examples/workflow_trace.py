"""A recorded workflow on machines of your choice, from the trace to a chart to zoom into.

    python examples/workflow_trace.py [directory]

The cells (``# %%``) also run one by one in editors that know them.
"""

# %% A trace has runtimes and file sizes; the machines come from a platform
import sys
from pathlib import Path

from dagsched_env import SCHEDULERS, io
from dagsched_env.pictures import save
from dagsched_env.schedulers import best_of_portfolio

directory = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("runs/workflow_trace")
directory.mkdir(parents=True, exist_ok=True)

# Two old machines, two new ones; 50 MB/s between them, 2 ms before a transfer starts.
platform = io.Platform(speeds=[1.0, 1.0, 1.6, 1.6], bandwidths=50e6, latency=0.002)
montage = io.load("montage", platform=platform)
print(montage)

# %% All constructive schedulers; which one wins?
heft = SCHEDULERS["heft"](montage)
best = best_of_portfolio(montage)
searched = SCHEDULERS["annealing"](montage, max_evaluations=100_000, seed=0)
for schedule in (heft, best, searched):
    schedule.validate(montage)
    speedup = schedule.speedup(montage)
    print(f"{schedule.algorithm:<12} {schedule.makespan:8.3f} s  speedup {speedup:.3f}")
print(f"{'no schedule':<12} {montage.lower_bound:8.3f} s  is shorter")

# %% Keep the problem, the schedule, a chart to zoom into, a timeline for chrome://tracing
io.save(montage, directory / "montage.json")
(directory / "schedule.json").write_text(searched.to_json() + "\n", encoding="utf-8")
save(searched, directory / "montage.html", montage)
save(searched, directory / "montage.png", montage)
print(f"files in {directory}: {', '.join(sorted(path.name for path in directory.iterdir()))}")
