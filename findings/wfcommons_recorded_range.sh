#!/usr/bin/env bash
# wfcommons 1.6: runtimes of generated workflows leave the range of the recorded ones.
# Expected: a recipe holds, for each kind of task, the smallest and the greatest recorded runtime.
#   generate_rvs documents them as the minimum and the maximum value that it accepts, so a
#   generated runtime lies between them.
# Seen: a draw is multiplied by the recorded maximum. Nothing bounds the draw from above, and from
#   below it is bounded by 0.1, not by the recorded minimum, which counts only where there is no
#   distribution. So some Montage task takes several times its recorded maximum, and of the
#   1000-genome tasks more than every fourth is shorter than the shortest of its kind.
# Why it matters: one task outside the range sets the makespan of the whole workflow, however good
#   the schedule. Results on "realistic" workflows rest on runtimes that nobody has seen.
# In this project: dagsched_env/generators/recipes.py draws from these recipes, as they are.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile wfcommons==1.6 networkx==3.6.1 numpy==2.4.6 \
    scipy==1.17.1 pandas==3.1.1
cd "$work"
PYTHONHASHSEED=1 venv/bin/python - <<'PYTHON'
import inspect
import json
import pathlib
import random

import numpy
from wfcommons.utils import generate_rvs
from wfcommons.wfchef import recipes


def ratios(name: str) -> tuple[list[float], list[float]]:
    """Of 1000 generated tasks: runtime by recorded maximum, runtime by recorded minimum."""
    recipe = getattr(recipes, name)
    recorded = pathlib.Path(inspect.getfile(recipe)).with_name("task_type_stats.json")
    kinds = {kind: x["runtime"] for kind, x in json.loads(recorded.read_text()).items()}
    random.seed(1)
    numpy.random.seed(1)
    tasks = recipe.from_num_tasks(1000).build_workflow().tasks.values()
    return ([x.runtime / kinds[x.name]["max"] for x in tasks if kinds[x.name]["max"]],
            [x.runtime / kinds[x.name]["min"] for x in tasks if kinds[x.name]["min"]])


promise = [x.strip() for x in inspect.getdoc(generate_rvs).splitlines() if "accepted" in x]
print(*promise, sep="\n")
for name in ("MontageRecipe", "GenomeRecipe"):
    by_max, by_min = ratios(name)
    long, short = sum(x > 1.001 for x in by_max), sum(x < 0.999 for x in by_min)
    print(f"{name}: {long} tasks above the recorded maximum, the longest {max(by_max):.1f} times; "
          f"{short} below the recorded minimum, of {len(by_min)}")
    if name == "MontageRecipe":
        assert max(by_max) > 5, "changed: draws keep to the maximum"
    else:
        assert short > len(by_min) / 4, "changed: draws keep to the minimum"
PYTHON
