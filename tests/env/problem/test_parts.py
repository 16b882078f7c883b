"""Parts by fingerprint: a partition, whatever the order, the names and the repetitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.parts import split_instances

PROBLEMS = [Instance([[float(i)]], [], [], name=f"p{i}") for i in range(40)]


def prints(instances: list[Instance]) -> set[str]:
    return {instance.fingerprint for instance in instances}


@settings(max_examples=100, deadline=None)
@given(
    chosen=st.lists(st.integers(0, 39), min_size=3, max_size=60).filter(lambda c: len(set(c)) >= 3),
    validation=st.sampled_from([0.0, 0.1, 0.3, 0.45]),
    test=st.sampled_from([0.0, 0.1, 0.5]),
    seed=st.integers(0, 99),
)
def test_the_parts_are_a_partition(
    chosen: list[int], validation: float, test: float, seed: int
) -> None:
    listed = [PROBLEMS[i] for i in chosen]
    parts = split_instances(listed, validation=validation, test=test)
    assert sorted(i.name for part in parts for i in part) == sorted(i.name for i in listed)
    sets = [prints(part) for part in parts]
    assert sum(map(len, sets)) == len(set(chosen))
    assert all(sets[0:1])
    assert [bool(s) for s in sets[1:]] == [validation > 0, test > 0]
    others = [PROBLEMS[i] for i in np.random.default_rng(seed).permutation(sorted(set(chosen)))]
    again = split_instances(others, validation=validation, test=test)
    assert [prints(part) for part in again] == sets


def test_shares_and_copies_under_other_names() -> None:
    copies = [Instance(i.comp, [], [], name="copy") for i in PROBLEMS]
    parts = split_instances([*PROBLEMS, *copies], validation=0.2, test=0.1)
    assert [len(part) for part in parts] == [56, 16, 8]
    assert [len(prints(part)) for part in parts] == [28, 8, 4]


def test_three_are_enough() -> None:
    assert [len(part) for part in split_instances(PROBLEMS[:3])] == [1, 1, 1]
    with pytest.raises(DAGSchedError, match="2 different instances cannot be split"):
        split_instances([*PROBLEMS[:2], *PROBLEMS[:2]])


@pytest.mark.parametrize(("validation", "test"), [(-0.1, 0.1), (0.5, 0.5), (0.1, float("nan"))])
def test_bad_shares(validation: float, test: float) -> None:
    with pytest.raises(DAGSchedError, match="the shares are"):
        split_instances(PROBLEMS, validation=validation, test=test)
