#!/usr/bin/env bash
# dask 2026.8.0: dask.optimize fails for reductions of a dataframe, which compute without trouble.
# Expected: it returns an equivalent collection with an optimised graph, as it does for arrays and
#   delayed values, and as its documentation says of all collections.
# Seen: for the sum or the mean of a column, and for groupby, it raises a NotImplementedError
#   without any text. The method optimize() of the same object works, and gives a graph in which
#   some tasks are tuples of the old kind among the new Task objects.
# Why it matters: whoever takes the graph of a collection to schedule it himself calls this function
#   first. It works for a plain frame of one partition, and so in a first try.
# In this project: dagsched_env/execution/dask.py calls the method where there is one.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile dask==2026.8.0 pandas==3.0.3 numpy==2.4.6 \
    pyarrow==20.0.0
cd "$work"
venv/bin/python - <<'PYTHON'
import dask
import dask.array as da
import dask.dataframe as dd
import pandas as pd

frame = dd.from_pandas(pd.DataFrame({"a": range(10), "b": [1, 2] * 5}), npartitions=3)


def outcome(collection: object) -> str:
    try:
        dask.optimize(collection)
    except NotImplementedError as error:
        return f"NotImplementedError({str(error)!r})"
    return "optimised"


seen = {
    "sum of an array": outcome(da.ones(10, chunks=3).sum()),
    "delayed value": outcome(dask.delayed(sum)([1, 2])),
    "sum of a column": outcome(frame.a.sum()),
    "mean of a column": outcome(frame.a.mean()),
    "groupby": outcome(frame.groupby("b").a.sum()),
}
for name, what in seen.items():
    print(f"dask.optimize of the {name}: {what}")
graph = frame.a.sum().optimize().__dask_graph__()
kinds = sorted({type(task).__name__ for task in graph.values()})
print("the sum is", frame.a.sum().compute(), "and the method optimize() gives tasks:", kinds)
assert set(list(seen.values())[:2]) == {"optimised"}, "changed: arrays"
assert set(list(seen.values())[2:]) == {"NotImplementedError('')"}, "changed: dataframes"
assert "tuple" in kinds, "changed: the method"
PYTHON
