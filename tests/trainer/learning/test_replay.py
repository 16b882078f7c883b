"""Replay of experiences: statistically, under threads, and round trips."""

import dataclasses
from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from aerl_trainer.config import ReplayConfig
from aerl_trainer.learning import packing
from aerl_trainer.learning.experience_replay import ExperienceReplay as PrioritizedReplay
from aerl_trainer.learning.records import Experience
from aerl_trainer.learning.replay.priorities import PRIORITY_FLOOR
from aerl_trainer.tree.records import TreeGroup
from dagsched_env.problem.errors import DAGSchedError, FormatError
from dagsched_env.problem.instance import Instance


def make_experiences(count: int, *, seed: int = 0) -> list[Experience]:
    """Trajectories of small random chains, three of each."""
    rng = np.random.default_rng(seed)
    experiences: list[Experience] = []
    for job in range((count + 2) // 3):
        n, p = int(rng.integers(2, 6)), int(rng.integers(1, 4))
        instance = Instance(
            rng.random((n, p)),
            [(t, t + 1) for t in range(n - 1)],
            rng.random(n - 1),
            inv_bandwidth=rng.random((p, p)),
            latency=rng.random((p, p)),
            name=f"jöb {job}",
            task_names=[f"t{t}" for t in range(n)],
        )
        experiences += [experience(instance, rng) for _ in range(3)]
    return experiences[:count]


def experience(instance: Instance, rng: np.random.Generator) -> Experience:
    n, can_run = instance.n_tasks, enumerate(np.isfinite(instance.comp))
    visited = rng.integers(4, size=rng.integers(n + 1)).astype(np.int32)
    total = int(visited.sum())
    return Experience(
        instance=instance,
        actions=np.array([(t, rng.choice(np.flatnonzero(c))) for t, c in can_run], dtype=np.int32),
        visited=visited,
        candidates=rng.integers(9, size=total).astype(np.int32),
        policy=rng.random(total).astype(np.float32),
        imitated_from=int(rng.integers(n + 1)),
        reward=float(rng.normal()),
        weight=float(rng.random()),
        makespan=float(rng.random()),
    )


def make_replay(capacity: int, count: int, **options: float) -> PrioritizedReplay:
    replay = PrioritizedReplay(ReplayConfig(capacity=capacity, min_size=1, **options))
    for item in make_experiences(count):
        replay.add(item)
    return replay


def sample_all(replay: PrioritizedReplay) -> tuple[np.ndarray, np.ndarray]:
    """Slots 0 … with their current generations, as a batch that covers the buffer would give."""
    slots = np.arange(len(replay))
    batch = replay.sample(4096, np.random.default_rng(0), beta=0.0)
    generations = np.zeros(len(replay), dtype=np.int64)
    generations[batch.slots] = batch.generations
    assert (generations > 0).all()
    return slots, generations


def test_ring_overwrites_the_oldest() -> None:
    items = make_experiences(11)
    replay = PrioritizedReplay(ReplayConfig(capacity=4, min_size=1))
    for count, item in enumerate(items, start=1):
        replay.add(item)
        assert len(replay) == min(count, 4)
    batch = replay.sample(400, np.random.default_rng(0), beta=1.0)
    assert {id(e) for e in batch.experiences} == {id(e) for e in items[-4:]}
    for slot, generation, item in zip(
        batch.slots, batch.generations, batch.experiences, strict=True
    ):
        assert item is items[8 + slot if slot < 3 else 7]
        assert generation == (3 if slot < 3 else 2)
    assert replay.counters.added == 11
    assert replay.counters.sampled == 400


def test_newest_item_is_sampled() -> None:
    replay = make_replay(capacity=64, count=20)
    slots, generations = sample_all(replay)
    replay.update(slots, generations, np.linspace(0.1, 5.0, 20))
    newest = make_experiences(1, seed=9)[0]
    replay.add(newest)
    batch = replay.sample(256, np.random.default_rng(1), beta=0.4)
    share = np.mean([e is newest for e in batch.experiences])
    highest = (5.0 + PRIORITY_FLOOR) ** 0.6
    total = ((np.linspace(0.1, 5.0, 20) + PRIORITY_FLOOR) ** 0.6).sum() + highest
    assert share == pytest.approx(highest / total, abs=1 / 256)


def test_frequencies_are_proportional() -> None:
    replay = make_replay(capacity=50, count=30, alpha=0.7)
    losses = 0.05 + np.random.default_rng(5).exponential(size=30)
    replay.update(*sample_all(replay), -losses)
    priorities = (losses + PRIORITY_FLOOR) ** 0.7
    rng = np.random.default_rng(6)
    # Batches of one are independent draws, as the χ² test wants them.
    slots = np.concatenate([replay.sample(1, rng, beta=0.0).slots for _ in range(6000)])
    expected = priorities / priorities.sum() * 6000
    assert expected.min() > 5
    assert stats.chisquare(np.bincount(slots, minlength=30), expected).pvalue > 0.01
    uniform = np.full(30, 200.0)  # the test can fail
    assert stats.chisquare(np.bincount(slots, minlength=30), uniform).pvalue < 1e-6


def test_each_stratum_gives_one_item() -> None:
    replay = make_replay(capacity=32, count=32)
    for seed in range(20):  # equal priorities: one draw from each quarter of the slots
        batch = replay.sample(4, np.random.default_rng(seed), beta=0.4)
        assert (batch.slots // 8).tolist() == [0, 1, 2, 3]
    full = replay.sample(32, np.random.default_rng(0), beta=0.4)
    assert full.slots.tolist() == list(range(32))


def test_importance_weights_by_hand() -> None:
    replay = make_replay(capacity=8, count=4, alpha=1.0)
    losses = np.array([1.0, 2.0, 4.0, 8.0])
    replay.update(*sample_all(replay), losses)
    for beta in (0.0, 0.4, 1.0):
        batch = replay.sample(64, np.random.default_rng(0), beta)
        probability = (losses + PRIORITY_FLOOR)[batch.slots] / (losses + PRIORITY_FLOOR).sum()
        expected = (4 * probability) ** -beta
        assert batch.weights == pytest.approx(expected / expected.max())
        assert batch.weights.max() == 1.0


def test_weights_undo_the_bias_at_beta_one() -> None:
    replay = make_replay(capacity=30, count=30)
    replay.update(*sample_all(replay), np.random.default_rng(2).exponential(size=30) + 0.1)
    batch = replay.sample(20_000, np.random.default_rng(3), beta=1.0)
    values = np.arange(30.0) ** 2
    corrected = (batch.weights * values[batch.slots]).sum() / batch.weights.sum()
    assert corrected == pytest.approx(values.mean(), rel=0.02)
    assert abs(values[batch.slots].mean() / values.mean() - 1) > 0.02  # there was a bias


def test_alpha_is_applied_once() -> None:
    replay = make_replay(capacity=4, count=2, alpha=0.5)
    slots, generations = sample_all(replay)
    for _ in range(3):
        replay.update(slots, generations, np.array([4.0, 16.0]))
        assert replay.state_arrays()["priorities"][:2] == pytest.approx([2.0, 4.0], rel=1e-6)
    assert make_replay(capacity=4, count=3, alpha=0.0).state_arrays()["priorities"].sum() == 3.0


def test_stale_writes_are_dropped() -> None:
    replay = make_replay(capacity=3, count=3)
    slots, generations = sample_all(replay)
    replay.add(make_experiences(1)[0])  # over slot 0
    replay.update(slots, generations, np.array([50.0, 2.0, 3.0]))
    priorities = replay.state_arrays()["priorities"]
    assert priorities[0] == 1.0
    assert priorities[1:] == pytest.approx(np.array([2.0, 3.0]) ** 0.6, rel=1e-5)
    assert (replay.counters.updated, replay.counters.stale) == (2, 1)
    replay.add(make_experiences(1)[0])  # the dropped 50 is not the highest priority either
    assert replay.state_arrays()["priorities"][1] == pytest.approx(3.0**0.6, rel=1e-5)


def test_beta_is_annealed_to_one() -> None:
    replay = make_replay(capacity=4, count=0, beta=0.4, beta_steps=100)
    assert [replay.beta(s) for s in (0, 50, 100, 5000)] == pytest.approx([0.4, 0.7, 1.0, 1.0])
    assert make_replay(capacity=4, count=0, beta_steps=0).beta(0) == 1.0


def test_threads_leave_a_consistent_buffer() -> None:
    replay = make_replay(capacity=64, count=10)
    items = make_experiences(600, seed=1)

    def learn() -> None:
        rng = np.random.default_rng(0)
        for _ in range(300):
            batch = replay.sample(8, rng, beta=0.5)
            replay.update(batch.slots, batch.generations, rng.exponential(size=8))

    learner = Thread(target=learn)
    learner.start()
    for item in items:
        replay.add(item)
    learner.join()
    c = replay.counters
    assert (c.added, c.sampled, c.updated + c.stale) == (610, 2400, 2400)
    twin = twin_of(replay)
    a, b = (r.sample(64, np.random.default_rng(1), beta=0.5) for r in (replay, twin))
    assert a.slots.tolist() == b.slots.tolist()


def test_replay_errors() -> None:
    replay = make_replay(capacity=4, count=0)
    with pytest.raises(DAGSchedError, match="replay buffer is empty"):
        replay.sample(1, np.random.default_rng(0), beta=0.4)
    replay = make_replay(capacity=4, count=2)
    slots, generations = sample_all(replay)
    before = replay.state_arrays()["priorities"]
    with pytest.raises(DAGSchedError, match=r"losses\[1\] is nan"):
        replay.update(slots, generations, [3.0, np.nan])
    assert (replay.state_arrays()["priorities"] == before).all()


# -- checkpoints ---------------------------------------------------------------------------------


def assert_same_experience(one: Experience, other: Experience) -> None:
    assert one.instance == other.instance
    for name in ("actions", "visited", "candidates", "policy"):
        a, b = getattr(one, name), getattr(other, name)
        assert a.dtype == b.dtype
        assert a.shape == b.shape
        assert (a == b).all()
    for name in ("imitated_from", "reward", "weight", "makespan"):
        assert getattr(one, name) == getattr(other, name)


def twin_of(replay: PrioritizedReplay) -> PrioritizedReplay:
    twin = PrioritizedReplay(replay.config)
    twin.load_state_arrays(replay.state_arrays())
    return twin


@pytest.mark.parametrize("count", [0, 1, 7, 12, 31])
def test_state_round_trip(count: int) -> None:
    replay = make_replay(capacity=12, count=count)
    rng = np.random.default_rng(0)
    if count:
        for _ in range(3):
            batch = replay.sample(5, rng, beta=0.5)
            replay.update(batch.slots, batch.generations, rng.exponential(size=5))
    twin = twin_of(replay)
    assert twin.counters == replay.counters
    for other in make_experiences(20, seed=4):  # the two go on alike
        replay.add(other)
        twin.add(other)
        a, b = (r.sample(6, np.random.default_rng(1), beta=0.5) for r in (replay, twin))
        assert a.slots.tolist() == b.slots.tolist()
        assert a.generations.tolist() == b.generations.tolist()
        assert a.weights.tolist() == b.weights.tolist()
        for one, two in zip(a.experiences, b.experiences, strict=True):
            assert_same_experience(one, two)


def test_state_has_no_objects_and_stores_shared_things_once() -> None:
    replay = make_replay(capacity=40, count=36)
    arrays = replay.state_arrays()
    assert not any(array.dtype.hasobject for array in arrays.values())
    assert arrays["instance_shapes"].shape == (12, 3)
    restored = packing.unpack(arrays)
    assert len({id(e.instance) for e in restored}) == 12
    for one, two in zip(make_experiences(36), restored, strict=True):
        assert_same_experience(one, two)


def test_state_survives_an_npz_file(tmp_path) -> None:
    replay = make_replay(capacity=10, count=8)
    np.savez(tmp_path / "replay.npz", **replay.state_arrays())
    twin = PrioritizedReplay(replay.config)
    with np.load(tmp_path / "replay.npz", allow_pickle=False) as archive:
        twin.load_state_arrays(dict(archive))
    a, b = replay.state_arrays(), twin.state_arrays()
    assert a.keys() == b.keys()
    assert all(a[k].dtype == b[k].dtype and (a[k] == b[k]).all() for k in a)


def test_infinite_costs_survive() -> None:
    instance = Instance([[1.0, np.inf], [np.inf, 2.0]], [(0, 1)], [3.0])
    item = experience(instance, np.random.default_rng(0))
    (restored,) = packing.unpack(packing.pack([item]))
    assert_same_experience(item, restored)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([(0, 0), (2, 1)], "out of range"),
        ([(0, 0), (1, 2)], "out of range"),
        ([(0, 0), (-1, 1)], "out of range"),
        ([(0, 0), (0, 0)], "not legal"),
        ([(1, 1), (0, 0)], "not legal"),
        ([(0, 0), (1, 0)], "not legal"),
    ],
)
def test_actions_that_no_kernel_may_see(actions: list[tuple[int, int]], message: str) -> None:
    """No such task or processor, a task twice or before its predecessor, or where it cannot run."""
    instance = Instance([[1.0, np.inf], [np.inf, 2.0]], [(0, 1)], [3.0])
    arrays = packing.pack([experience(instance, np.random.default_rng(0))])
    arrays["experience_actions"] = np.array(actions, dtype=np.int32)
    with pytest.raises(FormatError, match=f"'experience_actions' holds .*{message}"):
        packing.unpack(arrays)
    group = tree_group(instance)
    arrays = packing.pack_groups([group])
    arrays["tree_actions"] = np.array([2 * t + p for t, p in actions])
    with pytest.raises(FormatError, match="'tree_actions' holds"):
        packing.unpack_groups(arrays)


def tree_group(instance: Instance, **changes: Any) -> TreeGroup:
    """Of two tasks, each on its own processor; two other actions have been tried."""
    numbers = np.array([0.5, 1.0])
    group = TreeGroup(
        instance, np.array([0, 3]), 6.0, np.array([0, 1]), np.array([1, 2]), numbers, 6 + numbers
    )
    return dataclasses.replace(group, **changes)


def test_groups_of_trees_come_back_as_they_were() -> None:
    instance = Instance([[1.0, np.inf], [np.inf, 2.0]], [(0, 1)], [3.0])
    groups = [
        tree_group(instance, step=7, known=5.5, place=(3, 1)),
        tree_group(instance),
        tree_group(Instance([[1.0, 2.0], [2.0, 2.0]], [], [])),
    ]
    restored = packing.unpack_groups(packing.pack_groups(groups))
    for one, other in zip(groups, restored, strict=True):
        for field in dataclasses.fields(TreeGroup):
            before, after = getattr(one, field.name), getattr(other, field.name)
            assert np.array_equal(before, after) if field.name != "instance" else before == after
    assert restored[0].instance is restored[1].instance
    assert packing.unpack_groups(packing.pack_groups([])) == []


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("depths", 2),
        ("depths", -1),
        ("others", 4),
        ("inclusion", 0.0),
        ("inclusion", 1.1),
        ("makespans", np.nan),
        ("makespan", np.inf),
        ("known", np.nan),
        ("step", -1),
        ("tried", 3),
        ("instance", 1),
    ],
)
def test_groups_of_trees_that_are_not_sound(key: str, value: float) -> None:
    instance = Instance([[1.0, np.inf], [np.inf, 2.0]], [(0, 1)], [3.0])
    arrays = packing.pack_groups([tree_group(instance)])
    arrays[f"tree_{key}"].reshape(-1)[-1] = value
    with pytest.raises(FormatError):
        packing.unpack_groups(arrays)
    with pytest.raises(FormatError, match="does not increase"):
        packing.unpack_groups(packing.pack_groups([tree_group(instance, depths=np.array([1, 0]))]))


BROKEN = {
    "experience_instance": (lambda a: a + 99, "out of range"),
    "experience_searched": (lambda a: a + 99, "out of range"),
    "experience_visited": (lambda a: -a - 1, "out of range"),
    "experience_imitated_from": (lambda a: a - 99, "out of range"),
    "experience_actions": (lambda a: a.ravel(), "expected int32"),
    "experience_candidates": (lambda a: a[:-1], "rows"),
    "experience_policy": (lambda a: a[:-1], "rows"),
    "experience_reward": (lambda a: a.astype(np.float32), "expected float64"),
    "instance_comp": (lambda a: -a, "instance 0 is not valid"),
    "instance_names": (lambda a: a + 1, "instance 0 is not valid"),
    "priorities": (lambda a: a * 0, "priorities"),
    "generations": (lambda a: a[:-1], "generations"),
    "position": (lambda a: a + 2, "write position 9"),
    "highest": (lambda a: -a, "priorities"),
}


@given(st.sampled_from(sorted(BROKEN)))
def test_broken_state_is_refused_and_changes_nothing(key: str) -> None:
    source = make_replay(capacity=10, count=7).state_arrays()
    replay = make_replay(capacity=10, count=3)
    before = replay.state_arrays()
    change, message = BROKEN[key]
    for arrays, expected in (
        ({**source, key: change(source[key])}, message),
        ({k: v for k, v in source.items() if k != key}, f"'{key}' is missing"),
    ):
        with pytest.raises(FormatError, match=expected):
            replay.load_state_arrays(arrays)
    after = replay.state_arrays()
    assert all((before[k] == after[k]).all() for k in before)


def test_another_capacity_is_refused() -> None:
    arrays = make_replay(capacity=10, count=3).state_arrays()
    with pytest.raises(FormatError, match=r"10 slots are stored, replay.capacity is 20"):
        make_replay(capacity=20, count=0).load_state_arrays(arrays)
