"""Executions under noise: against a plain reference, the plan itself, samplers, the env's info."""

import itertools
from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dagsched_env import DAGSchedEnv, DAGSchedError, Instance, InvalidScheduleError, Schedule, State
from dagsched_env.problem.durations import Lognormal, Uniform, execute, robust_makespan
from dagsched_env.schedulers import heft
from helpers.strategies import episodes

PAIR = Instance([[2.0, 4.0], [3.0, 1.0]], [(0, 1)], [6.0])


def random_schedule(instance: Instance, seed: int, insertion: bool) -> Schedule:
    rng, state = np.random.default_rng(seed), State(instance, insertion=insertion)
    while not state.terminal:
        state.apply(*rng.choice(np.argwhere(state.legal())).tolist())
    return state.schedule()


def executed(schedule: Schedule, instance: Instance, factors: np.ndarray) -> float:
    """The makespan by relaxation: every constraint is applied until nothing moves any more."""
    n = instance.n_tasks
    duration = [instance.comp[t, schedule.processor[t]] * factors[t] for t in range(n)]
    before: list[tuple[int, int, float]] = []
    for (u, v), data in zip(instance.edges.tolist(), instance.data.tolist(), strict=True):
        a, b = schedule.processor[u], schedule.processor[v]
        link = instance.latency[a, b] + data * instance.inv_bandwidth[a, b] if a != b else 0.0
        before.append((u, v, link))
    position = instance.arrays.topo_position
    for q in range(instance.n_processors):
        on_q = sorted(
            np.flatnonzero(schedule.processor == q).tolist(),
            key=lambda t: (schedule.start[t] + schedule.finish[t], position[t]),
        )
        before += [(u, v, 0.0) for u, v in itertools.pairwise(on_q)]
    start = [0.0] * n
    for _ in range(n):
        for u, v, delay in before:
            start[v] = max(start[v], start[u] + duration[u] + delay)
    return max(start[t] + duration[t] for t in range(n))


@given(episodes())
def test_without_noise_the_plan_is_met_or_beaten(episode: tuple[Instance, int, bool]) -> None:
    instance, seed, insertion = episode
    schedule = random_schedule(instance, seed, insertion)
    (makespan,) = execute(schedule, instance, np.ones((1, instance.n_tasks)))
    assert makespan <= schedule.makespan
    if not insertion:  # append-only placements are semi-active
        assert makespan == schedule.makespan


@given(episodes(), st.floats(0.0, 2.0))
def test_executions_against_the_reference(
    episode: tuple[Instance, int, bool], spread: float
) -> None:
    instance, seed, insertion = episode
    schedule = random_schedule(instance, seed, insertion)
    if (schedule.start == schedule.finish).any():
        return  # the order of tasks without duration is not in their times
    factors = np.random.default_rng(seed).uniform(0.1, 0.1 + spread, (3, instance.n_tasks))
    makespans = execute(schedule, instance, factors)
    assert makespans == pytest.approx(
        [executed(schedule, instance, row) for row in factors], rel=1e-9
    )


def test_by_hand(topcuoglu: Instance, gap_instance: Instance) -> None:
    schedule = heft(topcuoglu)
    ones = np.ones(10)
    assert execute(schedule, topcuoglu, [ones, 2 * ones, 0 * ones])[0] == 80
    late = ones.copy()
    late[9] = 2.0  # the exit task: 7 on its processor, behind everything
    assert execute(schedule, topcuoglu, [late]).tolist() == [87]
    # Task 2 runs in the gap before task 1: at 5 times its length it pushes task 1 from 12 to 15.
    assert execute(heft(gap_instance), gap_instance, [[1, 1, 1], [1, 1, 5]]).tolist() == [17, 20]


def test_late_schedules_are_pulled_forward() -> None:
    lazy = Schedule([0, 0], [5.0, 11.0], [7.0, 14.0])
    assert execute(lazy, PAIR, [[1.0, 1.0]]).tolist() == [5.0]


def test_rounding_errors_do_not_turn_edges_around() -> None:
    """Task 0 comes first by its edge, and second by a rounding error of its times."""
    instance = Instance([[0.0], [0.0], [1.0]], [(0, 1), (1, 2)], [0.0, 0.0])
    schedule = Schedule([0, 0, 0], [1e-12, 0.0, 0.0], [1e-12, 0.0, 1.0])
    schedule.validate(instance)
    assert execute(schedule, instance, [[1.0, 1.0, 2.0]]).tolist() == [2.0]


@pytest.mark.parametrize("durations", [Lognormal(cv=0.3, samples=4000), Uniform(0.4, 4000)])
def test_samples(durations: Lognormal | Uniform) -> None:
    factors = durations.factors(5)
    assert factors.shape == (4000, 5)
    assert (factors == durations.factors(5)).all()
    # Common random numbers: a task's samples depend on nothing but the seed and the task.
    assert (durations.factors(2) == factors[:, :2]).all()
    assert (type(durations)(0.3, 4000, seed=1).factors(5) != factors).all()
    cv = 0.3 if isinstance(durations, Lognormal) else 0.4 / np.sqrt(3)
    for column in factors.T:
        assert column.mean() == pytest.approx(1.0, abs=4 * cv / np.sqrt(4000))
        assert column.std() == pytest.approx(cv, rel=0.1)
    pooled = factors.ravel()
    if isinstance(durations, Lognormal):
        sigma = np.sqrt(np.log(1 + 0.3**2))
        law = stats.lognorm(sigma, scale=np.exp(-(sigma**2) / 2))
    else:
        law = stats.uniform(0.6, 0.8)
    assert stats.kstest(pooled, law.cdf).pvalue > 0.01


def test_summary() -> None:
    schedule = heft(PAIR)
    robust = robust_makespan(schedule, PAIR, Uniform(0.5, samples=100).factors(2))
    makespans = execute(schedule, PAIR, Uniform(0.5, samples=100).factors(2))
    assert robust == (makespans.mean(), makespans.std(), np.quantile(makespans, 0.95))
    assert robust_makespan(schedule, PAIR, Lognormal(cv=0.0).factors(2)) == (5.0, 0.0, 5.0)
    with pytest.raises(DAGSchedError, match="factors has no rows"):
        robust_makespan(schedule, PAIR, np.ones((0, 2)))


@settings(max_examples=20)
@given(episodes())
def test_info_of_the_last_step(episode: tuple[Instance, int, bool]) -> None:
    instance, seed, insertion = episode
    noise = Lognormal(cv=0.5, samples=20, seed=3)
    env = DAGSchedEnv(instance, durations=noise, insertion=insertion, max_tasks=15)
    rng = np.random.default_rng(seed)
    _, info = env.reset()
    over = False
    while not over:
        assert "robust_makespan_mean" not in info
        action = rng.choice(np.flatnonzero(info["action_mask"]))
        _, _, over, _, info = env.step(action)
    expected = robust_makespan(info["schedule"], instance, noise.factors(instance.n_tasks))
    for name, value in expected._asdict().items():
        assert info[f"robust_makespan_{name}"] == value


def test_env_made_with_durations() -> None:
    env = gymnasium.make("DAGSched-v0", instances=PAIR, durations=Uniform(0.0))
    env.reset()
    env.step(0)
    info = env.step(2)[4]
    assert [info[f"robust_makespan_{name}"] for name in ("mean", "std", "q95")] == [5.0, 0.0, 5.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Lognormal(cv=-0.1), "cv=-0.1 is not a number >= 0"),
        (lambda: Lognormal(cv=np.nan), "cv=nan"),
        (lambda: Lognormal(0.1, samples=0), "samples=0 is not at least 1"),
        (lambda: Uniform(1.5), r"width=1.5 is not in 0\.\.1"),
        (lambda: Uniform(0.5, seed=-1), "seed=-1 is not at least 0"),
        (
            lambda: execute(heft(PAIR), PAIR, [1.0, 1.0]),
            r"needs shape \[executions, 2\], got \[2\]",
        ),
        (lambda: execute(heft(PAIR), PAIR, [[1.0]]), r"got \[1, 1\]"),
        (lambda: execute(heft(PAIR), PAIR, [[1.0, -1.0]]), r"factors\[0, 1\] is -1.0"),
        (lambda: execute(heft(PAIR), PAIR, [[1.0, 1.0], [np.inf, 1.0]]), r"factors\[1, 0\] is inf"),
    ],
)
def test_bad_arguments(make: Any, message: str) -> None:
    with pytest.raises(DAGSchedError, match=message):
        make()


def test_invalid_schedules_are_not_executed() -> None:
    with pytest.raises(InvalidScheduleError, match="before the data"):
        execute(Schedule([0, 1], [0.0, 2.0], [2.0, 3.0]), PAIR, [[1.0, 1.0]])
