"""Code to run in a process of its own, in which the optional packages cannot be imported."""

BLOCK = """
import importlib.abc, sys

class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in (
            "torch", "matplotlib", "ortools", "aerl_trainer", "stable_baselines3", "sb3_contrib",
            "rich", "tyro", "tensorboard", "safetensors", "pandas", "scipy", "pygame",
        ):
            raise ModuleNotFoundError(f"{name} is blocked", name=name)

sys.meta_path.insert(0, Blocked())
"""

WITHOUT_TORCH = BLOCK.replace(' "aerl_trainer",', "")
"""The trainer itself is there, but not its extra."""
