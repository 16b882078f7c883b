"""A mixture of families, or of anything else that draws instances."""

from collections.abc import Callable, Sequence

import numpy as np

from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance


class Mixture:
    """Draws one of its members uniformly, then an instance of it.

    Its largest sizes are those of its members; None where a member states none.

    Args:
        members: at least one function ``rng -> Instance``, such as a family.

    Raises:
        DAGSchedError: there is no member.
    """

    def __init__(self, members: Sequence[Callable[[np.random.Generator], Instance]]) -> None:
        if not members:
            raise DAGSchedError("the mixture has no members: give at least one")
        self.members = tuple(members)
        self.max_tasks = self._largest("max_tasks")
        self.max_processors = self._largest("max_processors")
        self.max_edges = self._largest("max_edges")
        self.max_resources = max(getattr(member, "max_resources", 0) for member in members)

    def __call__(self, rng: np.random.Generator) -> Instance:
        """Draw one instance."""
        return self.members[int(rng.integers(len(self.members)))](rng)

    def _largest(self, size: str) -> int | None:
        sizes = [getattr(member, size, None) for member in self.members]
        stated = [int(value) for value in sizes if value is not None]
        return max(stated) if len(stated) == len(sizes) else None
