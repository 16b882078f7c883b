#!/usr/bin/env bash
# wfcommons 1.6: importing it silences every warning of the process.
# Expected: a library leaves the warning filters alone, or filters its own warnings only.
# Seen: a filter in front of all others that ignores each category from each module. It beats
#   `python -W error`, and hides warnings of code that has nothing to do with wfcommons.
# Why it matters: who draws one workflow no longer sees that an option is deprecated, that numpy
#   divided by zero, or that machines were assumed.
# In this project: dagsched_env/generators/recipes.py imports wfcommons with the filters kept.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile wfcommons==1.6 networkx==3.6.1 numpy==2.4.6 \
    scipy==1.17.1 pandas==3.1.1
cd "$work"
venv/bin/python -W error::UserWarning - <<'PYTHON'
import warnings


def is_raised() -> bool:
    try:
        warnings.warn("the makespan is an estimate", UserWarning)
    except UserWarning:
        return True
    return False


before = is_raised()
import wfcommons

after = is_raised()
silencer = ("ignore", None, Warning, None, 0)
print(f"a warning with -W error: raised {before} before the import, {after} after it")
print(f"the filter {silencer} is there: {silencer in warnings.filters}")
assert before, "the switch -W does not work"
assert not after, "changed: the import leaves warnings alone"
PYTHON
