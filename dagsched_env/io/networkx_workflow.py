"""Workflows from networkx graphs; ``Instance.from_networkx`` reads graphs with cost vectors."""

import math
from collections.abc import Hashable, Mapping
from numbers import Real
from typing import Any

import networkx as nx
import numpy as np

from dagsched_env.io.numbers import LARGEST
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.workflow import Workflow

__all__ = ["workflow_from_networkx"]


def workflow_from_networkx(
    graph: "nx.DiGraph[Any]",
    *,
    runtime: str = "runtime",
    data: str = "data",
    name: str | None = None,
) -> Workflow:
    """Read a DiGraph whose nodes carry one runtime each and whose edges an amount of data.

    Args:
        graph: its nodes are the tasks, in this order; their texts are the names.
        runtime: name of the node attribute: a number between 0 and 1e100.
        data: name of the edge attribute, a number as above; a missing one counts as 0.
        name: a label; that of the graph when None.

    Raises:
        FormatError: an undirected graph or a multigraph, no nodes, two nodes with the same text, or
            an attribute that is missing or no such number; the message names the node or edge.
    """
    if not graph.is_directed() or graph.is_multigraph():
        raise FormatError(f"the graph is a {type(graph).__name__}: a workflow needs a DiGraph")
    if len(graph) == 0:
        raise FormatError("the graph has no nodes: a workflow has at least one task")
    index: dict[Hashable, int] = {node: i for i, node in enumerate(graph.nodes)}
    tasks = tuple(str(node) for node in graph.nodes)
    if len(set(tasks)) < len(tasks):
        raise FormatError("two nodes of the graph have the same text: names are distinct")
    runtimes = [_amount(graph.nodes[node], runtime, f"node {node!r}") for node in graph.nodes]
    sizes = [
        _amount({data: 0.0} | attributes, data, f"edge {u!r} -> {v!r}")
        for u, v, attributes in graph.edges(data=True)
    ]
    return Workflow(
        tasks=tasks,
        runtimes=np.array(runtimes, dtype=np.float64),
        edges=tuple((index[u], index[v]) for u, v in graph.edges),
        data=np.array(sizes, dtype=np.float64),
        name=name if name is not None else (graph.name or None),
    )


def _amount(attributes: Mapping[str, Any], key: str, where: str) -> float:
    if key not in attributes:
        raise FormatError(f"{where} has no attribute {key!r}")
    value = attributes[key]
    if isinstance(value, bool) or not isinstance(value, Real):
        raise FormatError(f"{key} of {where} is {type(value).__name__}, not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not 0 <= number <= LARGEST:
        raise FormatError(f"{key} of {where} is not between 0 and {LARGEST:g}")
    return number
