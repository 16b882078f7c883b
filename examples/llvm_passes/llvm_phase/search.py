"""Sequences found without a policy: by chance, greedily, and by changes to the best one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from llvm_phase.compiler import Compiler
from llvm_phase.tasks import Task, play

__all__ = ["Found", "Searcher", "greedy", "random_search"]

Actions = tuple[int, ...]

MOST_CHANGES = 4


@dataclass(frozen=True, order=True)
class Found:
    """A sequence that ends where it is best, so that its return is its value."""

    value: float
    actions: Actions


def greedy(compiler: Compiler, task: Task, passes: Sequence[str], horizon: int) -> Found:
    """Take the pass that removes most instructions, until none removes any.

    Args:
        compiler: runs them.
        task: the program.
        passes: the actions.
        horizon: most passes.
    """
    state, actions = task.initial, []
    for _ in range(horizon):
        after = compiler.apply_many([(state, name) for name in passes])
        sizes = [state.size if a is None else a.size for a in after]
        action = int(np.argmin(sizes))
        if sizes[action] >= state.size or after[action] is None:
            break
        state = after[action]
        actions.append(action)
    return Found(task.value(state), tuple(actions))


def random_search(
    compiler: Compiler,
    task: Task,
    passes: Sequence[str],
    horizon: int,
    rng: np.random.Generator,
    going: Callable[[int], bool],
) -> Found:
    """The best state on the way of uniformly random sequences.

    Args:
        compiler: runs them.
        task: the program.
        passes: the actions.
        horizon: passes in a sequence.
        rng: of the sequences.
        going: told the number of passes so far; False ends the search after a sequence.
    """
    best, steps = Found(0.0, ()), 0
    while going(steps):
        actions = rng.integers(len(passes), size=horizon)
        best = max(best, found(compiler, task, passes, actions.tolist()))
        steps += horizon
    return best


def found(compiler: Compiler, task: Task, passes: Sequence[str], actions: list[int]) -> Found:
    """A sequence up to where it is best, without the passes that change nothing."""
    played = play(compiler, task, [passes[action] for action in actions])
    return Found(played.best, tuple(actions[position] for position in played.effective))


class Searcher:
    """The best sequences of one program so far, and how to find better ones.

    The first is greedy; then random sequences and changes to the best take turns.

    Args:
        compiler: runs the passes.
        task: the program.
        passes: the actions.
        horizon: most passes in a sequence.
        keep: sequences that are kept.
    """

    def __init__(
        self, compiler: Compiler, task: Task, passes: Sequence[str], horizon: int, keep: int = 8
    ) -> None:
        self.task = task
        self.best: list[Found] = []
        """The largest value first, and of equal values the shortest sequence."""
        self._compiler, self._passes = compiler, passes
        self._horizon, self._keep, self._rounds = horizon, keep, 0

    def round(self, rng: np.random.Generator) -> None:
        """Try one more sequence."""
        n, self._rounds = len(self._passes), self._rounds + 1
        if self._rounds == 1:
            new = greedy(self._compiler, self.task, self._passes, self._horizon)
        elif self._rounds % 8 == 0 or not self.best:
            actions = rng.integers(n, size=self._horizon).tolist()
            new = found(self._compiler, self.task, self._passes, actions)
        else:
            parent = self.best[int(rng.integers(len(self.best)))].actions
            actions = changed(parent, n, self._horizon, rng)
            new = found(self._compiler, self.task, self._passes, actions)
        self.add(new)

    def add(self, new: Found) -> None:
        """Keep a sequence if it is one of the best, and another than those that are kept."""
        if new.actions and all(new.actions != old.actions for old in self.best):
            self.best.append(new)
            self.best.sort(key=lambda found: (-found.value, len(found.actions)))
            del self.best[self._keep :]


def changed(actions: Actions, n: int, horizon: int, rng: np.random.Generator) -> list[int]:
    """A sequence with a few actions replaced, inserted, removed or moved, and random ones behind.

    Args:
        actions: what is changed.
        n: number of actions there are.
        horizon: length of the result.
        rng: of the changes.
    """
    result = list(actions)
    for _ in range(1 + int(rng.integers(MOST_CHANGES))):
        at = int(rng.integers(len(result) + 1))
        kind = int(rng.integers(4))
        if kind == 0 or at == len(result):
            result.insert(at, int(rng.integers(n)))
        elif kind == 1:
            result[at] = int(rng.integers(n))
        elif kind == 2:
            del result[at]
        else:
            result.insert(int(rng.integers(len(result))), result.pop(at))
    missing = max(horizon - len(result), 0)
    return (result + rng.integers(n, size=missing).tolist())[:horizon]
