"""``LLVMPhase-v0``: choose the order of passes that makes a program smallest."""

import copy
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from dagsched_env.environment.rewards import RewardFn
from dagsched_env.problem.errors import DAGSchedError
from llvm_phase import programs as own_programs
from llvm_phase import rewards, tokens
from llvm_phase.compiler import Compiler, PassError, State
from llvm_phase.passes import resolve
from llvm_phase.programs import Program
from llvm_phase.tasks import oz_size

__all__ = ["HORIZON", "LLVMPhaseEnv"]

HORIZON = 45
TOKENS = 512

Observation = dict[str, npt.NDArray[np.int64]]


class LLVMPhaseEnv(gymnasium.Env[Observation, np.int64]):
    """A program, one pass a step, until the horizon.

    An action is a pass. The observation is a dict of int64: ``autophase`` ``[56]``, ``tokens``
    ``[token_length]`` of the textual IR, ``histogram`` ``[n_passes]`` of the actions so far,
    ``instructions`` ``[1]`` and ``step`` ``[1]``. ``info`` has the name of the ``program``, its
    sizes ``initial``, ``oz`` and ``instructions``, ``vs_oz`` (size / size after −Oz), the ``pass``
    (None at the start), whether it ``changed`` the module, and ``failure``.

    A pass that kills LLVM, or never ends, costs the episode: it is truncated, and
    ``info["failure"]`` is True. The reward is that of a last pass which changes nothing: 0 with
    ``"size"``, and with the rewards of the last pass what the present size is worth. So it pays no
    more to kill LLVM than to end the episode there.

    Args:
        programs: what episodes are about; by default those of this example that are learned from.
        passes: ``"standard"`` (42), ``"all"`` (119), or names; of the first two, those that the
            backend knows.
        reward: a name in ``rewards.REWARDS``, or a function of a ``Transition``.
        horizon: passes in an episode, ≥ 1.
        token_length: tokens in an observation; 0 for none, which needs no tokenizer.
        tokenizer: of ``tokens.train``; None learns one from the programs.
        compiler: a shared one, with its memory; None makes one, which ``close`` ends.

    Raises:
        DAGSchedError: no LLVM, a program that is not IR, or an argument out of its range.
    """

    def __init__(
        self,
        programs: Sequence[Program] | None = None,
        *,
        passes: str | list[str] | tuple[str, ...] = "standard",
        reward: str | RewardFn = "size",
        horizon: int = HORIZON,
        token_length: int = TOKENS,
        tokenizer: Any = None,
        compiler: Compiler | None = None,
    ) -> None:
        if programs is None:
            programs = own_programs.split(own_programs.load()).train
        if not programs or horizon < 1 or token_length < 0:
            raise DAGSchedError(
                f"{len(programs)} programs, horizon={horizon}, token_length={token_length}: "
                "give at least one program, horizon >= 1 and token_length >= 0"
            )
        self.horizon = horizon
        self._programs = {program.name: program for program in programs}
        self._reward = rewards.resolve(reward)
        self._token_length = token_length
        if token_length and tokenizer is None:
            tokenizer = tokens.train(program.ir for program in programs)
        self._tokenizer = tokenizer
        self._owns_compiler = compiler is None
        self.compiler = compiler or Compiler()
        self.passes = self.compiler.supported(resolve(passes))
        if not isinstance(passes, str) and len(self.passes) < len(passes):
            raise DAGSchedError(
                f"passes={list(passes)}: {self.compiler.backend} knows {self.passes}"
            )
        n = len(self.passes)
        self.action_space = spaces.Discrete(n)
        sizes = {"autophase": 56, "histogram": n, "instructions": 1, "step": 1}
        if token_length:
            sizes["tokens"] = token_length
        self.observation_space = spaces.Dict(
            {
                name: spaces.Box(0, np.iinfo(np.int64).max, (size,), np.int64)
                for name, size in sizes.items()
            }
        )
        self._name = ""
        self._state: State
        self._initial = self._oz = 0
        self._actions: list[int] = []
        self._over = True

    @property
    def state(self) -> State:
        """The module at this moment."""
        return self._state

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode with a random program, or with ``options["program"]``, a name.

        Raises:
            DAGSchedError: no program has that name, or −Oz is lost on it.
        """
        super().reset(seed=seed)
        names = [*self._programs]
        name = (options or {}).get("program", names[self.np_random.integers(len(names))])
        if name not in self._programs:
            raise DAGSchedError(f"program {name!r} is unknown: give one of {', '.join(names)}")
        self._name = name
        self._state = self.compiler.load(self._programs[name].ir, name)
        self._initial = self._state.size
        self._oz = oz_size(self.compiler, self._state, name)
        self._actions, self._over = [], False
        return self._observation(), self._info(None, changed=False)

    def step(self, action: np.int64 | int) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Run a pass.

        Raises:
            DAGSchedError: there is no such action, or the episode is over.
        """
        if self._over:
            raise DAGSchedError("the episode is over: call reset")
        if not self.action_space.contains(np.int64(action)):
            raise DAGSchedError(f"action {action} is not in 0..{len(self.passes) - 1}")
        before, name = self._state, self.passes[int(action)]
        self._actions.append(int(action))
        failure = False
        try:
            self._state = self.compiler.apply(before, name)
        except PassError:
            failure = True
        self._over = failure or len(self._actions) == self.horizon
        sizes = (before.size, self._state.size, self._initial, self._oz)
        reward = float(self._reward(rewards.transition(*sizes, terminated=self._over)))
        info = {**self._info(name, changed=self._state is not before), "failure": failure}
        return self._observation(), reward, self._over and not failure, failure, info

    def clone(self) -> "LLVMPhaseEnv":
        """An environment in the same state, which goes its own way; the compiler is shared."""
        twin = copy.copy(self)
        twin._actions = [*self._actions]
        twin._owns_compiler = False
        # Draws of the twin are those that the original would make next.
        twin._np_random = copy.deepcopy(self._np_random)
        return twin

    def close(self) -> None:
        """End the compiler, unless it was given."""
        if self._owns_compiler:
            self.compiler.close()

    def _observation(self) -> Observation:
        histogram = np.bincount(self._actions, minlength=len(self.passes)).astype(np.int64)
        observation = {
            "autophase": self._state.features.copy(),
            "histogram": histogram,
            "instructions": np.array([self._state.size]),
            "step": np.array([len(self._actions)]),
        }
        if self._token_length:
            observation["tokens"] = tokens.encode(
                self._tokenizer, self._state.ir, self._token_length
            )
        return observation

    def _info(self, name: str | None, *, changed: bool) -> dict[str, Any]:
        return {
            "program": self._name,
            "initial": self._initial,
            "oz": self._oz,
            "instructions": self._state.size,
            "vs_oz": self._state.size / max(self._oz, 1),
            "pass": name,
            "changed": changed,
            "failure": False,
        }


gymnasium.register("LLVMPhase-v0", entry_point="llvm_phase.env:LLVMPhaseEnv")
