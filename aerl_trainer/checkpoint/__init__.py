"""Checkpoint directories of safetensors, npz and JSON, never pickle, replaced all or nothing.

A checkpoint is written to ``.<name>.new`` beside it and synced; the old one is renamed to
``.<name>.old``, the new one takes its place, the old one is removed or becomes the older
generation. So at every moment either ``<name>`` or ``.<name>.old`` is complete. One process may
write; one that reads at the moment of a replacement may get an error, and a complete checkpoint on
the next try.

A link at one of these names, or at that of the older generation, makes way like a directory: it is
never followed by what writes, and what it names stays as it is.

Everything in it is checked before it is used: ``state.json`` holds a digest of each other file and
one of its own contents, and ``take`` compares tensors with those that are expected.

In reading order:

- ``contents``: values, and the bytes of their files
- ``manifest``: ``state.json``: the state, and what every other file must be
- ``directory``: saves, loads, generations
- ``run_checkpoints``: the checkpoints of one run
"""

from aerl_trainer.checkpoint.contents import Checkpoint, CheckpointError, take, take_module
from aerl_trainer.checkpoint.directory import (
    exists,
    generations,
    load,
    put_back,
    read_first,
    save,
)
from aerl_trainer.checkpoint.manifest import MANIFEST

__all__ = [
    "MANIFEST",
    "Checkpoint",
    "CheckpointError",
    "exists",
    "generations",
    "load",
    "put_back",
    "read_first",
    "save",
    "take",
    "take_module",
]
