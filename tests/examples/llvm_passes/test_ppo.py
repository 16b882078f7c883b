"""PPO for policies that write sequences: its numbers, the traps of such code, what it learns."""

import numpy as np
import pytest
import torch
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from stable_baselines3.common.buffers import RolloutBuffer
from torch import nn

from aerl_trainer import checkpoint
from aerl_trainer.config import ConfigError
from dagsched_env.problem.errors import FormatError
from llvm_phase.best_sequences import BestSequences
from llvm_phase.ppo import PPO, PPOConfig, gae, returns_to_go
from llvm_phase.sequences import (
    Evaluation,
    Sequences,
    entropies,
    log_probabilities,
)

TARGET = (2, 0, 1)
"""Each of these actions at its place is worth 1."""
N, T = 3, len(TARGET)


class Writer(nn.Module):
    """Logits and values from the action before, by tables."""

    def __init__(self) -> None:
        super().__init__()
        self.actor = nn.Parameter(torch.zeros(T, N + 1, N))
        self.critic = nn.Parameter(torch.zeros(T, N + 1))

    def forward(self, inputs, actions):
        begin = torch.full_like(actions[:, :1], N)
        before = torch.cat([begin, actions[:, :-1]], dim=1)
        places = torch.arange(actions.shape[1])
        return Evaluation(self.actor[places, before], self.critic[places, before])


@torch.no_grad()
def write(policy, count, rng):
    actions = torch.zeros(count, T, dtype=torch.int64)
    for t in range(T):
        logits = policy({}, actions).logits[:, t]
        draws = torch.from_numpy(rng.gumbel(size=(count, N)))
        actions[:, t] = (logits + draws).argmax(dim=1)
    logits, values = policy({}, actions)
    rewards = (actions == torch.tensor(TARGET)).float()
    mask = torch.ones_like(rewards, dtype=torch.bool)
    return Sequences({}, actions, mask, rewards, log_probabilities(logits, actions), values)


def config(**changes):
    return PPOConfig(**{"learning_rate": 0.05, "batch_size": 32, "target_kl": 0.5, **changes})


def weights(policy):
    return {name: value.clone() for name, value in policy.state_dict().items()}


# -- advantages ----------------------------------------------------------------------------------


def slow_gae(rewards, values, length, gamma, lam):
    """The sum of the paper, term by term, for one sequence."""
    values = [*values[:length], 0.0]
    deltas = [rewards[t] + gamma * values[t + 1] - values[t] for t in range(length)]
    return [
        sum((gamma * lam) ** k * deltas[t + k] for k in range(length - t)) for t in range(length)
    ]


@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=4),
    st.sampled_from([0.0, 0.5, 0.9, 1.0]),
    st.sampled_from([0.0, 0.5, 0.95, 1.0]),
    st.integers(0, 2**32 - 1),
)
def test_advantages_are_those_of_the_paper(lengths, gamma, lam, seed):
    rng = np.random.default_rng(seed)
    rewards, values = rng.normal(size=(2, len(lengths), 6))
    mask = torch.arange(6) < torch.tensor(lengths).unsqueeze(1)
    result = gae(torch.from_numpy(rewards), torch.from_numpy(values), mask, gamma, lam)
    for row, length in enumerate(lengths):
        expected = slow_gae(rewards[row], values[row], length, gamma, lam)
        assert result[row, :length].tolist() == pytest.approx(expected)
        assert not result[row, length:].any()


def test_advantages_are_those_of_stable_baselines3():
    rng = np.random.default_rng(0)
    rewards, values = rng.normal(size=(2, 4, 7)).astype(np.float32)
    buffer = RolloutBuffer(
        7, spaces.Box(0, 1, (1,)), spaces.Discrete(2), gae_lambda=0.9, gamma=0.97, n_envs=4
    )
    buffer.rewards, buffer.values = rewards.T.copy(), values.T.copy()
    buffer.episode_starts = np.zeros((7, 4), dtype=np.float32)
    buffer.compute_returns_and_advantage(torch.zeros(4), dones=np.ones(4))
    mask = torch.ones(4, 7, dtype=torch.bool)
    ours = gae(torch.from_numpy(rewards), torch.from_numpy(values), mask, 0.97, 0.9)
    np.testing.assert_allclose(ours.numpy(), buffer.advantages.T, rtol=1e-4, atol=1e-5)


def test_what_is_behind_the_end_counts_nothing():
    mask = torch.tensor([[True, True, False]])
    clean = gae(torch.tensor([[1.0, 2.0, 0.0]]), torch.tensor([[0.5, 0.5, 0.0]]), mask, 1.0, 0.9)
    junk = gae(torch.tensor([[1.0, 2.0, 9.0]]), torch.tensor([[0.5, 0.5, 9.0]]), mask, 1.0, 0.9)
    assert torch.equal(clean, junk)
    assert returns_to_go(torch.tensor([[1.0, 2.0, 9.0]]), mask, 0.5).tolist() == [[2.0, 2.0, 0.0]]


def test_entropy_and_probabilities_by_hand():
    logits = torch.tensor([[[0.0, 0.0, -torch.inf]]])
    assert entropies(logits).tolist() == [[pytest.approx(np.log(2))]]
    assert log_probabilities(logits, torch.tensor([[1]])).tolist() == [[pytest.approx(-np.log(2))]]


# -- updates -------------------------------------------------------------------------------------


def test_it_learns_every_action_the_first_too():
    policy, rng = Writer(), np.random.default_rng(0)
    ppo = PPO(policy, config())
    before = write(policy, 256, rng).returns.mean()
    for _ in range(25):
        ppo.update(write(policy, 64, rng), rng)
    after = write(policy, 256, rng)
    assert before < 1.3
    assert after.returns.mean() > 2.7
    assert (after.actions[:, 0] == TARGET[0]).float().mean() > 0.9


def test_the_critic_learns():
    policy, rng = Writer(), np.random.default_rng(1)
    ppo = PPO(policy, config(learning_rate=0.02, clip=1e-6, target_kl=1e9))
    losses, explained = [], []
    for _ in range(40):
        report = ppo.update(write(policy, 64, rng), rng)
        losses.append(report.value_loss)
        explained.append(report.explained_variance)
    assert policy.critic.detach().abs().max() > 0.5
    assert losses[-1] < 0.7 * losses[0]
    assert explained[-1] > 0.3 > explained[0]


@pytest.mark.parametrize(("name", "value"), [("gae_lambda", 0.0), ("gamma", 0.5)])
def test_the_advantages_are_used(name, value):
    """Another λ, or another γ, moves the weights elsewhere."""
    ends = []
    for changes in ({"gae_lambda": 1.0, "gamma": 1.0}, {name: value}):
        policy, rng = Writer(), np.random.default_rng(2)
        policy.critic.data += torch.linspace(0, 1, T).unsqueeze(1)
        PPO(policy, config(**changes)).update(write(policy, 64, rng), rng)
        ends.append(policy.actor.detach().clone())
    assert not torch.allclose(*ends, atol=1e-3)


def test_a_ratio_beyond_the_clip_earns_nothing():
    policy, rng = Writer(), np.random.default_rng(3)
    batch = write(policy, 64, rng)
    advantage = gae(batch.rewards, batch.values, batch.mask, 1.0, 0.95)
    normal = (advantage - advantage.mean()) / advantage.std()
    # As if the old policy had been much further from what pays: each ratio is clipped.
    far = torch.where(normal > 0, -1.0, 1.0)
    batch = Sequences(*list(batch.__dict__.values())[:4], batch.log_probs + far, batch.values)
    before = weights(policy)
    report = PPO(
        policy,
        config(entropy_coefficient=0, value_coefficient=0, batch_size=64, target_kl=1e9),
    ).update(batch, rng)
    assert report.clipped == 1.0
    assert all(torch.equal(before[name], value) for name, value in weights(policy).items())


def test_an_update_ends_when_the_policy_has_moved_far():
    reports = {}
    for target in (1e-6, 1e6):
        policy, rng = Writer(), np.random.default_rng(4)
        reports[target] = PPO(policy, config(target_kl=target, epochs=6)).update(
            write(policy, 64, rng), rng
        )
    assert reports[1e6].minibatches == 12
    assert reports[1e-6].minibatches == 2  # nothing has moved before the first step
    assert reports[1e6].kl > 0


def test_gradients_are_clipped():
    policy, rng = Writer(), np.random.default_rng(5)
    PPO(policy, config(gradient_clip=1e-3)).update(write(policy, 64, rng), rng)
    norm = torch.stack([p.grad.norm() for p in policy.parameters()]).norm()
    assert 0 < norm <= 1e-3 * (1 + 1e-4)


def test_entropy_keeps_the_policy_undecided():
    last = []
    for coefficient in (0.0, 1.0):
        policy, rng = Writer(), np.random.default_rng(6)
        ppo = PPO(policy, config(entropy_coefficient=coefficient))
        last.append([ppo.update(write(policy, 64, rng), rng).entropy for _ in range(10)][-1])
    assert last[0] + 0.1 < last[1]


@pytest.mark.parametrize(
    ("name", "value"),
    [("clip", 0.0), ("epochs", 0), ("gamma", 1.5), ("entropy_coefficient", -1.0)],
)
def test_bad_settings_are_named(name, value):
    with pytest.raises(ConfigError, match=f"ppo.{name} must"):
        PPOConfig(**{name: value})


# -- imitation and replay ------------------------------------------------------------------------


def given_sequences(*rows):
    actions = torch.tensor(rows)
    rewards = (actions == torch.tensor(TARGET)).float()
    zeros = torch.zeros(actions.shape)
    return Sequences({}, actions, torch.ones_like(rewards, dtype=torch.bool), rewards, zeros, zeros)


def test_imitation_copies():
    policy = Writer()
    ppo, batch = PPO(policy, config()), given_sequences(TARGET)
    reports = [ppo.imitate(batch, torch.ones(1)) for _ in range(60)]
    assert reports[-1].loss < reports[0].loss / 5
    assert reports[-1].accuracy == 1.0
    assert float(policy({}, batch.actions).values.detach()[0, 0]) == pytest.approx(3.0, abs=0.5)


def test_self_imitation_leaves_what_is_worse_than_expected():
    policy = Writer()
    policy.critic.data += 5.0
    before = weights(policy)
    report = PPO(policy, config()).imitate(given_sequences(TARGET), torch.ones(1), only_gains=True)
    assert report.gains.tolist() == [0.0]
    assert all(torch.equal(before[name], value) for name, value in weights(policy).items())
    policy.critic.data -= 5.0
    report = PPO(policy, config()).imitate(
        given_sequences(TARGET, (0, 1, 2)), torch.ones(2), only_gains=True
    )
    assert report.gains.tolist() == [2.0, 0.0]


def test_the_best_sequences_are_kept():
    best = BestSequences({}, T, capacity=8)
    first = given_sequences((2, 0, 0), (0, 1, 2), TARGET, (2, 0, 0))
    assert best.add(["a", "a", "b", "a"], first) == 2  # one is worse, one is known
    assert best.best == {"a": 2.0, "b": 3.0}
    assert best.add(["a", "b"], given_sequences(TARGET, (2, 0, 0))) == 1
    drawn, importance, batch = best.sample(12, np.random.default_rng(0))
    assert {tuple(row) for row in drawn.actions.tolist()} == {(2, 0, 0), TARGET}
    assert drawn.mask.all()
    assert ((importance > 0) & (importance <= 1)).all()
    best.update(batch, (drawn.returns == 3.0).float())
    again = best.sample(300, np.random.default_rng(1))[0]
    assert (again.returns == 3.0).float().mean() > 0.9


def test_a_checkpoint_goes_on_exactly(tmp_path):
    policy, rng = Writer(), np.random.default_rng(7)
    ppo, best = PPO(policy, config()), BestSequences({}, T, capacity=8)
    ppo.update(write(policy, 64, rng), rng)
    best.add(["a", "b"], given_sequences(TARGET, (2, 0, 0)))
    checkpoint.save(
        tmp_path / "last",
        tensors=ppo.tensors(),
        arrays=best.replay.state_arrays(),
        state={"best": best.state()},
    )
    twin, twins = PPO(Writer(), config()), BestSequences({}, T, capacity=8)
    saved = checkpoint.load(tmp_path / "last")
    twin.restore(saved)
    twins.restore(saved.arrays, saved.state["best"])
    batch = write(policy, 64, rng)
    for one in (ppo, twin):
        one.update(batch, np.random.default_rng(8))
    assert all(torch.equal(v, twin.policy.state_dict()[k]) for k, v in weights(policy).items())
    assert twins.best == best.best
    assert twins.add(["a"], given_sequences(TARGET)) == 0
    with pytest.raises(FormatError, match="'best' is missing"):
        twins.restore(saved.arrays, {})
