"""One compiler for the tests of this folder; those that need LLVM skip where there is none."""

from collections.abc import Iterator, Sequence

import pytest

from llvm_phase.compiler import Compiler, CompilerError, State
from llvm_phase.programs import Program


@pytest.fixture(scope="session")
def compiler() -> Iterator[Compiler]:
    try:
        shared = Compiler()
    except CompilerError as error:
        pytest.skip(f"no LLVM: {error}")
    with shared:
        yield shared


class LossyCompiler(Compiler):
    """Loses some passes, as if LLVM died of them."""

    lost: frozenset[str] = frozenset()

    def apply_many(self, jobs: Sequence[tuple[State, str]]) -> list[State | None]:
        results = super().apply_many(jobs)
        return [
            None if name in self.lost else after
            for (_, name), after in zip(jobs, results, strict=True)
        ]


@pytest.fixture
def lossy(compiler: Compiler) -> Iterator[LossyCompiler]:
    """A compiler that loses the passes in ``lost``."""
    with LossyCompiler(compiler.backend) as made:
        yield made


@pytest.fixture(scope="session")
def small() -> list[Program]:
    """Four programs of a few instructions that passes can make smaller."""
    text = """
define i32 @{name}(i32 %a, i32 %b) {{
  %p = alloca i32
  %q = alloca i32
  store i32 %a, i32* %p
  store i32 %b, i32* %q
  %x = load i32, i32* %p
  %y = load i32, i32* %q
{body}  ret i32 %z
}}
"""
    bodies = {
        "one": "  %z = add i32 %x, %y\n",
        "two": "  %u = add i32 %x, %y\n  %v = add i32 %x, %y\n  %z = mul i32 %u, %v\n",
        "three": "  %u = sub i32 %x, %x\n  %z = or i32 %u, %y\n",
        "four": "  %u = xor i32 %x, 0\n  %dead = mul i32 %u, 7\n  %z = and i32 %u, %y\n",
    }
    return [Program(name, text.format(name=name, body=body)) for name, body in bodies.items()]
