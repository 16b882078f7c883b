"""The suite ``dagbench``: graphs of DAGBench with their networks.

github.com/ANRGUSC/dag-bench, Apache-2.0; ``dagbench.json`` in the data folder says at which commit,
and of each graph how it came to be. Ten of its 84 graphs are left out, because the licence of their
source forbids commercial use. ``dagsched_env.io.saga`` says what the numbers mean.
"""

import json
from functools import partial
from importlib.resources import files
from typing import Any

from dagsched_env.io import saga
from dagsched_env.problem.instance import Instance
from dagsched_env.suites.splits import Recipes


def dagbench() -> Recipes:
    """All of it."""
    text = (files("dagsched_env") / "data" / "dagbench.json").read_text(encoding="utf-8")
    graphs = json.loads(text)["graphs"]
    return {name: partial(_graph, name, graph) for name, graph in graphs.items()}


def _graph(name: str, graph: dict[str, Any]) -> Instance:
    """Written out as DAGBench has it, then read like a file of it."""
    tasks, nodes = graph["tasks"], graph["nodes"]
    record = {
        "task_graph": {
            "tasks": [
                {"name": task, "cost": cost}
                for task, cost in zip(tasks, graph["costs"], strict=True)
            ],
            "dependencies": [
                {"source": tasks[u], "target": tasks[v], "size": size}
                for u, v, size in graph["dependencies"]
            ],
        },
        "network": {
            "nodes": [
                {"name": node, "speed": speed}
                for node, speed in zip(nodes, graph["speeds"], strict=True)
            ],
            "edges": [
                {"source": nodes[a], "target": nodes[b], "speed": speed}
                for a, b, speed in graph["links"]
            ],
        },
    }
    return saga.parse(record, name=name)
