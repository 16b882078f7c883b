"""The problems of a run: for training, the validation set of each level, and the test set.

A level without SPECs draws Topcuoglu graphs for training and for validation; it has no test set.
The problems that SPECs name are in three parts, and equal problems are never in two of them:

- Files, folders and suites are split by fingerprint, those of all levels together. Fewer than three
  different ones are not split: all are for training. A level without a problem for validation, and
  a run without one for the test, take the problems that they train on, and the run says so.
- A family has a stream of random numbers for each part. A problem that is in another part already
  is drawn again.
- SPECs of ``validate`` are the validation set; its problems are not trained on.
"""

import hashlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from aerl_trainer.config import LevelConfig, seeding
from dagsched_env.generators import Mixture, TopcuogluGenerator
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.parts import LEAST, Parts, split_instances
from dagsched_env.sources import (
    Draw,
    InstanceList,
    Instances,
    as_instance,
    plugins,
    resolve_source,
)

PYTHON = "python:"
"""Begins the SPEC of a function, which only the Python program that made it can give again."""

SHARE = 0.1
"""Of the listed problems: for validation, and for the test."""

MOST_DRAWS = 100
"""A family that draws so many problems of other parts in a row has too few different ones."""


class Problems:
    """Draws the problems of all levels.

    Args:
        levels: of the curriculum.
        seed: of the run.
        count: largest number of problems in a validation set and in the test set of a level.
        functions: the functions that SPECs beginning with ``PYTHON`` stand for.

    Raises:
        DAGSchedError: a SPEC cannot be resolved, nothing is left to train on, or a family has too
            few different problems.
    """

    def __init__(
        self,
        levels: Sequence[LevelConfig],
        *,
        seed: int = 0,
        count: int = 40,
        functions: Mapping[str, Draw] | None = None,
    ) -> None:
        self._seed, self._count = seed, count
        self._members = [_members(level, functions or {}) for level in levels]
        self._draws = [_mixture(members) for members in self._members]
        self._validation: dict[int, list[Instance]] = {}
        self.test: list[Instance] = []
        """For the tables at the end of a run; empty without SPECs."""
        self.test_is_new = True
        """Of ``test``: there are enough problems to keep some back from training."""
        self._reused = False
        self.max_tasks = Mixture(self._draws).max_tasks
        """No problem for training has more tasks; None where a function does not state it."""
        named = [i for i, level in enumerate(levels) if level.has_specs]
        chosen = {i: _resolved(levels[i].validate, functions or {}) for i in named}
        files = _prints(i for draws in (*self._members, *chosen.values()) for i in _listed(draws))
        self.fingerprint = hashlib.sha256("\n".join(sorted(files)).encode()).hexdigest()
        """Of all problems that files and suites gave: a run that goes on needs the same ones."""
        if named:
            self._split([i for i in named if levels[i].instances], chosen)

    def draw(self, level: int, rng: np.random.Generator) -> Instance:
        """A problem to train on."""
        return self._draws[level](rng)

    def validation_set(self, level: int, count: int, seed: int) -> list[Instance]:
        """The same problems on every call; a longer set extends a shorter one.

        Args:
            level: index of the level.
            count: how many problems; of a level with SPECs not more than there are.
            seed: of the run, ≥ 0; of a level with SPECs it is that of the constructor.
        """
        if level in self._validation:
            return self._validation[level][:count]
        names = (("validation", level, index) for index in range(count))
        return [self._draws[level](seeding.generator(seed, *name)) for name in names]

    @property
    def summary(self) -> str:
        """How many problems there are for validation and test; empty without SPECs."""
        if not self._validation:
            return ""
        sizes = ", ".join(str(len(problems)) for problems in self._validation.values())
        reused = "; too few to split: they are trained on as well" if self._reused else ""
        return f"problems: {sizes} for validation, {len(self.test)} for the test{reused}"

    def _split(self, named: list[int], chosen: dict[int, list[Draw]]) -> None:
        """Fill the validation sets and the test set, and keep the training draws out of both.

        Args:
            named: levels with SPECs of their problems.
            chosen: level → what its ``validate`` names; for all levels with SPECs.
        """
        given = _prints(i for draws in chosen.values() for i in _listed(draws))
        found = [i for level in named for i in _listed(self._members[level])]
        rest = [i for i in found if i.fingerprint not in given]
        parts = _parts(rest, validation=0.0 if all(chosen.values()) else SHARE)
        kept, validated, tested = map(_prints, parts)
        for level, draws in chosen.items():
            draws = (
                draws
                or _restricted(self._members[level], validated)
                or _restricted(self._members[level], kept)
            )
            self._validation[level] = self._take("validation", level, draws, avoid=kept | tested)
        judged = validated | given | _prints(itertools.chain(*self._validation.values()))
        for prints in (tested, kept):
            if not self.test:  # by the second time there is nothing but training
                self.test = self._tests(named, prints, avoid=kept | judged)
        judged |= tested | _prints(self.test)
        self._reused = not judged.isdisjoint(kept)
        self.test_is_new = _prints(self.test).isdisjoint(kept)
        for level in chosen:
            members = [
                m if isinstance(m, InstanceList) else _Excluding(m, judged - kept)
                for m in _restricted(self._members[level], kept)
            ]
            if not members:
                raise DAGSchedError(
                    f"level {level} has no problem left to train on: all are for validation or "
                    "the test; give more instances"
                )
            self._draws[level] = _mixture(members)

    def _tests(self, levels: list[int], prints: set[str], *, avoid: set[str]) -> list[Instance]:
        """The test set.

        Args:
            levels: those that contribute to it.
            prints: fingerprints to which their lists are reduced.
            avoid: fingerprints that families do not draw.
        """
        sets = (
            self._take("test", level, _restricted(self._members[level], prints), avoid=avoid)
            for level in levels
        )
        return _different(itertools.chain(*sets))

    def _take(self, part: str, level: int, draws: list[Draw], *, avoid: set[str]) -> list[Instance]:
        """At most ``count`` problems, one of each draw in turn.

        Args:
            part: first name of the random streams.
            level: second name.
            draws: lists, of which each problem is taken once, and families.
            avoid: fingerprints that families do not draw.
        """

        def drawn(number: int, draw: Draw) -> Iterator[Instance]:
            if isinstance(draw, InstanceList):
                # Sorted by fingerprint: the first ones are a sample, whatever the order of files.
                yield from sorted(_different(draw.instances), key=lambda i: i.fingerprint)
                return
            excluding = _Excluding(draw, avoid)
            for index in itertools.count():
                yield excluding(seeding.generator(self._seed, part, level, number, index))

        rows = itertools.zip_longest(*(drawn(n, draw) for n, draw in enumerate(draws)))
        problems = (problem for row in rows for problem in row if problem is not None)
        return list(itertools.islice(problems, self._count))


def listed(specs: Sequence[str], *, count: int, seed: int) -> list[Instance]:
    """The problems that SPECs name, each once: all of files and suites, some of families.

    Args:
        specs: see ``dagsched_env.sources``.
        count: of each family.
        seed: of the families, from streams that training does not use.

    Raises:
        DAGSchedError: a SPEC cannot be resolved, or a function fails.
    """
    found: list[Instance] = []
    for number, draw in enumerate(_resolved(specs, {})):
        if isinstance(draw, InstanceList):
            found += draw.instances
        else:
            streams = (seeding.generator(seed, "listed", number, i) for i in range(count))
            found += [_drawn(draw, rng) for rng in streams]
    return _different(found)


class _Excluding:
    """Draws again while the problem is an excluded one.

    Args:
        draw: the family.
        excluded: fingerprints.
    """

    def __init__(self, draw: Draw, excluded: set[str]) -> None:
        self._draw, self._excluded = draw, excluded

    def __call__(self, rng: np.random.Generator) -> Instance:
        for _ in range(MOST_DRAWS):
            instance = _drawn(self._draw, rng)
            if instance.fingerprint not in self._excluded:
                return instance
        raise DAGSchedError(
            f"{self._draw} has too few different problems for training, validation and test: "
            "widen its parameters, or set validator.instances to a smaller number"
        )


def _drawn(draw: Draw, rng: np.random.Generator) -> Instance:
    """A problem; what goes wrong in the function of somebody else is a DAGSchedError."""
    name = getattr(draw, "__qualname__", draw)
    try:
        made = draw(rng)
    except Exception as error:
        raise plugins.failed(f"the generator {name}", error) from error
    return as_instance(made, f"what the generator {name} returned")


def _members(level: LevelConfig, functions: Mapping[str, Draw]) -> list[Draw]:
    """What a level draws from, uniformly."""
    if level.instances:
        return _resolved(level.instances, functions)
    low, high = level.tasks  # type: ignore[misc]  # checked by LevelConfig
    return [TopcuogluGenerator(n_tasks=(low, high), n_processors=level.processors, ccr=level.ccr)]


def _resolved(specs: Sequence[str], functions: Mapping[str, Draw]) -> list[Draw]:
    """The members of the mixture that SPECs describe; none without SPECs."""
    if not specs:
        return []
    for spec in specs:
        if spec.startswith(PYTHON) and spec not in functions:
            raise DAGSchedError(
                f"the problems of this run come from the Python function "
                f"{spec.removeprefix(PYTHON)!r}, which no file holds: the run can only be resumed "
                "in Python, by aerl_trainer.train(function, run_dir=..., resume=True)"
            )
    instances: Instances = [functions.get(spec, spec) for spec in specs]
    source = resolve_source(instances)
    return list(source.members) if isinstance(source, Mixture) else [source]


def _mixture(members: Sequence[Draw]) -> Draw:
    return members[0] if len(members) == 1 else Mixture(members)


def _parts(instances: list[Instance], *, validation: float) -> Parts:
    """The split; everything for training where there are too few."""
    if len(_prints(instances)) < LEAST:
        return Parts(training=instances, validation=[], test=[])
    return split_instances(instances, validation=validation, test=SHARE)


def _restricted(draws: Sequence[Draw], prints: set[str]) -> list[Draw]:
    """The draws, with lists reduced to the given fingerprints; empty lists are left out."""
    restricted: list[Draw] = []
    for draw in draws:
        if not isinstance(draw, InstanceList):
            restricted.append(draw)
        elif kept := [i for i in draw.instances if i.fingerprint in prints]:
            restricted.append(InstanceList(kept))
    return restricted


def _listed(draws: Sequence[Draw]) -> list[Instance]:
    return [i for draw in draws if isinstance(draw, InstanceList) for i in draw.instances]


def _prints(instances: Iterable[Instance]) -> set[str]:
    return {instance.fingerprint for instance in instances}


def _different(instances: Iterable[Instance]) -> list[Instance]:
    """The first of each problem."""
    return list({i.fingerprint: i for i in reversed(list(instances))}.values())[::-1]
