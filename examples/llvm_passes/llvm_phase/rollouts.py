"""Sequences of passes written by the policy, for many programs side by side."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch

from dagsched_env.environment.rewards import RewardFn
from llvm_phase import rewards
from llvm_phase.compiler import Compiler, State
from llvm_phase.policy import STEP_FEATURES, PassPolicy, step_features
from llvm_phase.sequences import Sequences
from llvm_phase.tasks import Task

__all__ = ["Rollout", "replayed", "sample"]


@dataclass(frozen=True)
class Rollout:
    """Finished sequences of B programs."""

    tasks: list[Task]
    sequences: Sequences
    values: npt.NDArray[np.float64]
    """``[B]`` (c_0 − c) / max(c_0 − c_Oz, 1) at the end."""
    best: npt.NDArray[np.float64]
    """``[B]`` the largest on the way, ≥ 0."""


class _Writer:
    """B episodes side by side, and the tensors that come of them."""

    def __init__(
        self, compiler: Compiler, tasks: Sequence[Task], policy: PassPolicy, reward: RewardFn
    ) -> None:
        self.compiler, self.tasks, self.policy, self.reward = compiler, tasks, policy, reward
        shape = (len(tasks), policy.horizon)
        self.states: list[State] = [task.initial for task in tasks]
        self.initial = torch.from_numpy(np.stack([task.initial.features for task in tasks]))
        self.going = np.ones(len(tasks), dtype=bool)
        self.best = np.zeros(len(tasks))
        self.actions = torch.full(shape, policy.end)
        self.mask = torch.zeros(shape, dtype=torch.bool)
        self.rewards, self.log_probs, self.values = (torch.zeros(shape) for _ in range(3))
        self.features = torch.zeros(*shape, STEP_FEATURES)

    def see(self, step: int) -> torch.Tensor:
        """What the policy is told before a step."""
        now = torch.from_numpy(np.stack([state.features for state in self.states]))
        self.features[:, step] = step_features(now, self.initial, step, self.policy.horizon)
        return self.features[:, step]

    def act(self, step: int, actions: Sequence[int], passes: Sequence[str]) -> None:
        """One pass, or the end, of each episode that goes on."""
        rows = np.flatnonzero(self.going).tolist()
        running = [row for row in rows if actions[row] != self.policy.end]
        after = self.compiler.apply_many([(self.states[r], passes[actions[r]]) for r in running])
        new = dict(zip(running, after, strict=True))
        for row in rows:
            task, before = self.tasks[row], self.states[row]
            self.actions[row, step], self.mask[row, step] = actions[row], True
            # Where a pass is lost, the rest of the episode is, too: it ends at the present size.
            state = new.get(row) or before
            over = new.get(row) is None or step + 1 == self.policy.horizon
            transition = rewards.transition(
                before.size, state.size, task.initial.size, task.oz, terminated=over
            )
            self.rewards[row, step] = float(self.reward(transition))
            self.states[row], self.going[row] = state, not over
            self.best[row] = max(self.best[row], task.value(state))

    def rollout(self, programs: torch.Tensor) -> Rollout:
        inputs = {"program": programs, "features": self.features}
        sequences = Sequences(
            inputs, self.actions, self.mask, self.rewards, self.log_probs, self.values
        )
        ends = [task.value(state) for task, state in zip(self.tasks, self.states, strict=True)]
        return Rollout(list(self.tasks), sequences, np.array(ends), self.best)


@torch.no_grad()
def sample(
    policy: PassPolicy,
    compiler: Compiler,
    tasks: Sequence[Task],
    programs: Sequence[int],
    passes: Sequence[str],
    generator: torch.Generator | None,
    reward: RewardFn = rewards.REWARDS["size"],
) -> Rollout:
    """Have the policy write a sequence for each task.

    Args:
        policy: writes them, one action after the other.
        compiler: runs the passes.
        tasks: B programs, which may repeat.
        programs: ``[B]`` their rows in the table of the policy.
        passes: names of the actions.
        generator: of the actions; None takes the most probable one.
        reward: of a step.
    """
    writer = _Writer(compiler, tasks, policy, reward)
    table = torch.tensor(list(programs))
    memory = policy.start(table)
    before = torch.full((len(tasks),), policy.begin)
    for step in range(policy.horizon):
        logits, values = policy.next(memory, before, writer.see(step))
        log_p = torch.log_softmax(logits, dim=-1)
        if generator is None:
            before = logits.argmax(dim=-1)
        else:
            before = torch.multinomial(log_p.exp(), 1, generator=generator).squeeze(1)
        writer.log_probs[:, step] = log_p.gather(1, before.unsqueeze(1)).squeeze(1)
        writer.values[:, step] = values
        writer.act(step, before.tolist(), passes)
        if not writer.going.any():
            break
    return writer.rollout(table)


def replayed(
    policy: PassPolicy,
    compiler: Compiler,
    tasks: Sequence[Task],
    programs: Sequence[int],
    passes: Sequence[str],
    given: Sequence[Sequence[int]],
    reward: RewardFn = rewards.REWARDS["size"],
) -> Rollout:
    """Given sequences, as the policy would have written them; each ends with the end.

    Args:
        policy: its ``horizon`` and ``end`` count, not its weights.
        compiler: runs the passes.
        tasks: B programs.
        programs: ``[B]`` their rows in the table of the policy.
        passes: names of the actions.
        given: B sequences of at most ``horizon`` actions.
        reward: of a step.
    """
    writer = _Writer(compiler, tasks, policy, reward)
    for step in range(policy.horizon):
        if not writer.going.any():
            break
        writer.see(step)
        actions = [row[step] if step < len(row) else policy.end for row in given]
        writer.act(step, actions, passes)
    return writer.rollout(torch.tensor(list(programs)))
