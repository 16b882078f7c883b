"""GraphML: graphml.graphdrawing.org/primer/graphml-primer.html; attributes as in ``attributes``.

The tree comes from a hardened parser. The reader of networkx is not used, because it merges
repeated nodes and edges and makes nodes for unknown ids without an error.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dagsched_env.io.attributes import (
    WEIGHTS,
    Attributes,
    check_names,
    edge_attributes,
    graph_attributes,
    interpret,
    node_attributes,
)
from dagsched_env.io.xml_tree import attribute, children, local_name
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.workflow import Workflow

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
NAME = "name"
"""Attribute of the graph that holds the label of the instance, as in networkx."""


# -- reading -----------------------------------------------------------------------------------


def parse(root: "Element") -> Instance | Workflow:
    """Read a directed graph: an instance where nodes have ``comp``, a workflow otherwise.

    Raises:
        FormatError: not GraphML, not exactly one flat directed graph, an id that is unknown
            or not unique, or an attribute that is missing or malformed; the message names the node
            or edge.
        InvalidInstanceError: the numbers are not a valid instance.
    """
    if local_name(root) != "graphml":
        raise FormatError(f"no GraphML: the root element is <{local_name(root):.40}>")
    graphs = list(children(root, "graph"))
    if len(graphs) != 1:
        raise FormatError(f"<graphml> has {len(graphs)} graphs, it needs one")
    keys, defaults = _keys(root)
    nodes: dict[str, Attributes] = {}
    for i, node in enumerate(children(graphs[0], "node")):
        name = node.get("id")
        if name is None:
            raise FormatError(f"node {i} has no attribute 'id'")
        if name in nodes:
            raise FormatError(f"node {i} repeats the id {name!r}")
        if any(children(node, "graph")):
            raise FormatError(f"node {name!r} contains a graph: nested graphs are not read")
        nodes[name] = defaults["node"] | _attributes(node, keys, f"node {name!r}")
    edges = list(_edges(graphs[0], keys, defaults["edge"], nodes))
    attributes = _attributes(graphs[0], keys, "the graph")
    return interpret(attributes.get(NAME), attributes, nodes, edges)


def _keys(root: "Element") -> tuple[dict[str, str], dict[str, Attributes]]:
    """Name of each key in lower case; defaults of nodes and edges for names that are read."""
    names: dict[str, str] = {}
    defaults: dict[str, Attributes] = {"node": {}, "edge": {}}
    for i, key in enumerate(children(root, "key")):
        name = key.get("attr.name", "").lower()
        names[attribute(key, "id", f"key {i}")] = name
        for default in children(key, "default"):
            for kind, attributes in defaults.items():
                if key.get("for", "all") in (kind, "all") and name in WEIGHTS:
                    attributes[name] = default.text or ""
    return names, defaults


def _edges(
    graph: "Element", keys: dict[str, str], default: Attributes, nodes: dict[str, Attributes]
) -> Iterator[tuple[str, str, Attributes]]:
    if any(children(graph, "hyperedge")):
        raise FormatError("hyperedges are not read: an edge joins two tasks")
    directed = "true" if graph.get("edgedefault") == "directed" else "false"
    for i, edge in enumerate(children(graph, "edge")):
        ends = []
        for end in ("source", "target"):
            name = edge.get(end)
            if name not in nodes:
                raise FormatError(f"edge {i} has the {end} {name!r}, which is not a node")
            ends.append(name)
        if edge.get("directed", directed) != "true":
            raise FormatError(f"edge {i} is undirected: set edgedefault or directed")
        yield ends[0], ends[1], default | _attributes(edge, keys, f"edge {i}")


def _attributes(element: "Element", keys: dict[str, str], where: str) -> Attributes:
    attributes: Attributes = {}
    for data in children(element, "data"):
        key = attribute(data, "key", f"data of {where}")
        if key not in keys:
            raise FormatError(f"{where} has data of the key {key!r}, which is not declared")
        if keys[key] in attributes and keys[key] in WEIGHTS:
            raise FormatError(f"{where} has two values of {keys[key]!r}: remove one")
        attributes[keys[key]] = data.text or ""
    return attributes


# -- writing -----------------------------------------------------------------------------------


def dump(instance: Instance, schedule: Schedule | None = None) -> str:
    """The instance as one directed graph; a schedule adds where and when each task runs.

    Raises:
        DAGSchedError: a name has a character that XML cannot carry.
    """
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    check_names(instance, "GraphML")
    root = Element("graphml", xmlns=NAMESPACE)
    attributes = graph_attributes(instance)
    if instance.name is not None:
        attributes = {NAME: instance.name} | attributes
    nodes = [node_attributes(instance, schedule, task) for task in range(instance.n_tasks)]
    for kind, names in (("graph", attributes), ("node", nodes[0]), ("edge", ["data"])):
        for name in names:
            declared = {"id": f"{kind}-{name}", "for": kind, "attr.name": name}
            kind_of_value = "double" if name in ("data", "start", "finish") else "string"
            SubElement(root, "key", declared, **{"attr.type": kind_of_value})
    graph = SubElement(root, "graph", edgedefault="directed")
    _add(graph, "graph", attributes)
    for name, values in zip(instance.task_names, nodes, strict=True):
        _add(SubElement(graph, "node", id=name), "node", values)
    for e, (u, v) in enumerate(instance.edges.tolist()):
        ends = {"source": instance.task_names[u], "target": instance.task_names[v]}
        _add(SubElement(graph, "edge", ends), "edge", edge_attributes(instance, e))
    indent(root)
    header = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return header + tostring(root, encoding="unicode") + "\n"


def _add(element: "Element", kind: str, attributes: Attributes) -> None:
    from xml.etree.ElementTree import SubElement

    for name, value in attributes.items():
        SubElement(element, "data", key=f"{kind}-{name}").text = value
