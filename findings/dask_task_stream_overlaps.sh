#!/usr/bin/env bash
# distributed 2026.8: the task stream shows a worker with one thread run two tasks at once.
# Expected: start and stop of tasks on one thread are times of one clock, so that they never overlap.
# Seen: a worker adds its estimate of the clock of the scheduler, which each heartbeat renews from a
#   round trip, once a task has ended. Some tasks begin milliseconds before the one before them on the
#   same thread has ended, and where tasks are short there are more of them than cores allow.
# Why it matters: a schedule that is read from the stream breaks the capacity of its own machines.
# In this project: dagsched_env/io/dask_recorder.py says so; dagsched_env/problem/run.py does not
#   promise that a measured schedule is valid.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile dask==2026.8.0 distributed==2026.8.0
cd "$work"
cat > stream.py <<'PYTHON'
import time
from collections import defaultdict

from distributed import Client, LocalCluster


def main() -> None:
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        client.get_task_stream()
        client.gather(client.map(lambda i: time.sleep(0.01), range(2000), pure=False))
        stream = client.get_task_stream(start=0)
    spans = defaultdict(list)
    for task in stream:
        spans[task["worker"], task["thread"]] += [
            (s["start"], s["stop"]) for s in task["startstops"] if s["action"] == "compute"
        ]
    overlaps = []
    for lane in map(sorted, spans.values()):
        overlaps += [a[1] - b[0] for a, b in zip(lane, lane[1:]) if b[0] < a[1]]
    print(f"{sum(map(len, spans.values()))} tasks on {len(spans)} threads")
    print(f"{len(overlaps)} begin before the one before has ended, by up to {max(overlaps, default=0) * 1e3:.1f} ms")
    assert len(spans) == 2, "each worker has one thread"
    assert overlaps, "changed: tasks of one thread never overlap"


if __name__ == "__main__":
    main()
PYTHON
venv/bin/python stream.py
