"""``explain``: a measured run against the bound, against a plan, and against other machines."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dagsched_env.explain.chains import Chain, Step, longest_chains, measured_chain
from dagsched_env.explain.whatif import alternatives, replayed
from dagsched_env.io import Equips
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.bounds import LowerBounds, lower_bounds
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.run import Run
from dagsched_env.problem.schedule import Schedule
from dagsched_env.solver import solve

CHAINS = 5
"""Longest chains that are listed."""
OF_PLAN = 0.5
"""Share of the time that goes to the plan; the alternatives have the rest."""
LEAST_S = 0.1


class WhatIf(NamedTuple):
    """The plan for one alternative."""

    title: str
    makespan: float
    lower_bound: float


@dataclass(frozen=True, eq=False)
class Explanation:
    """What bounds a run; times are seconds."""

    run: Run
    """Its tasks that ran."""
    measured: Instance
    """They, on the machines of the run."""
    instance: Instance
    """They, on the machines of the plan."""
    plan: Schedule
    lower_bound: float
    """No schedule on these machines is shorter."""
    bounds: LowerBounds
    """What they are by, unless a search has proved more."""
    waited: tuple[Step, ...]
    """What the last task of the run waited for, in the order of time."""
    chains: tuple[Chain, ...]
    """The longest chains of the graph, transfers left out."""
    idle: Floats
    """``[p]`` share of each machine of the run that was not used until its end, in [0, 1]."""
    what_if: tuple[WhatIf, ...]

    @property
    def overhead(self) -> float:
        """Time on the chain of the run in which none of its tasks ran."""
        return sum(step.gap for step in self.waited)

    @property
    def bounded_by(self) -> str:
        """What keeps every schedule from being shorter."""
        bounds, reached = self.bounds, self.lower_bound * (1 - 1e-9)
        if bounds.critical_path >= reached:
            return "the longest chain of tasks"
        if bounds.path >= reached:
            return "the longest chain of tasks with its transfers"
        if bounds.best < reached:
            return "a search that proved it"
        if max(bounds.load, bounds.window) < reached:
            return "how many tasks can run at the same time"
        around = "" if bounds.load >= reached else ", with what comes before and after"
        if not self.instance.n_resources:
            return f"the work of all tasks together{around}"
        least = self.instance.comp.min(axis=1)
        used = (least[:, None] * self.instance.demands).sum(axis=0)
        scarce = int(np.argmax(used / self.instance.capacities.sum(axis=0)))
        return f"the {self.instance.resource_names[scarce]} of all machines together{around}"


def explain(
    run: Run, machines: Equips | None = None, *, budget_s: float = 10.0, seed: int = 0
) -> Explanation:
    """Explain a measured run.

    Args:
        run: tasks that did not run in it are left out.
        machines: on which to plan; those of the run when None.
        budget_s: seconds for all searches together, > 0.
        seed: of their randomness.

    Raises:
        DAGSchedError: no task ran, or one used more than any machine has.
        KeyboardInterrupt: Ctrl-C.
    """
    ran = run.executed()
    measured = ran.instance()
    instance = measured if machines is None else machines.equip(ran.problem)
    planned = solve(instance, budget_s=OF_PLAN * budget_s, seed=seed).uninterrupted()
    chains = longest_chains(measured, ran.workflow.runtimes, CHAINS)
    halved = int(np.argmax(ran.workflow.runtimes))
    others = list(alternatives(instance, halved))
    each = max(LEAST_S, (1 - OF_PLAN) * budget_s / len(others))
    what_if = [WhatIf("as it is, in the planned order", planned.makespan, planned.lower_bound)]
    for title, other in others:
        start = replayed(planned.schedule, instance, other)
        found = solve(other, budget_s=each, seed=seed, start=start).uninterrupted()
        what_if.append(WhatIf(title, found.makespan, found.lower_bound))
    return Explanation(
        run=ran,
        measured=measured,
        instance=instance,
        plan=planned.schedule,
        lower_bound=planned.lower_bound,
        bounds=lower_bounds(instance),
        waited=tuple(measured_chain(ran, measured)),
        chains=tuple(chains),
        idle=_idle(ran, measured),
        what_if=tuple(what_if),
    )


def _idle(run: Run, instance: Instance) -> Floats:
    """Share of the first resource of each machine that was not used, or of its time."""
    p, span = instance.n_processors, run.makespan
    if span == 0:
        return np.zeros(p)
    seconds = run.finish - run.start
    use = instance.demands[:, 0] if instance.n_resources else np.ones(len(seconds))
    have = instance.capacities[:, 0] if instance.n_resources else np.ones(p)
    busy = np.bincount(run.machine, weights=use * seconds, minlength=p)
    return np.clip(1.0 - busy / (have * span), 0.0, 1.0)
