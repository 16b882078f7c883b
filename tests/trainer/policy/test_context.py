"""What the features need of an instance: the kernels against formulas in numpy."""

import numpy as np
from hypothesis import given

from aerl_trainer.policy.context import policy_context
from dagsched_env.problem.instance import Instance
from helpers.strategies import instances


@given(instances(max_tasks=10, max_processors=4))
def test_the_measures_are_those_of_their_definitions(instance: Instance) -> None:
    f, g, n = policy_context(instance), instance.arrays, instance.n_tasks
    source, target = instance.edges[:, 0], instance.edges[:, 1]
    comm = g.mean_link[0] + instance.data * g.mean_link[1]
    inputs = np.bincount(target, weights=instance.data, minlength=n)
    siblings = np.bincount(source, weights=inputs[target] - instance.data, minlength=n)
    total = float(instance.data.sum())
    tiny = 1e-12 * (total or 1.0)
    eligible = np.isfinite(instance.comp)
    finite = np.where(eligible, instance.comp, np.nan)
    means = np.nanmean(finite, axis=1)
    mean, spread = means.mean(), np.nanstd(finite, axis=1).mean()
    ccr = comm.mean() / mean if instance.n_edges and mean > 0 else 0.0
    divisor = np.where(means > 0, means, 1.0)[:, None]
    relative = np.where(means[:, None] > 0, instance.comp / divisor, 1.0)
    runnable = np.maximum(eligible.sum(axis=0), 1)

    def equal(a: object, b: object) -> None:
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)  # type: ignore[arg-type]

    equal(f.output, np.bincount(source, weights=comm, minlength=n))
    equal(f.per_input, 1.0 / np.maximum(inputs, tiny))
    if total == 0.0 or (siblings[siblings > 0.0] > 1e-6 * total).all():  # no rounding to amplify
        known = siblings > 1e-6 * total
        equal(f.per_sibling[known], 1.0 / siblings[known])
    equal(f.log_ccr, np.log(ccr + 0.01))
    equal(f.log_spread, np.log((spread / mean if mean > 0 else 0.0) + 0.01))
    equal(f.parallelism, means.sum() / f.c.rank_scale / instance.n_processors)
    equal(f.relative_comp[eligible], relative[eligible])
    equal(f.slowness, np.where(eligible, relative, 0.0).sum(axis=0) / runnable)
    equal(f.through, np.where(eligible, instance.comp + instance.oct, np.inf))
    assert f.logs.size == 1 + np.bincount(source, minlength=n).max()


def test_data_next_to_nothing() -> None:
    f = policy_context(Instance(np.ones((3, 2)), [(0, 1), (1, 2)], [1e-314, 1e-314]))
    assert np.isfinite(f.per_input).all()
    assert np.isfinite(f.per_sibling).all()
