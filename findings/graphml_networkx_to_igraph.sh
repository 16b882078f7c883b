#!/usr/bin/env bash
# networkx 3.6.1 writes GraphML that igraph 1.0.0 refuses, if only some weights are whole numbers.
# Expected: a graph with the weights 2 and 1.5, written by one library, is read by the other.
# Seen: networkx declares the name `weight` twice, as long and as double, and spreads the values
#   over both keys. igraph takes no name twice. With infer_numeric_types=True there is one key, and
#   igraph reads the file.
# Why it matters: runtimes such as 2 and 1.5 are the rule in task graphs. Whether a file can be read
#   depends on whether all its numbers happen to be of one kind.
# In this project: dagsched_env/io/graphml.py goes by names of attributes, so that it reads such a
#   file, and itself writes one key for a name.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile networkx==3.6.1 igraph==1.0.0
cd "$work"
venv/bin/python - <<'PYTHON'
import igraph
import networkx

graph = networkx.DiGraph()
graph.add_node("a", weight=2)
graph.add_node("b", weight=1.5)
graph.add_edge("a", "b")
networkx.write_graphml(graph, "plain.graphml")
networkx.write_graphml(graph, "inferred.graphml", infer_numeric_types=True)

keys = [line.strip() for line in open("plain.graphml") if "<key" in line]
print(*keys, sep="\n")
try:
    igraph.Graph.Read_GraphML("plain.graphml")
    refused = False
except igraph.InternalError as error:
    refused = "Duplicate attribute name" in str(error)
    print("igraph:", error)
weights = igraph.Graph.Read_GraphML("inferred.graphml").vs["weight"]
print("with infer_numeric_types=True igraph reads", weights)
assert len(keys) == 2, "changed: networkx declares a name once"
assert refused, "changed: igraph reads the file"
assert weights == [2.0, 1.5], "changed: the way out"
PYTHON
