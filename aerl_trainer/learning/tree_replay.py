"""The replay buffer of finished trees: ``learning.replay`` with their packing for checkpoints."""

from collections.abc import Sequence

from aerl_trainer.config import ReplayConfig
from aerl_trainer.learning import packing
from aerl_trainer.learning.replay.buffer import PrioritizedReplay
from aerl_trainer.learning.replay.stores import ItemStore
from aerl_trainer.tree.records import TreeGroup


class TreeReplay(PrioritizedReplay[TreeGroup, Sequence[TreeGroup], tuple[TreeGroup, ...]]):
    """Prioritised replay of the groups of finished trees."""

    def __init__(self, config: ReplayConfig) -> None:
        super().__init__(config, ItemStore(packing.pack_groups, packing.unpack_groups))
