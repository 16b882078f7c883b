"""A Gantt chart as one self-contained HTML page: zoom, details on hover, critical path."""

import json
from importlib.resources import files
from pathlib import Path

from dagsched_env.critical import critical_chain
from dagsched_env.instance import Instance
from dagsched_env.io.atomic import write_text
from dagsched_env.kernels.graph.csr import depths
from dagsched_env.render.gantt import require_fit
from dagsched_env.schedule import Schedule

__all__ = ["gantt_page", "save_page"]

PLACEHOLDER = "@DATA@"


def gantt_page(schedule: Schedule, instance: Instance) -> str:
    """The page as text; script, style and data are inside, nothing is fetched.

    Args:
        schedule: complete and valid.
        instance: its problem: gives names, edges, and the depths that colour the tasks.

    Raises:
        InvalidScheduleError: the schedule is not a schedule of this instance.
    """
    require_fit(schedule, instance)
    schedule.validate(instance)
    template = (files("dagsched_env") / "data" / "gantt.html").read_text(encoding="utf-8")
    # Inside a script element only "<" can end the data too early.
    data = json.dumps(_record(schedule, instance), allow_nan=False).replace("<", "\\u003c")
    return template.replace(PLACEHOLDER, data)


def save_page(schedule: Schedule, path: str | Path, instance: Instance) -> Path:
    """Write ``gantt_page``; the file appears whole or not at all.

    Args:
        schedule: complete and valid.
        path: the file to write.
        instance: the problem of the schedule.

    Raises:
        InvalidScheduleError: the schedule is not a schedule of this instance.
        OSError: the file cannot be written.
    """
    write_text(path, gantt_page(schedule, instance))
    return Path(path)


def _record(schedule: Schedule, instance: Instance) -> dict[str, object]:
    g = instance.arrays
    labels = [part for part in (instance.name, schedule.algorithm) if part]
    slr = schedule.slr(instance)
    return {
        "title": " · ".join(labels) or "schedule",
        "figures": f"makespan {schedule.makespan:g} · SLR {slr:.3f}",
        "makespan": schedule.makespan,
        "horizon": max(schedule.makespan, instance.lower_bound),
        "processors": list(instance.processor_names),
        "tasks": list(instance.task_names),
        "processor": schedule.processor.tolist(),
        "start": schedule.start.tolist(),
        "finish": schedule.finish.tolist(),
        "edges": instance.edges.tolist(),
        "depth": depths(g.pred_ptr, g.pred_task, g.topo).tolist(),
        "chain": [list(link) for link in critical_chain(schedule, instance)],
    }
