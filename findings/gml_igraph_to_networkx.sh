#!/usr/bin/env bash
# igraph 1.0.0 writes GML from which networkx 3.6.1 reads other numbers, without a word.
# Expected: a weight of 0.00002 that one library writes is 0.00002 in the other, or an error.
# Seen: igraph writes it as 2e-05. networkx looks for a point in a real, as the grammar of GML does,
#   so it reads the whole number 2, and takes `e` for the name of one more attribute, with the
#   value -5. So with each number that has one digit and an exponent: 0.00001 is read as 1, and a
#   size of 1e15 bytes as 1. 0.000025 is right, as it is written with a point, and igraph itself
#   reads all of them back.
# Why it matters: times of microseconds in seconds, and large files in bytes, are such numbers. One
#   task in a file is off by five orders of magnitude while its neighbours are right.
# In this project: nothing reads GML; GraphML, which says the types, is for exchange
#   (dagsched_env/io/graphml.py).
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile igraph==1.0.0 networkx==3.6.1
cd "$work"
venv/bin/python - <<'PYTHON'
import igraph
import networkx

RUNTIMES = [0.5, 0.000025, 0.00002, 0.00001]
graph = igraph.Graph(n=4, edges=[(0, 1), (1, 2), (2, 3)], directed=True)
graph.vs["label"] = ["a", "b", "c", "d"]
graph.vs["runtime"] = RUNTIMES
graph.es["bytes"] = [1e6, 1e14, 1e15]
graph.write_gml("tasks.gml")
with open("tasks.gml") as file:
    print("written:", [x.strip() for x in file if "runtime" in x or "bytes" in x])

again = igraph.Graph.Read_GML("tasks.gml")
read = networkx.read_gml("tasks.gml")
runtimes = [data["runtime"] for _, data in read.nodes(data=True)]
sizes = [data["bytes"] for *_, data in read.edges(data=True)]
print("igraph reads", again.vs["runtime"], again.es["bytes"])
print("networkx reads", runtimes, sizes)
print("networkx, node c:", read.nodes["c"])
assert again.vs["runtime"] == RUNTIMES, "changed: igraph"
assert runtimes == [0.5, 0.000025, 2, 1], "changed: the runtimes"
assert read.nodes["c"] == {"runtime": 2, "e": -5}, "changed: the attribute e"
assert sizes == [1e6, 1e14, 1], "changed: the sizes"
PYTHON
