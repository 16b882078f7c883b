"""Learners that AERL-DS is compared with, on the same environment and the same suites.

In reading order:

- ``pair_policy``: a MaskablePPO policy that scores each (task, processor) pair
- ``maskable_ppo``: training and evaluation; ``python -m aerl_trainer.baselines.maskable_ppo``
"""
