"""A thousand copies of DAGSched-v0 at once: random placements against a rule of thumb.

python examples/vector_env.py [number of copies]
"""

import sys
import time

import gymnasium
import numpy as np

import dagsched_env  # registers DAGSched-v0
from dagsched_env.generators import TopcuogluGenerator


def make_problems():
    """Graphs of 10, 20 and 30 tasks: one batch may hold problems of different sizes."""
    rng = np.random.default_rng(0)
    draws = [TopcuogluGenerator(n_tasks=n, n_processors=4) for n in (10, 20, 30)]
    return [draw(rng) for draw in draws for _ in range(20)]


def random_rule(observation, masks, rng):
    """Any legal action in each copy."""
    return (masks * rng.random(masks.shape)).argmax(axis=1)


def earliest_finish_rule(observation, masks, rng):
    """The ready task with the highest upward rank, where it finishes first: HEFT, step by step."""
    processors = observation["available"].shape[1]  # action = task * processors + processor
    rank = np.where(observation["status_ready"] > 0, observation["rank_u"], -1.0)
    tasks = rank.argmax(axis=1)
    of_the_task = np.arange(masks.shape[1]) // processors == tasks[:, None]
    return np.where(masks & of_the_task, observation["eft"], np.inf).argmin(axis=1)


def play(envs, rule, steps):
    """Return the SLR of every finished episode and the number of steps a second."""
    rng = np.random.default_rng(0)
    observation, info = envs.reset(seed=0)
    slr, elapsed = [], 0.0
    for _ in range(steps):
        # Where an episode is over no action is legal; the step begins a new one, whatever we say.
        actions = rule(observation, info["action_mask"] == 1, rng)
        started = time.perf_counter()
        observation, _, _, _, info = envs.step(actions)
        elapsed += time.perf_counter() - started
        if "slr" in info:
            slr.extend(info["slr"][info["_slr"]])
    return np.array(slr), steps * envs.num_envs / elapsed


def main():
    num_envs = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    problems = make_problems()
    envs = gymnasium.make_vec(
        "DAGSched-v0", num_envs, vectorization_mode="vector_entry_point", instances=problems
    )
    for rule in (random_rule, earliest_finish_rule):
        slr, rate = play(envs, rule, steps=100)
        print(f"{rule.__name__:<22} mean SLR {slr.mean():.3f}  episodes {len(slr)}")
        print(f"{'':<22} {rate / 1000:.0f} thousand steps a second")

    heft = np.mean([dagsched_env.SCHEDULERS["heft"](x).slr(x) for x in problems])
    print(f"{'HEFT on the problems':<22} mean SLR {heft:.3f}")


if __name__ == "__main__":
    main()
