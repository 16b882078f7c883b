"""Your own reward: a function of a transition, a member of the family, or a wrapper.

    python examples/own_reward.py

The cells (``# %%``) also run one by one in editors that know them.
"""

# %% A reward is a function of a Transition; with numpy functions it serves vector environments too
import gymnasium
import numpy as np

import dagsched_env  # registers DAGSched-v0
from dagsched_env.environment.rewards import Reduction, Transition
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.testing import check_env

PROBLEMS = TopcuogluGenerator(n_tasks=15, n_processors=3)


def deadline(transition: Transition):
    """Each step costs what it adds to the bound; missing 1.1 times HEFT's makespan costs 5 more."""
    growth = transition.lower_bound_after - transition.lower_bound_before
    late = transition.makespan_after > 1.1 * transition.baseline_makespan
    return -growth / transition.scale - np.where(transition.terminated & late, 5.0, 0.0)


def play(env, seed):
    """A random legal episode; returns the sum of its rewards and its last info."""
    env.action_space.seed(seed)
    _, info = env.reset(seed=seed)
    total, over = 0.0, False
    while not over:
        action = env.action_space.sample(info["action_mask"])
        _, reward, over, _, info = env.step(action)
        total += reward
    return total, info


# %% The package's own checks, then one episode
env = gymnasium.make("DAGSched-v0", instances=PROBLEMS, reward=deadline)
check_env(env)
total, info = play(env, seed=3)
instance = env.unwrapped.instance
allowed = 1.1 * dagsched_env.SCHEDULERS["heft"](instance).makespan
missed = info["makespan"] > allowed
print(f"deadline    return {total:6.2f}  makespan {info['makespan']:.1f}, allowed {allowed:.1f}")
assert np.isclose(total, 1 - info["slr"] - 5.0 * missed)

# %% The same function in a vector environment: called once a step, for all copies
envs = gymnasium.make_vec(
    "DAGSched-v0",
    num_envs=64,
    vectorization_mode="vector_entry_point",
    instances=PROBLEMS,
    reward=deadline,
)
observations, infos = envs.reset(seed=0)
rng, returns = np.random.default_rng(0), np.zeros(64)
for _ in range(15):  # every problem has 15 tasks
    chances = rng.random(infos["action_mask"].shape) * infos["action_mask"]
    observations, rewards, terminated, _, infos = envs.step(chances.argmax(axis=1))
    returns += rewards
assert terminated.all()
print(f"deadline    mean return of 64 copies {returns.mean():.2f}")

# %% The reduction family: how much shorter than HEFT, with a price for steps and a leaky ceiling
reduction = Reduction("log", step_penalty=0.01, threshold=0.2, leak=0.1)
env = gymnasium.make("DAGSched-v0", instances=PROBLEMS, reward=reduction)
total, info = play(env, seed=3)
print(f"reduction   return {total:6.2f}")


# %% What is not in a Transition comes from a wrapper: here the energy of the processors' work
class Energy(gymnasium.Wrapper):
    """Takes the power of a task's processor times its duration off the reward."""

    def __init__(self, env, power):
        super().__init__(env)
        self.power = np.asarray(power)

    def step(self, action):
        observation, reward, terminated, truncated, info = self.env.step(action)
        if not info["illegal_action"]:
            state = self.env.unwrapped.state
            task = state.arrays.sequence[state.n_scheduled - 1]  # the one just placed
            duration = state.arrays.finish[task] - state.arrays.start[task]
            energy = self.power[state.arrays.processor[task]] * duration
            reward -= float(energy / state.instance.time_scale)
        return observation, reward, terminated, truncated, info


env = Energy(gymnasium.make("DAGSched-v0", instances=PROBLEMS), power=[0.1, 0.2, 0.4])
check_env(env, rewards=False)  # the return is 1 - SLR no more
total, info = play(env, seed=3)
print(f"energy      return {total:6.2f}  of which time {1 - info['slr']:.2f}")
assert total < 1 - info["slr"]
