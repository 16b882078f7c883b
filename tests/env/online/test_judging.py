"""Plans for several graphs are chosen by what the run is judged by."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagsched_env.cli.dispatchers import choose_dispatchers
from dagsched_env.online import (
    OBJECTIVES,
    Judge,
    Lognormal,
    Poisson,
    RandomOutages,
    Replanning,
    World,
    Worlds,
    simulate,
)
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.schedulers import heft
from helpers.strategies import instances, sharing_instances

SEEDS = st.integers(0, 2**32 - 1)
JUDGED = sorted(OBJECTIVES.keys() - {"makespan"})

BOTH = Instance([[9.0], [9.0], [1.0]], [(0, 1)], [0.0])
"""A long graph of two tasks and a short one of one, on one machine."""


@pytest.mark.parametrize(
    ("objective", "deadline", "first"),
    [
        ("mean_completion", None, "short"),
        ("slowdown", None, "short"),
        ("p95_completion", None, "short"),
        ("tardiness", [18.0, 19.0], "long"),
        ("tardiness", [19.0, 1.0], "short"),
    ],
)
def test_the_graph_that_matters_runs_first(objective, deadline, first):
    world = World(BOTH, arrival=[0, 0], first=[0, 2, 3], deadline=deadline)
    makers = choose_dispatchers(["plan:heft", "replan:heft"], {"heft": heft}, 0.1, objective)
    for make in makers.values():
        completion = simulate(world, make(world)).completion.tolist()
        assert completion == ([19.0, 1.0] if first == "short" else [18.0, 19.0])
    plain = choose_dispatchers(["plan:heft"], {"heft": heft}, 0.1)["plan:heft"](world)
    assert simulate(world, plain).completion.tolist() == [18.0, 19.0]


@pytest.mark.parametrize("objective", JUDGED)
@given(st.one_of(instances(), sharing_instances()), SEEDS)
@settings(max_examples=20)
def test_a_judged_plan_is_no_worse_than_another_where_nothing_is_late(objective, graph, seed):
    worlds = Worlds(graph, Poisson(3, 0.8), slack=1.5)
    world = worlds(np.random.default_rng(seed))
    at_once = World(world.instance, arrival=np.zeros(3), first=world.first, deadline=world.deadline)
    judge = Judge(at_once, objective)
    judged = simulate(at_once, Replanning(lambda left, _: heft(left), "once", judge=judge))
    plain = simulate(at_once, Replanning(lambda left, _: heft(left), "once"))
    assert judged.measures[objective] <= plain.measures[objective] * (1 + 1e-9)


@pytest.mark.parametrize("objective", JUDGED)
@given(st.one_of(instances(), sharing_instances()), SEEDS)
@settings(max_examples=10)
def test_with_outages_every_task_is_done(objective, graph, seed):
    worlds = Worlds(
        graph,
        Poisson(3, 0.8),
        Lognormal(0.5),
        RandomOutages(working=0.5, failed=0.2, until=3.0),
        forgets=True,
        slack=2.0,
    )
    world = worlds(np.random.default_rng(seed))
    judge = Judge(world, objective)
    outcome = simulate(world, Replanning(lambda left, _: heft(left), "always", judge=judge))
    assert (outcome.completion >= world.arrival).all()


def test_in_streams_judged_plans_are_better_than_shortest_and_plain_ones():
    """Always the same four runs."""
    worlds = Worlds("family:fft?points=8&processors=8", Poisson(6, 0.9), Lognormal(0.3))
    found = {}
    for seed in range(4):
        world = worlds(np.random.default_rng(seed))
        for objective in ("makespan", "mean_completion"):
            names = ["shortest", "replan:heft"]
            for name, make in choose_dispatchers(names, {"heft": heft}, 0.1, objective).items():
                measured = simulate(world, make(world)).measures["mean_completion"]
                found.setdefault((name, objective), []).append(measured)
    shortest, plain = found["shortest", "makespan"], found["replan:heft", "makespan"]
    judged = found["replan:heft", "mean_completion"]
    assert np.mean(np.divide(judged, shortest)) < 0.97
    assert np.mean(np.divide(judged, plain)) < 0.9


def test_the_makespan_needs_no_judge():
    with pytest.raises(DAGSchedError, match="leave the judge out"):
        Judge(World(BOTH), "makespan")
    with pytest.raises(DAGSchedError, match="is unknown"):
        Judge(World(BOTH), "mean")
