"""The problem that each environment of a vector gets next: seeds, draws, options of a reset."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from gymnasium.utils import seeding

from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.sources import Draw, InstanceList, Padding, as_instance

Seeds: TypeAlias = int | Sequence[int | None] | None
"""s for the seeds s, s + 1, …; or one seed or None for each environment."""


class EpisodeSource:
    """Gives each of B environments its problems, drawn with one generator per environment.

    Args:
        draw: draws a problem, as for ``DAGSchedEnv``.
        padding: sizes that every instance must fit into.
        num_envs: B ≥ 1.
    """

    def __init__(self, draw: Draw, padding: Padding, num_envs: int) -> None:
        self._draw = draw
        self._padding = padding
        self._num_envs = num_envs
        self._generators: dict[int, tuple[np.random.Generator, int]] = {}

    def generator(self, i: int) -> tuple[np.random.Generator, int]:
        """The generator of environment i, and its seed; a random one if none was given."""
        if i not in self._generators:
            self._generators[i] = seeding.np_random()
        return self._generators[i]

    def seed(self, seed: Seeds, chosen: Iterable[int]) -> None:
        """Seed the generators of the ``chosen`` environments.

        Raises:
            DAGSchedError: a list of a wrong length.
        """
        if seed is None:
            return
        count = self._num_envs
        seeds = range(seed, seed + count) if isinstance(seed, int) else seed
        if len(seeds) != count:
            raise DAGSchedError(f"seed has {len(seeds)} entries: give one for each of {count} envs")
        for i in chosen:
            if seeds[i] is not None:
                self._generators[i] = seeding.np_random(seeds[i])

    def draw(self, chosen: Iterable[int]) -> dict[int, Instance]:
        """A problem for each of the ``chosen`` environments."""
        if isinstance(self._draw, InstanceList):  # they have been checked
            return {i: self._draw(self.generator(i)[0]) for i in chosen}
        return {
            i: self._fit(self._draw(self.generator(i)[0]), "what instances(rng) returned")
            for i in chosen
        }

    def from_options(
        self, options: dict[str, Any], chosen: Iterable[int]
    ) -> dict[int, Instance] | None:
        """The problems that the options of a reset name for the ``chosen`` environments, if any.

        Raises:
            DAGSchedError: an unknown option, a list of a wrong length, or an instance that exceeds
                the padding.
        """
        for key in options:
            if key not in ("instance", "instances"):
                raise DAGSchedError(
                    f'unknown option {key!r} of reset(); there are "instance", "instances" and '
                    '"reset_mask"'
                )
        if len(options) > 1:
            raise DAGSchedError('options holds "instance" and "instances": give one of them')
        if "instance" in options:
            return dict.fromkeys(chosen, self._fit(options["instance"], 'options["instance"]'))
        if "instances" not in options:
            return None
        values = options["instances"]
        if not isinstance(values, Sequence) or len(values) != self._num_envs:
            raise DAGSchedError(f'options["instances"] is not a list of {self._num_envs} instances')
        return {i: self._fit(values[i], f'options["instances"][{i}]') for i in chosen}

    def _fit(self, value: Any, place: str) -> Instance:
        instance = as_instance(value, place)
        self._padding.require_fit(instance, place)
        return instance
