"""DOT, the language of Graphviz: graphviz.org/doc/info/lang.html; attributes as in ``attributes``.

Directed graphs are read, with nodes, edges, chains of edges, default attributes and subgraphs (as
groups only). An edge between groups, ``a -> {b c}``, joins every node of the left one with every
node of the right one. Ports, as in ``a:n -> b:s``, are ignored. Undirected edges are refused. In a
``strict`` digraph a repeated edge is one edge, which a later statement updates.
"""

# pydot 4, which builds on pyparsing, is not used: it takes 1.3 ms for each statement, exponential
# time for a row of open braces, and prints its errors.

from dagsched_env.io.attributes import (
    Attributes,
    check_names,
    edge_attributes,
    graph_attributes,
    interpret,
    node_attributes,
)
from dagsched_env.io.dot_syntax import parse_digraph
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule
from dagsched_env.problem.workflow import Workflow

COLOURS = 12
"""Number of colours of the Graphviz scheme set312, which processors use in turn."""


def parse(text: str) -> Instance | Workflow:
    """Read a directed graph: an instance where nodes have ``comp``, a workflow otherwise.

    Raises:
        FormatError: not DOT, or not the part of it that is read (the message names the line), or
            an attribute is missing or malformed (the message names the node or edge).
        InvalidInstanceError: the numbers are not a valid instance.
    """
    graph = parse_digraph(text)
    return interpret(graph.name, graph.attributes, graph.nodes, graph.edges)


def dump(instance: Instance, schedule: Schedule | None = None) -> str:
    """The instance as a directed graph; a schedule adds where and when each task runs.

    Raises:
        DAGSchedError: a name has a control character or a backslash.
    """
    check_names(instance, "DOT", refused="\\")
    name = "" if instance.name is None else f" {_quoted(instance.name)}"
    out = [f"digraph{name} {{"]
    for key, value in graph_attributes(instance).items():
        json_safe = value.replace('\\"', "\\u0022")  # in DOT a backslash escapes a quote
        out.append(f"  {key}={_quoted(json_safe)};")
    for task, label in enumerate(instance.task_names):
        attributes = node_attributes(instance, schedule, task)
        if schedule is not None:
            attributes |= _picture(label, attributes, int(schedule.processor[task]))
        out.append(f"  {_quoted(label)} {_listed(attributes)};")
    for e, (u, v) in enumerate(instance.edges.tolist()):
        ends = f"{_quoted(instance.task_names[u])} -> {_quoted(instance.task_names[v])}"
        out.append(f"  {ends} {_listed(edge_attributes(instance, e))};")
    return "\n".join([*out, "}", ""])


def _picture(name: str, placed: Attributes, processor: int) -> Attributes:
    """Attributes by which Graphviz shows the placement."""
    return {
        "label": f"{name}\\n{placed['processor']}: {placed['start']}–{placed['finish']}",
        "style": "filled",
        "fillcolor": f"/set312/{processor % COLOURS + 1}",
    }


def _listed(attributes: Attributes) -> str:
    return "[" + ", ".join(f"{key}={_quoted(value)}" for key, value in attributes.items()) + "]"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'
