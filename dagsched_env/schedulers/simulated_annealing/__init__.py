"""Simulated annealing on order × assignment, with one chain or with several in threads.

In reading order:

- ``moves``: how moves are drawn and judged;
- ``chain``: a chain of moves from the incumbent, made in chunks between two looks at the clock;
- ``rounds``: a chain taken through one cooling after the other;
- ``threads``: several chains at the same time; the best schedule of all;
- ``scheduler``: the scheduler ``annealing``, one round of one chain.
"""

from dagsched_env.schedulers.simulated_annealing.chain import Chain
from dagsched_env.schedulers.simulated_annealing.moves import SINGLE_TASKS, MoveRules
from dagsched_env.schedulers.simulated_annealing.rounds import Cooling, run_rounds
from dagsched_env.schedulers.simulated_annealing.scheduler import annealing
from dagsched_env.schedulers.simulated_annealing.threads import run_chains

__all__ = [
    "SINGLE_TASKS",
    "Chain",
    "Cooling",
    "MoveRules",
    "annealing",
    "run_chains",
    "run_rounds",
]
