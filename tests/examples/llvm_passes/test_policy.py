"""The transformer and what it writes: one pass, step by step, as in the environment."""

import numpy as np
import pytest
import torch

from aerl_trainer.config import ConfigError
from llvm_phase.compiler import Compiler
from llvm_phase.env import LLVMPhaseEnv
from llvm_phase.policy import STEP_FEATURES, PassPolicy, PolicyConfig, step_features
from llvm_phase.ppo import PPO, PPOConfig
from llvm_phase.programs import Program
from llvm_phase.rewards import REWARDS
from llvm_phase.rollouts import Rollout, replayed, sample
from llvm_phase.sequences import log_probabilities
from llvm_phase.tasks import Task, make_tasks

PASSES = ("sroa", "dce", "instcombine")
HORIZON, VOCABULARY, TOKENS = 5, 20, 16
SMALL = {"width": 16, "heads": 2, "feedforward": 16, "encoder_layers": 1}


def make_policy(**changes: object) -> PassPolicy:
    torch.manual_seed(0)
    policy = PassPolicy(
        PolicyConfig(**{**SMALL, **changes}), len(PASSES), HORIZON, VOCABULARY, TOKENS
    )
    torch.nn.init.normal_(policy.head.weight, std=0.2)  # decided enough for its errors to be seen
    generator = torch.Generator().manual_seed(1)
    policy.set_programs(
        torch.randint(0, VOCABULARY, (4, TOKENS), generator=generator),
        torch.randint(0, 90, (4, 56), generator=generator),
    )
    return policy


def made_up(rows: int = 6) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    generator = torch.Generator().manual_seed(2)
    inputs = {
        "program": torch.tensor([0, 1, 2, 3, 1, 0])[:rows],
        "features": torch.randn(rows, HORIZON, STEP_FEATURES, generator=generator),
    }
    return inputs, torch.randint(0, len(PASSES) + 1, (rows, HORIZON), generator=generator)


@pytest.fixture(scope="module")
def tasks(compiler: Compiler, small: list[Program]) -> list[Task]:
    return make_tasks(compiler, small)


@pytest.fixture(scope="module")
def rollout(compiler: Compiler, tasks: list[Task]) -> Rollout:
    generator = torch.Generator().manual_seed(3)
    rows = [0, 1, 2, 3] * 6
    return sample(make_policy(), compiler, tasks * 6, rows, PASSES, generator)


def test_one_pass_says_what_the_steps_said(rollout: Rollout) -> None:
    """The first action's probability too: nothing is lost in the shift."""
    written = rollout.sequences
    logits, values = make_policy()(written.inputs, written.actions)
    again = log_probabilities(logits, written.actions)
    mask = written.mask
    assert mask[:, 0].all()
    assert (written.log_probs[:, 0] < -0.01).all()
    torch.testing.assert_close(again[mask], written.log_probs[mask], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(values[mask], written.values[mask], atol=1e-5, rtol=1e-4)


def test_logits_depend_on_the_actions_before_alone() -> None:
    policy, (inputs, actions) = make_policy(), made_up()
    logits, values = policy(inputs, actions)
    for t in range(HORIZON):
        changed = actions.clone()
        changed[:, t] = (changed[:, t] + 1) % (len(PASSES) + 1)
        others, _ = policy(inputs, changed)
        torch.testing.assert_close(others[:, : t + 1], logits[:, : t + 1])
        if t + 1 < HORIZON:
            assert (others[:, t + 1] - logits[:, t + 1]).abs().max() > 1e-4
    assert logits.shape == (6, HORIZON, len(PASSES) + 1)
    assert values.shape == (6, HORIZON)


def test_the_first_action_has_a_gradient() -> None:
    policy, (inputs, actions) = make_policy(), made_up()
    log_probabilities(policy(inputs, actions).logits, actions)[:, 0].sum().backward()
    assert policy.actions.weight.grad[policy.begin].abs().max() > 0
    assert policy.actions.weight.grad[: policy.end].abs().max() == 0


def test_the_critic_teaches_the_encoder() -> None:
    """It is not run under no_grad: its error reaches its own weights and the program's."""
    policy, (inputs, actions) = make_policy(), made_up()
    policy(inputs, actions).values.square().sum().backward()
    for weights in (policy.critic[0].weight, policy.patch.weight, policy.tokens.weight):
        assert weights.grad.abs().max() > 0
    assert policy.head.weight.grad is None


def test_ppo_moves_actor_critic_and_encoder(rollout: Rollout) -> None:
    policy = make_policy()
    before = {name: value.clone() for name, value in policy.state_dict().items()}
    PPO(policy, PPOConfig(epochs=1, batch_size=8)).update(
        rollout.sequences, np.random.default_rng(0)
    )
    for name in ("head.weight", "critic.2.weight", "patch.weight", "actions.weight"):
        assert not torch.equal(before[name], policy.state_dict()[name]), name


@pytest.mark.parametrize("fusion", ["none", "add", "concat"])
def test_fusion(fusion: str) -> None:
    policy, (inputs, actions) = make_policy(fusion=fusion), made_up()
    logits = policy(inputs, actions).logits
    tokens, counts = policy._programs
    policy._programs = tokens, counts + 1.0
    by_counts = (policy(inputs, actions).logits - logits).abs().max()
    assert (by_counts > 1e-5) == (fusion != "none")
    policy._programs = tokens.flip(1), counts
    assert (policy(inputs, actions).logits - logits).abs().max() > 1e-5


def test_bad_sizes_are_named() -> None:
    with pytest.raises(ConfigError, match=r"policy\.width must be a multiple of policy\.heads"):
        PolicyConfig(width=10, heads=4)
    with pytest.raises(ConfigError, match=r"policy\.fusion is"):
        PolicyConfig(fusion="mean")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="token_length must be a multiple of 4"):
        PassPolicy(PolicyConfig(**SMALL), 3, 5, 20, 18)


def test_step_features() -> None:
    now, initial = torch.full((1, 56), 3), torch.full((1, 56), 7)
    features = step_features(now, initial, 2, 5)
    assert features.shape == (1, STEP_FEATURES)
    assert features[0, -2:].tolist() == pytest.approx([3 / 7, 2 / 5])
    assert features[0, 56].item() == pytest.approx(np.log(4) - np.log(8))


def test_a_rollout_is_an_episode_of_the_environment(
    rollout: Rollout, compiler: Compiler, small: list[Program]
) -> None:
    env = LLVMPhaseEnv(small, passes=PASSES, horizon=HORIZON, token_length=0, compiler=compiler)
    end, ended = len(PASSES), 0
    for row, task in enumerate(rollout.tasks):
        actions = rollout.sequences.actions[row][rollout.sequences.mask[row]].tolist()
        env.reset(options={"program": task.name})
        ended += end in actions
        assert end not in actions[:-1]
        total, best = 0.0, 0.0
        for action in [action for action in actions if action != end]:
            total += env.step(action)[1]
            best = max(best, total)
        assert total == pytest.approx(rollout.values[row])
        assert best == pytest.approx(rollout.best[row])
        assert rollout.sequences.returns[row].item() == pytest.approx(total, abs=1e-6)
    assert 0 < ended < len(rollout.tasks)


def test_the_most_probable_passes_are_the_same_each_time(
    compiler: Compiler, tasks: list[Task]
) -> None:
    policy = make_policy()
    first, second = (sample(policy, compiler, tasks, range(4), PASSES, None) for _ in range(2))
    assert torch.equal(first.sequences.actions, second.sequences.actions)
    logits = policy(first.sequences.inputs, first.sequences.actions).logits
    mask = first.sequences.mask
    assert torch.equal(logits.argmax(-1)[mask], first.sequences.actions[mask])


def test_given_sequences_are_played_and_ended(compiler: Compiler, tasks: list[Task]) -> None:
    given = [[0, 1, 2], [], [2, 2, 2, 2, 2], [0]]
    played = replayed(make_policy(), compiler, tasks, range(4), PASSES, given)
    lengths = played.sequences.mask.sum(dim=1).tolist()
    assert lengths == [4, 1, 5, 2]  # with the end, where there is room for it
    assert played.sequences.actions[0, :4].tolist() == [0, 1, 2, 3]
    assert played.values[0] == 1.0
    assert played.values[1] == 0.0


def test_a_lost_pass_ends_a_sequence(compiler: Compiler, small: list[Program]) -> None:
    with Compiler(compiler.backend) as own:
        lone = make_tasks(own, small[:1])
        own._workers[0]._process.kill()
        own._workers[0]._process.wait()
        scaled = REWARDS["scaled_reduction"]
        played = replayed(make_policy(), own, lone, [0], PASSES, [[0, 1, 2]], scaled)
    assert played.sequences.mask.sum() == 1
    assert played.values[0] == 0.0
    # What the program as it is would have earned at the end.
    excess = lone[0].initial.size / lone[0].oz - 1
    assert played.sequences.rewards.sum() == pytest.approx(-2 * excess - 1)
