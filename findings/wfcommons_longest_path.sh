#!/usr/bin/env bash
# wfcommons 1.6 and networkx 3.6.1: the longest path of every workflow is one task, of length 0.
# Expected: a Workflow is a networkx.DiGraph by inheritance, and its documentation says so. With no
#   weights networkx counts each edge as 1, and the longest path of a chain of three tasks has all
#   three and length 2.
# Seen: add_dependency, and so each recipe and each instance that is read, gives every edge
#   `weight=0`, the very name that networkx takes by default, and runtimes are in no attribute of
#   a node. dag_longest_path returns one task alone, with length 0, whatever the workflow. The plain
#   graph with the same edges, or weight=None, gives the chain.
# Why it matters: the depth and the critical path are what one asks first about a task graph. Both
#   come out as 0, and no error tells that the weights are no times and no sizes.
# In this project: dagsched_env/generators/recipes.py takes tasks and files, and no weights.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile wfcommons==1.6 networkx==3.6.1 numpy==2.4.6 \
    scipy==1.17.1 pandas==3.1.1
cd "$work"
venv/bin/python - <<'PYTHON'
import random

import networkx
import numpy
from wfcommons.common import Task, Workflow
from wfcommons.wfchef.recipes import MontageRecipe

chain = Workflow(name="chain")
for name in "abc":
    chain.add_task(Task(name=name, task_id=name, runtime=60.0))
chain.add_dependency("a", "b")
chain.add_dependency("b", "c")
random.seed(1)
numpy.random.seed(1)
montage = MontageRecipe.from_num_tasks(300).build_workflow()

for name, workflow in (("chain", chain), ("Montage", montage)):
    path, length = networkx.dag_longest_path(workflow), networkx.dag_longest_path_length(workflow)
    plain = networkx.dag_longest_path_length(networkx.DiGraph(list(workflow.edges)))
    runtime = sum(task.runtime for task in workflow.tasks.values())
    print(f"{name}, {runtime:.0f} s in {len(workflow)} tasks: longest path of {len(path)} task, "
          f"length {length}, as a plain graph {plain}")
    assert (len(path), length) == (1, 0), "changed: edges without weight 0"
    assert plain == networkx.dag_longest_path_length(workflow, weight=None) >= 2
PYTHON
