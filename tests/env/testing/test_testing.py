"""The checks pass on everything of this package, and catch what is broken on purpose."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from hypothesis import given, settings

from dagsched_env import DAGSchedEnv, Instance, Schedule
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.problem.durations import Lognormal
from dagsched_env.schedulers import heft, random_order
from dagsched_env.testing import (
    ConformanceError,
    check_env,
    check_instance,
    check_scheduler,
    tricky_instances,
)
from helpers.strategies import instances

# -- instances -----------------------------------------------------------------------------------


@settings(max_examples=40)
@given(instances())
def test_every_instance_passes(instance: Instance) -> None:
    check_instance(instance)


def test_the_battery_is_difficult() -> None:
    battery = tricky_instances()
    for instance in battery:
        check_instance(instance)
    assert [x.fingerprint for x in battery] == [x.fingerprint for x in tricky_instances()]
    assert len({instance.name for instance in battery}) == len(battery)
    assert any(np.isinf(instance.comp).any() for instance in battery)
    assert any(np.isinf(instance.comp).all(axis=0).any() for instance in battery)
    assert any(instance.n_processors == 1 for instance in battery)
    assert any(instance.n_tasks == 1 for instance in battery)
    assert any(instance.n_edges == 0 for instance in battery)
    assert any(instance.cp_min == 0 for instance in battery)
    assert any((instance.latency > 0).any() for instance in battery)


class Mutable(Instance):
    """Lets its costs be written to."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        writable = self.arrays._replace(comp=self.arrays.comp.copy())
        self.__dict__["arrays"] = writable


class Detached(Instance):
    """Changes an edge, but not the rows that the kernels read."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.__dict__["edges"] = self.edges[:, ::-1]


class Forgetful(Instance):
    """Loses its links in a file."""

    def to_json(self) -> str:
        return Instance(self.comp, self.edges, self.data * 0).to_json()


class Optimistic(Instance):
    """States a bound that is none."""

    lower_bound = 1e6


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Mutable, r"arrays\.comp can be written to"),
        (Detached, r"arrays\.succ_ptr, _task and _data are not the edges"),
        (Forgetful, "to_json and from_json change the numbers"),
        (Optimistic, "lower_bound=1000000.0 is above HEFT's makespan"),
    ],
)
def test_broken_instances(kind: type[Instance], message: str) -> None:
    with pytest.raises(ConformanceError, match=message):
        check_instance(kind([[2.0, 4.0], [3.0, 1.0]], [(0, 1)], [6.0]))


def test_something_else_is_no_instance() -> None:
    with pytest.raises(ConformanceError, match="list is not an Instance"):
        check_instance([])


# -- schedulers ----------------------------------------------------------------------------------


def test_heft_passes_on_more() -> None:
    check_scheduler(heft)
    check_scheduler(heft, insertion=False)
    generator, rng = TopcuogluGenerator(n_tasks=20, n_processors=3), np.random.default_rng(0)
    check_scheduler(heft, (generator(rng) for _ in range(3)))
    check_scheduler(random_order, seed=1)


def overlapping(instance: Instance) -> Schedule:
    finish = instance.comp[:, 0]
    return Schedule(np.zeros(instance.n_tasks), np.zeros(instance.n_tasks), finish)


def crashing(instance: Instance) -> Schedule:
    return heft(instance) if instance.n_edges else Schedule([0], [0.0], [1 // instance.n_edges])


def global_random(instance: Instance) -> Schedule:
    np.random.random()  # noqa: NPY002
    return heft(instance)


class Memory:
    """Remembers how often it was called."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, instance: Instance) -> Schedule:
        self.calls += 1
        return random_order(instance, seed=self.calls)


def vandal(instance: Instance) -> Schedule:
    schedule = heft(instance)
    instance.__dict__["comp"] = instance.comp * 2
    return schedule


@pytest.mark.parametrize(
    ("scheduler", "message"),
    [
        (overlapping, "on .*: invalid schedule: "),
        (crashing, "on 'one task, one processor': raises ZeroDivisionError: "),
        (lambda instance: instance.n_tasks, "returns int, no Schedule"),
        (global_random, "draws from numpy's global generator: take a seed"),
        (Memory(), "two calls give different schedules: pass its seed as an option"),
        (vandal, "changes the instance"),
    ],
)
def test_broken_schedulers(scheduler: Any, message: str) -> None:
    with pytest.raises(ConformanceError, match=message):
        check_scheduler(scheduler)


# -- environments --------------------------------------------------------------------------------

SMALL = TopcuogluGenerator(n_tasks=(3, 8), n_processors=(2, 3))
INELIGIBLE = [
    Instance([[2, np.inf], [np.inf, 5], [np.inf, 3]], [(0, 1)], [10]),
    Instance(np.ones((4, 1)), [], []),
    Instance([[1.0]], [], []),
]


@pytest.mark.parametrize("observation", ["flat", "graph"])
@pytest.mark.parametrize("action", ["factored", "pair", "task"])
@pytest.mark.parametrize("problems", [SMALL, INELIGIBLE, INELIGIBLE[2]])
def test_every_mode_passes(problems: Any, action: str, observation: str) -> None:
    check_env(DAGSchedEnv(problems, action=action, observation=observation))


def test_options_and_wrappers_pass() -> None:
    check_env(DAGSchedEnv(SMALL, max_illegal_actions=3, insertion=False, illegal_penalty=0))
    check_env(DAGSchedEnv(SMALL, reward="log_reduction", durations=Lognormal(0.1, samples=5)))
    env = gymnasium.make("DAGSched-v0", instances=SMALL)
    check_env(env, seed=5)
    check_env(gymnasium.wrappers.FlattenObservation(env))
    check_env(gymnasium.wrappers.TransformReward(env, lambda r: 2 * r), rewards=False)


def test_another_env_is_none_of_these() -> None:
    with pytest.raises(ConformanceError, match="CartPoleEnv is not a DAGSchedEnv"):
        check_env(gymnasium.make("CartPole-v1"))


class Broken(DAGSchedEnv):
    """Breaks one promise."""

    def __init__(self, promise: str) -> None:
        super().__init__(SMALL, max_illegal_actions=50)
        self.promise = promise
        self.steps = 0

    def step(self, action: Any) -> Any:
        self.steps += 1
        observation, reward, terminated, truncated, info = super().step(action)
        illegal = info["illegal_action"]
        if self.promise == "space":
            observation["est"] -= 1
        elif self.promise == "mask":
            info["action_mask"][:] = 1
        elif self.promise == "report":
            info["illegal_action"] = False
        elif self.promise == "return" and not illegal:
            reward += 0.5
        elif self.promise == "penalty" and illegal:
            reward -= self.steps
        elif self.promise == "determinism" and not illegal:
            observation["est"] = observation["est"] + np.float32(self.steps % 7)
        elif self.promise == "state" and illegal:
            self.state.apply(*np.argwhere(self.state.legal())[0])
        elif self.promise == "patience":
            truncated = truncated or (illegal and self._illegal_actions == 40)
        elif self.promise == "end" and terminated:
            del info["schedule"]
        elif self.promise == "slr" and terminated:
            info["slr"] *= 2
        elif self.promise == "finite" and not illegal:
            reward = float("nan")
        return observation, reward, terminated, truncated, info


@pytest.mark.parametrize(
    ("promise", "message"),
    [
        ("space", "not (with)?in the observation space|not in observation_space"),
        ("mask", r'info\["action_mask"\] is not action_masks\(\)'),
        ("report", "forbidden by the mask, but not reported"),
        ("return", "the return is .*, but 1 - SLR is"),
        ("penalty", "illegal actions cost .* they have to be equal"),
        ("determinism", "Deterministic step|two episodes with seed 0"),
        ("state", "changes the state"),
        ("patience", "truncated is True after 40 of 50 illegal actions"),
        ("end", "info has no 'schedule' at the end"),
        ("slr", r"info\['slr'\] is .*, that of the schedule is"),
        ("finite", "a reward is nan|reward"),
    ],
)
@pytest.mark.filterwarnings("ignore::UserWarning")  # of Gymnasium's checker, on the way to it
def test_broken_environments(promise: str, message: str) -> None:
    with pytest.raises(ConformanceError, match=message):
        check_env(Broken(promise))


class WrongMask(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Says that everything is legal."""

    def action_masks(self) -> np.ndarray:
        return np.ones(self.action_space.n, dtype=np.bool_)

    def reset(self, **options: Any) -> Any:
        observation, info = self.env.reset(**options)
        return observation, info | {"action_mask": self.action_masks().astype(np.int8)}

    def step(self, action: Any) -> Any:
        *rest, info = self.env.step(action)
        return *rest, info | {"action_mask": self.action_masks().astype(np.int8)}


def test_a_mask_that_allows_too_much() -> None:
    with pytest.raises(ConformanceError, match="allowed by the mask, but: task"):
        check_env(WrongMask(DAGSchedEnv(SMALL)))


def test_a_factored_mask_that_allows_too_much() -> None:
    class TooMuch(DAGSchedEnv):
        def action_masks(self) -> np.ndarray:
            return np.ones(super().action_masks().shape, dtype=np.bool_)

        def step(self, action: Any) -> Any:
            *rest, info = super().step(action)
            return *rest, info | {"action_mask": self.action_masks()}

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            observation, info = super().reset(seed=seed, options=options)
            return observation, info | {"action_mask": self.action_masks()}

    with pytest.raises(ConformanceError, match="has no legal counterpart"):
        check_env(TooMuch(SMALL, action="factored"))
