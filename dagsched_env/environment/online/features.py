"""The table of all features that an agent sees of a run.

Shapes, groups and units are those of ``environment.features``, and so are the values of features
that have the same name in both tables. Times that change are from now on. Of graphs that have not
arrived everything is 0.
"""

from dagsched_env.environment.features import FEATURES, Feature

__all__ = ["ONLINE_FEATURES"]

_SHARED = {feature.name: feature for feature in FEATURES}


def _shared(*names: str) -> tuple[Feature, ...]:
    return tuple(_SHARED[name] for name in names)


# In each group those that change are neighbours, in the order of ``kernels.online.features``.
ONLINE_FEATURES: tuple[Feature, ...] = (
    *_shared("mean_comp", "min_comp", "data_in", "data_out", "rank_u", "rank_d"),
    Feature("status_waiting", "task", "flag", True, "waits for a predecessor"),
    Feature("status_ready", "task", "flag", True, "all predecessors have finished"),
    Feature("status_running", "task", "flag", True, "runs"),
    Feature("status_completed", "task", "flag", True, "has finished"),
    Feature("waited", "task", "CP_MIN", True, "since it has been ready; ready tasks only"),
    Feature("left", "task", "CP_MIN", True, "until its expected finish; running tasks only"),
    Feature("late", "task", "CP_MIN", True, "since its expected finish; running tasks only"),
    Feature("graph_left", "task", "CP_MIN", True, "work left in its graph / processors"),
    Feature("graph_age", "task", "CP_MIN", True, "since its graph arrived"),
    Feature("urgency", "task", "ratio", True, "graph_left / time to its deadline, ≤ 10; 0 without"),
    *_shared("speed"),
    Feature("working", "processor", "flag", True, "has not failed"),
    Feature("busy", "processor", "CP_MIN", True, "until all that runs there is expected to end"),
    *_shared("comp", "eligible", "oct"),
    Feature("placed", "pair", "flag", True, "the task runs or has run on the processor"),
    Feature("inputs", "pair", "CP_MIN", True, "until its inputs are there; ready tasks only"),
    Feature("eft", "pair", "CP_MIN", True, "expected finish, if nothing else starts there"),
    Feature("startable", "pair", "flag", True, "the task can start there now"),
    *_shared("demand", "capacity"),
    Feature("free", "capacity", "ratio", True, "share that is free"),
    *_shared("communication", "edge_source", "edge_target"),
    Feature("task_mask", "task", "mask", True, "1 = a task of a graph that has arrived"),
    *_shared("processor_mask"),
    Feature("edge_mask", "edge", "mask", True, "1 = an edge of a graph that has arrived"),
)
"""The whole observation, without ``action_mask``."""
