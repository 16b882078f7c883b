"""One episode of DAGSched-v0: masked random actions, then a rule of thumb, then the picture.

python examples/quickstart.py [gantt.png]
"""

import sys
from pathlib import Path

import gymnasium
import numpy as np

import dagsched_env  # registers DAGSched-v0


def random_rule(env, observation, info):
    """Any legal action: `Discrete.sample` takes the mask that every step returns."""
    return env.action_space.sample(info["action_mask"])


def earliest_finish_rule(env, observation, info):
    """The ready task with the highest upward rank, where it finishes first: HEFT, step by step."""
    legal = np.flatnonzero(info["action_mask"])  # action = task * max_processors + processor
    processors = len(observation["available"])
    rank = observation["rank_u"][legal // processors]
    return legal[np.lexsort((observation["eft"][legal], -rank))[0]]


def play(env, rule):
    """Return the last info of one episode; the seed makes it the same problem every time."""
    observation, info = env.reset(seed=1)
    total, over = 0.0, False
    while not over:
        observation, reward, terminated, truncated, info = env.step(rule(env, observation, info))
        total += reward
        over = terminated or truncated
    # The return of an episode is 1 - SLR: what is maximised is what is reported.
    assert np.isclose(total, 1.0 - info["slr"])
    return info


def main():
    picture = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("runs") / "quickstart.png"
    env = gymnasium.make("DAGSched-v0")  # random graphs: 20 tasks, 4 processors
    env.action_space.seed(0)
    for rule in (random_rule, earliest_finish_rule):
        info = play(env, rule)
        print(f"{rule.__name__:<22} makespan {info['makespan']:.2f}  SLR {info['slr']:.3f}")

    instance = env.unwrapped.instance
    heft = dagsched_env.SCHEDULERS["heft"](instance)
    print(f"{'HEFT':<22} makespan {heft.makespan:.2f}  SLR {heft.slr(instance):.3f}")

    picture.parent.mkdir(parents=True, exist_ok=True)
    info["schedule"].plot(picture, instance)
    print(f"Gantt chart: {picture}")


if __name__ == "__main__":
    main()
