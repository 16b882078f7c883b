"""MaskablePPO of sb3-contrib on DAGSched-v0: train, then compare with HEFT on new problems.

    python examples/maskable_ppo.py [--timesteps 20000] [--policy dense|pairs]

`dense` is plain Stable-Baselines3 and needs long to catch up with HEFT. `pairs` scores every
(task, processor) with the same small network instead, and soon overtakes it.
"""

import argparse

import gymnasium
import numpy as np
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

from aerl_trainer.baselines.pair_policy import PairObservation, PairPolicy
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.schedulers import heft, random_order

PROBLEMS = TopcuogluGenerator(n_tasks=10, n_processors=3, ccr=1.0, beta=1.0)

# What a dense network can use as it is: one number per (task, processor), as for the actions.
FEATURES = ("est", "eft", "oct", "action_mask")


def make_env(policy):
    env = gymnasium.make("dagsched_env:DAGSched-v0", instances=PROBLEMS)
    if policy == "pairs":
        return PairObservation(env)
    return gymnasium.wrappers.FilterObservation(env, FEATURES)


def make_model(policy, envs):
    if policy == "pairs":
        kind, options = PairPolicy, {}
    else:
        kind, options = "MultiInputPolicy", {"net_arch": [256, 256]}
    # MaskablePPO finds action_masks() of the environment by itself. With gamma = 1 it maximises the
    # return of an episode, which is 1 - SLR.
    return MaskablePPO(
        kind,
        envs,
        policy_kwargs=options,
        gamma=1.0,
        gae_lambda=0.9,
        n_steps=256,
        batch_size=256,
        learning_rate=1e-3,
        seed=0,
        device="cpu",
    )


def schedule(model, env, instance):
    """Take the most probable legal action in every state."""
    observation, info = env.reset(options={"instance": instance})
    over = False
    while not over:
        mask = info["action_mask"]
        action, _ = model.predict(observation, action_masks=mask, deterministic=True)
        observation, _, terminated, truncated, info = env.step(action)
        over = terminated or truncated
    info["schedule"].validate(instance)  # an independent check; raises if anything is wrong
    return info["schedule"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--timesteps", type=int, default=20_000)
    parser.add_argument("--policy", choices=("dense", "pairs"), default="dense")
    arguments = parser.parse_args()

    torch.set_num_threads(1)  # networks this small only wait for a second thread
    envs = make_vec_env(lambda: make_env(arguments.policy), n_envs=8, seed=0)
    model = make_model(arguments.policy, envs)
    model.learn(arguments.timesteps)

    rng = np.random.default_rng(1)
    tests = [PROBLEMS(rng) for _ in range(50)]
    env = make_env(arguments.policy)
    rows = {
        "random order": [random_order(instance, seed=rng) for instance in tests],
        "MaskablePPO": [schedule(model, env, instance) for instance in tests],
    }
    print(f"{len(tests)} new graphs, after {model.num_timesteps} steps: mean makespan / HEFT")
    for name, schedules in rows.items():
        pairs = zip(schedules, tests, strict=True)
        ratio = np.mean([made.makespan / heft(instance).makespan for made, instance in pairs])
        print(f"  {name:<14}{ratio:.3f}")


if __name__ == "__main__":
    main()
