"""Workflows from networkx graphs: numbers or text, by the same rules as in files (``attributes``).

``Instance.from_networkx`` reads graphs with cost vectors. Both readers of DOT in networkx give
text, and graphs that may have parallel edges; pydot leaves quotes around the text.
"""

from collections.abc import Mapping
from typing import Any

import networkx as nx
import numpy as np

from dagsched_env.io.assumptions import warn
from dagsched_env.io.attributes import RUNTIME_KEYS, interpret
from dagsched_env.problem.errors import AssumptionWarning, FormatError
from dagsched_env.problem.instance import DATA_KEYS
from dagsched_env.problem.workflow import KNOWN_RESOURCES, Workflow


def workflow_from_networkx(
    graph: "nx.DiGraph[Any]",
    *,
    runtime: str | None = None,
    data: str | None = None,
    name: str | None = None,
) -> Workflow:
    """Read a directed graph whose nodes carry one runtime each and whose edges an amount of data.

    Nodes may have ``cores``, ``memory`` and ``gpus``, as in files. Parallel edges of a MultiDiGraph
    are one with the data of all; an ``AssumptionWarning`` says so.

    Args:
        graph: its nodes are the tasks, in this order; their texts are the names.
        runtime: name of the node attribute: a number between 0 and 1e100, or its text; None: the
            first of ``runtime``, ``weight`` and ``size``, in any case.
        data: name of the edge attribute, a number as above; a missing one counts as 0. None: the
            first of ``data``, ``size`` and ``weight``, in any case.
        name: a label; that of the graph when None.

    Raises:
        FormatError: an undirected graph, no nodes, two nodes with the same text, or an attribute
            that is missing or no such number; the message names the node or edge.
    """
    if not graph.is_directed():
        raise FormatError(f"the graph is a {type(graph).__name__}: a workflow needs a DiGraph")
    nodes = {
        str(node): _read(found, RUNTIME_KEYS, runtime) | _read(found, KNOWN_RESOURCES, None)
        for node, found in graph.nodes(data=True)
    }
    if len(nodes) < len(graph):
        raise FormatError("two nodes of the graph have the same text: names are distinct")
    edges = ((str(u), str(v), _read(x, DATA_KEYS, data)) for u, v, x in graph.edges(data=True))
    found = interpret(name if name is not None else (graph.name or None), {}, nodes, edges)
    assert isinstance(found, Workflow)  # no node has ``comp`` among these attributes
    for task, time in zip(found.tasks, found.runtimes, strict=True):
        if np.isnan(time):
            names = " or ".join(map(repr, RUNTIME_KEYS if runtime is None else [runtime]))
            raise FormatError(f"node {task!r} has no attribute {names}: give it its time")
    for text in found.assumptions:
        warn(AssumptionWarning(text), stacklevel=2)
    return found


def _read(found: Mapping[Any, Any], keys: tuple[str, ...], own: str | None) -> dict[str, Any]:
    """The attributes that are read, by their names in files; ``own`` is that of the caller."""
    if own is not None:
        return {keys[0]: _plain(found[own])} if own in found else {}
    lower = {str(name).lower(): value for name, value in found.items()}
    return {name: _plain(lower[name]) for name in keys if name in lower}


def _plain(value: Any) -> Any:
    return value.strip('"') if isinstance(value, str) else value
