"""Random generators that descend from one seed by name, and their state as plain JSON values."""

import hashlib
import operator
from typing import Any, cast

import numpy as np

from dagsched_env.problem.errors import DAGSchedError


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """An independent generator for each sequence of names, the same in every process.

    ``generator(seed, "actor", 3)`` is a child of ``SeedSequence(seed)`` whose spawn key is a
    SHA-256 digest of the names, so streams do not depend on the order in which they are asked for.

    Args:
        seed: root of all randomness of a run, ≥ 0.
        names: who draws; ``"3"`` and ``3`` are different names.

    Raises:
        DAGSchedError: the seed is negative, or a name is neither a string nor a whole number.
    """
    if seed < 0:
        raise DAGSchedError(f"seed is {seed}: choose one that is not negative")
    sequence = np.random.SeedSequence(operator.index(seed), spawn_key=_spawn_key(names))
    return np.random.Generator(np.random.PCG64(sequence))


def state(rng: np.random.Generator) -> dict[str, Any]:
    """The generator's state as JSON-able values, from which ``restore`` makes its twin.

    Raises:
        DAGSchedError: the generator does not run on PCG64, as numpy's default does.
    """
    if not isinstance(rng.bit_generator, np.random.PCG64):
        raise DAGSchedError(f"cannot save a {type(rng.bit_generator).__name__}: use PCG64")
    return dict(rng.bit_generator.state)


def restore(record: dict[str, Any]) -> np.random.Generator:
    """A generator that goes on where the one given to ``state`` was.

    Its ``spawn`` is another matter: children are made by name, with ``generator``.

    Raises:
        DAGSchedError: ``record`` is not a state of PCG64.
    """
    bits = np.random.PCG64(0)
    try:
        bits.state = cast(Any, record)
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise DAGSchedError(f"not the state of a PCG64 generator: {error}") from None
    return np.random.Generator(bits)


def _spawn_key(names: tuple[str | int, ...]) -> tuple[int, ...]:
    """128 bits of a digest of the names, as the 32-bit words that a spawn key holds."""
    digest = hashlib.sha256()
    for name in names:
        if isinstance(name, bool) or not isinstance(name, str | int | np.integer):
            raise DAGSchedError(f"{name!r} is no name of a generator: use strings or whole numbers")
        label = f"s{name}" if isinstance(name, str) else f"i{int(name)}"
        digest.update(f"{len(label)}:{label}".encode())
    return tuple(int(word) for word in np.frombuffer(digest.digest()[:16], dtype="<u4"))
