"""Problems of SAGA and of DAGBench in JSON: ``graph.json``.

J. Coleman, B. Krishnamachari, PISA: an adversarial approach to comparing task graph scheduling
algorithms, 2024; github.com/ANRGUSC/saga, github.com/ANRGUSC/dag-bench. ``task_graph`` has
``tasks`` with a cost and ``dependencies`` with a size, ``network`` has ``nodes`` with a speed and
``edges`` with a speed, between every two nodes. A task takes cost / speed, a transfer size / speed,
in both directions alike. Edges from a node to itself are skipped: within a processor communication
is free, and SAGA gives them speeds so high that it nearly is.
"""

from itertools import combinations
from typing import Any

import numpy as np

from dagsched_env.io.fields import entries, get, get_amount, get_text, index_of, record_of
from dagsched_env.io.numbers import check_processors
from dagsched_env.problem.errors import FormatError
from dagsched_env.problem.instance import Instance


def recognises(record: Any) -> bool:
    """Whether parsed JSON has the two parts of this format."""
    return isinstance(record, dict) and {"task_graph", "network"} <= record.keys()


def parse(record: Any, *, name: str | None = None) -> Instance:
    """Read a problem.

    Args:
        record: the parsed JSON.
        name: a label for the instance, if the file has none.

    Raises:
        FormatError: a part is missing or of another type, a name is repeated or unknown, a speed is
            0, or two nodes have no edge or two edges of different speeds; the message names the
            place.
        InvalidInstanceError: the dependencies form a cycle, or one is there twice.
    """
    top = record_of(record, "the file")
    graph = record_of(get(top, "task_graph", "the file"), "task_graph")
    network = record_of(get(top, "network", "the file"), "network")
    nodes = list(entries(network, "nodes", "network"))
    check_processors(len(nodes), "network.nodes")
    node_index = index_of(nodes, "network.nodes", key="name")
    speeds = [_speed(node, f"network.nodes[{i}]") for i, node in enumerate(nodes)]
    tasks = list(entries(graph, "tasks", "task_graph"))
    if not tasks:
        raise FormatError("task_graph.tasks is empty: a problem has at least one task")
    task_index = index_of(tasks, "task_graph.tasks", key="name")
    costs = [get_amount(task, "cost", f"task_graph.tasks[{i}]") for i, task in enumerate(tasks)]
    edges, data = [], []
    for i, entry in enumerate(entries(graph, "dependencies", "task_graph")):
        where = f"task_graph.dependencies[{i}]"
        edges.append(_ends(entry, where, task_index))
        data.append(get_amount(entry, "size", where))
    label = top.get("name")
    return Instance(
        np.array(costs)[:, None] / np.array(speeds),
        edges,
        data,
        inv_bandwidth=_links(network, node_index),
        task_names=list(task_index),
        processor_names=list(node_index),
        name=label if isinstance(label, str) and label else name,
    )


def _links(network: dict[str, Any], index: dict[str, int]) -> list[list[float]]:
    """``[p][p]`` time per unit of data between nodes."""
    times: dict[tuple[int, int], float] = {}
    for i, entry in enumerate(entries(network, "edges", "network")):
        where = f"network.edges[{i}]"
        a, b = sorted(_ends(entry, where, index))
        if a == b:
            continue
        time = 1.0 / _speed(entry, where)
        if times.setdefault((a, b), time) != time:
            raise FormatError(f"{where} has another speed than the other edge of its nodes")
    names = list(index)
    inv_bandwidth = [[0.0] * len(names) for _ in names]
    for a, b in combinations(range(len(names)), 2):
        if (a, b) not in times:
            raise FormatError(
                f"network.edges has none between {names[a]!r} and {names[b]!r}: add its speed"
            )
        inv_bandwidth[a][b] = inv_bandwidth[b][a] = times[a, b]
    return inv_bandwidth


def _ends(entry: dict[str, Any], where: str, index: dict[str, int]) -> tuple[int, int]:
    ends = []
    for key in ("source", "target"):
        name = get_text(entry, key, where)
        if name not in index:
            raise FormatError(f"{where}.{key}: there is no {name!r}")
        ends.append(index[name])
    return ends[0], ends[1]


def _speed(entry: dict[str, Any], where: str) -> float:
    speed = get_amount(entry, "speed", where)
    if speed == 0:
        raise FormatError(f"{where}.speed is 0: give a speed above 0")
    return speed
