"""Make the file of the suite ``dagbench`` from a clone of github.com/ANRGUSC/dag-bench.

    python benchmarks/ship_dagbench.py CLONE

Writes ``dagsched_env/data/dagbench.json``, a graph a line, and the licence beside it. Graphs whose
source has a licence for non-commercial use only are left out. After a change the fingerprints are
made anew by ``python tests/env/suites/test_suites.py``.
"""

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any

import yaml

import dagsched_env
from dagsched_env.io.atomic import write_text

DATA = Path(dagsched_env.__file__).parent / "data"
REPOSITORY = "https://github.com/ANRGUSC/dag-bench"
UNFREE = "Non-commercial"
CHANGES = (
    "Graphs of one file each were put together here, names of tasks and nodes replaced by their "
    "place where they are referred to, and edges from a node to itself left out."
)


def compact(record: dict[str, Any], metadata: dict[str, Any]) -> dict[str, Any]:
    """A graph with what its metadata say of its origin."""
    graph, network = record["task_graph"], record["network"]
    tasks = {task["name"]: i for i, task in enumerate(graph["tasks"])}
    nodes = {node["name"]: i for i, node in enumerate(network["nodes"])}
    links = [(nodes[e["source"]], nodes[e["target"]], e["speed"]) for e in network["edges"]]
    return {
        "method": metadata["provenance"]["extraction_method"],
        "source_license": metadata["license"]["source_license"],
        "tasks": list(tasks),
        "costs": [task["cost"] for task in graph["tasks"]],
        "dependencies": [
            (tasks[e["source"]], tasks[e["target"]], e["size"]) for e in graph["dependencies"]
        ],
        "nodes": list(nodes),
        "speeds": [node["speed"] for node in network["nodes"]],
        "links": [link for link in links if link[0] != link[1]],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clone", type=Path)
    clone = parser.parse_args().clone
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=clone, capture_output=True, text=True, check=True
    ).stdout.strip()
    graphs, left_out = {}, []
    for path in clone.glob("workflows/*/*/graph.json"):
        metadata = yaml.safe_load((path.parent / "metadata.yaml").read_text(encoding="utf-8"))
        if metadata["license"]["source_license"].startswith(UNFREE):
            left_out.append(metadata["id"])
        else:
            record = json.loads(path.read_text(encoding="utf-8"))
            graphs[metadata["id"]] = compact(record, metadata)
    head = {"source": REPOSITORY, "commit": commit, "license": "Apache-2.0", "changes": CHANGES}
    head |= {"left_out": sorted(left_out)}
    lines = [f" {json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    each = [
        f"  {json.dumps(name)}: {json.dumps(graph, separators=(',', ':'))}"
        for name, graph in sorted(graphs.items())
    ]
    text = ",\n".join([*lines, ' "graphs": {\n' + ",\n".join(each) + "\n }"])
    write_text(DATA / "dagbench.json", "{\n" + text + "\n}\n")
    licence = (clone / "LICENSE").read_text(encoding="utf-8")
    write_text(DATA / "LICENSE-DAGBench", licence)
    print(f"wrote {len(graphs)} graphs, left out {len(left_out)}")


if __name__ == "__main__":
    main()
