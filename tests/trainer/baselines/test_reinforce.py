"""REINFORCE and its baselines, on a policy so small that expectations can be summed exactly."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from aerl_trainer import checkpoint
from aerl_trainer.baselines.reinforce import (
    SIGNIFICANCE,
    GreedyRollout,
    Reinforce,
    Rollouts,
    SharedBaseline,
    greedy_costs,
    paired_t_test,
)
from aerl_trainer.checkpoint import CheckpointError
from dagsched_env.problem.errors import DAGSchedError

ITEMS, PICKS = 4, 2


class Picker(nn.Module):
    """Picks two different items one after the other; the second costs twice its price.

    A problem is the prices ``[ITEMS]``. The logits are prices times a weight, plus a bias an item.
    """

    def __init__(self, slope=0.0):
        super().__init__()
        self.slope = nn.Parameter(torch.tensor(slope))
        self.bias = nn.Parameter(torch.zeros(ITEMS))

    def encode(self, problems):
        return problems, self.slope * problems + self.bias

    def rollouts(self, encoded, starts, *, generator):
        assert not torch.is_grad_enabled()
        prices, logits = (x[:, None].repeat(1, starts, 1) for x in encoded)
        logits, actions = logits.clone(), []
        for _ in range(PICKS):
            if generator is None:
                chosen = logits.argmax(dim=-1, keepdim=True)
            else:
                flat = torch.multinomial(logits.softmax(-1).flatten(0, 1), 1, generator=generator)
                chosen = flat.view(*logits.shape[:2], 1)
            logits.scatter_(-1, chosen, -math.inf)
            actions.append(chosen)
        picked = torch.cat(actions, dim=-1)
        return Rollouts(picked, costs_of(prices, picked))

    def log_probabilities(self, encoded, actions):
        logits = encoded[1][:, None].expand(-1, actions.shape[1], -1)
        first = logits.log_softmax(-1).gather(-1, actions[..., :1])
        left = logits.scatter(-1, actions[..., :1], -math.inf)
        return (first + left.log_softmax(-1).gather(-1, actions[..., 1:])).squeeze(-1)


def costs_of(prices, picked):
    return prices.gather(-1, picked) @ torch.tensor([1.0, 2.0])


def every_sequence():
    return torch.tensor(list(itertools.permutations(range(ITEMS), PICKS)))[None]


def expected_cost(policy, prices):
    """Summed over all sequences of one problem, with gradient."""
    actions = every_sequence()
    log_p = policy.log_probabilities(policy.encode(prices[None]), actions)
    costs = costs_of(prices[None, None].expand(1, actions.shape[1], -1), actions)
    return (log_p.exp() * costs).sum()


def draw(number, batches=4, size=32):
    generator = torch.Generator().manual_seed(100 + number)
    return [torch.rand(size, ITEMS, generator=generator) for _ in range(batches)]


def adam(policy, rate=0.1):
    return torch.optim.Adam(policy.parameters(), lr=rate)


# -- the test ------------------------------------------------------------------------------------


@given(
    count=st.integers(2, 400),
    seed=st.integers(0, 2**31),
    shift=st.floats(-0.3, 0.3),
    spread=st.floats(1e-3, 2.0),
)
def test_the_t_test_is_that_of_scipy(count, seed, shift, spread):
    rng = np.random.default_rng(seed)
    lower = rng.normal(5.0, 1.0, count)
    higher = lower + rng.normal(shift, spread, count)
    expected = scipy.stats.ttest_rel(lower, higher, alternative="less").pvalue
    found = paired_t_test(torch.from_numpy(lower), torch.from_numpy(higher))
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_the_t_test_of_equal_differences():
    costs = torch.tensor([1.0, 2.0, 4.0])
    assert paired_t_test(costs, costs) == 1.0
    assert paired_t_test(costs, costs + 0.5) == 0.0
    assert paired_t_test(costs + 0.5, costs) == 1.0


# -- the gradient --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["shared", "greedy", "warm"])
def test_the_gradient_is_that_of_the_expected_cost(kind):
    policy, prices = Picker(-0.7), torch.tensor([0.9, 0.1, 0.4, 0.6])
    cost = expected_cost(policy, prices)
    expected = torch.autograd.grad(cost, list(policy.parameters()))
    before = [p.detach().clone() for p in policy.parameters()]
    if kind == "shared":
        baseline = SharedBaseline()
    else:
        baseline = GreedyRollout(policy, draw, warm_up=int(kind == "warm"))
    learner = Reinforce(
        policy,
        torch.optim.SGD(policy.parameters(), lr=1.0),
        baseline,
        starts=50_000,
        clip=math.inf,
    )
    report = learner.step(prices[None])
    for now, then, gradient in zip(policy.parameters(), before, expected, strict=True):
        assert gradient.abs().max() > 0.01
        torch.testing.assert_close(then - now, gradient, atol=0.01, rtol=0.03)
    norm = torch.cat([g.flatten() for g in expected]).norm()
    assert report.gradient_norm == pytest.approx(float(norm), abs=0.01)
    assert report.cost == pytest.approx(cost.item(), abs=0.01)


def test_samples_are_as_probable_as_the_teacher_forced_pass_says():
    policy, prices = Picker(-1.5), torch.tensor([[0.9, 0.1, 0.4, 0.6]])
    count = 40_000
    with torch.no_grad():
        encoded = policy.encode(prices)
        drawn = policy.rollouts(encoded, count, generator=torch.Generator().manual_seed(1))
        sequences = every_sequence()
        expected = policy.log_probabilities(encoded, sequences)[0].double().exp() * count
    same = (drawn.actions[0][:, None] == sequences).all(dim=-1).sum(dim=0)
    assert float(expected.sum()) == pytest.approx(count, rel=1e-5)
    assert scipy.stats.chisquare(same, expected / expected.sum() * count).pvalue > 1e-3


def test_large_gradients_are_clipped():
    policy = Picker()
    learner = Reinforce(
        policy,
        torch.optim.SGD(policy.parameters(), lr=1.0),
        SharedBaseline(),
        starts=8,
        clip=0.5,
    )
    before = torch.cat([p.detach().flatten().clone() for p in policy.parameters()])
    report = learner.step(1000.0 * torch.rand(4, ITEMS, generator=torch.Generator().manual_seed(0)))
    after = torch.cat([p.detach().flatten() for p in policy.parameters()])
    assert report.gradient_norm > 1
    assert float((after - before).norm()) == pytest.approx(0.5, rel=1e-4)


@pytest.mark.parametrize("kind", ["shared", "greedy"])
def test_the_cheapest_items_are_learned(kind):
    policy = Picker()
    baseline = SharedBaseline() if kind == "shared" else GreedyRollout(policy, draw)
    learner = Reinforce(policy, adam(policy), baseline, starts=4)
    held_out = torch.rand(200, ITEMS, generator=torch.Generator().manual_seed(9))
    cheapest = held_out.sort(dim=1).values
    # The cheapest item should come second, but such a policy picks what it likes best first.
    best = float((cheapest[:, 0] + 2 * cheapest[:, 1]).mean())
    start = float(greedy_costs(policy, [held_out]).mean())
    replaced = 0
    for number in range(8):
        for problems in draw(number, batches=20):
            report = learner.step(problems)
        replaced += baseline.after_epoch(policy)
    found = float(greedy_costs(policy, [held_out]).mean())
    assert found == pytest.approx(best, rel=0.02)
    assert start > best + 0.4
    assert report.surprise < math.log(ITEMS * (ITEMS - 1))
    assert replaced == 0 if kind == "shared" else replaced >= 1
    assert learner.steps == 160


# -- the baselines -------------------------------------------------------------------------------


def some_rollouts(costs):
    costs = torch.tensor(costs)
    return Rollouts(torch.zeros(*costs.shape, PICKS, dtype=torch.int64), costs)


def test_the_shared_baseline_is_the_mean_of_each_problem():
    found = SharedBaseline().costs(torch.zeros(2, ITEMS), some_rollouts([[1.0, 3.0], [5.0, 5.0]]))
    assert found.tolist() == [[2.0], [5.0]]
    with pytest.raises(DAGSchedError, match="two starts"):
        SharedBaseline().costs(torch.zeros(1, ITEMS), some_rollouts([[1.0]]))


def test_the_copy_takes_over_from_the_moving_mean():
    policy = Picker(-5.0)
    baseline = GreedyRollout(policy, draw, warm_up=2)
    problems = torch.tensor([[0.1, 0.2, 0.9, 0.8], [0.5, 0.4, 0.3, 0.6]])
    greedy = torch.tensor([[0.1 + 2 * 0.2], [0.3 + 2 * 0.4]])
    assert baseline.costs(problems, some_rollouts([[3.0], [5.0]])).tolist() == [[4.0], [4.0]]
    second = baseline.costs(problems, some_rollouts([[1.0], [1.0]]))
    assert second.tolist() == [[pytest.approx(0.8 * 4 + 0.2 * 1)]] * 2
    mean = 0.8 * float(second[0]) + 0.2 * 2
    baseline.after_epoch(policy)
    assert baseline.weight == 0.5
    half = baseline.costs(problems, some_rollouts([[2.0], [2.0]]))
    torch.testing.assert_close(half, 0.5 * greedy + 0.5 * mean)
    baseline.after_epoch(policy)
    whole = baseline.costs(problems, some_rollouts([[2.0], [2.0]]))
    torch.testing.assert_close(whole, greedy)


def test_without_a_warm_up_the_copy_is_the_baseline_at_once():
    baseline = GreedyRollout(Picker(-5.0), draw, warm_up=0)
    found = baseline.costs(torch.tensor([[0.1, 0.2, 0.9, 0.8]]), some_rollouts([[7.0]]))
    torch.testing.assert_close(found, torch.tensor([[0.5]]))


def test_the_copy_is_frozen_and_replaced_by_what_is_better_alone():
    policy, sets = Picker(1.0), []
    baseline = GreedyRollout(policy, lambda number: sets.append(number) or draw(number))
    with torch.no_grad():
        policy.slope.fill_(2.0)
    assert float(baseline.frozen.slope) == 1.0
    assert not baseline.after_epoch(policy)  # as bad as before
    with torch.no_grad():
        policy.slope.fill_(-1.0)
    assert baseline.after_epoch(policy)
    assert float(baseline.frozen.slope) == -1.0
    with torch.no_grad():
        policy.slope.fill_(1.0)
    assert not baseline.after_epoch(policy)
    assert float(baseline.frozen.slope) == -1.0
    assert sets == [0, 1]  # the next problems are drawn when the copy is replaced
    assert not any(p.requires_grad for p in baseline.frozen.parameters())
    assert policy.training
    assert not baseline.frozen.training


def test_means_replace_where_the_t_test_does_not():
    """Of six problems five stay as they are, and one becomes a little cheaper."""
    prices = torch.tensor([[0.1, 0.2, 0.3, 0.4]] * 5 + [[0.5, 0.2, 0.3, 0.4]])
    replaced = {}
    for test in ("t", "means"):
        policy = Picker()
        baseline = GreedyRollout(policy, lambda _: [prices], test=test)
        before = greedy_costs(policy, [prices])
        with torch.no_grad():
            policy.slope.fill_(-1.0)
        after = greedy_costs(policy, [prices])
        assert after.mean() < before.mean()
        assert paired_t_test(after, before) > SIGNIFICANCE
        replaced[test] = baseline.after_epoch(policy)
    assert replaced == {"t": False, "means": True}


@pytest.mark.parametrize(
    ("options", "message"),
    [({"test": "z"}, "'t' or 'means'"), ({"warm_up": -1}, "warm_up is -1")],
)
def test_settings_of_the_baseline_are_checked(options, message):
    with pytest.raises(DAGSchedError, match=message):
        GreedyRollout(Picker(), draw, **options)


def test_there_must_be_a_start():
    policy = Picker()
    with pytest.raises(DAGSchedError, match="starts is 0"):
        Reinforce(policy, adam(policy), SharedBaseline(), starts=0)


# -- checkpoints ---------------------------------------------------------------------------------


def trained(kind, numbers):
    policy = Picker()
    baseline = SharedBaseline() if kind == "shared" else GreedyRollout(policy, draw)
    learner = Reinforce(policy, adam(policy), baseline, starts=3, seed=5)
    train(learner, numbers)
    return learner


def train(learner, numbers):
    for number in numbers:
        for problems in draw(number):
            learner.step(problems)
        learner.baseline.after_epoch(learner.policy)


@pytest.mark.parametrize("kind", ["shared", "greedy"])
def test_training_goes_on_exactly(tmp_path, kind):
    whole, first = trained(kind, range(6)), trained(kind, range(3))
    saved = first.state()
    checkpoint.save(
        tmp_path / "last", tensors=saved.tensors, arrays=saved.arrays, state=saved.state
    )
    second = trained(kind, [17])  # what it has learned is to be forgotten
    second.restore(checkpoint.load(tmp_path / "last"))
    train(second, range(3, 6))
    assert second.steps == whole.steps
    for name, tensor in whole.state().tensors.items():
        for key, value in tensor.items():
            assert torch.equal(second.state().tensors[name][key], value), f"{name}: {key}"
    assert second.state().state == whole.state().state


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda saved: saved.tensors.pop("frozen"), "'bias' of 'frozen' is missing"),
        (lambda saved: saved.arrays.pop("actions_rng"), "'actions_rng' is not the state"),
        (lambda saved: saved.state.pop("baseline"), "'baseline' is missing"),
        (lambda saved: saved.state["reinforce"].update(steps=-1), "'steps' is -1"),
        (lambda saved: saved.tensors["optimizer"]["0.exp_avg_sq"].fill_(-1), "negative squares"),
        (lambda saved: saved.tensors["policy"].update(slope=torch.tensor(math.nan)), "not finite"),
    ],
)
def test_damaged_checkpoints_are_refused(damage, message):
    saved = trained("greedy", [0]).state()
    damage(saved)
    with pytest.raises(DAGSchedError, match=message):
        trained("greedy", [1]).restore(saved)


def test_moments_of_another_optimiser_are_refused():
    learner = trained("shared", [0])
    saved = learner.state()
    saved.tensors["optimizer"].pop("1.step")
    with pytest.raises(CheckpointError, match=r"'1\.step' of 'optimizer' is missing"):
        learner.restore(saved)
