"""Replay of the best sequences found so far for each problem, for self-imitation.

Oh et al. 2018, "Self-Imitation Learning" (arXiv:1806.05635), on the prioritised replay of
``aerl_trainer.learning.replay``: a sequence is drawn the more often the more it surpasses what
the critic expects.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from aerl_trainer.config import ReplayConfig
from aerl_trainer.config.stored import stored
from aerl_trainer.learning.replay import PrioritizedReplay, ReplayBatch, RowStore
from aerl_trainer.learning.replay.arrays import Arrays
from dagsched_env.problem.errors import FormatError
from llvm_phase.sequences import Sequences

__all__ = ["BestSequences"]

Rows = Mapping[str, npt.ArrayLike]
Columns = dict[str, npt.NDArray[Any]]
OWN = ("actions", "length", "rewards")


class BestSequences:
    """Sequences that were, when they came, nearly the best of their problem.

    Args:
        inputs: per name the shape of one entry, and its type: what the policy is given.
        horizon: T ≥ 1, most actions in a sequence.
        capacity: sequences kept, ≥ 1; the oldest go first.
        slack: ≥ 0; a sequence is kept if its return is no worse than the best of its problem by
            more than this.
    """

    def __init__(
        self,
        inputs: Mapping[str, tuple[tuple[int, ...], npt.DTypeLike]],
        horizon: int,
        *,
        capacity: int = 512,
        slack: float = 0.0,
    ) -> None:
        columns = {
            **inputs,
            "actions": ((horizon,), np.int64),
            "length": ((), np.int64),
            "rewards": ((horizon,), np.float32),
        }
        config = ReplayConfig(capacity=capacity, min_size=1)
        self.replay: PrioritizedReplay[Rows, Rows, Columns]
        self.replay = PrioritizedReplay(config, RowStore(capacity, columns))
        self.best: dict[str, float] = {}
        """Problem → the largest return so far."""
        self._slack = slack
        self._known: set[str] = set()

    def __len__(self) -> int:
        return len(self.replay)

    def add(self, problems: list[str], sequences: Sequences) -> int:
        """Keep those that are good enough and new; returns how many.

        Args:
            problems: name of the problem of each sequence.
            sequences: finished ones.
        """
        kept = 0
        lengths = sequences.mask.sum(dim=1).tolist()
        for row, (problem, value) in enumerate(
            zip(problems, sequences.returns.tolist(), strict=True)
        ):
            length = lengths[row]
            actions = sequences.actions[row].numpy()
            identity = _digest(problem, actions[:length])
            if value < self.best.get(problem, -np.inf) - self._slack or identity in self._known:
                continue
            self.best[problem] = max(value, self.best.get(problem, -np.inf))
            self._known.add(identity)
            item: dict[str, npt.ArrayLike] = {
                name: values[row].numpy() for name, values in sequences.inputs.items()
            }
            item |= {"actions": actions, "length": length}
            item["rewards"] = sequences.rewards[row].numpy()
            self.replay.add(item)
            kept += 1
        return kept

    def sample(
        self, size: int, rng: np.random.Generator
    ) -> tuple[Sequences, Tensor, ReplayBatch[Columns]]:
        """Draw sequences; their ``log_probs`` and ``values`` are 0.

        Returns:
            The sequences, their importance weights ``[size]``, and the batch that ``update`` takes.
        """
        batch = self.replay.sample(size, rng, self.replay.config.beta)
        columns = {name: torch.from_numpy(np.array(v)) for name, v in batch.content.items()}
        actions = columns["actions"]
        mask = torch.arange(actions.shape[1]) < columns["length"].unsqueeze(1)
        zeros = torch.zeros(actions.shape)
        inputs = {name: values for name, values in columns.items() if name not in OWN}
        sequences = Sequences(inputs, actions, mask, columns["rewards"], zeros, zeros)
        return sequences, torch.from_numpy(batch.weights).float(), batch

    def update(self, batch: ReplayBatch[Columns], gains: Tensor) -> None:
        """Set priorities ``[size]`` from the gains of a step of imitation."""
        self.replay.update(batch.slots, batch.generations, gains.numpy())

    # -- checkpoints -----------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """JSON values beside the arrays of ``replay.state_arrays``."""
        return {"best": self.best, "known": sorted(self._known)}

    def restore(self, arrays: Arrays, record: Mapping[str, Any]) -> None:
        """The inverse of ``replay.state_arrays`` and ``state``.

        Raises:
            FormatError: they are not sound, or of another shape.
        """
        best, known = stored(record, "best", dict), stored(record, "known", list)
        if not all(isinstance(v, int | float) for v in best.values()):
            raise FormatError("'best' holds something that is no number")
        if not all(isinstance(v, str) for v in known):
            raise FormatError("'known' holds something that is no text")
        self.replay.load_state_arrays(arrays)
        self.best, self._known = {k: float(v) for k, v in best.items()}, set(known)


def _digest(problem: str, actions: npt.NDArray[np.int64]) -> str:
    text = f"{len(problem)}:{problem}".encode() + actions.tobytes()
    return hashlib.blake2b(text, digest_size=8).hexdigest()
