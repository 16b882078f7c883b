"""A classic job shop, ft06: schedulers, a proof of the optimum, and an agent that plays it.

    python examples/job_shop.py [directory]

The cells (``# %%``) also run one by one in editors that know them.
"""

# %% Six jobs visit six machines, each in an order of its own; a task has one eligible processor
import sys
from pathlib import Path

import gymnasium
import numpy as np

from dagsched_env import exact, io
from dagsched_env.generators import JobShopGenerator
from dagsched_env.schedulers import annealing, best_of_portfolio

ft06 = io.load(io.bundled("ft06"))
print(f"ft06: {ft06.n_tasks} operations, {ft06.n_processors} machines")

# %% List schedulers, then a search, then the optimum with its proof
constructive = best_of_portfolio(ft06)
searched = annealing(ft06, max_evaluations=100_000, seed=0)
proved = exact.solve(ft06, time_limit_s=60)
print(f"best list scheduler: {constructive.makespan:.0f}")
print(f"annealing: {searched.makespan:.0f}")
print(f"exact: {proved.schedule.makespan:.0f}, no schedule is below {proved.lower_bound:.0f}")

# %% Gantt chart
directory = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("runs") / "job_shop"
directory.mkdir(parents=True, exist_ok=True)
proved.schedule.plot(directory / "ft06.png", ft06)
print(f"Gantt chart: {directory / 'ft06.png'}")

# %% Play random job shops of the same size: the environment pads and masks by itself
generator = JobShopGenerator(n_jobs=6, n_machines=6, durations=(1, 10))
env = gymnasium.make("dagsched_env:DAGSched-v0", instances=generator, action="task")
env.action_space.seed(0)
makespans = []
for seed in range(5):
    _, info = env.reset(seed=seed)
    over = False
    while not over:
        _, _, over, _, info = env.step(env.action_space.sample(info["action_mask"]))
    makespans.append(info["makespan"])
print(f"random order on 5 random job shops: mean makespan {np.mean(makespans):.1f}")
