#!/usr/bin/env bash
# networkx 3.6.1 with pydot 4.0.1: read_dot leaves out what stands in a subgraph.
# Expected: the four tasks and four dependencies that Graphviz draws, each task with the weight of
#   the statement `node [Weight=3]`.
# Seen: the task `split` and its two dependencies are gone, without a word; no task has a weight.
#   The default becomes an attribute `node` of the graph, and numbers stay texts.
# Why it matters: tools that draw workflows put stages into clusters. A schedule of what is left
#   looks valid, is too short, and lets `left` and `right` start before their data exist.
# In this project: dagsched_env/io/dot_syntax.py reads subgraphs and defaults itself. Do not pass
#   such a file through read_dot and Instance.from_networkx.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile networkx==3.6.1 pydot==4.0.1
cd "$work"
cat > workflow.dot <<'DOT'
digraph workflow {
  node [Weight=3];
  subgraph cluster_prepare { split -> left; split -> right; }
  left -> merge; right -> merge [Weight=7];
}
DOT
venv/bin/python - <<'PYTHON'
import networkx

graph = networkx.nx_pydot.read_dot("workflow.dot")
print("nodes:", dict(graph.nodes(data=True)))
print("edges:", list(graph.edges(data=True)))
print("graph:", graph.graph)
assert sorted(graph) == ["left", "merge", "right"], "changed: other nodes"
assert graph.number_of_edges() == 2, "changed: other edges"
assert not any(dict(graph.nodes(data=True)).values()), "changed: nodes have attributes"
PYTHON
