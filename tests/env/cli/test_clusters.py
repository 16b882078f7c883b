"""Comparisons that somebody else computes, and journals of them."""

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from dagsched_env.cli import clusters
from dagsched_env.cli.clusters import Spread, compare_each, read_cluster
from dagsched_env.comparison.compare import Comparison, compare
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.io.journal import Journal
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.schedulers import heft, peft

SCHEDULERS = {"heft": heft, "peft": peft}
Function = Callable[[Instance], Comparison]


@pytest.fixture
def instances() -> list[Instance]:
    generator = TopcuogluGenerator(n_tasks=12, n_processors=3)
    return [generator(np.random.default_rng(seed)) for seed in range(5)]


class Elsewhere:
    """A cluster that answers in another order, and counts."""

    def __init__(self) -> None:
        self.done = 0

    @contextlib.contextmanager
    def __call__(self) -> Iterator[Spread]:
        yield self.spread

    def spread(
        self, function: Function, instances: Sequence[Instance]
    ) -> Iterable[tuple[int, Comparison]]:
        for i in reversed(range(len(instances))):
            self.done += 1
            yield i, function(instances[i])


def silent(done: int, total: int) -> None:
    assert done <= total


def test_elsewhere_is_as_here(instances: list[Instance]) -> None:
    expected = compare(instances, SCHEDULERS)
    for cluster in (Elsewhere(), clusters.here):
        found = compare_each(
            instances, SCHEDULERS, silent, cluster=cluster, journal=Journal(None, {})
        )
        assert found.makespans == expected.makespans
        assert [len(times) for times in found.seconds.values()] == [5, 5]


def test_a_journal_saves_what_is_known(tmp_path: Path, instances: list[Instance]) -> None:
    path, cluster = tmp_path / "journal", Elsewhere()

    def on(some: list[Instance]) -> Comparison:
        journal = Journal(path, {})
        return compare_each(some, SCHEDULERS, silent, cluster=cluster, journal=journal)

    on(instances[:3])
    assert cluster.done == 3
    assert on(instances).makespans == compare(instances, SCHEDULERS).makespans
    assert cluster.done == 5
    on(instances)
    assert cluster.done == 5


def test_a_record_that_is_not_valid_is_made_again(
    tmp_path: Path, instances: list[Instance]
) -> None:
    path, cluster = tmp_path / "journal", Elsewhere()

    def again() -> Comparison:
        journal = Journal(path, {})
        return compare_each(instances, SCHEDULERS, silent, cluster=cluster, journal=journal)

    again()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["schedules"]["heft"]["start"][0] = -1.0
    del lines[1]["seconds"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = again()
    assert cluster.done == 7
    assert found.makespans == compare(instances, SCHEDULERS).makespans


class Answering(Elsewhere):
    """A cluster with one answer, whatever it is asked.

    Args:
        answer: of the function and the instances.
    """

    def __init__(self, answer: Callable[[Function, Sequence[Instance]], Comparison]) -> None:
        super().__init__()
        self.answer = answer

    def spread(
        self, function: Function, instances: Sequence[Instance]
    ) -> Iterable[tuple[int, Comparison]]:
        yield 0, self.answer(function, instances)


@pytest.mark.parametrize(
    "answer",
    [
        lambda function, instances: function(instances[1]),
        lambda function, instances: compare(instances[:1], {"heft": heft}),
    ],
    ids=["of_another_problem", "without_a_scheduler"],
)
def test_what_comes_back_is_checked(
    instances: list[Instance], answer: Callable[[Function, Sequence[Instance]], Comparison]
) -> None:
    cluster = Answering(answer)
    with pytest.raises(DAGSchedError, match="is no comparison of"):
        compare_each(instances, SCHEDULERS, silent, cluster=cluster, journal=Journal(None, {}))


def test_makespans_are_those_of_the_schedules(instances: list[Instance]) -> None:
    def boast(function: Function, instances: Sequence[Instance]) -> Comparison:
        found = function(instances[0])
        return dataclasses.replace(found, makespans={name: [1.0] for name in found.makespans})

    one = instances[:1]
    found = compare_each(
        one, SCHEDULERS, silent, cluster=Answering(boast), journal=Journal(None, {})
    )
    assert found.makespans == compare(one, SCHEDULERS).makespans


def test_without_a_package_that_knows_clusters_there_is_a_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clusters, "GROUP", "dagsched.nobody")
    with pytest.raises(DAGSchedError, match=r"pip install 'aerl-ds\[trainer,ray\]'"):
        read_cluster("auto")
