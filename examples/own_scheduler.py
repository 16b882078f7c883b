"""Your own scheduler beside the classic ones: checked, compared, drawn.

    python examples/own_scheduler.py [picture.png]

The cells (``# %%``) also run one by one in editors that know them.
"""

# %% A scheduler is a function from an instance to a schedule
import sys
from pathlib import Path

import numpy as np

from dagsched_env import SCHEDULERS, Instance, Schedule, State, suites
from dagsched_env.comparison.compare import (
    compare,
    format_pairwise,
    format_table,
    ratios,
    summarise,
)
from dagsched_env.pictures.comparison import save_comparison
from dagsched_env.testing import check_scheduler


def oct_heft(instance: Instance, *, insertion: bool = True) -> Schedule:
    """HEFT's order, PEFT's choice of the processor: least finish time plus optimistic rest."""
    state = State(instance, insertion=insertion)
    while not state.terminal:
        task = max(state.ready().tolist(), key=lambda t: float(instance.rank_u[t]))
        finish = np.full(instance.n_processors, np.inf)
        for q in np.flatnonzero(np.isfinite(instance.comp[task])).tolist():
            state.apply(task, q)
            finish[q] = state.arrays.finish[task] + instance.oct[task, q]
            state.undo()
        state.apply(task, int(np.argmin(finish)))
    return state.schedule(algorithm="oct_heft")


# %% The package's own checks: valid on every odd instance, repeatable, no side effects
check_scheduler(oct_heft)
print("oct_heft passes every check")

# %% Side by side on a frozen suite; each schedule is verified on the way
instances = suites.load("heldout")
contestants = {name: SCHEDULERS[name] for name in ("heft", "peft", "cpop")}
comparison = compare(instances, {**contestants, "oct_heft": oct_heft})
rows = summarise(comparison.makespans, instances, seconds=comparison.seconds)
print(format_table(rows))
print()
print(format_pairwise(comparison.makespans))

# %% A picture of the ratios
picture = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("runs/own_scheduler.png")
picture.parent.mkdir(parents=True, exist_ok=True)
heft = comparison.makespans["heft"]
to_heft = {
    name: ratios(makespans, heft)
    for name, makespans in comparison.makespans.items()
    if name != "heft"
}
save_comparison(to_heft, "heft", picture, "heldout, 40 instances")
print(f"\npicture: {picture}")
