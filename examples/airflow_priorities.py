"""Airflow starts first what has the longest way to the end: priorities from measured times.

A DAG file of Airflow 3. Each task has as ``priority_weight`` its rank_u: the seconds from its start
to the end of the run, by what earlier runs took. ``dagsched history`` shows what is known.
"""

from datetime import UTC, datetime
from typing import Any

import numpy as np
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

from dagsched_env import Instance
from dagsched_env.history import History

UNKNOWN_S = 60.0


def set_priorities(dag: DAG, history: History) -> None:
    """Give all tasks of a DAG priorities, and let each remember what it takes."""
    place = {task.task_id: i for i, task in enumerate(dag.tasks)}
    known = history.of("airflow")
    found = [known.estimate(dag.dag_id, name) for name in place]
    seconds = [UNKNOWN_S if e is None or e.basis == "tool" else e.seconds for e in found]
    edges = [(place[t.task_id], place[v]) for t in dag.tasks for v in t.downstream_task_ids]
    instance = Instance(np.array(seconds)[:, None], edges, np.zeros(len(edges)))
    for task, rank in zip(dag.tasks, instance.rank_u, strict=True):
        task.priority_weight = max(1, round(float(rank)))
        task.weight_rule = "absolute"  # the rank counts what is behind a task already
        task.on_success_callback = [lambda context: remember(context, history)]


def remember(context: dict[str, Any], history: History) -> None:
    """Keep the duration of a task that has succeeded."""
    task = context["ti"]
    now = datetime.now(UTC)  # noqa: TID251 - Airflow has dates alone
    seconds = (now - task.start_date).total_seconds()
    history.add_task("airflow", task.dag_id, task.task_id, seconds)


with DAG("nightly") as dag:
    fetch = BashOperator(task_id="fetch", bash_command="sleep 1")
    train = BashOperator(task_id="train", bash_command="sleep 3")
    check = BashOperator(task_id="check", bash_command="true")
    fetch >> [train, check]
    set_priorities(dag, History())
