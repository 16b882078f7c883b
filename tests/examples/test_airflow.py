"""The DAG file of Airflow: two runs of the real package, the second with measured priorities."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("airflow", reason="Airflow has an environment of its own: pytest from there")

ROOT = Path(__file__).parents[2]
TWICE = """
import json, sys
import airflow_priorities as example
from dagsched_env.history import History

print(json.dumps({t.task_id: t.priority_weight for t in example.dag.tasks}), file=sys.stderr)
example.dag.test()
example.set_priorities(example.dag, History())
print(json.dumps({t.task_id: t.priority_weight for t in example.dag.tasks}), file=sys.stderr)
"""


def test_the_second_run_has_priorities_by_measured_times(tmp_path):
    environment = os.environ | {
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "examples"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "XDG_DATA_HOME": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "examples")]),
    }
    airflow = str(Path(sys.executable).parent / "airflow")
    subprocess.run([airflow, "db", "migrate"], env=environment, check=True, capture_output=True)
    call = [sys.executable, "-c", TWICE]
    done = subprocess.run(call, env=environment, capture_output=True, text=True, check=True)
    before, after = (json.loads(x) for x in done.stderr.splitlines() if x.startswith("{"))
    assert before == {"fetch": 120, "train": 60, "check": 60}
    assert after["fetch"] > after["train"] >= 3 > after["check"]
