"""The attention model against its formulas, written out state by state."""

import itertools
import math

import pytest
import scipy.stats
import torch

from dagsched_env.problem.errors import FormatError
from tsp.attention import AttentionPolicy, ModelSettings
from tsp.evaluation import TestSet, gaps, greedy_tours
from tsp.points import normalised, tour_lengths
from tsp.weights import load_policy, save_policy

SMALL = {"width": 16, "heads": 2, "layers": 2, "feed_forward": 24}
BOTH = pytest.mark.parametrize("free_start", [False, True])


def small_policy(free_start, norm="batch"):
    torch.manual_seed(3)
    policy = AttentionPolicy(ModelSettings(**SMALL, norm=norm, free_start=free_start))
    with torch.no_grad():
        policy.project.weight *= 4  # far from uniform choices
    return policy


def points_of(batch, count, seed=0):
    return torch.rand(batch, count, 2, generator=torch.Generator().manual_seed(seed))


def embeddings(policy, points):
    x = policy.embed(normalised(points[None]))
    for layer in policy.layers:
        x = layer(x)
    return x[0]


def reference_log_p(policy, points, tour):
    """Log-probabilities of the choices of one tour: section 3.2 of Kool et al., term by term."""
    settings = policy.settings
    x = embeddings(policy, points)
    last, first, key, value, compared = policy.project(x).chunk(5, dim=1)
    mean = policy.project_mean(x.mean(dim=0))
    size = settings.width // settings.heads
    found = []
    for step in range(0 if settings.free_start else 1, len(tour)):
        visited = list(tour[:step])
        query = mean + (last[tour[step - 1]] + first[tour[0]] if step else policy.start)
        glimpse = []
        for h in range(settings.heads):
            own = slice(h * size, (h + 1) * size)
            scores = key[:, own] @ query[own] / math.sqrt(size)
            scores[visited] = -math.inf
            glimpse.append(scores.softmax(dim=0) @ value[:, own])
        logits = compared @ torch.cat(glimpse) / math.sqrt(settings.width)
        logits = settings.clip * logits.tanh()
        logits[visited] = -math.inf
        found.append(logits.log_softmax(dim=0)[tour[step]])
    return torch.stack(found)


@BOTH
def test_log_probabilities_are_those_of_the_formulas(free_start):
    policy, points = small_policy(free_start).eval(), points_of(3, 7)
    tours = torch.stack([torch.randperm(7) for _ in range(12)]).view(3, 4, 7)
    with torch.no_grad():
        found = policy.log_probabilities(policy.encode(points), tours)
        for b, s in itertools.product(range(3), range(4)):
            expected = reference_log_p(policy, points[b], tours[b, s].tolist()).sum()
            torch.testing.assert_close(found[b, s], expected, atol=1e-4, rtol=1e-4)
    assert found.std() > 1


@BOTH
def test_gradients_are_those_of_the_formulas(free_start):
    policy, points = small_policy(free_start).eval(), points_of(1, 5)
    tour = [2, 4, 0, 1, 3]
    policy.log_probabilities(policy.encode(points), torch.tensor([[tour]])).sum().backward()
    found = {name: p.grad.clone() for name, p in policy.named_parameters() if p.grad is not None}
    policy.zero_grad(set_to_none=True)
    reference_log_p(policy, points[0], tour).sum().backward()
    for name, p in policy.named_parameters():
        expected = torch.zeros_like(p) if p.grad is None else p.grad
        torch.testing.assert_close(found[name], expected, atol=1e-4, rtol=1e-3, msg=name)


@BOTH
def test_samples_are_as_probable_as_the_teacher_forced_pass_says(free_start):
    policy, points = small_policy(free_start).eval(), points_of(1, 4)
    count = 2000
    with torch.no_grad():
        encoded = policy.encode(points)
        generator = torch.Generator().manual_seed(5)
        if free_start:
            drawn = policy.rollouts(encoded, count, generator=generator).actions[0]
        else:  # there are as many starts as points: the tours that begin with the first
            again = [policy.rollouts(encoded, 1, generator=generator) for _ in range(count)]
            drawn = torch.cat([found.actions[0] for found in again])
        orders = [o for o in itertools.permutations(range(4)) if free_start or o[0] == 0]
        tours = torch.tensor(orders)
        expected = policy.log_probabilities(encoded, tours[None])[0].double().exp()
    assert float(expected.sum()) == pytest.approx(1, abs=1e-5)
    same = (drawn[:, None] == tours).all(dim=2).sum(dim=0)
    expected = expected / expected.sum() * count
    frequent = expected > 5
    rest = [float(x[~frequent].sum()) for x in (same, expected)]
    observed = [*same[frequent].tolist(), rest[0]]
    wanted = [*expected[frequent].tolist(), max(rest[1], 1e-9)]
    assert int(frequent.sum()) >= 3
    assert scipy.stats.chisquare(observed, wanted, sum_check=False).pvalue > 1e-3


@BOTH
@pytest.mark.parametrize("number", [0.0, 1 - 2**-24])
def test_the_least_and_the_largest_random_number_make_tours(free_start, number, monkeypatch):
    policy, points = small_policy(free_start).eval(), points_of(3, 6)
    monkeypatch.setattr(torch, "rand", lambda shape, generator: torch.full(shape, number))
    with torch.no_grad():
        found = policy.rollouts(policy.encode(points), 2, generator=torch.Generator())
    assert (found.actions.sort(dim=2).values == torch.arange(6)).all()


@BOTH
def test_greedy_tours_take_the_most_probable_point(free_start):
    policy, points = small_policy(free_start).eval(), points_of(4, 6)
    starts = 1 if free_start else 6
    with torch.no_grad():
        found = policy.rollouts(policy.encode(points), starts, generator=None)
        for b, s in itertools.product(range(4), range(starts)):
            tour = found.actions[b, s].tolist()
            assert sorted(tour) == list(range(6))
            if not free_start:
                assert tour[0] == s
            for step in range(0 if free_start else 1, 5):
                others = [[*tour[:step], point] for point in set(range(6)) - set(tour[:step])]
                logs = {o[-1]: reference_log_p(policy, points[b], o)[-1].item() for o in others}
                assert logs[tour[step]] >= max(logs.values()) - 1e-4
    torch.testing.assert_close(found.costs, tour_lengths(points, found.actions))


@pytest.mark.parametrize("norm", ["batch", "instance"])
def test_order_place_and_scale_do_not_matter(norm):
    policy, points = small_policy(False, norm).eval(), points_of(2, 8)
    order = torch.randperm(8, generator=torch.Generator().manual_seed(1))
    tours = torch.stack([torch.randperm(8) for _ in range(6)]).view(2, 3, 8)
    renamed = order.argsort()[tours]
    with torch.no_grad():
        found = policy.log_probabilities(policy.encode(points), tours)
        moved = policy.log_probabilities(policy.encode(30 * points[:, order] - 7), renamed)
    torch.testing.assert_close(found, moved, atol=1e-3, rtol=1e-3)


# -- gaps and files ------------------------------------------------------------------------------


@BOTH
def test_gaps_are_relative_to_the_references(free_start):
    policy, points = small_policy(free_start), points_of(30, 6, seed=8)
    policy.eval()
    with torch.no_grad():
        costs = policy.rollouts(
            policy.encode(points), 1 if free_start else 6, generator=None
        ).costs.double()
    policy.train()
    test = TestSet(points, torch.full((30,), 2.0, dtype=torch.float64))
    found = gaps(policy, test)
    assert found.one == pytest.approx(float(costs[:, 0].mean()) / 2 - 1, rel=1e-5)
    assert found.best == pytest.approx(float(costs.amin(dim=1).mean()) / 2 - 1, rel=1e-5)
    assert policy.training
    turned = gaps(policy, test, augment=True)
    assert turned.best < found.best
    tours = greedy_tours(policy, points, augment=True)
    lengths = tour_lengths(points, tours[:, None])
    assert float(lengths.mean()) / 2 - 1 == pytest.approx(turned.best, rel=1e-5)


@BOTH
def test_a_saved_policy_is_the_same(tmp_path, free_start):
    policy, points = small_policy(free_start).eval(), points_of(2, 9)
    save_policy(policy, tmp_path / "policy.safetensors")
    read = load_policy(tmp_path / "policy.safetensors")
    assert read.settings == policy.settings
    with torch.no_grad():
        for mine, theirs in zip(policy.encode(points), read.encode(points), strict=True):
            assert torch.equal(mine, theirs)


def test_what_is_no_policy_is_refused(tmp_path):
    path = tmp_path / "policy.safetensors"
    with pytest.raises(FileNotFoundError):
        load_policy(path)
    path.write_bytes(b"no policy")
    with pytest.raises(FormatError, match="not a policy for tours"):
        load_policy(path)
    policy = small_policy(True)
    policy.start.data.fill_(math.nan)
    save_policy(policy, path)
    with pytest.raises(FormatError, match="'start' of 'model' holds numbers that are not finite"):
        load_policy(path)
