"""Learners that AERL-DS is compared with, on the same environment and the same suites.

In reading order:

- ``reinforce``: REINFORCE for policies that write sequences, with two baselines; any problem
- ``attention``: an attention model over task graphs, which REINFORCE trains
- ``pair_policy``: a MaskablePPO policy that scores each (task, processor) pair
- ``maskable_ppo``: training and evaluation; ``python -m aerl_trainer.baselines.maskable_ppo``
"""
