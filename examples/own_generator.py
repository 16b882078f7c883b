"""Your own family of random problems: drawn, checked, compared, played.

    python examples/own_generator.py

How a package adds a family to `family:NAME` for everybody is shown in `examples/family_package`.
The cells (``# %%``) also run one by one in editors that know them.
"""

# %% A generator is a function rng -> Instance; all randomness comes from rng
import gymnasium
import numpy as np

from dagsched_env import SCHEDULERS, Instance
from dagsched_env.comparison.compare import compare, format_table, summarise
from dagsched_env.testing import check_instance

CAMERAS, PROCESSORS = 6, 4


def cameras(rng: np.random.Generator) -> Instance:
    """Up to six cameras: a picture is decoded, then searched; one task collects what was found."""
    count = int(rng.integers(2, CAMERAS + 1))
    work = np.concatenate([rng.uniform(1, 3, count), rng.uniform(5, 15, count), [2.0]])
    speed = np.array([1.0, 1.0, 2.0, 4.0])
    edges = [(i, count + i) for i in range(count)] + [(count + i, 2 * count) for i in range(count)]
    data = np.concatenate([rng.uniform(2, 8, count), np.full(count, 0.5)])
    return Instance(work[:, None] / speed, edges, data, name=f"cameras-{count}")


# %% Draw some, check them, compare schedulers on them
rng = np.random.default_rng(0)
instances = [cameras(rng) for _ in range(30)]
for instance in instances:
    check_instance(instance)
comparison = compare(instances, {name: SCHEDULERS[name] for name in ("heft", "peft", "cpop")})
print(format_table(summarise(comparison.makespans, instances)))

# %% An environment of new problems; its arrays have room for the largest
env = gymnasium.make(
    "dagsched_env:DAGSched-v0",
    instances=cameras,  # aerl_trainer.train(cameras, minutes=10) takes it as well
    max_tasks=2 * CAMERAS + 1,
    max_processors=PROCESSORS,
    max_edges=2 * CAMERAS,
)
env.action_space.seed(0)
for seed in range(3):
    _, info = env.reset(seed=seed)
    over = False
    while not over:
        _, _, over, _, info = env.step(env.action_space.sample(info["action_mask"]))
    print(
        f"episode {seed}: {env.unwrapped.instance.name}, random placements: SLR {info['slr']:.2f}"
    )
