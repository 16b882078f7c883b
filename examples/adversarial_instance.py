"""Where does a scheduler fail? Search for the small instance on which it loses most to another.

    python examples/adversarial_instance.py [directory]

The cells (``# %%``) also run one by one in editors that know them.
"""

# %% Start from a random graph of eight tasks, on which HEFT and CPOP differ little
import sys
from pathlib import Path

import numpy as np

from dagsched_env import io
from dagsched_env.comparison.adversarial import find_adversarial
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.schedulers import cpop, heft

start = TopcuogluGenerator(n_tasks=8, n_processors=3, ccr=1.0)(np.random.default_rng(0))
print(f"start: HEFT {heft(start).makespan:.1f}, CPOP {cpop(start).makespan:.1f}")

# %% Change costs, data and edges, one at a time, so that the ratio of their makespans grows
directory = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("runs") / "adversarial_instance"
directory.mkdir(parents=True, exist_ok=True)
for scheduler, rival in ((heft, cpop), (cpop, heft)):
    result = find_adversarial(scheduler, rival, start, max_evaluations=3000, seed=1)
    loser, winner = scheduler(result.instance), rival(result.instance)
    print(
        f"{scheduler.__name__} takes {loser.makespan:.1f}, {rival.__name__} {winner.makespan:.1f}: "
        f"{result.ratio:.2f} times as long, after {len(result.trace)} instances"
    )
    stem = directory / f"{scheduler.__name__}_loses"
    io.save(result.instance, stem.with_suffix(".json"))
    loser.plot(stem.with_suffix(".png"), result.instance)
    winner.plot(directory / f"{scheduler.__name__}_loses_to_{rival.__name__}.png", result.instance)
print(f"instances and Gantt charts: {directory}")
