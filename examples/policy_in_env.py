"""The fast policy in DAGSched-v0: trained in seconds or read from a file, compared with HEFT.

    python examples/policy_in_env.py [--policy FILE] [--steps 100] [--out runs/policy_in_env]

The command line takes the file that it writes, too:

    dagsched compare --suite structured --checkpoint runs/policy_in_env/policy.safetensors
"""

import argparse
from pathlib import Path

import gymnasium
import numpy as np

import dagsched_env  # registers DAGSched-v0
from aerl_trainer.config import PolicyConfig
from aerl_trainer.learning.policy_learner import PolicyLearner
from aerl_trainer.policy.agent import policy_action
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.policy.files import load_weights, save_weights
from dagsched_env.sources.specs import parse_family

PROBLEMS = "family:gaussian_elimination?size=8&processors=4&ccr=2..5"
EPISODES = 40
SAMPLES = 8


def train(steps):
    """Gradient steps on random problems; each draws 8 of them, and 32 schedules of each."""
    config = PolicyConfig(instances=8)
    training = PolicyLearner(parse_family(PROBLEMS), np.random.default_rng(0), config)
    for i in range(steps):
        training.step(i / steps)
    return training.policy


def play(env, policy, seed, rng=None):
    """Return the last info of an episode: the most probable actions, or with rng drawn ones."""
    env.reset(seed=seed)
    over = False
    while not over:
        _, _, over, _, info = env.step(policy_action(policy, env, rng))
    return info


def ratio_to_heft(env, makespan_of):
    """Mean over problems that training has not seen."""
    ratios = []
    for seed in range(EPISODES):
        makespan = makespan_of(seed)
        ratios.append(makespan / dagsched_env.SCHEDULERS["heft"](env.unwrapped.instance).makespan)
    return np.mean(ratios)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--policy", help="a file to read instead of training")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--out", type=Path, default=Path("runs") / "policy_in_env")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    if options.policy:
        policy = FastPolicy(load_weights(options.policy)[0])
    else:
        policy = train(options.steps)
        file = options.out / "policy.safetensors"
        save_weights(file, policy.weights, {"problems": PROBLEMS, "steps": str(options.steps)})
        print(f"policy: {file}")

    env, rng = gymnasium.make("DAGSched-v0", instances=PROBLEMS), np.random.default_rng(1)
    untrained = FastPolicy()

    def best_of_samples(seed):
        return min(play(env, policy, seed, rng)["makespan"] for _ in range(SAMPLES))

    print("mean of makespan / HEFT's makespan")
    for name, makespan_of in {
        "not trained": lambda seed: play(env, untrained, seed)["makespan"],
        "trained": lambda seed: play(env, policy, seed)["makespan"],
        f"best of {SAMPLES} samples": best_of_samples,
    }.items():
        print(f"  {name:<18} {ratio_to_heft(env, makespan_of):.4f}")

    schedule = play(env, policy, seed=0)["schedule"]
    assert schedule == policy.schedule(env.unwrapped.instance)  # one kernel call makes the same
    print(f"Gantt chart: {schedule.plot(options.out / 'gantt.png', env.unwrapped.instance)}")


if __name__ == "__main__":
    main()
