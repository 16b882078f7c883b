"""Sources of instances as text: ``family:NAME?parameter=value&…``, ``FILE?parameter=value&…``.

Parameters of the platform stand beside those of the family:

    family:cholesky?tiles=4..8&platform=cpu_gpu&cpus=3&gpus=1&ccr=1,2

With ``cores`` any platform is one of processors with several cores, and ``demand`` is how many a
task uses (``dagsched_env.problem.platforms.Shared``):

    family:cholesky?tiles=4..8&processors=2&cores=16&demand=1..8

A value is a number, a range ``low..high`` or choices ``a,b,c``, drawn anew for each instance.
Underscores in names may be hyphens, and ``n_`` in front of a parameter may be left out. ``table``
lists all families, platforms and parameters. Installed packages may declare more families by entry
points (``dagsched_env.sources.plugins``): functions or dataclasses with types and defaults.

Behind a file or folder stand the machines for files that describe none, with the parameters of
``dagsched_env.io.MachineOptions``:

    graph.dot?platform=identical&processors=4&bandwidth=1
    workflows/?machines=machines.json

Such texts and suites are the SPECs that ``dagsched_env.sources`` resolves.
"""

import difflib
import inspect
import itertools
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from dagsched_env.generators import GENERATORS, Generator, Mixture
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.platforms import PLATFORMS, PlatformModel, Shared
from dagsched_env.sources import plugins
from dagsched_env.sources.parameters import (
    MOST_VALUES,
    Parameter,
    parameters,
    plain,
    settings_of,
    value_of,
)

if TYPE_CHECKING:
    from dagsched_env.io import MachineOptions

PREFIX = "family:"
KINDS = (
    "A SPEC is a file or folder, family:NAME?parameter=value, suite:NAME, a recorded trace, or "
    "module:function"
)
DEFAULT_PLATFORM = "unrelated"

REMEDY = "(dagsched generate --list shows all)"


def parse_family(spec: str) -> Generator:
    """The family that ``family:NAME?parameter=value&…`` describes.

    Raises:
        DAGSchedError: an unknown name, a value that cannot be read or is out of its range; the
            message repeats the SPEC.
    """
    name, _, query = spec.removeprefix(PREFIX).partition("?")
    try:
        return make_family(name, settings_of(query))
    except DAGSchedError as error:
        raise DAGSchedError(f"{spec}: {error}") from None


def parse_file(spec: str) -> "tuple[str, MachineOptions]":
    """The file or folder that ``FILE?parameter=value&…`` names, and its machines.

    A file that exists under the whole text is that file.

    Raises:
        DAGSchedError: an unknown parameter, or a value that cannot be read or is out of its range;
            the message repeats the SPEC.
    """
    from dagsched_env.io import MachineOptions

    path, mark, query = spec.rpartition("?")
    if not mark or Path(spec).exists():
        return spec, MachineOptions()
    if ":" in path and not Path(path).exists():
        raise DAGSchedError(f"{spec}: there is no file {path!r}: {did_you_mean(path)}{KINDS}")
    kinds = {plain(name): hint for name, hint in get_type_hints(MachineOptions).items()}
    values: dict[str, Any] = {}
    try:
        for key, text in settings_of(query).items():
            name = plain(key)
            if name not in kinds:
                raise DAGSchedError(f"no parameter {key!r}: {_suggestion(name, kinds)}")
            values[name] = value_of(name, text, [*get_args(kinds[name]), kinds[name]][0])
        options = MachineOptions(**values)
        options.check()
    except DAGSchedError as error:
        raise DAGSchedError(f"{spec}: {error}") from None
    return path, options


def files_of(spec: str) -> list[str]:
    """What a SPEC names: a file or a folder, and tables for it; nothing for a family.

    Raises:
        DAGSchedError: as ``parse_file``.
    """
    if spec.startswith(PREFIX):
        return []
    path, options = parse_file(spec)
    return [path, *filter(None, (options.machines, options.times))]


def did_you_mean(spec: str, others: Iterable[str] = ()) -> str:
    """``did you mean 'family:fft'? ``, or nothing, for a SPEC that names nothing.

    Args:
        spec: such as ``famly:fft``, or ``fft`` without its prefix.
        others: SPECs that there are besides families.
    """
    known = [*(f"{PREFIX}{name}" for name in family_names()), *others]
    meant = {name.rpartition(":")[2]: name for name in known} | {name: name for name in known}
    close = difflib.get_close_matches(spec.lower(), meant, n=1)
    return f"did you mean {meant[close[0]]!r}? " if close else ""


def file_spec(path: str, options: "MachineOptions") -> str:
    """The text that ``parse_file`` reads back; the file alone where nothing is said."""
    query = "&".join(f"{name}={value}" for name, value in options.given.items())
    return f"{path}?{query}" if query else path


def make_family(name: str, settings: Mapping[str, str]) -> Generator:
    """A family by its name and the texts of its parameters.

    Choices of a parameter that is itself a range (``tiles=4,8``) give a mixture of families.

    Args:
        name: a key of ``GENERATORS``, or of an entry point of families.
        settings: parameter → text, among them ``platform``, the parameters of the platform, and
            those of ``Shared``, which is around it if there are ``cores``.

    Raises:
        DAGSchedError: an unknown name, a value that cannot be read or is out of its range.
    """
    family = factory(name)
    own = parameters(family)
    texts = {plain(key): text for key, text in settings.items()}
    machines = texts.pop("platform", None)
    if not takes_platform(family):
        if machines is not None:
            raise DAGSchedError(f"{name} makes its own machines: leave platform out")
        _check_names(name, texts, own)
        return _mixed(name, (family(**values) for values in _alternatives(own, texts)))
    platform = _known("platform", machines or DEFAULT_PLATFORM, PLATFORMS)
    theirs = parameters(PLATFORMS[platform]) | parameters(Shared)
    _check_names(f"{name} on {platform}", texts, {**own, **theirs})
    members = (
        family(**values, platform=machine)
        for values in _alternatives(own, texts)
        for machine in _machines(platform, texts)
    )
    return _mixed(name, members)


def _machines(name: str, texts: Mapping[str, str]) -> Iterator[PlatformModel]:
    """The platforms of a name, for each combination of alternatives; ``Shared`` with cores."""
    if "demand" in texts and "cores" not in texts:
        raise DAGSchedError("demand is how many cores a task uses: give the processors cores, too")
    for values in _alternatives(parameters(PLATFORMS[name]), texts):
        for sharing in _alternatives(parameters(Shared), texts):
            platform = PLATFORMS[name](**values)
            yield Shared(platform, **sharing) if "cores" in texts else platform


def family_names() -> list[str]:
    """All families: those of this package, then those that other packages declare."""
    declared = plugins.declared(plugins.FAMILIES)
    return [*GENERATORS, *(name for name in declared if name not in GENERATORS)]


def factory(name: str) -> Callable[..., Generator]:
    """What makes a family: a class of this package, or what another package declares.

    Raises:
        DAGSchedError: an unknown name, or a declaration that cannot be loaded.
    """
    found = _known("family", name, family_names())
    return GENERATORS.get(found) or plugins.load(plugins.declared(plugins.FAMILIES)[found])


def keys(name: str, platform: str | None = None) -> set[str]:
    """Parameters of a family, and of its platform if it takes one, as ``plain`` names.

    Raises:
        DAGSchedError: an unknown name.
    """
    family = factory(name)
    found = set(parameters(family))
    if takes_platform(family):
        machines = PLATFORMS[_known("platform", platform or DEFAULT_PLATFORM, PLATFORMS)]
        found |= set(parameters(machines)) | set(parameters(Shared))
    return found


def table() -> str:
    """All families and platforms with their parameters and defaults, as text."""
    blocks = []
    families = {name: _family_row(name) for name in family_names()}
    platforms = {name: "  ".join(_shown(model)) for name, model in PLATFORMS.items()}
    for title, rows in (("family", families), ("platform", platforms)):
        width = max(map(len, rows))
        lines = [f"{title:<{width}}  parameters with their defaults"]
        lines += [f"{name:<{width}}  {row}".rstrip() for name, row in rows.items()]
        blocks.append("\n".join(lines))
    blocks.append(
        f"A family with platform=… takes a platform (default {DEFAULT_PLATFORM}) and its "
        "parameters; with cores=C its processors have C cores, and a task uses demand=LOW..HIGH of "
        "them.\nA value is a number, a range low..high, or choices a,b,c:\n"
        "  family:cholesky?tiles=4..8&platform=cpu_gpu&cpus=3&gpus=1&ccr=1,2"
    )
    return "\n\n".join(blocks)


def _family_row(name: str) -> str:
    """Its parameters, or why it cannot be used."""
    try:
        family = factory(name)
        shown = _shown(family)
    except DAGSchedError as error:
        return str(error)
    return "  ".join([*shown, "platform=…"] if takes_platform(family) else shown)


def _shown(factory: Callable[..., Any]) -> list[str]:
    return [parameter.shown for parameter in parameters(factory).values()]


def takes_platform(family: Callable[..., Any]) -> bool:
    """Whether a family is put on a platform; others make their own processors."""
    return "platform" in inspect.signature(family).parameters


def _alternatives(
    known: Mapping[str, Parameter], texts: Mapping[str, str]
) -> Iterator[dict[str, Any]]:
    """Arguments by name, for each combination of alternatives."""
    given = [known[key] for key in texts if key in known]
    values = [parameter.alternatives(texts[plain(parameter.name)]) for parameter in given]
    if math.prod(map(len, values)) > MOST_VALUES:
        raise DAGSchedError(f"more than {MOST_VALUES} combinations: give fewer choices")
    for combination in itertools.product(*values):
        yield {p.name: value for p, value in zip(given, combination, strict=True)}


def _mixed(name: str, families: Iterable[Generator]) -> Generator:
    members = list(families)
    for member in members:
        if not callable(member):
            raise DAGSchedError(
                f"{name} returned {type(member).__name__}: a family returns a function "
                "rng -> Instance"
            )
    if len(members) == 1:
        return members[0]
    mixture: Any = Mixture(members)  # all members state their sizes, and so does the mixture
    generator: Generator = mixture
    return generator


def _known(what: str, name: str, registry: Collection[str]) -> str:
    found = name.replace("-", "_")
    if found not in registry:
        raise DAGSchedError(f"no {what} {name!r}: {_suggestion(found, registry)} {REMEDY}")
    return found


def _check_names(place: str, texts: Iterable[str], known: Mapping[str, Parameter]) -> None:
    for key in texts:
        if key not in known:
            suggestion = _suggestion(key, known)
            raise DAGSchedError(f"{place} has no parameter {key!r}: {suggestion} {REMEDY}")


def _suggestion(name: str, known: Iterable[str]) -> str:
    """``did you mean 'x'? There are …``."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    question = f"did you mean {close[0]!r}? " if close else ""
    return question + (f"There are {', '.join(names)}" if names else "There are none")
