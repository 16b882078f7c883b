"""AERL-DS: asynchronous evolution-reinforcement learning for DAG scheduling.

Modules and packages in reading order; each imports only from those before it:

- settings and data: ``config``, ``records`` (what the parts hand to each other), ``seeding``
  (random generators by name), ``interruption`` (signals that end a run), ``heap`` (free memory,
  kept or given back), ``shared_memory``, ``stored`` (values of a checkpoint, checked), ``replay``
  (a buffer sampled by priority);
- the search: ``encoding`` (what a policy sees), ``policy`` (the fast policy, in kernels),
  ``search`` (the shared tree), ``nn`` (the network);
- around them: ``checkpoint``, ``problems`` (which problems), ``curriculum`` (and when),
  ``reporting``;
- evaluation and learning: ``generations`` (the checkpoints of a run), ``inference`` (who
  evaluates states), ``learning``, ``baselines`` (rivals), ``policies`` (what was learned),
  ``validator``, ``trained`` (what a run has left, read from its checkpoints), ``schedulers`` (a
  policy for ``dagsched``);
- processes: ``runtime``, ``lifecycle`` (of a search job), ``observers`` (what a run records);
- what users call: ``solver``, ``solutions`` (what it shows), ``evaluation``, ``batch`` (many
  files), ``attention_training`` (the run of a rival), ``training``, ``launch`` (a run on any
  problems), ``cli``.

All of these, and the names below, are attributes that are loaded on first use: child processes
import this package too, and most of them need no torch.
"""

import importlib
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aerl_trainer.config import Config
    from aerl_trainer.launch import TrainedRun, train
    from aerl_trainer.policies import Policy, load_policy
    from aerl_trainer.solver import SolveResult, solve
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
    "Policy": "aerl_trainer.policies",
    "SolveResult": "aerl_trainer.solver",
    "TrainedRun": "aerl_trainer.launch",
    "__version__": "dagsched_env",
    "load_policy": "aerl_trainer.policies",
    "solve": "aerl_trainer.solver",
    "train": "aerl_trainer.launch",
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
        from dagsched_env.errors import MissingExtraError

        raise MissingExtraError(package, "trainer") from None
