"""Processes of their own: without the optional packages, or bound by the permissions of files."""

import ctypes
import os

PR_CAPBSET_DROP = 24
OVERRIDES = (1, 2)
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, without which root obeys permissions."""

EXTRAS = (
    "torch", "matplotlib", "ortools", "stable_baselines3", "sb3_contrib", "rich", "tyro",
    "tensorboard", "safetensors", "pandas", "scipy", "pygame",
)  # fmt: skip


def blocking(*packages: str) -> str:
    """Code of a process in which these packages are not installed."""
    return f"""
import importlib.abc, sys

class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {packages!r}:
            raise ModuleNotFoundError(f"{{name}} is blocked", name=name)

sys.meta_path.insert(0, Blocked())
"""


BLOCK = blocking("aerl_trainer", *EXTRAS)
WITHOUT_TORCH = blocking(*EXTRAS)
"""The trainer itself is there, but not its extra."""


def obey_permissions() -> None:
    """As ``preexec_fn`` of a process: what is read-only is so for root, too."""
    for capability in OVERRIDES if os.geteuid() == 0 else ():
        if ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0):
            raise OSError("capabilities cannot be dropped")
