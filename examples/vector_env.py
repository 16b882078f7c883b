"""A thousand copies of DAGSched-v0 at once: random placements against a rule of thumb.

    python examples/vector_env.py [number of copies]

The cells (``# %%``) also run one by one in editors that know them.
"""

# %% Graphs of 10, 20 and 30 tasks: one batch may hold problems of different sizes
import sys
import time

import gymnasium
import numpy as np

import dagsched_env  # registers DAGSched-v0
from dagsched_env.generators import TopcuogluGenerator

rng = np.random.default_rng(0)
draws = [TopcuogluGenerator(n_tasks=n, n_processors=4) for n in (10, 20, 30)]
problems = [draw(rng) for draw in draws for _ in range(20)]

envs = gymnasium.make_vec(
    "DAGSched-v0",
    int(sys.argv[1]) if len(sys.argv) > 1 else 1024,
    vectorization_mode="vector_entry_point",
    instances=problems,
)

# %% A rule looks at all observations and masks together


def random_rule(observation, masks):
    """Any legal action in each copy."""
    return (masks * rng.random(masks.shape)).argmax(axis=1)


def earliest_finish_rule(observation, masks):
    """The ready task with the highest upward rank, where it finishes first: HEFT, step by step."""
    processors = observation["available"].shape[1]  # action = task * processors + processor
    rank = np.where(observation["status_ready"] > 0, observation["rank_u"], -1.0)
    tasks = rank.argmax(axis=1)
    of_the_task = np.arange(masks.shape[1]) // processors == tasks[:, None]
    return np.where(masks & of_the_task, observation["eft"], np.inf).argmin(axis=1)


def play(rule, steps=100):
    """Return the SLR of every finished episode and the number of steps a second."""
    observation, info = envs.reset(seed=0)
    slr, elapsed = [], 0.0
    for _ in range(steps):
        # Where an episode is over no action is legal; the step begins a new one, whatever we say.
        actions = rule(observation, info["action_mask"] == 1)
        started = time.perf_counter()
        observation, _, _, _, info = envs.step(actions)
        elapsed += time.perf_counter() - started
        if "slr" in info:
            slr.extend(info["slr"][info["_slr"]])
    return np.array(slr), steps * envs.num_envs / elapsed


# %% Both rules on the same problems, and HEFT itself
for rule in (random_rule, earliest_finish_rule):
    found, rate = play(rule)
    print(f"{rule.__name__:<22} mean SLR {found.mean():.3f}  episodes {len(found)}")
    print(f"{'':<22} {rate / 1000:.0f} thousand steps a second")

heft = np.mean([dagsched_env.SCHEDULERS["heft"](x).slr(x) for x in problems])
print(f"{'HEFT on the problems':<22} mean SLR {heft:.3f}")
