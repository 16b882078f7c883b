"""An anytime solver: what finds schedules takes turns, and time goes to what pays.

In reading order:

- ``result``: what a solve reports while it runs, and in the end;
- ``best``: the best schedule so far, and whether the solve is over; shared by threads;
- ``lists``: the list schedulers, those first that pay most, as far as the time goes;
- ``chains``: schedules that keep chains of tasks together;
- ``shapes``: what is left to decide in a problem;
- ``entrants``: annealings, descents from many starts, a genetic algorithm;
- ``relinking``: tabu searches on critical blocks, for job shops;
- ``proof``: CP-SAT, which has turns between theirs where it may prove the optimum;
- ``race``: list schedules that learn from each other, then the entrants in heats and a final;
- ``threads``: races side by side;
- ``solving``: lower bounds, ``solve``.
"""

from dagsched_env.solver.best import Best
from dagsched_env.solver.lists import run_list_schedulers
from dagsched_env.solver.race import RULES
from dagsched_env.solver.result import Callback, Finding, SolveResult
from dagsched_env.solver.shapes import is_shop
from dagsched_env.solver.solving import improve, load_for, load_kernels, prove_bounds, solve

__all__ = [
    "RULES",
    "Best",
    "Callback",
    "Finding",
    "SolveResult",
    "improve",
    "is_shop",
    "load_for",
    "load_kernels",
    "prove_bounds",
    "run_list_schedulers",
    "solve",
]
