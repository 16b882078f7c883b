#!/usr/bin/env bash
# wfcommons 1.6: runtimes that it takes from a trace of Nextflow include the wait in the queue.
# Expected: `runtimeInSeconds` is the time a task ran, and `executedAt` is when it started. The
#   trace has both: `realtime` and `start` are about the execution, `duration` and `submit` count
#   from the submission, as the manual of Nextflow says.
# Seen: NextflowLogsParser reads `submit` and `duration` only. A task that waited ten minutes for a
#   node and ran for 30 seconds has a runtime of 630 seconds, and starts when it was submitted.
#   Trace and crate here are written by hand, in the form that Nextflow and its plugin nf-prov give.
# Why it matters: on a busy cluster the recorded runtimes are mostly waiting. A scheduler that
#   replays such an instance plans with times of another scheduler's queue.
# In this project: dagsched_env/io/nextflow.py takes start and realtime, where they are there.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile wfcommons==1.6 networkx==3.6.1 numpy==2.4.6 \
    scipy==1.17.1 pandas==3.1.1
cd "$work"
mkdir run
{
    printf '%s\t' task_id hash name status exit submit start complete duration
    printf 'realtime\n'
    printf '%s\t' 1 ab/123456 'ALIGN (1)' COMPLETED 0 '2026-01-05 10:00:00.000' \
        '2026-01-05 10:10:00.000' '2026-01-05 10:10:30.000' '10m 30s'
    printf '30s\n'
} > run/trace.txt
cat > run/ro-crate-metadata.json <<'JSON'
{"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": [
 {"@id": "./", "@type": "Dataset", "mainEntity": {"@id": "main.nf"}},
 {"@id": "main.nf", "@type": ["File", "ComputationalWorkflow"], "name": "main.nf"},
 {"@id": "#run", "@type": "CreateAction", "name": "Nextflow workflow run",
  "startTime": "2026-01-05T10:00:00+00:00", "endTime": "2026-01-05T10:10:31+00:00"},
 {"@id": "#task/ab123456", "@type": "CreateAction", "name": "ALIGN (1)",
  "instrument": {"@id": "#process/ALIGN"}, "object": [], "result": []}]}
JSON
venv/bin/python - <<'PYTHON'
import csv
from pathlib import Path

from wfcommons.wfinstances import NextflowLogsParser

with open("run/trace.txt", newline="") as file:
    (row,) = csv.DictReader(file, delimiter="\t")
workflow = NextflowLogsParser(Path("run"), nextflow_version="25.10.0").build_workflow("queue")
workflow.generate_json()
(task,) = workflow.workflow_json["workflow"]["execution"]["tasks"]
print(f"trace: started {row['start']}, realtime {row['realtime']}, duration {row['duration']}")
print(f"wfcommons: executedAt {task['executedAt']}, runtimeInSeconds {task['runtimeInSeconds']}")
assert task["runtimeInSeconds"] == 630, "changed: the runtime is another time"
assert task["executedAt"].startswith("2026-01-05T10:00:00"), "changed: the start is another time"
PYTHON
