"""What the learned dispatcher sees of a pair (ready task, machine): the columns, and their names.

No column has a unit: times are divided by the task's mean duration, or by the mean of all tasks.
"""

(
    PLACE,
    RANK,
    FINISH,
    FINISH_SCALED,
    ROOM,
    INPUTS,
    DURATION,
    SLOWNESS,
    COST_TO_GO,
    COST,
    NOW_THERE,
    GAP,
    OVERDUE,
    AGE,
    QUEUE,
    TAKEN,
    REGRET,
    LENGTH,
    DEGREE,
    WAITED,
    PRESSURE,
    DONE,
    WORK,
    WORK_ABOVE,
    SURPRISE,
) = range(25)

FEATURES = {
    "place": "place of the task in the short list by rank_u",
    "rank": "1 - its rank_u / the largest of the short list",
    "finish": "expected finish beyond the least one of the task",
    "finish_scaled": "expected finish from now on, in mean durations of all tasks",
    "room": "wait for room",
    "inputs": "wait for inputs",
    "duration": "expected duration / the mean over machines, - 1",
    "slowness": "expected duration / the least one, - 1",
    "cost_to_go": "optimistic cost of the machine beyond the least one of the task",
    "cost": "expected finish and optimistic cost beyond the least sum of the task",
    "now": "it can start now",
    "gap": "time that the machine would be idle before it starts",
    "overdue": "by how much the latest task that runs there is late / its expected duration",
    "age": "for how long the tasks there have run / their expected duration, the largest",
    "queue": "tasks that wait for the machine",
    "taken": "share of the machine that is taken",
    "regret": "by how much the second best machine of the task ends it later",
    "length": "logarithm of its mean duration in mean durations of all tasks",
    "degree": "logarithm of its out-degree",
    "waited": "how long it has been ready",
    "pressure": "logarithm of ready tasks for each machine with room",
    "done": "share of the known tasks that has finished",
    "work": "work left in its graph / the most of any graph that is known",
    "work_above": "share of the work left in its graph beyond that of the graph with least",
    "surprise": "mean difference of real and expected durations / expected ones, of finished tasks",
}
"""Name → meaning, in the order of the columns."""

N_FEATURES = len(FEATURES)

LIMIT = 4.0
"""Features are cut off at it, before they are divided."""
