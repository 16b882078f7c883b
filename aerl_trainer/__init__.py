"""AERL-DS: asynchronous evolution-reinforcement learning for DAG scheduling.

The names below are loaded on first use: child processes import this package too, and most of them
need no torch.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aerl_trainer.config import Config
    from aerl_trainer.solver import Policy, SolveResult, load_policy, solve

__all__ = ["Config", "Policy", "SolveResult", "load_policy", "solve"]

_HOMES = {
    "Config": "aerl_trainer.config",
    "Policy": "aerl_trainer.solver",
    "SolveResult": "aerl_trainer.solver",
    "load_policy": "aerl_trainer.solver",
    "solve": "aerl_trainer.solver",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
