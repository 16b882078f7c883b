#!/usr/bin/env bash
# wfcommons 1.6: workflows of RnaseqRecipe have tasks, but no dependency and no file.
# Expected: a workflow like the recorded ones, with edges, as from the other recipes.
# Seen: a bag of independent tasks, some of runtime 0. Besides, two processes that seed both global
#   generators alike draw other runtimes unless PYTHONHASHSEED agrees: where the recipe has no
#   structures to repeat, it goes through a set of names. Montage, for comparison, needs no such
#   care.
# Why it matters: schedulers that differ on workflows are nearly equal on such a bag, and a
#   benchmark drawn from a seed cannot be drawn again.
# In this project: dagsched_env/generators/recipes.py leaves this recipe out of RECIPES.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile wfcommons==1.6 networkx==3.6.1 numpy==2.4.6 \
    scipy==1.17.1 pandas==3.1.1
cd "$work"
cat > draw.py <<'PYTHON'
import random

import numpy as np
from wfcommons.wfchef import recipes

for name in ("RnaseqRecipe", "MontageRecipe"):
    random.seed(1)
    np.random.seed(1)
    workflow = getattr(recipes, name).from_num_tasks(400).build_workflow()
    tasks = list(workflow.tasks.values())
    files = sum(len(task.input_files) + len(task.output_files) for task in tasks)
    zero = sum(task.runtime == 0 for task in tasks)
    order = sum(k * task.runtime for k, task in enumerate(tasks))
    print(
        f"{name}: {len(tasks)} tasks, {zero} of runtime 0, {workflow.number_of_edges()} edges, "
        f"{files} files, checksum of runtimes {order:.3f}"
    )
PYTHON
for hash_seed in 1 2; do
    echo "PYTHONHASHSEED=$hash_seed"
    PYTHONHASHSEED=$hash_seed venv/bin/python draw.py | tee drawn
    grep Rnaseq drawn > "rnaseq.$hash_seed"
    grep Montage drawn > "montage.$hash_seed"
done
grep -q ' 0 edges, 0 files' rnaseq.1 || { echo 'changed: there are edges or files'; exit 1; }
if cmp -s rnaseq.1 rnaseq.2; then echo 'changed: the seeds suffice'; exit 1; fi
cmp montage.1 montage.2
