"""Runs that go on by events, against the validator of schedules and a check of every attempt."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagsched_env.online import (
    ORDERS,
    Fifo,
    Gamma,
    ListOrder,
    Lognormal,
    Outage,
    PlanOrder,
    Poisson,
    RandomOutages,
    Replanning,
    Simulation,
    World,
    Worlds,
    simulate,
)
from dagsched_env.online.noise import drawn
from dagsched_env.online.replanning import WHEN, remaining
from dagsched_env.online.world import joined
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.schedulers import CONSTRUCTIVE, heft, min_min
from helpers.strategies import instances, sharing_instances

SEEDS = st.integers(0, 2**32 - 1)
EXAMPLES = max(20, settings().max_examples // 3)
"""Of each of eleven kinds of dispatchers."""
PROBLEMS = st.one_of(instances(), sharing_instances())


def planner(instance, previous):
    """The better one of HEFT and what there is."""
    plan = heft(instance)
    return plan if previous is None or plan.makespan < previous.makespan else previous


def dispatchers(instance):
    """One of each kind."""
    return {
        "fifo": Fifo(),
        **{order: ListOrder(instance, order) for order in ORDERS},
        "plan": PlanOrder(instance, heft(instance)),
        "times": PlanOrder(instance, heft(instance), fixed=True),
        **{f"replanning {when}": Replanning(planner, when) for when in WHEN},
    }


KINDS = list(dispatchers(Instance([[1.0]], [], [])))


class Recorded:
    """A dispatcher that keeps what another one says."""

    def __init__(self, inner):
        self.inner, self.attempts = inner, []

    def starts(self, situation):
        for task, machine in self.inner.starts(situation):
            self.attempts.append((situation.now, task, machine))
            yield task, machine


def check_attempts(world, attempts):
    """Rooms, inputs and machines of every attempt, worked out from the rules alone."""
    instance = world.instance
    done = []  # (start, end, task, machine, whole)
    for begin, task, q in attempts:
        assert begin >= world.arrival[world.graph[task]]
        end, whole = begin + world.actual[task, q], True
        for outage in world.outages:
            if outage.machine == q:
                assert not outage.start <= begin < outage.end
                if begin < outage.start < end:
                    end, whole = outage.start, False
        for u, v in instance.edges.tolist():
            if v != task:
                continue
            link = 0.0
            data = instance.data[(instance.edges == (u, v)).all(axis=1)][0]
            sources = []
            for _, e, t, machine, finished in done:
                lost = world.forgets and any(
                    o.machine == machine and e <= o.start <= begin for o in world.outages
                )
                if t == u and finished and not lost:
                    link = instance.latency[machine, q] + data * instance.inv_bandwidth[machine, q]
                    sources.append(e + link)
            assert sources, f"{u} has not finished when {task} starts, or its outputs are lost"
            assert min(sources) <= begin + 1e-9 * max(1.0, begin)
        done.append((begin, end, task, q, whole))
    for q in range(instance.n_processors):
        here = [d for d in done if d[3] == q]
        for begin, _, _, _, _ in here:
            beside = [t for b, e, t, _, _ in here if b <= begin < e]
            if instance.n_resources:
                need = instance.arrays.demand[beside].sum(axis=0)  # whole numbers
                assert (need <= instance.arrays.capacity[q]).all()
            else:
                assert len(beside) <= 1
    assert {t for _, _, t, _, whole in done if whole} == set(range(instance.n_tasks))


@pytest.mark.parametrize("kind", KINDS)
@given(PROBLEMS, SEEDS)
@settings(max_examples=EXAMPLES)
def test_a_run_is_a_valid_schedule_of_the_real_durations(kind, instance, seed):
    rng = np.random.default_rng(seed)
    worlds = Worlds(instance, noise=Gamma(0.7))
    world = worlds(rng)
    outcome = simulate(world, dispatchers(instance)[kind])
    outcome.schedule.validate(world.clairvoyant())
    assert outcome.measures["makespan"] == outcome.schedule.makespan


@given(PROBLEMS, st.sampled_from(sorted(CONSTRUCTIVE)), st.booleans())
def test_a_plan_whose_durations_are_right_takes_what_it_says(instance, name, fixed):
    plan = CONSTRUCTIVE[name](instance)
    outcome = simulate(World(instance), PlanOrder(instance, plan, fixed=fixed))
    assert outcome.schedule.makespan <= plan.makespan * (1 + 1e-9)
    if fixed:
        assert (outcome.schedule.start >= plan.start - 1e-9 * plan.makespan).all()


@pytest.mark.parametrize("kind", KINDS)
@given(PROBLEMS, st.integers(1, 3), SEEDS, st.booleans())
@settings(max_examples=EXAMPLES)
def test_with_streams_and_outages_no_rule_is_broken_and_no_task_is_lost(
    kind, graph, count, seed, forgets
):
    rng = np.random.default_rng(seed)
    worlds = Worlds(
        graph,
        arrivals=Poisson(count, 0.8),
        noise=Lognormal(0.5),
        outages=RandomOutages(working=0.5, failed=0.2, until=3.0),
        forgets=forgets,
    )
    world = worlds(rng)
    dispatcher = Recorded(dispatchers(world.instance)[kind])
    outcome = simulate(world, dispatcher)
    check_attempts(world, dispatcher.attempts)
    assert (outcome.completion >= world.arrival).all()


def test_outputs_of_a_lost_machine_are_made_again():
    # 0 → 1 → 2 on two machines; machine 0 fails after task 0, when its output is still needed.
    chain = Instance([[1.0, 9.0], [2.0, 2.0], [1.0, 1.0]], [(0, 1), (1, 2)], [5.0, 0.0])
    lost = [Outage(0, 1.5, np.inf)]
    kept = simulate(World(chain, outages=lost), Fifo())
    assert kept.schedule.processor.tolist() == [0, 1, 1]
    assert kept.schedule.start.tolist() == [0.0, 6.0, 8.0]
    anew = simulate(World(chain, outages=lost, forgets=True), Fifo())
    assert anew.schedule.processor.tolist() == [1, 1, 1]
    assert anew.schedule.start.tolist() == [1.5, 10.5, 12.5]


@given(PROBLEMS, SEEDS)
def test_what_is_left_of_a_run_can_be_done_as_planned(instance, seed):
    """A plan of the rest takes what it says, if from now on all takes what is expected."""
    rng = np.random.default_rng(seed)
    simulation = Simulation(World(instance))
    order = ListOrder(instance)
    simulation.settle()
    for _ in range(int(rng.integers(instance.n_tasks))):
        for task, machine in order.starts(simulation.situation):
            simulation.start(task, machine)
        if not simulation.wait():
            break
    if simulation.situation.done or not simulation.situation.ready.size:
        return
    left, tasks = remaining(simulation.situation)
    plan = min_min(left)
    plan.validate(left)
    begun = simulation.situation.now
    rest = Replanning(lambda *_: plan, "once")
    while True:
        for task, machine in rest.starts(simulation.situation):
            simulation.start(task, machine)
        if not simulation.wait():
            break
    done = simulation.schedule()
    done.validate(instance)
    if not instance.n_resources:  # there a plan may put off what runs already
        assert done.finish[tasks].max() <= begun + plan.makespan * (1 + 1e-9) + 1e-9


@given(PROBLEMS, SEEDS)
@settings(max_examples=EXAMPLES)
def test_a_list_starts_what_a_slow_reference_starts(instance, seed):
    """Which looks at every ready task, although there may be no room for any of the others."""
    world = Worlds(instance, noise=Lognormal(0.5))(np.random.default_rng(seed))
    simulation, by = Simulation(world), ListOrder(instance, "arrival")
    going = simulation.settle()
    while going:
        expected = listed(simulation.situation)
        for task, machine in by.starts(simulation.situation):
            simulation.start(task, machine)
            while expected[0] != (task, machine):  # one before it takes no time, and runs still
                assert not simulation.situation.can_start(*expected.pop(0))
            expected.pop(0)
        assert not any(simulation.situation.can_start(*pair) for pair in expected)
        going = simulation.wait()


def listed(situation):
    instance, now = situation.instance, situation.now
    held = [
        (situation.arrays.machine[t], situation.expected_finish(t), situation.need(t))
        for t in situation.running.tolist()
    ]
    room = [
        instance.arrays.capacity[q] if instance.n_resources else 1
        for q in range(instance.n_processors)
    ]
    starts = []
    for t in situation.ready.tolist():
        need, options = situation.need(t), []
        for q in range(instance.n_processors):
            if not np.isfinite(instance.comp[t, q]):
                continue
            begin = now
            while True:
                beside = [(end, use) for m, end, use in held if m == q and end > begin]
                used = sum((use for _, use in beside), np.zeros_like(need))
                if ((need == 0) | (used + need <= room[q])).all():
                    break
                begin = min(end for end, _ in beside)
            arrival = situation.arrival(t)[q]
            finish = max(arrival, begin) + instance.comp[t, q]
            options.append((finish, q, begin <= now and arrival <= now))
        finish, q, at_once = min(options, key=lambda option: option[0])
        held.append((q, finish, need))
        if at_once:
            starts.append((t, q))
    return starts


def test_a_copy_of_a_run_has_the_same_future():
    world = Worlds("family:cholesky?tiles=4", noise=Lognormal(0.5))(np.random.default_rng(1))
    run = Simulation(world)
    run.settle()
    twin = run.clone()
    ends = []
    for each in (run, twin):
        dispatcher = ListOrder(world.instance)
        going = True
        while going:
            for task, machine in dispatcher.starts(each.situation):
                each.start(task, machine)
            going = each.wait()
        ends.append(each.schedule().finish.tolist())
    assert ends[0] == ends[1]


@pytest.mark.parametrize("noise", [Lognormal(0.6), Gamma(0.6)])
def test_noise_has_its_mean_and_spread(noise):
    instance = Instance(np.ones((20_000, 1)), [], [])
    factors = drawn(noise, instance, np.random.default_rng(0))
    assert factors.mean() == pytest.approx(1.0, abs=0.02)
    assert factors.std() == pytest.approx(0.6, abs=0.03)


def test_graphs_arrive_at_the_load_that_was_asked_for():
    worlds = Worlds("family:fft", arrivals=Poisson(4000, 0.8))
    graphs = [worlds.source(np.random.default_rng(i)) for i in range(20)] * 200
    times = Poisson(4000, 0.8).times(graphs, np.random.default_rng(0))
    work = sum(g.arrays.mean_comp.sum() / g.n_processors for g in graphs)
    assert work / times[-1] == pytest.approx(0.8, rel=0.05)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda i: World(i, np.ones((1, 1))), r"actual needs shape \[2, 1\], got \[1, 1\]"),
        (lambda i: World(i, [[1.0], [np.nan]]), r"actual\[1, 0\] is nan"),
        (lambda i: World(i, arrival=[1.0, 0.0], first=[0, 1, 2]), "not ascending"),
        (lambda i: World(i, arrival=[0.0, 1.0], first=[0, 1, 2]), "an edge joins two graphs"),
        (lambda i: World(i, outages=[Outage(0, 2.0, 1.0)]), "before it ends"),
        (lambda i: World(i, outages=[Outage(0, 2.0, np.inf)]), "machines that do not come back"),
        (lambda i: World(i, outages=[Outage(0, 1, 5), Outage(0, 2, 3)]), "does not work then"),
        (lambda i: ListOrder(i, "fast"), "by='fast' is unknown"),
        (lambda i: Replanning(planner, "sometimes"), "when='sometimes' is unknown"),
        (lambda i: joined([i, Instance(np.ones((1, 2)), [], [])]), "graph 1 .* other machines"),
    ],
)
def test_wrong_arguments_are_named(make, message):
    with pytest.raises(DAGSchedError, match=message):
        make(Instance([[1.0], [1.0]], [(0, 1)], [0.0]))


def test_a_dispatcher_that_starts_what_cannot_start_is_told_so():
    class Eager:
        def starts(self, situation):
            yield 1, 0

    with pytest.raises(DAGSchedError, match="'1' on 'P0', where it cannot start at 0"):
        simulate(World(Instance([[1.0], [1.0]], [(0, 1)], [0.0])), Eager())


def test_a_dispatcher_that_waits_for_ever_is_told_so():
    class Lazy:
        def starts(self, situation):
            return iter(())

    with pytest.raises(DAGSchedError, match="does not start '0'"):
        simulate(World(Instance([[1.0]], [], [])), Lazy())
