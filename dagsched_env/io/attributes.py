"""The attributes by which DOT, GraphML and networkx carry an instance, a workflow or a schedule.

Of a graph: ``processors`` (their names, a JSON list), ``inv_bandwidth`` and ``latency`` (rows
separated by ``;``); each is left out where it has its default. Of a node: ``comp``, its time on
each processor (``inf`` = may not run), or one runtime: ``runtime``, ``weight`` or ``size``. Of an
edge: ``data``, ``size`` or ``weight``; none = no data. A schedule adds ``processor``, ``start`` and
``finish`` to each node. Names are read in any case; the readers turn ``Weight`` into ``weight``.

A node with one runtime may have ``cores``, ``memory`` (bytes, or with a unit, as in ``2 GB``) and
``gpus``: what its task uses, where the machines have such resources. With ``comp`` it has
``demands``, what it uses of each resource of the graph: ``resources`` (their names, a JSON list)
and ``capacities`` (a row for each processor, separated by ``;``, ``inf`` = no limit).

Parallel edges are one edge, with the data of all. As SimGrid has it, a negative ``size`` of an edge
is a dependency without data, and nodes ``root`` and ``end`` without a time are no work. Where nodes
have no times at all, as Snakemake, Nextflow and Dask write them, ``times`` of ``MachineOptions``
names a table of name or label and seconds, or ``unit_times`` gives each task 1.

A file does not say its units: a transfer takes data / ``bandwidth`` in the unit of the runtimes. A
bandwidth with a unit, as in ``1Gbit/s``, takes data as bytes and times as seconds.
"""

import itertools
import json
import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np

from dagsched_env.io import size as sizes
from dagsched_env.io.numbers import FINITE, LARGEST, amount, check_processors, cost, number_text
from dagsched_env.io.transfers import added_up
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.errors import DAGSchedError, FormatError
from dagsched_env.problem.instance import DATA_KEYS, Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.workflow import KNOWN_RESOURCES, MEMORY, Workflow

Attributes = dict[str, str]

RUNTIME_KEYS = ("runtime", "weight", "size")
WEIGHTS = tuple(dict.fromkeys(("comp", *RUNTIME_KEYS, *DATA_KEYS, *KNOWN_RESOURCES, "demands")))
"""Attributes of nodes and edges that are read."""
NO_WORK = ("root", "end")
"""Nodes that SimGrid adds to a graph, with edges but without a time."""


# -- reading -----------------------------------------------------------------------------------


def interpret(
    name: str | None,
    graph: Mapping[str, str],
    nodes: Mapping[str, Mapping[str, Any]],
    edges: Iterable[tuple[str, str, Mapping[str, Any]]],
) -> Instance | Workflow:
    """An instance where the nodes have cost vectors, a workflow where they have one runtime each.

    Args:
        name: a label.
        graph: attributes of the graph, their names in lower case like all others. Those of a file
            are text; networkx may have numbers.
        nodes: attributes of each node by its name, in the order of the tasks.
        edges: (predecessor, successor, attributes), in order; both are in ``nodes``.

    Returns:
        In a workflow the time of a node without one is NaN.

    Raises:
        FormatError: an attribute is missing or malformed; the message names the node or edge.
        InvalidInstanceError: the numbers are not a valid instance.
    """
    if not nodes:
        raise FormatError("the graph has no nodes: a problem has at least one task")
    index = {node: i for i, node in enumerate(nodes)}
    vectors = any("comp" in attributes for attributes in nodes.values())
    most = FINITE if vectors else LARGEST
    sizes = (
        (index[u], index[v], _data(attributes, f"edge {u!r} -> {v!r}", most))
        for u, v, attributes in edges
    )
    pairs, data, said = added_up(sizes, tuple(nodes))
    if not vectors:
        runtimes = {node: _runtime(attributes, node) for node, attributes in nodes.items()}
        free = [node for node in NO_WORK if math.isnan(runtimes.get(node, 0.0))]
        if free and not all(map(math.isnan, runtimes.values())):
            runtimes |= dict.fromkeys(free, 0.0)
            said += (f"{' and '.join(free)}: without a time, taken as no work, as by SimGrid",)
        return Workflow(
            tasks=tuple(nodes),
            runtimes=np.array([*runtimes.values()], dtype=np.float64),
            edges=pairs,
            data=data,
            name=name,
            labels=tuple(_label(attributes, node) for node, attributes in nodes.items()),
            assumptions=said,
            **recorded((f"node {node!r}", attributes) for node, attributes in nodes.items()),
        )
    comp = _vectors(nodes, "comp")
    check_processors(len(comp[0]), "comp")
    uses = any("demands" in attributes for attributes in nodes.values())
    return Instance(
        comp,
        pairs,
        data,
        inv_bandwidth=_matrix(graph, "inv_bandwidth"),
        latency=_matrix(graph, "latency"),
        task_names=tuple(nodes),
        processor_names=_names(graph, "processors"),
        name=name,
        assumptions=said,
        demands=_vectors(nodes, "demands") if uses else None,
        capacities=_matrix(graph, "capacities"),
        resource_names=_names(graph, "resources"),
    )


def recorded(tasks: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, Any]:
    """What a ``Workflow`` has of resources: those that an attribute of any task states.

    Args:
        tasks: the place of each, for messages, and its attributes; empty text is none.

    Raises:
        FormatError: no amount between 0 and 1e100; the message names the place.
    """
    found = list(tasks)
    names = [name for name in KNOWN_RESOURCES if any(name in stated for _, stated in found)]
    if not names:
        return {}
    demands = [[_demand(stated, name, where) for name in names] for where, stated in found]
    return {"demands": np.array(demands, dtype=np.float64), "resource_names": tuple(names)}


def _demand(attributes: Mapping[str, Any], resource: str, where: str) -> float:
    """What a task uses of a resource; NaN where nothing is stated."""
    place = f"{resource} of {where}"
    text = _text(attributes.get(resource, ""), place)
    if not text:
        return math.nan
    if resource != MEMORY:
        return amount(text, place)
    found = sizes.parse(text)
    if found is None or not found <= LARGEST:
        raise FormatError(f"{place} is {text!r:.40}: {sizes.HOW_TO_WRITE}")
    return found


def _vectors(nodes: Mapping[str, Mapping[str, Any]], key: str) -> list[list[float]]:
    """The numbers at an attribute of each node, equally many; ``comp`` or ``demands``."""
    vectors: list[list[float]] = []
    for node, attributes in nodes.items():
        if key not in attributes:
            raise FormatError(f"node {node!r} has no attribute {key!r}, as others have")
        vectors.append(_vector(attributes[key], f"{key} of node {node!r}"))
        if len(vectors[-1]) != len(vectors[0]):
            first, what = next(iter(nodes)), "costs" if key == "comp" else key
            raise FormatError(
                f"node {node!r} has {len(vectors[-1])} {what}, but {first!r} has {len(vectors[0])}"
            )
    return vectors


def _vector(values: Any, where: str) -> list[float]:
    if isinstance(values, str):
        return [cost(word, where) for word in values.replace(",", " ").split()]
    if not isinstance(values, Iterable):
        raise FormatError(f"{where} is {values!r:.40}: write a list of numbers")
    return list(values)


def _matrix(graph: Mapping[str, str], key: str) -> list[list[float]] | None:
    return [_vector(row, key) for row in graph[key].split(";")] if key in graph else None


def _names(graph: Mapping[str, str], key: str) -> list[str] | None:
    if key not in graph:
        return None
    try:
        names = json.loads(graph[key])
    except (ValueError, RecursionError):
        names = None
    if not isinstance(names, list):
        raise FormatError(f"the graph's attribute {key!r} is not a JSON list of names")
    return names


def _runtime(attributes: Mapping[str, Any], node: str) -> float:
    for key in RUNTIME_KEYS:
        if key in attributes:
            place = f"{key} of node {node!r}"
            return amount(_text(attributes[key], place), place)
    return math.nan


def _data(attributes: Mapping[str, Any], where: str, most: float) -> float:
    for key in DATA_KEYS:
        if key in attributes:
            place = f"{key} of {where}"
            text = _text(attributes[key], place)
            control = key == "size" and text.startswith("-")
            size = amount(text[1:] if control else text, place, most=most)
            return 0.0 if control else size
    return 0.0


def _text(value: Any, where: str) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool) or not isinstance(value, Real):
        raise FormatError(f"{where} is {type(value).__name__}, not a number")
    try:
        return number_text(float(value))
    except OverflowError:
        return "inf"


def _label(attributes: Mapping[str, Any], node: str) -> str:
    """What a drawing shows of a node, ``\\N`` is its name; nothing of one that is a point."""
    if attributes.get("shape") == "point":
        return ""
    return str(attributes.get("label", node)).replace("\\N", node)


# -- writing -----------------------------------------------------------------------------------


def graph_attributes(instance: Instance) -> Attributes:
    """Attributes of the graph: the arguments of ``Instance`` that are not its defaults."""
    p = instance.n_processors
    attributes = {}
    if instance.processor_names != tuple(f"P{q}" for q in range(p)):
        attributes["processors"] = json.dumps(instance.processor_names, ensure_ascii=False)
    if not np.array_equal(instance.inv_bandwidth, 1.0 - np.eye(p)):
        attributes["inv_bandwidth"] = _matrix_text(instance.inv_bandwidth)
    if instance.latency.any():
        attributes["latency"] = _matrix_text(instance.latency)
    if instance.n_resources:
        attributes["resources"] = json.dumps(instance.resource_names, ensure_ascii=False)
        attributes["capacities"] = _matrix_text(instance.capacities)
    return attributes


def node_attributes(instance: Instance, schedule: Schedule | None, task: int) -> Attributes:
    """Attributes of a node: what a task costs and uses; where and when it runs in a schedule."""
    attributes = {"comp": _vector_text(instance.comp[task])}
    if instance.n_resources:
        attributes["demands"] = _vector_text(instance.demands[task])
    if schedule is not None:
        attributes["processor"] = instance.processor_names[schedule.processor[task]]
        attributes["start"] = number_text(schedule.start[task])
        attributes["finish"] = number_text(schedule.finish[task])
    return attributes


def edge_attributes(instance: Instance, edge: int) -> Attributes:
    """Data on an edge."""
    return {"data": number_text(instance.data[edge])}


def check_names(
    instance: Instance, title: str, refused: str = "", longest: int | None = None
) -> None:
    """Raise a DAGSchedError if the format cannot carry a name.

    Args:
        instance: the problem that is written.
        title: of the format, for the message.
        refused: characters that it cannot carry, in addition to control characters, lone
            surrogates and the noncharacters U+FFFE and U+FFFF.
        longest: letters that a name may have; None = any number.
    """
    named = (instance.task_names, instance.processor_names, instance.resource_names)
    for name in (*itertools.chain(*named), instance.name or ""):
        if longest is not None and len(name) > longest:
            raise DAGSchedError(
                f"{title} carries names of {longest} letters, one has {len(name)}: "
                "rename it, or write own JSON"
            )
        if not all(_plain(character) and character not in refused for character in name):
            raise DAGSchedError(
                f"{title} cannot carry the name {name!r}: rename it, or write own JSON"
            )


def _plain(character: str) -> bool:
    code = ord(character)
    control = code < 0x20 or 0x7F <= code < 0xA0
    return not (control or 0xD800 <= code < 0xE000 or code in (0xFFFE, 0xFFFF))


def _vector_text(values: Iterable[float]) -> str:
    return " ".join(map(number_text, values))


def _matrix_text(matrix: Floats) -> str:
    return "; ".join(map(_vector_text, matrix))
