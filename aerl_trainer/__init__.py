"""AERL-DS: asynchronous evolution-reinforcement learning for DAG scheduling.

In reading order; each imports only from those before it:

- ``config``: settings and seeds;
- ``memory``: arrays that processes share;
- ``checkpoint``: what a run saves, as files;
- ``policy``: what a policy sees, and the fast policy, inside kernels;
- ``tree``: the shared Monte-Carlo tree, simulations on it, trajectories from it;
- ``network``: the deep network and the inference workers;
- ``learning``: the learners: rank reward, gradients, experiences, prioritised replay;
- ``baselines``: rivals;
- ``runtime``: actors and inference workers as processes, on one machine or several;
- ``run``: a training run: lifecycle of jobs, validator, curriculum, reports;
- ``online``: a learned dispatcher for runs that go on by events;
- ``solving``: ``solve``, evaluation, what was learned as schedulers;
- ``cli``: the command ``aerl``.

All of these, and the names below, are attributes that are loaded on first use: child processes
import this package too, and most of them need no torch.
"""

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aerl_trainer.config import Config
    from aerl_trainer.run.launch import TrainedRun, train
    from aerl_trainer.solving.learned import Policy
    from aerl_trainer.solving.loading import load_policy
    from aerl_trainer.solving.solver import SolveResult, solve
    from dagsched_env import __version__

__all__ = [
    "Config",
    "Policy",
    "SolveResult",
    "TrainedRun",
    "__version__",
    "load_policy",
    "solve",
    "train",
]

_HOMES = {
    "Config": "aerl_trainer.config",
    "Policy": "aerl_trainer.solving.learned",
    "SolveResult": "aerl_trainer.solving.solver",
    "TrainedRun": "aerl_trainer.run.launch",
    "__version__": "dagsched_env",
    "load_policy": "aerl_trainer.solving.loading",
    "solve": "aerl_trainer.solving.solver",
    "train": "aerl_trainer.run.launch",
}


def __getattr__(name: str) -> Any:
    """One of the names above, or a module of this package.

    Raises:
        MissingExtraError: it needs a package that is not installed; the message says what to do.
    """
    if name in _HOMES:
        return getattr(_load(_HOMES[name]), name)
    if name.startswith("_") or find_spec(f"{__name__}.{name}") is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _load(f"{__name__}.{name}")


def _load(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in (__name__, "dagsched_env"):
            raise
        from dagsched_env.problem.errors import MissingExtraError

        raise MissingExtraError(package, "trainer") from None
