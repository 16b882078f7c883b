"""Processors that run several tasks at once: nodes with cores, memory and other resources.

The resources are those that the machines have. A task uses of each what its file records. Where
that is nothing, it uses one core, and nothing of any other resource.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms.altered import altered
from dagsched_env.problem.workflow import CORES, Workflow


def on_nodes(instance: Instance, workflow: Workflow, capacities: Mapping[str, Floats]) -> Instance:
    """The instance of a workflow, its processors as nodes; its assumptions say what tasks use.

    Args:
        instance: the workflow on processors that run one task at a time.
        workflow: with what its file records of resources.
        capacities: ``[p]`` of each resource by its name; none = the instance as it is.

    Raises:
        InvalidInstanceError: a task uses more than any processor that could run it has.
    """
    if not capacities:
        return instance
    return altered(
        instance,
        demands=np.column_stack([_demand(workflow, name) for name in capacities]),
        capacities=np.column_stack(list(capacities.values())),
        resource_names=tuple(capacities),
        assumptions=(*instance.assumptions, *_sentences(workflow, capacities)),
    )


def unrecorded(resource: str) -> float:
    """What a task uses of a resource where its file records nothing."""
    return 1.0 if resource == CORES else 0.0


def _demand(workflow: Workflow, resource: str) -> Floats:
    found = workflow.recorded(resource)
    return np.where(np.isnan(found), unrecorded(resource), found)


def _sentences(workflow: Workflow, resources: Iterable[str]) -> list[str]:
    """One sentence on what was taken for granted of the resources; none where nothing was."""
    parts = [part for name in resources if (part := _taken(workflow, name))]
    unlimited = [
        name
        for name in workflow.resource_names
        if name not in resources and np.nansum(workflow.recorded(name)) > 0
    ]
    if unlimited:
        parts.append(f"{' and '.join(unlimited)} recorded, but not limited by these machines")
    return [f"resources: {'; '.join(parts)}"] if parts else []


def _taken(workflow: Workflow, resource: str) -> str:
    """What tasks are taken to use of a resource, as far as it is not plain."""
    missing = np.flatnonzero(np.isnan(workflow.recorded(resource)))
    n, use, note = len(workflow.tasks), unrecorded(resource), workflow.note(resource)
    default = f"not recorded, taken as {f'{use:g} each' if use else 'none'}"
    if missing.size == n:
        return ", ".join(filter(None, (f"{resource} {default}", note)))
    if missing.size:
        tasks = f"{missing.size} of {n} tasks, such as {workflow.tasks[missing[0]]!r}"
        return f"{resource}{f': {note}, but' if note else ' of'} {tasks}, {default}"
    return f"{resource}: {note}" if note else ""
