"""The trained policies that come with the package.

Each is a file of ``policy.files`` in ``aerl_trainer/data``, with a JSON card beside it: what it was
trained on and for how long, by which commit and settings, and its results.
"""

from functools import cache
from pathlib import Path

from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.policy.files import load_weights

__all__ = ["SUFFIX", "find_weights", "shipped_names", "shipped_policy"]

FOLDER = Path(__file__).resolve().parent.parent / "data"
SUFFIX = ".safetensors"
ORDER = (
    *("default", "factorizations", "stencil", "gaussian_elimination", "laplace", "fft"),
    *("epigenomics", "montage", "many_processors", "out_tree", "cholesky", "in_tree"),
)
"""One pass of each adds most to those before it: where time is short, the last ones are not asked
(docs/notes/learning.md, "Larger graphs of a family")."""


def shipped_names() -> tuple[str, ...]:
    """Names of the shipped policies, in the order in which ``solve`` asks them."""
    return ORDER


@cache
def shipped_policy(name: str) -> FastPolicy:
    """A shipped policy, read once."""
    return FastPolicy(load_weights(FOLDER / f"{name}{SUFFIX}")[0])


def find_weights(source: str | Path) -> Path | None:
    """The file of weights that is meant: of a shipped policy by its name, or any file.

    None for everything else, such as the directory of a run.
    """
    if str(source) in shipped_names():
        return FOLDER / f"{source}{SUFFIX}"
    return Path(source) if Path(source).is_file() else None
