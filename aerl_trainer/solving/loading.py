"""The door to what was learned and lies on disk: shipped policies, files of weights, runs.

torch takes longer to load than all else together, so it is loaded only where there is a run to
read: a shipped policy needs none.
"""

from pathlib import Path

from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.policy.files import load_weights
from aerl_trainer.policy.shipped import find_weights
from aerl_trainer.solving.learned import Policy, Trained
from dagsched_env.problem.errors import DAGSchedError


def load_policy(directory: str | Path) -> Policy:
    """Read what was trained: a run directory, a checkpoint in it, a file of weights, or by name.

    The names are those of ``policy.shipped``, such as ``"default"``; ``./default`` is a directory.
    Of a run the ``last`` checkpoint is taken: its fast policy is the last one that has passed the
    paired test. Where it is damaged, a ``DamageWarning`` says so, and the ``previous`` or the
    ``best`` one is taken. Only the policy, the network and the settings are read: other files may
    be damaged.

    Raises:
        CheckpointError: there is nothing of this name (the message lists the shipped policies), or
            no checkpoint can be read; names the damaged files.
        DAGSchedError: it is of a rival, which guides no search.
        FormatError: a file that holds no weights of this policy.
    """
    trained = _load(directory)
    if not isinstance(trained, Policy):
        raise DAGSchedError(
            f"{directory}: an attention model, which schedules but guides no search: compare it by "
            "aerl evaluate, or by dagsched compare --checkpoint"
        )
    return trained


def load_trained(directory: str | Path) -> Trained:
    """As ``load_policy``, but of a run of any algorithm."""
    return _load(directory)


def _load(directory: str | Path) -> Trained:
    if (weights := find_weights(directory)) is not None:
        return Policy(FastPolicy(load_weights(weights)[0]))
    from aerl_trainer.solving.trained import read_run

    return read_run(Path(directory))
