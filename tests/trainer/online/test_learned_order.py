"""The learned dispatcher: gradients, whole runs, and what it is like before it has learned."""

from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerl_trainer.online.dispatcher import LearnedOrder
from aerl_trainer.online.files import WEIGHTS_FILE, save_online
from aerl_trainer.online.rollout import Runs
from aerl_trainer.online.shipped import learned, shipped_weights
from aerl_trainer.online.weights import N_WEIGHTS, initial_weights
from dagsched_env.cli import dispatchers, main
from dagsched_env.online import (
    ListOrder,
    Lognormal,
    Outage,
    Poisson,
    RandomOutages,
    World,
    Worlds,
    simulate,
)
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from helpers.strategies import instances, released, sharing_instances

SEEDS = st.integers(0, 2**32 - 1)
PROBLEMS = st.one_of(instances(), sharing_instances(), released(instances()))

SHAPES = {
    "one graph": Worlds("family:topcuoglu?tasks=40&processors=4", noise=Lognormal(0.5)),
    "sharing": Worlds("family:cholesky?tiles=4&processors=4&cores=4&demand=1..4"),
    "stream": Worlds(
        "family:layered?processors=3", noise=Lognormal(0.5), arrivals=Poisson(5, load=0.8)
    ),
}


def some_weights(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return initial_weights(rng) / 4 + rng.normal(0.0, 0.3, N_WEIGHTS)


def world_of(instance: Instance, seed: int, cv: float = 0.5) -> World:
    return Worlds(instance, noise=Lognormal(cv))(np.random.default_rng(seed))


@pytest.mark.parametrize("shape", SHAPES)
def test_the_mean_gradient_of_the_log_probability_is_0(shape: str) -> None:
    world = SHAPES[shape](np.random.default_rng(0))
    drawn = Runs(world).sample(some_weights(), 400, np.random.default_rng(1)).gradients
    assert np.abs(drawn).max() > 0.1
    error = drawn.std(axis=0) / np.sqrt(len(drawn)) + 1e-9
    assert (np.abs(drawn.mean(axis=0)) / error).max() < 5.0


def test_gradients_on_a_tiny_world_are_finite_differences() -> None:
    """Two choices of two pairs: a choice falls on the first pair below a number, its probability,
    and every way through has its own makespan."""
    runs = Runs(World(Instance([[2.0, 3.0], [4.0, 3.5]], [(0, 1)], [1.25])))

    def log_probability(weights: np.ndarray) -> float:
        total = 0.0
        first = runs.roll_out(weights, np.zeros((1, 2))).objectives[0]
        for i in range(2):
            low, high = 0.0, 1.0
            for _ in range(52):
                middle, uniforms = (low + high) / 2, np.zeros((1, 2))
                uniforms[0, i] = middle
                same = runs.roll_out(weights, uniforms).objectives[0] == first
                low, high = (middle, high) if same else (low, middle)
            total += np.log(low)
        return float(total)

    weights, rng = some_weights(3), np.random.default_rng(0)
    gradient = runs.roll_out(weights, np.zeros((1, 2)), gradients=True).gradients[0]
    assert -5 < log_probability(weights) < -0.1
    for _ in range(5):
        step = 1e-5 * rng.normal(size=N_WEIGHTS)
        change = log_probability(weights + step) - log_probability(weights - step)
        assert change == pytest.approx(2 * gradient @ step, rel=1e-4, abs=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
def test_without_training_it_is_list_scheduling(shape: str) -> None:
    weights = initial_weights(np.random.default_rng(0))
    for seed in range(5):
        world = SHAPES[shape](np.random.default_rng(seed))
        ours = simulate(world, LearnedOrder(world.instance, weights))
        assert ours.schedule == simulate(world, ListOrder(world.instance)).schedule


@pytest.mark.parametrize("shape", SHAPES)
def test_greedy_runs_are_what_simulate_does(shape: str) -> None:
    weights = some_weights()
    for seed in range(3):
        world = SHAPES[shape](np.random.default_rng(seed))
        outcome = simulate(world, LearnedOrder(world.instance, weights))
        assert Runs(world).greedy(weights) == outcome.measures["mean_completion"]
        three = Runs(world).roll_out(weights, np.full((3, 4), -1.0)).objectives
        assert (three == three[0]).all()


@given(PROBLEMS, SEEDS)
def test_every_run_is_a_valid_schedule(instance: Instance, seed: int) -> None:
    world = world_of(instance, seed)
    outcome = simulate(world, LearnedOrder(instance, some_weights(seed)))
    outcome.schedule.validate(world.clairvoyant())
    runs = Runs(world)
    group = runs.sample(some_weights(seed), 3, np.random.default_rng(seed))
    assert np.isfinite(group.objectives).all()
    assert np.isfinite(group.gradients).all()


@given(PROBLEMS, SEEDS)
def test_machines_may_fail(instance: Instance, seed: int) -> None:
    outages = RandomOutages()
    world = Worlds(instance, noise=Lognormal(0.5), outages=outages, forgets=bool(seed % 2))(
        np.random.default_rng(seed)
    )
    assert simulate(world, LearnedOrder(instance, some_weights(seed))).completion.min() >= 0
    Runs(world).sample(some_weights(seed), 2, np.random.default_rng(seed))


def test_a_task_waits_for_its_only_machine_to_come_back() -> None:
    world = World(Instance([[1.0, np.inf]], [], []), outages=[Outage(0, 0.0, 5.0)])
    assert Runs(world).greedy(some_weights()) == 6.0


@pytest.mark.parametrize("weights", [np.zeros(3), np.full(N_WEIGHTS, np.nan)])
def test_other_weights_are_refused(weights: np.ndarray) -> None:
    with pytest.raises(DAGSchedError, match=f"{N_WEIGHTS} finite numbers"):
        LearnedOrder(Instance([[1.0]], [], []), weights)


def test_the_command_knows_it_by_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # What is installed may be older than this entry point; test_packaging looks at setup.cfg.
    point = EntryPoint("learned", "aerl_trainer.online.shipped:learned", dispatchers.GROUP)
    monkeypatch.setattr(dispatchers, "entry_points", lambda group: [point])
    run, file = tmp_path / "run", tmp_path / "run" / WEIGHTS_FILE
    run.mkdir()
    save_online(file, initial_weights(np.random.default_rng(0)), {})
    names = ["heft", "learned", f"learned:{run}", f"learned:{file}"]
    arguments = ["simulate", "family:cholesky", "--draws", "3", "--dispatchers", *names]
    assert main(arguments) == 0
    rows = {line.split()[0]: line.split()[2] for line in capsys.readouterr().out.splitlines()[3:]}
    assert list(rows) == names
    assert rows[f"learned:{file}"] == rows[f"learned:{run}"] == rows["heft"] == "1.0000"
    for name, message in [
        ("learned:", "names no file"),
        (f"learned:{tmp_path / 'none'}", "No such file"),
        ("learnt", "did you mean 'learned'"),
    ]:
        assert main(["simulate", "family:cholesky", "--dispatchers", name]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("builtins:len", "the dispatcher odd raised TypeError"),
        ("builtins:id", "the dispatcher odd raised AttributeError: 'int' object has no attribute"),
        ("nowhere:x", "loading the dispatcher odd raised ModuleNotFoundError"),
        ("helpers.actions:OfMachineNine", "task 0 on machine 9: there are tasks 0 to 34"),
    ],
)
def test_dispatchers_of_others_that_go_wrong_are_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, value: str, message: str
) -> None:
    monkeypatch.setattr(
        dispatchers, "entry_points", lambda group: [EntryPoint("odd", value, dispatchers.GROUP)]
    )
    assert main(["simulate", "family:cholesky", "--dispatchers", "odd"]) == 2
    assert message in capsys.readouterr().err


def test_without_the_trainer_the_command_says_what_there_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatchers, "entry_points", lambda group: [])
    assert main(["simulate", "family:cholesky", "--dispatchers", "learned"]) == 2
    assert "no dispatcher 'learned'" in capsys.readouterr().err


def test_the_shipped_weights_are_better_than_list_scheduling() -> None:
    worlds = Worlds("family:layered?processors=4", noise=Lognormal(0.5), arrivals=Poisson(5))
    ratios = []
    for seed in range(10):
        world = worlds(np.random.default_rng([7, seed]))
        ours = simulate(world, learned(world.instance)).measures["mean_completion"]
        ratios.append(ours / simulate(world, ListOrder(world.instance)).measures["mean_completion"])
    assert np.mean(ratios) < 0.97
    assert shipped_weights() is shipped_weights()
