"""Simulated annealing on order × assignment.

In reading order:

- ``moves``: how moves are drawn and judged;
- ``cooling``: how the temperature falls;
- ``chain``: a chain of moves from the incumbent, made in chunks between two looks at the clock;
- ``scheduler``: the scheduler ``annealing``, one chain that cools once.
"""

from dagsched_env.kernels.moves.metropolis import MoveRules
from dagsched_env.schedulers.simulated_annealing.chain import Chain
from dagsched_env.schedulers.simulated_annealing.cooling import Cooling
from dagsched_env.schedulers.simulated_annealing.moves import SINGLE_TASKS
from dagsched_env.schedulers.simulated_annealing.scheduler import annealing

__all__ = ["SINGLE_TASKS", "Chain", "Cooling", "MoveRules", "annealing"]
