"""The replay buffer with rows and with any objects: ring, threads, saving, errors."""

from threading import Thread
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aerl_trainer.config import ReplayConfig
from aerl_trainer.learning.replay import ItemStore, PrioritizedReplay, RowStore
from aerl_trainer.learning.replay.priorities import PRIORITY_FLOOR
from dagsched_env.problem.errors import DAGSchedError, FormatError

KINDS = ("proportional", "rank", "uniform")
COLUMNS = {
    "state": ((3, 2), np.float32),
    "action": ((), np.int64),
    "flag": ((), np.bool_),
    "pixel": ((5,), np.uint8),
}


def make_replay(capacity: int = 16, **options: Any) -> PrioritizedReplay:
    config = ReplayConfig(capacity=capacity, min_size=1, **options)
    return PrioritizedReplay(config, RowStore(capacity, COLUMNS))


def rows(numbers: Any) -> dict[str, np.ndarray]:
    """Rows that can be told apart."""
    n = np.asarray(numbers)
    return {
        "state": np.multiply.outer(n, np.arange(6).reshape(3, 2)).astype(np.float32),
        "action": n * 10,
        "flag": n % 2 == 1,
        "pixel": (n[..., None] + np.arange(5)).astype(np.uint8),
    }


def numbers_in(content: dict[str, np.ndarray]) -> list[int]:
    """The inverse of ``rows``, which checks that the columns of a row belong together."""
    numbers = content["action"] // 10
    for name, column in rows(numbers).items():
        assert content[name].dtype == np.dtype(COLUMNS[name][1])
        assert (content[name] == column).all()
    return numbers.tolist()


def sample_all(replay: PrioritizedReplay) -> tuple[np.ndarray, np.ndarray]:
    """All slots with their generations."""
    slots = np.arange(len(replay))
    return slots, replay.state_arrays()["generations"][slots]


@pytest.mark.parametrize("kind", KINDS)
@given(st.lists(st.integers(-1, 7), max_size=20))
def test_the_ring_holds_the_latest_rows(kind: str, sizes: list[int]) -> None:
    replay, written = make_replay(capacity=7, kind=kind), 0
    for size in sizes:  # -1 = one by itself
        if size < 0:
            replay.add(rows(written))
        else:
            replay.add_many(rows(written + np.arange(size)))
        written += abs(size)
    assert len(replay) == min(written, 7)
    assert replay.counters.added == written
    if written:
        batch = replay.sample(7 * 20, np.random.default_rng(0), beta=1.0)
        numbers = numbers_in(batch.content)
        assert set(numbers) <= set(range(max(0, written - 7), written))
        assert [n % 7 for n in numbers] == batch.slots.tolist()
        assert [n // 7 + 1 for n in numbers] == batch.generations.tolist()


def test_any_object_can_be_stored() -> None:
    replay = PrioritizedReplay(ReplayConfig(capacity=3, min_size=1), ItemStore[str]())
    replay.add_many(["a", "b"])
    replay.add("c")
    replay.add("d")
    batch = replay.sample(300, np.random.default_rng(0), beta=0.5)
    assert batch.content == tuple("dbc"[slot] for slot in batch.slots)
    for act in (replay.state_arrays, lambda: replay.load_state_arrays({})):
        with pytest.raises(DAGSchedError, match="give ItemStore a pack and an unpack"):
            act()


@pytest.mark.parametrize("kind", KINDS)
def test_stale_writes_are_dropped(kind: str) -> None:
    replay = make_replay(capacity=4, kind=kind, alpha=1.0)
    replay.add_many(rows(np.arange(4)))
    slots, generations = sample_all(replay)
    replay.add_many(rows(np.arange(4, 6)))  # over slots 0 and 1
    replay.update(slots, generations, [50.0, 50.0, -2.0, 3.0])
    assert (replay.counters.updated, replay.counters.stale) == (2, 2)
    values = replay.state_arrays()["priorities"]
    if kind != "uniform":
        assert values.tolist() == [1.0, 1.0, 2.0 + PRIORITY_FLOOR, 3.0 + PRIORITY_FLOOR]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("normalise", ["batch", "buffer"])
def test_weights(kind: str, normalise: str) -> None:
    replay = make_replay(capacity=32, kind=kind, normalise=normalise, alpha=0.9)
    replay.add_many(rows(np.arange(20)))
    losses = np.random.default_rng(1).exponential(size=20)
    losses[7] = 1e-3  # hardly ever sampled
    replay.update(*sample_all(replay), losses)
    shares = {
        "proportional": (losses + PRIORITY_FLOOR) ** 0.9,
        "rank": (1.0 + np.argsort(np.argsort(-losses))) ** -0.9,
        "uniform": np.ones(20),
    }[kind]
    weights = (20 * shares / shares.sum()) ** -0.5
    batch = replay.sample(8, np.random.default_rng(2), beta=0.5)
    assert kind == "uniform" or 7 not in batch.slots
    largest = weights[batch.slots].max() if normalise == "batch" else weights.max()
    assert batch.weights == pytest.approx(weights[batch.slots] / largest)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [0, 5, 40])
def test_saved_and_restored(kind: str, count: int, tmp_path) -> None:
    replay, rng = make_replay(kind=kind), np.random.default_rng(0)
    for number in range(count):
        replay.add(rows(number))
        batch = replay.sample(5, rng, beta=0.5)
        replay.update(batch.slots, batch.generations, rng.exponential(size=5))
    np.savez(tmp_path / "replay.npz", **replay.state_arrays())
    twin = make_replay(kind=kind)
    with np.load(tmp_path / "replay.npz", allow_pickle=False) as archive:
        twin.load_state_arrays(dict(archive))
    assert twin.counters == replay.counters
    for number in range(100, 120):  # the two go on alike
        for r in (replay, twin):
            r.add(rows(number))
        one, other = (r.sample(6, np.random.default_rng(1), beta=0.5) for r in (replay, twin))
        assert numbers_in(one.content) == numbers_in(other.content)
        assert one.weights.tolist() == other.weights.tolist()
        for r, batch in ((replay, one), (twin, other)):
            r.update(batch.slots, batch.generations, np.arange(6.0))
    a, b = replay.state_arrays(), twin.state_arrays()
    assert a.keys() == b.keys()
    assert all(a[k].dtype == b[k].dtype and (a[k] == b[k]).all() for k in a)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_leave_a_consistent_buffer(kind: str) -> None:
    replay = make_replay(capacity=64, kind=kind)
    replay.add_many(rows(np.arange(10)))
    failures = []

    def learn(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            for _ in range(200):
                batch = replay.sample(8, rng, beta=0.5)
                numbers_in(batch.content)  # no half-written row
                replay.update(batch.slots, batch.generations, rng.exponential(size=8))
        except BaseException as error:
            failures.append(error)

    learners = [Thread(target=learn, args=(seed,)) for seed in range(2)]
    for learner in learners:
        learner.start()
    for number in range(10, 600):
        replay.add(rows(number))
    for learner in learners:
        learner.join()
    assert not failures
    c = replay.counters
    assert (c.added, c.sampled, c.updated + c.stale) == (600, 3200, 3200)
    twin = make_replay(capacity=64, kind=kind)
    twin.load_state_arrays(replay.state_arrays())
    one, other = (r.sample(64, np.random.default_rng(1), beta=0.5) for r in (replay, twin))
    assert one.slots.tolist() == other.slots.tolist()


BAD_ROWS = [
    ({"action": 3}, r"columns are \['action'\], expected"),
    ({**rows(1), "more": 1}, "'more'"),
    ({**rows(1), "pixel": np.zeros(4)}, "column 'pixel'"),
    ({**rows(1), "action": "north"}, "column 'action'"),
]


@pytest.mark.parametrize(("row", "message"), BAD_ROWS)
def test_a_bad_row_changes_nothing(row: dict, message: str) -> None:
    replay = make_replay(capacity=2)
    replay.add_many(rows(np.arange(2)))
    before = replay.state_arrays()
    with pytest.raises(DAGSchedError, match=message):
        replay.add(row)
    after = replay.state_arrays()
    assert all((before[k] == after[k]).all() for k in before)


BAD_MANY = [
    ({**rows(np.arange(3)), "pixel": np.zeros((2, 5))}, r"'pixel' is \[2, 5\], expected \[3, 5\]"),
    ({**rows(np.arange(3)), "state": np.zeros((3, 3))}, r"expected \[3, 3, 2\]"),
    ({**rows(np.arange(3)), "action": 1}, "'action' is a number"),
    ({**rows(np.arange(3)), "action": ["x", "y", "z"]}, "'action'"),
    (rows(np.arange(17)), "17 items at once do not fit into 16 slots"),
]


@pytest.mark.parametrize(("many", "message"), BAD_MANY)
def test_bad_rows_change_nothing(many: dict, message: str) -> None:
    replay = make_replay()
    with pytest.raises(DAGSchedError, match=message):
        replay.add_many(many)
    assert len(replay) == replay.counters.added == 0


def test_other_errors() -> None:
    with pytest.raises(DAGSchedError, match="at least one column"):
        RowStore(3, {})
    with pytest.raises(DAGSchedError, match="'name' is of type object"):
        RowStore(3, {"name": ((), object)})
    config = ReplayConfig(capacity=4, min_size=1)
    with pytest.raises(DAGSchedError, match=r"has 3 rows, replay.capacity is 4"):
        PrioritizedReplay(config, RowStore(3, COLUMNS))
    used = ItemStore[int]()
    used.put(0, 5)
    with pytest.raises(DAGSchedError, match="already holds 1 items"):
        PrioritizedReplay(config, used)
    replay = make_replay()
    with pytest.raises(DAGSchedError, match="replay buffer is empty"):
        replay.sample(1, np.random.default_rng(0), beta=0.4)
    replay.add(rows(0))
    for slot in (-1, 1):
        with pytest.raises(DAGSchedError, match="take those of a batch"):
            replay.update(np.array([slot]), np.array([0]), [1.0])


def test_other_columns_are_refused() -> None:
    replay = make_replay()
    replay.add_many(rows(np.arange(3)))
    arrays = replay.state_arrays()
    for key, broken in (
        ("row_pixel", arrays["row_pixel"][:2]),
        ("row_state", arrays["row_state"][:0]),
        ("row_state", np.zeros((17, 3, 2), np.float32)),
        ("row_pixel", arrays["row_pixel"].astype(np.int16)),
        ("row_state", arrays["row_state"][:, :2]),
        ("generations", arrays["generations"][:3]),
    ):
        with pytest.raises(FormatError):
            replay.load_state_arrays({**arrays, key: broken})
    assert numbers_in(replay.sample(9, np.random.default_rng(0), beta=0.0).content)


def test_priorities_of_another_distribution_are_refused() -> None:
    replay = make_replay(kind="proportional", alpha=0.6)
    replay.add_many(rows(range(5)))
    arrays = replay.state_arrays()
    for other in ({"kind": "rank"}, {"kind": "uniform"}, {"alpha": 0.7}):
        different = make_replay(**{"kind": "proportional", "alpha": 0.6, **other})
        with pytest.raises(FormatError, match=r"another replay\.kind or replay\.alpha"):
            different.load_state_arrays(arrays)
        assert len(different) == 0
    of_before = {name: array for name, array in arrays.items() if name != "distribution"}
    replay.load_state_arrays(of_before)


def test_arguments_out_of_range_are_refused() -> None:
    replay, rng = make_replay(alpha=1.0), np.random.default_rng(0)
    replay.add_many(rows(range(5)))
    for size, beta in ((0, 0.5), (-1, 0.5), (4, 2.0), (4, float("nan"))):
        with pytest.raises(DAGSchedError, match=r"batch_size is|beta is"):
            replay.sample(size, rng, beta)
    batch = replay.sample(5, rng, 0.5)
    for losses in ([1e308] * 5, [1.0] * 4):
        with pytest.raises(DAGSchedError, match=r"at most|give one of each"):
            replay.update(batch.slots, batch.generations, losses)
    replay.update(batch.slots, batch.generations, [1e100] * 5)
    assert np.isfinite(replay.sample(5, rng, 1.0).weights).all()
