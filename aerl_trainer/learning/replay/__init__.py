"""Prioritised experience replay, a small library of its own.

It knows nothing of scheduling and needs no torch. Source: Schaul et al. 2016, "Prioritized
Experience Replay".

In reading order:

- ``arrays``: named arrays, checked when they are read back
- ``sum_tree``: sums and minima of priorities; finds the slot at a place of the cumulative sum
- ``rank_order``: slots in exact order of priority
- ``priorities``: the distributions to sample from: proportional, rank-based, uniform
- ``ring``: which slot is written next, and who occupies it
- ``stores``: what is kept in the slots: Python objects, or rows of numpy columns
- ``buffer``: the replay buffer: add, sample, update, save, restore

A buffer of transitions, one row each:

    config = ReplayConfig(capacity=100_000, kind="rank")
    columns = {"state": ((4,), np.float32), "action": ((), np.int64), "reward": ((), np.float32)}
    replay = PrioritizedReplay(config, RowStore(config.capacity, columns))
    replay.add({"state": state, "action": 1, "reward": 0.5})
    batch = replay.sample(64, rng, replay.beta(step))
    losses = train(batch.content, batch.weights)
    replay.update(batch.slots, batch.generations, losses)
"""

from aerl_trainer.learning.replay.buffer import PrioritizedReplay, ReplayBatch, ReplayCounters
from aerl_trainer.learning.replay.stores import ItemStore, RowStore

__all__ = ["ItemStore", "PrioritizedReplay", "ReplayBatch", "ReplayCounters", "RowStore"]
