"""Frozen benchmark suites: the same instances on every machine and in every version.

| suite           | instances | what                                                              |
| --------------- | --------- | ----------------------------------------------------------------- |
| train           | 1120      | 8 families × 7 n (10 to 1000) × 4 p (3 to 16) × 5 CCR (0.1 to 10) |
| valid           | 140       | the same 140 sizes, one family each, drawn independently          |
| test            | 140       | as valid, drawn independently, with reference makespans           |
| heldout         | 40        | Topcuoglu graphs of 30 tasks on 4 processors                      |
| dagbench        | 74        | graphs of DAGBench on their networks, 1 to 1118 tasks             |
| paper           | 8         | graphs of published papers, with proved optima                    |
| resources       | 59        | tasks that share the cores of nodes: families, plans, workflows   |
| structured      | 36        | numerical kernels and trees                                       |
| workflows       | 11        | recorded executions of scientific workflows                       |
| workflows_small | 3         | three of them, with about 50 tasks each                           |
| jobshop         | 10        | ft06 and random job shops                                         |

Instances are made on demand: ``names`` makes none, ``instance`` one, ``load`` all. The data folder
holds the fingerprint of each. Where a fingerprint differs, a warning says that figures from this
machine cannot be compared with published ones.

In reading order:

- ``splits``: ``train``, ``valid`` and ``test``: families × n × p × CCR;
- ``fixed``: the suites that are lists;
- ``resources``: tasks that share cores;
- ``dagbench``: graphs of DAGBench;
- ``references``: best known makespans, and how they were found.
"""

import json
import warnings
from collections.abc import Callable
from functools import cache, partial
from importlib.resources import files

import numpy as np

from dagsched_env import io
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.suites import fixed
from dagsched_env.suites.dagbench import dagbench
from dagsched_env.suites.fixed import HELDOUT_BETA, HELDOUT_CCR
from dagsched_env.suites.references import Reference, published_references
from dagsched_env.suites.resources import resources
from dagsched_env.suites.splits import Recipes, split

__all__ = [
    "HELDOUT_BETA",
    "HELDOUT_CCR",
    "SUITES",
    "Reference",
    "instance",
    "load",
    "names",
    "published_fingerprints",
    "reference",
]

_BUILDERS: dict[str, Callable[[], Recipes]] = {
    "dagbench": dagbench,
    "heldout": fixed.heldout,
    "jobshop": fixed.jobshop,
    "paper": fixed.paper,
    "resources": resources,
    "structured": fixed.structured,
    "test": partial(split, "test"),
    "train": partial(split, "train"),
    "valid": partial(split, "valid"),
    "workflows": partial(fixed.workflows, io.BUNDLED),
    "workflows_small": partial(fixed.workflows, fixed.SMALL_WORKFLOWS),
}

SUITES = tuple(_BUILDERS)
"""Names of the suites, sorted."""


def names(suite: str) -> tuple[str, ...]:
    """Names of the instances of a suite, in its order.

    Raises:
        DAGSchedError: there is no suite of that name.
    """
    return tuple(_recipes(suite))


def instance(suite: str, name: str) -> Instance:
    """Make one instance of a suite.

    Raises:
        DAGSchedError: there is no suite, or no instance in it, of that name.
    """
    recipes = _recipes(suite)
    if name not in recipes:
        first = next(iter(recipes))
        raise DAGSchedError(f"suite {suite!r} has no instance {name!r}: its first is {first!r}")
    made = recipes[name]()
    _warn_of_drift(suite, [made])
    return made


def load(suite: str) -> list[Instance]:
    """All instances of a suite, always in the same order.

    Raises:
        DAGSchedError: there is no suite of that name.
    """
    instances = [make() for make in _recipes(suite).values()]
    _warn_of_drift(suite, instances)
    return instances


def reference(suite: str) -> dict[str, Reference]:
    """Instance name → the best known makespan, for the instances that have such a record.

    A record is valid only for an instance with the fingerprint for which it was made.

    Raises:
        DAGSchedError: there is no suite of that name.
    """
    _check_suite(suite)
    published = published_fingerprints().get(suite, {})
    records = published_references().get(suite, {})
    return {name: r for name, r in records.items() if r.fingerprint == published.get(name)}


@cache
def published_fingerprints() -> dict[str, dict[str, str]]:
    """Suite → instance name → SHA-256, as frozen in the package."""
    text = (files("dagsched_env") / "data" / "suite_fingerprints.json").read_text(encoding="utf-8")
    table: dict[str, dict[str, str]] = json.loads(text)
    return table


def _check_suite(suite: str) -> None:
    if suite not in _BUILDERS:
        raise DAGSchedError(f"no suite {suite!r}: there are {', '.join(SUITES)}")


def _recipes(suite: str) -> Recipes:
    _check_suite(suite)
    return _BUILDERS[suite]()


def _warn_of_drift(suite: str, instances: list[Instance]) -> None:
    published = published_fingerprints().get(suite, {})
    if all(published.get(str(i.name)) == i.fingerprint for i in instances):
        return
    warnings.warn(
        f"suite {suite!r} differs from the published one with numpy {np.__version__}: "
        "compare its figures only with figures from here",
        stacklevel=3,
    )
