"""The command ``aerl``.

In reading order:

- ``options``: types of options that several commands have
- ``evaluating``: ``aerl evaluate``, and the tables that ``aerl train`` ends with
- ``online_training``: ``aerl train --online``
- ``training``: ``aerl train``
- ``solving``: ``aerl solve``
- ``warm_up``: compiles all kernels beforehand
- ``program``: the commands together, and what becomes of their errors
"""

from aerl_trainer.cli.program import joined, main

__all__ = ["joined", "main"]
