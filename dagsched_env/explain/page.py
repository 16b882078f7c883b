"""An explanation as one HTML page: what bounds the run, what if, and both charts on one scale."""

from collections.abc import Iterator
from os import PathLike
from pathlib import Path

import numpy as np

from dagsched_env.explain.analysis import Explanation
from dagsched_env.io.atomic import write_text
from dagsched_env.kernels.arrays import Floats
from dagsched_env.pictures.interactive import problem_data, schedule_data
from dagsched_env.pictures.page import Cell, asset, document, embed, plain, sortable_table
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.lanes import resource_use
from dagsched_env.problem.platforms.altered import altered
from dagsched_env.problem.schedule import Schedule


def save_page(explanation: Explanation, path: str | PathLike[str]) -> Path:
    """Write the page; it appears whole or not at all.

    Raises:
        OSError: the file cannot be written.
    """
    write_text(path, page(explanation))
    return Path(path)


def page(explanation: Explanation) -> str:
    """The page as text; script, style and data are inside, nothing is fetched."""
    e = explanation
    recorded = e.run.schedule()
    horizon = max(recorded.makespan, e.plan.makespan)
    charts = [
        _chart("recorded", recorded, as_it_ran(e.measured, recorded), horizon),
        _chart("planned", e.plan, e.instance, horizon),
    ]
    title = e.measured.name or e.run.tool
    body = [
        '<main class="explanation">',
        f"<h1>{plain(title)}: what bounds the run</h1>",
        *_figures(e),
        *(f'<div class="gantt">\n{asset("gantt.html")}</div>' for _ in charts),
        "<h2>What if</h2>",
        *_what_if(e),
        "<h2>What the run waited for</h2>",
        *_waited(e),
        "<h2>Longest chains of the graph</h2>",
        *_chains(e),
        "</main>",
        embed("data", charts),
    ]
    return document(
        f"{title}: explained",
        body,
        styles=[asset("page.css"), asset("gantt.css"), asset("explanation.css")],
        scripts=[asset("gantt.js"), asset("tables.js"), asset("explanation.js")],
    )


def as_it_ran(instance: Instance, recorded: Schedule) -> Instance:
    """The problem with room for all that ran at once: tools may share what they do not have."""
    if not instance.n_resources:
        return instance
    most: Floats = np.array([use.amount.max(axis=0) for use in resource_use(recorded, instance)])
    return altered(instance, capacities=np.maximum(instance.capacities, most))


def _chart(kind: str, schedule: Schedule, instance: Instance, horizon: float) -> dict[str, object]:
    data = problem_data(instance) | schedule_data(schedule, instance)
    figures = f"makespan {schedule.makespan:.6g} s"
    return data | {"title": kind, "figures": figures, "horizon": horizon}


def _figures(e: Explanation) -> Iterator[str]:
    span = e.run.makespan or 1.0
    facts = {
        "measured": f"{e.run.makespan:.4g} s by {e.run.tool}",
        "between tasks of its chain": f"{e.overhead:.3g} s",
        "planned": f"{e.plan.makespan:.4g} s, {e.plan.makespan / span:.3f} of measured",
        "lower bound": f"{e.lower_bound:.4g} s, set by {e.bounded_by}",
        "idle": ", ".join(
            f"{name} {share:.0%}"
            for name, share in zip(e.measured.processor_names, e.idle.tolist(), strict=True)
        ),
    }
    yield "<dl>"
    for name, value in facts.items():
        yield f"<dt>{name}</dt><dd>{plain(value)}</dd>"
    yield "</dl>"
    for text in e.measured.assumptions:
        yield f"<p>{plain(text)}</p>"


def _what_if(e: Explanation) -> Iterator[str]:
    span = e.run.makespan or 1.0
    rows: list[list[Cell | str]] = [
        [
            case.title,
            Cell(f"{case.makespan:.4g}", case.makespan),
            Cell(f"{case.makespan / span:.3f}", case.makespan / span),
            Cell(f"{case.lower_bound:.4g}", case.lower_bound),
        ]
        for case in e.what_if
    ]
    yield from sortable_table(("change", "planned (s)", "of the run", "lower bound (s)"), rows)


def _waited(e: Explanation) -> Iterator[str]:
    names = e.measured.task_names
    rows: list[list[Cell | str]] = [
        [
            names[step.task],
            step.waits_for,
            *(
                Cell(f"{seconds:.4g}", seconds)
                for seconds in (
                    step.gap,
                    float(e.run.start[step.task]),
                    float(e.run.finish[step.task]),
                )
            ),
        ]
        for step in e.waited
    ]
    yield from sortable_table(("task", "waits for", "gap (s)", "start (s)", "finish (s)"), rows)


def _chains(e: Explanation) -> Iterator[str]:
    names = e.measured.task_names
    rows: list[list[Cell | str]] = [
        [
            f"{names[chain.tasks[0]]} … {names[chain.tasks[-1]]}",
            Cell(str(len(chain.tasks)), len(chain.tasks)),
            Cell(f"{chain.seconds:.4g}", chain.seconds),
            Cell(f"{chain.slack:.4g}", chain.slack),
        ]
        for chain in e.chains
    ]
    yield from sortable_table(("from … to", "tasks", "seconds", "slack (s)"), rows)
