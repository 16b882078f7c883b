"""Learners that AERL-DS is compared with, on the same environment and the same suites.

Each is a module with a command line of its own: ``python -m aerl_trainer.baselines.maskable_ppo``.
"""
