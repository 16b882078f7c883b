"""``LLVMPhase-v0``: the interface, returns, rewards shared with ``dagsched_env``, crashes."""

import math
import warnings
from collections.abc import Iterator

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from dagsched_env import DAGSchedError
from dagsched_env.environment import rewards as shared
from dagsched_env.environment.rewards import Reduction
from llvm_phase import rewards
from llvm_phase.compiler import Compiler, CompilerError
from llvm_phase.env import LLVMPhaseEnv
from llvm_phase.programs import Program

PASSES = ["-sroa", "dce", "instcombine"]


@pytest.fixture
def env(compiler: Compiler, small: list[Program]) -> Iterator[LLVMPhaseEnv]:
    made = LLVMPhaseEnv(small, passes=PASSES, horizon=3, token_length=0, compiler=compiler)
    yield made
    made.close()


def test_the_interface(compiler: Compiler, small: list[Program]) -> None:
    pytest.importorskip("tokenizers")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it wishes bounds to be smaller
        made = gymnasium.make(
            "llvm_phase.env:LLVMPhase-v0", programs=small, passes=PASSES, compiler=compiler
        )
        check_env(made.unwrapped)
    observation, info = made.reset(seed=3, options={"program": "two"})
    assert {name: values.shape for name, values in observation.items()} == {
        "autophase": (56,),
        "histogram": (3,),
        "instructions": (1,),
        "step": (1,),
        "tokens": (512,),
    }
    assert all(values.dtype == np.int64 for values in observation.values())
    assert info["program"] == "two"
    made.close()


def test_an_episode(env: LLVMPhaseEnv) -> None:
    observation, info = env.reset(options={"program": "four"})
    initial, oz = info["initial"], info["oz"]
    assert (initial, oz, info["pass"]) == (10, 2, None)
    assert observation["instructions"] == [initial]
    total = 0.0
    for step, action in enumerate((0, 1, 2), start=1):
        before = info["instructions"]
        observation, reward, terminated, truncated, info = env.step(action)
        assert reward == pytest.approx((before - info["instructions"]) / (initial - oz))
        assert info["pass"] == ("sroa", "dce", "instcombine")[action]
        assert info["vs_oz"] == info["instructions"] / oz
        assert (terminated, truncated) == (step == 3, False)
        assert observation["step"] == [step]
        assert observation["histogram"].tolist() == [1] * step + [0] * (3 - step)
        assert observation["autophase"][51] == info["instructions"]
        total += reward
    assert info["instructions"] == oz
    assert total == pytest.approx(1.0)
    with pytest.raises(DAGSchedError, match="the episode is over"):
        env.step(0)


def test_a_pass_without_effect_is_worth_nothing(env: LLVMPhaseEnv) -> None:
    env.reset(options={"program": "one"})
    env.step(0)
    _, reward, _, _, info = env.step(0)
    assert (reward, info["changed"]) == (0.0, False)


def test_a_clone_goes_its_own_way(env: LLVMPhaseEnv) -> None:
    env.reset(seed=1, options={"program": "four"})
    twin = env.clone()
    twin.step(0)
    assert twin.state is not env.state
    observation, *_ = env.step(1)
    assert observation["histogram"].tolist() == [0, 1, 0]
    assert [env.reset()[1]["program"] for _ in range(8)] == [
        twin.reset()[1]["program"] for _ in range(8)
    ]
    twin.close()
    env.reset()  # the compiler lives


def test_a_crash_costs_the_episode(compiler: Compiler, small: list[Program]) -> None:
    with Compiler(compiler.backend) as own:
        env = LLVMPhaseEnv(small, passes=PASSES, token_length=0, compiler=own)
        env.reset(options={"program": "one"})
        before = env.state
        own._workers[0]._process.kill()
        own._workers[0]._process.wait()
        _, reward, terminated, truncated, info = env.step(0)
        assert (reward, terminated, truncated, info["failure"]) == (0.0, False, True, True)
        assert env.state is before
        with pytest.raises(DAGSchedError, match="the episode is over"):
            env.step(1)
        env.reset(options={"program": "two"})
        assert not env.step(0)[3]


@pytest.mark.parametrize("reward", [*rewards.REWARDS, Reduction("log", step_penalty=0.1)])
def test_a_crash_earns_what_the_end_would(lossy, small: list[Program], reward) -> None:
    def last_reward(*, horizon: int, lost: tuple[str, ...] = ()) -> float:
        env = LLVMPhaseEnv(
            small, passes=PASSES, reward=reward, horizon=horizon, token_length=0, compiler=lossy
        )
        env.reset(options={"program": "four"})
        env.step(1)
        lossy.lost = frozenset(lost)
        _, earned, terminated, truncated, info = env.step(1)
        assert (terminated, truncated, info["failure"]) == (not lost, bool(lost), bool(lost))
        return earned

    ended = last_reward(horizon=2)  # the second dce has nothing to do
    assert last_reward(horizon=5, lost=("dce",)) == pytest.approx(ended)
    assert reward != "scaled_reduction" or ended < -1


def test_a_program_that_oz_is_lost_on_begins_no_episode(lossy, small: list[Program]) -> None:
    env = LLVMPhaseEnv(small, passes=PASSES, token_length=0, compiler=lossy)
    lossy.lost = frozenset(["default<Oz>"])
    with pytest.raises(CompilerError, match=r"^one: −Oz kills LLVM"):
        env.reset(options={"program": "one"})


def test_rewards_are_those_of_the_scheduling_environment() -> None:
    step = rewards.transition(80, 60, 100, 50)
    last = rewards.transition(80, 40, 100, 50, terminated=True)
    assert rewards.REWARDS["size"] is shared.makespan
    assert float(rewards.REWARDS["size"](step)) == 20 / 50
    for name in ("reduction", "log_ratio", "scaled_reduction"):
        assert isinstance(rewards.REWARDS[name], Reduction)
        assert float(rewards.REWARDS[name](step)) == 0.0
    assert float(rewards.REWARDS["reduction"](last)) == pytest.approx(0.2)
    assert float(rewards.REWARDS["log_ratio"](last)) == pytest.approx(math.log(50 / 40))
    assert float(rewards.REWARDS["scaled_reduction"](last)) == pytest.approx(-0.6)
    leaky = Reduction("relative", step_penalty=0.01, threshold=0.1, leak=0.5)
    assert float(leaky(step)) == pytest.approx(-0.01)
    assert float(leaky(last)) == pytest.approx(0.1 + 0.5 * 0.1 - 0.01)
    assert rewards.resolve("lower_bound") is shared.lower_bound
    assert rewards.resolve(leaky) is leaky
    with pytest.raises(DAGSchedError, match="reward='speed' is unknown"):
        rewards.resolve("speed")


def test_a_program_that_oz_leaves_alone_divides_by_one() -> None:
    assert float(rewards.REWARDS["size"](rewards.transition(5, 4, 5, 5))) == 1.0
    assert float(rewards.REWARDS["size"](rewards.transition(5, 4, 5, 7))) == 1.0


@pytest.mark.parametrize("reward", ["reduction", "log_ratio", Reduction("scaled", step_penalty=1)])
def test_other_rewards_in_an_episode(compiler: Compiler, small: list[Program], reward) -> None:
    env = LLVMPhaseEnv(
        small, passes=PASSES, reward=reward, horizon=2, token_length=0, compiler=compiler
    )
    env.reset(options={"program": "four"})
    rewards_ = [env.step(action)[1] for action in (0, 2)]
    penalty = getattr(reward, "step_penalty", 0.0)
    assert rewards_ == pytest.approx(
        [-penalty, {"reduction": 0.0, "log_ratio": 0.0}.get(str(reward), -1.0) - penalty]
    )


def test_bad_arguments(env: LLVMPhaseEnv, compiler: Compiler, small: list[Program]) -> None:
    with pytest.raises(DAGSchedError, match="program 'nine' is unknown: give one of one, two"):
        env.reset(options={"program": "nine"})
    env.reset()
    with pytest.raises(DAGSchedError, match=r"action 3 is not in 0\.\.2"):
        env.step(3)
    with Compiler("llvmlite") as other, pytest.raises(DAGSchedError, match="llvmlite knows"):
        LLVMPhaseEnv(small, passes=["sroa", "bdce"], token_length=0, compiler=other)
    with pytest.raises(DAGSchedError, match="horizon=0"):
        LLVMPhaseEnv(small, horizon=0, compiler=compiler)


def test_tokens_of_a_program(small: list[Program]) -> None:
    pytest.importorskip("tokenizers")
    from llvm_phase import tokens

    tokenizer = tokens.train((program.ir for program in small), vocabulary=200)
    text = tokens.plain(small[0].ir)
    assert text.splitlines()[:2] == ["define", "% = alloca i32"]
    assert "one" not in text
    encoded = tokens.encode(tokenizer, small[0].ir, 64)
    assert encoded.shape == (64,)
    assert 0 < np.count_nonzero(encoded) < 64
    assert 1 not in encoded  # nothing is unknown
    renamed = small[0].ir.replace("%x", "%other").replace("@one", "@another")
    assert (tokens.encode(tokenizer, renamed, 64) == encoded).all()
    assert not np.array_equal(tokens.encode(tokenizer, small[1].ir, 64), encoded)
