"""The layered random graphs of Topcuoglu et al. 2002, section 5.1."""

import dataclasses
import hashlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dagsched_env.generators import Generator, TopcuogluGenerator
from dagsched_env.problem.errors import DAGSchedError

FROZEN = "a1128bd998afeef25b7c61871fbf0c69bb6fcf84b15802606b423a811bfd28d4"

SMALL = TopcuogluGenerator(n_tasks=(1, 40), n_processors=(1, 3, 6))


def depth(instance):
    """Level of each task: the number of tasks before it on its longest path."""
    levels = np.zeros(instance.n_tasks, dtype=int)
    for t in instance.topological_order:
        for u in instance.edges[instance.edges[:, 1] == t, 0]:
            levels[t] = max(levels[t], levels[u] + 1)
    return levels


arguments = st.fixed_dictionaries(
    {
        "n_tasks": st.tuples(st.integers(1, 20), st.integers(20, 40)),
        "n_processors": st.sampled_from([1, 2, (2, 5), (1, 3, 8)]),
        "shape": st.sampled_from([0.3, 1.0, 4.0, (0.5, 2.0)]),
        "out_degree": st.sampled_from([1, 3, (1, 5), (4, 6), 50]),
        "ccr": st.sampled_from([0, 0.1, 5.0, (1, 10.0)]),
        "beta": st.sampled_from([0, 0.5, 2.0, (0.1, 1)]),
    }
)


@settings(max_examples=60, deadline=None)
@given(arguments=arguments, seed=st.integers(0, 2**32 - 1))
def test_every_instance_keeps_the_stated_sizes_and_levels(arguments, seed):
    generator = TopcuogluGenerator(**arguments)
    instance = generator(np.random.default_rng(seed))
    assert arguments["n_tasks"][0] <= instance.n_tasks <= generator.max_tasks
    assert instance.n_processors <= generator.max_processors
    assert instance.n_edges <= generator.max_edges
    levels = depth(instance)
    assert (np.diff(levels) >= 0).all()  # tasks are numbered level by level ...
    assert set(levels) == set(range(levels.max() + 1))  # ... and each hangs on the level above
    low = arguments["out_degree"]
    low = low[0] if isinstance(low, tuple) else low
    successors = np.bincount(instance.edges[:, 0], minlength=instance.n_tasks)
    for t in range(instance.n_tasks):
        assert successors[t] >= min(low, np.count_nonzero(levels > levels[t]))


@settings(max_examples=40, deadline=None)
@given(
    ccr=st.floats(0, 20),
    beta=st.floats(0, 2),
    seed=st.integers(0, 2**32 - 1),
)
def test_costs_follow_beta_and_ccr(ccr, beta, seed):
    generator = TopcuogluGenerator(n_tasks=30, n_processors=5, ccr=ccr, beta=beta)
    instance = generator(np.random.default_rng(seed))
    low, high = instance.comp.min(axis=1), instance.comp.max(axis=1)
    assert (low * (1 + beta / 2) >= high * (1 - beta / 2) - 1e-9).all()
    assert high.max() <= 20 * (1 + beta / 2)
    assert instance.data.mean() == pytest.approx(ccr * instance.comp.mean())


def test_mean_costs_are_uniform_from_zero_to_twice_their_mean():
    rng = np.random.default_rng(3)
    generator = TopcuogluGenerator(n_tasks=100, n_processors=1, beta=0)
    costs = np.concatenate([generator(rng).comp.ravel() for _ in range(20)])
    assert stats.kstest(costs, stats.uniform(0, 20).cdf).pvalue > 0.01


def test_costs_and_data_spread_uniformly():
    rng = np.random.default_rng(4)
    generator = TopcuogluGenerator(n_tasks=100, n_processors=8, beta=1.0, ccr=1.0)
    instances = [generator(rng) for _ in range(10)]
    wide = generator(rng).comp / generator(rng).comp.mean()
    assert wide.min() < 0.1
    data = np.concatenate([i.data / i.data.mean() for i in instances])
    assert stats.kstest(data, stats.uniform(0, 2).cdf).pvalue > 0.01


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_shape_sets_the_mean_number_of_levels(alpha):
    rng = np.random.default_rng(5)
    generator = TopcuogluGenerator(n_tasks=64, n_processors=1, shape=alpha)
    heights = [depth(generator(rng)).max() + 1 for _ in range(150)]
    mean = math.sqrt(64) / alpha
    assert np.mean(heights) == pytest.approx(mean + 0.5, rel=0.06)  # rounding up adds a half
    assert min(heights) >= mean / 2
    assert max(heights) <= math.ceil(1.5 * mean)


def test_choices_and_ranges_all_occur():
    rng = np.random.default_rng(6)
    generator = TopcuogluGenerator(n_tasks=(3, 6), n_processors=(2, 7), ccr=(0.5, 2.0))
    instances = [generator(rng) for _ in range(120)]
    assert {i.n_tasks for i in instances} == {3, 4, 5, 6}
    assert {i.n_processors for i in instances} == {2, 7}
    with_edges = [i for i in instances if i.n_edges]
    ratios = {round(float(i.data.mean() / i.comp.mean()), 6) for i in with_edges}
    assert ratios == {0.5, 2.0}


def test_same_stream_same_instance_and_the_stream_moves_on():
    first, second = (np.random.default_rng(7) for _ in range(2))
    a, b = SMALL(first), SMALL(second)
    assert a == b
    assert SMALL(first).fingerprint != a.fingerprint


def test_every_draw_is_frozen():
    """Published suites depend on it: narrow, wide, dense and tiny graphs, and the stream after."""
    digest = hashlib.sha256()
    for seed in range(40):
        degree = [(1, 5), 1, (3, 9), 50][seed % 4]
        generator = TopcuogluGenerator(
            n_tasks=(1, 60), n_processors=(1, 4, 8), shape=(0.3, 1.0, 3.0), out_degree=degree
        )
        rng = np.random.default_rng(seed)
        digest.update(generator(rng).fingerprint.encode() + str(rng.random()).encode())
    assert digest.hexdigest() == FROZEN


def test_one_task():
    instance = TopcuogluGenerator(n_tasks=1, n_processors=2)(np.random.default_rng(0))
    assert (instance.n_tasks, instance.n_edges) == (1, 0)


def test_is_a_generator_frozen_and_comparable():
    assert isinstance(SMALL, Generator)
    assert TopcuogluGenerator() == TopcuogluGenerator()
    with pytest.raises(dataclasses.FrozenInstanceError):
        SMALL.n_tasks = 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_tasks": 0}, "n_tasks is 0"),
        ({"n_tasks": (5, 3)}, r"n_tasks is \(5, 3\)"),
        ({"n_tasks": (1, 2, 3)}, "n_tasks"),
        ({"n_tasks": 2.5}, "n_tasks"),
        ({"n_tasks": True}, "n_tasks"),
        ({"n_tasks": "10"}, "n_tasks"),
        ({"n_processors": ()}, r"n_processors is \(\)"),
        ({"n_processors": (4, 0)}, "n_processors has 0"),
        ({"n_processors": 1.5}, "n_processors"),
        ({"shape": 0}, "shape has 0: it needs to be > 0"),
        ({"shape": math.inf}, "shape"),
        ({"out_degree": (0, 3)}, "out_degree"),
        ({"ccr": -0.1}, "ccr has -0.1"),
        ({"ccr": (1.0, math.nan)}, "ccr"),
        ({"beta": 2.1}, "beta has 2.1: it needs to be >= 0 and <= 2"),
        ({"beta": None}, "beta is None"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(DAGSchedError, match=message):
        TopcuogluGenerator(**arguments)
