"""Where the problems of an environment come from, and the padded sizes that hold all of them."""

import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from dagsched_env.generators import Mixture, TopcuogluGenerator
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.sources import plugins, specs

if TYPE_CHECKING:
    from dagsched_env.io import MachineOptions, Problem

SUITE_PREFIX = "suite:"
"""Begins the SPEC of a suite."""
SUCH_AS = "FILE?platform=identical&processors=4&bandwidth=1"

Draw: TypeAlias = Callable[[np.random.Generator], Instance]
"""Draws a problem. A ``dagsched_env.generators.Generator`` states the padded sizes too."""

Instances: TypeAlias = Instance | str | Path | Draw | Sequence[Instance | str | Path | Draw]
"""An ``Instance``; a SPEC; a function ``rng -> Instance``, such as a generator; or a list of them.

A SPEC is a file that ``dagsched_env.io.load`` reads; a folder, all files of
``dagsched_env.io.load_folder``; ``"suite:NAME"``, all instances of
``dagsched_env.suites.load(NAME)``; ``"family:NAME?parameter=value&…"``, see ``specs``; or
``"module:function"``, where such a function is, unless a file is called that. Behind a file or
folder stand the machines for files that describe none, as in
``"graph.dot?platform=identical&processors=4&bandwidth=1"``; what is left open there is assumed,
with a ``MachinesAssumedWarning``. Of a list, one entry is drawn uniformly, then an instance of this
entry. A stream of problems is ``lambda rng: next(stream)``."""


class InstanceList:
    """Draws uniformly from a list.

    Raises:
        DAGSchedError: the list is empty.
    """

    def __init__(self, instances: Sequence[Instance]) -> None:
        if not instances:
            raise DAGSchedError("instances is an empty list: give at least one")
        self.instances = tuple(instances)
        self.max_tasks = max(instance.n_tasks for instance in instances)
        self.max_processors = max(instance.n_processors for instance in instances)
        self.max_edges = max(instance.n_edges for instance in instances)
        self.max_resources = max(instance.n_resources for instance in instances)

    def __call__(self, rng: np.random.Generator) -> Instance:
        """One of the instances."""
        return self.instances[int(rng.integers(len(self.instances)))]


class Padding(NamedTuple):
    """The sizes of an environment's arrays, each at least 1 but for the resources."""

    tasks: int
    processors: int
    edges: int
    resources: int
    """Every instance has as many."""

    @classmethod
    def of(
        cls, source: Draw, max_tasks: int | None, max_processors: int | None, max_edges: int | None
    ) -> "Padding":
        """The sizes that are given, else those that the source states.

        Args:
            source: draws the instances.
            max_tasks: N ≥ 1, or None for that of the source.
            max_processors: P ≥ 1, or None.
            max_edges: M ≥ 1, or None.

        Raises:
            DAGSchedError: a size is neither given nor stated, is less than 1, or too small for an
                instance of an ``InstanceList``.
        """
        padding = cls(
            _size(source, "tasks", max_tasks),
            _size(source, "processors", max_processors),
            _size(source, "edges", max_edges),
            getattr(source, "max_resources", 0),
        )
        if isinstance(source, InstanceList):
            for i, instance in enumerate(source.instances):
                padding.require_fit(instance, f"instances[{i}]")
        return padding

    def require_fit(self, instance: Instance, place: str) -> None:
        """Raise a DAGSchedError that names the ``place`` if the instance is larger than this, or
        has other resources."""
        if instance.n_resources != self.resources:
            raise DAGSchedError(
                f"{place} ({instance}) has {instance.n_resources} resources, the env "
                f"{self.resources}: all instances of an env have as many, and a generator with "
                "resources states max_resources"
            )
        for what in ("tasks", "processors", "edges"):
            limit, size = getattr(self, what), getattr(instance, f"n_{what}")
            if size > limit:
                raise DAGSchedError(
                    f"{place} ({instance}) has {size} {what}, the env holds {limit}: "
                    f"make it with max_{what}={size} or more"
                )


def resolve_source(instances: Instances | None) -> Draw:
    """The function that draws from ``instances``; None: Topcuoglu graphs, n = 20, p = 4.

    Warns, once for all files alike, where it had to assume their machines.

    Raises:
        DAGSchedError: none of the forms that ``Instances`` lists.
    """
    if instances is None:
        return TopcuogluGenerator(n_tasks=20, n_processors=4)
    read: _Read = {}
    if isinstance(instances, Instance | str | Path) or callable(instances):
        source = _resolve_one(instances, "instances", read)
    elif isinstance(instances, Sequence):
        members = [_resolve_one(x, f"instances[{i}]", read) for i, x in enumerate(instances)]
        listed = [m.instances for m in members if isinstance(m, InstanceList)]
        if len(listed) == len(members) and all(len(found) == 1 for found in listed):
            source = InstanceList([instance for (instance,) in listed])
        else:
            source = members[0] if len(members) == 1 else Mixture(members)
    else:
        raise DAGSchedError(
            f"instances is {type(instances).__name__}: give an Instance, a path, a list of those, "
            "or a function rng -> Instance"
        )
    _warn_assumed(read)
    return source


def names_function(spec: str) -> bool:
    """Whether a SPEC is ``module:function``: it has this form, and no file is called that."""
    return plugins.is_reference(spec) and not Path(spec).exists()


def as_instance(value: Any, place: str) -> Instance:
    """The instance itself, or the one in a file, behind which its machines may stand.

    Raises:
        DAGSchedError: the ``place`` holds neither, or the file cannot be read.
    """
    if isinstance(value, Instance):
        return value
    if isinstance(value, str | Path):
        from dagsched_env.io import read_problem

        path, options = specs.parse_file(str(value))
        problem = read_problem(path, options)
        _warn_assumed({options: [problem]})
        return problem.instance
    raise DAGSchedError(f"{place} is {type(value).__name__}: give an Instance or a path")


_Read: TypeAlias = "dict[MachineOptions, list[Problem]]"
"""The problems that were read from files, by what was said of their machines."""


def _resolve_one(value: Any, place: str, read: _Read) -> Draw:
    """The function that draws from an entry of a list; problems of files are added to ``read``."""
    if callable(value):
        draw: Draw = value
        return draw
    if isinstance(value, str) and value.startswith(specs.PREFIX):
        return specs.parse_family(value)
    if isinstance(value, str) and value.startswith(SUITE_PREFIX):
        from dagsched_env.suites import load

        return InstanceList(load(value.removeprefix(SUITE_PREFIX)))
    if not isinstance(value, str | Path):
        return InstanceList([as_instance(value, place)])
    if isinstance(value, str) and names_function(value):
        return _function(value)
    from dagsched_env.io import read_problems

    path, options = specs.parse_file(str(value))
    try:
        problems = read_problems([path], options)
    except FileNotFoundError as error:
        question = _did_you_mean(path) if error.filename == path else ""
        if not question:
            raise
        text = f"{os.strerror(errno.ENOENT)}; {question.rstrip()}"
        raise FileNotFoundError(errno.ENOENT, text, path) from None
    read.setdefault(options, []).extend(problems)
    return InstanceList([problem.instance for problem in problems])


def _function(spec: str) -> Draw:
    """The function of ``module:function``; where there is no such module, the kinds of SPECs."""
    try:
        return plugins.load_from_here(spec)
    except DAGSchedError as error:
        module = spec.partition(":")[0]
        missing = error.__cause__
        if isinstance(missing, ModuleNotFoundError) and f"{module}.".startswith(f"{missing.name}."):
            raise DAGSchedError(
                f"{spec}: there is no module {missing.name!r}: {_did_you_mean(spec)}{specs.KINDS}"
            ) from None
        raise


def _did_you_mean(spec: str) -> str:
    from dagsched_env.suites import SUITES

    return specs.did_you_mean(spec, [f"{SUITE_PREFIX}{name}" for name in SUITES])


def _warn_assumed(read: _Read) -> None:
    """One warning for the files of which the same was said."""
    from dagsched_env.io import assumed, warn_assumed

    for options, problems in read.items():
        names = ", ".join(assumed(problems, options))
        remedy = f"say {names} in the SPEC, as in {SUCH_AS}, or machines=FILE"
        warn_assumed(problems, options, remedy, stacklevel=3)


def _size(source: Draw, what: str, given: int | None) -> int:
    """One padded size: the one given, else the source's; at least 1."""
    size = getattr(source, f"max_{what}", None) if given is None else given
    if size is None:
        raise DAGSchedError(f"the function instances has no max_{what}: pass max_{what}=")
    if given is not None and given < 1:
        raise DAGSchedError(f"max_{what}={given} is not at least 1")
    return max(int(size), 1)
