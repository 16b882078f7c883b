"""Programs with what −Oz makes of them, and what sequences of passes make of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from llvm_phase.compiler import Compiler, CompilerError, PassError, State
from llvm_phase.passes import OZ
from llvm_phase.programs import Program

__all__ = ["Played", "Task", "make_tasks", "oz_size", "play"]


@dataclass(frozen=True)
class Task:
    """A program to be made small."""

    name: str
    initial: State
    oz: int
    """Instructions after −Oz."""

    def value(self, state: State) -> float:
        """(c_0 − c) / max(c_0 − c_Oz, 1): the return of an episode that ends in a state."""
        return self.value_of(state.size)

    def value_of(self, size: int) -> float:
        """The same of a number of instructions."""
        return (self.initial.size - size) / max(self.initial.size - self.oz, 1)


@dataclass(frozen=True)
class Played:
    """What came of a sequence of passes."""

    value: float
    """Return at its end."""
    best: float
    """The largest return on the way, ≥ 0."""
    effective: tuple[int, ...]
    """Positions of the passes until then that have changed the module."""


def make_tasks(compiler: Compiler, programs: Sequence[Program]) -> list[Task]:
    """The tasks of programs.

    Raises:
        CompilerError: a program is not IR, or −Oz is lost on it.
    """
    tasks = []
    for program in programs:
        initial = compiler.load(program.ir, program.name)
        tasks.append(Task(program.name, initial, oz_size(compiler, initial, program.name)))
    return tasks


def oz_size(compiler: Compiler, initial: State, name: str) -> int:
    """Instructions of a program after −Oz.

    Raises:
        CompilerError: −Oz is lost on it; names the program.
    """
    try:
        return compiler.apply(initial, OZ).size
    except PassError:
        raise CompilerError(
            f"{name}: −Oz kills LLVM, takes too long, or makes the program too large; leave it out"
        ) from None


def play(compiler: Compiler, task: Task, passes: Sequence[str]) -> Played:
    """Run passes on a program; a pass that is lost ends the sequence."""
    state, best = task.initial, 0.0
    changing: list[int] = []
    effective: tuple[int, ...] = ()
    for position, name in enumerate(passes):
        try:
            after = compiler.apply(state, name)
        except PassError:
            break
        if after is not state:
            changing.append(position)
        state = after
        if task.value(state) > best:
            best, effective = task.value(state), tuple(changing)
    return Played(task.value(state), best, effective)
