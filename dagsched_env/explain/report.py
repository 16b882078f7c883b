"""An explanation as text for a terminal, and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

from dagsched_env.explain.analysis import Explanation
from dagsched_env.pictures.labels import elide, one_line

STEPS = 12
"""Most tasks of a chain that the text shows."""
NAME = 40
"""Letters of the longest name in the text."""


def as_record(explanation: Explanation) -> dict[str, Any]:
    """All of it as JSON values: times in seconds, tasks by name."""
    e, names = explanation, explanation.measured.task_names
    return {
        "tool": e.run.tool,
        "tasks": e.measured.n_tasks,
        "machines": list(e.measured.processor_names),
        "remarks": list(e.measured.assumptions),
        "measured": e.run.makespan,
        "between_tasks": e.overhead,
        "planned": e.plan.makespan,
        "planned_on": list(e.instance.processor_names),
        "lower_bound": e.lower_bound,
        "bounded_by": e.bounded_by,
        "waited_for": [
            {
                "task": names[step.task],
                "start": float(e.run.start[step.task]),
                "finish": float(e.run.finish[step.task]),
                "waits_for": step.waits_for,
                "gap": step.gap,
            }
            for step in e.waited
        ],
        "longest_chains": [
            {
                "seconds": chain.seconds,
                "slack": chain.slack,
                "tasks": [names[t] for t in chain.tasks],
            }
            for chain in e.chains
        ],
        "idle": dict(zip(e.measured.processor_names, e.idle.tolist(), strict=True)),
        "what_if": [
            {"change": case.title, "planned": case.makespan, "lower_bound": case.lower_bound}
            for case in e.what_if
        ],
    }


def as_text(explanation: Explanation) -> str:
    """Lines for a terminal."""
    return "\n".join(_lines(explanation)) + "\n"


def _lines(e: Explanation) -> Iterator[str]:
    span, names = e.run.makespan, e.measured.task_names
    machines = _count(e.measured.n_processors, "machine")
    yield f"run          {e.run.tool}: {_count(e.measured.n_tasks, 'task')} on {machines}"
    for text in e.measured.assumptions:
        yield f"             {one_line(text)}"
    yield f"measured     {_time(span)}, of which {_time(e.overhead)} between tasks of its chain"
    yield f"planned      {_time(e.plan.makespan)}, {_share(e.plan.makespan, span)} of measured"
    for text in e.instance.assumptions:
        if text not in e.measured.assumptions:
            yield f"             {one_line(text)}"
    yield f"lower bound  {_time(e.lower_bound)}, set by {e.bounded_by}"
    yield ""
    yield "what the run waited for, in the order of time:"
    rows: list[tuple[str, ...]] = [
        (
            _time(float(e.run.start[step.task])),
            _time(float(e.run.finish[step.task])),
            _time(step.gap),
            step.waits_for,
            elide(one_line(names[step.task]), NAME),
        )
        for step in e.waited
    ]
    yield from _table(("start", "finish", "gap", "waits for", "task"), _shortened(rows))
    yield ""
    yield "longest chains of the graph:"
    chains = [
        (_time(c.seconds), _time(c.slack), str(len(c.tasks)), _path([names[t] for t in c.tasks]))
        for c in e.chains
    ]
    yield from _table(("seconds", "slack", "tasks", "from … to"), chains)
    yield ""
    yield "idle until the end:"
    for name, share in zip(e.measured.processor_names, e.idle.tolist(), strict=True):
        yield f"  {share:>6.1%}  {one_line(name)}"
    yield ""
    yield "what if:"
    cases = [
        (_time(case.makespan), _share(case.makespan, span), _time(case.lower_bound), case.title)
        for case in e.what_if
    ]
    yield from _table(("planned", "of run", "bound", "change"), cases)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns to the right, but for the last one."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head) - 1)]
    for row in (head, *rows):
        cells = [text.rjust(width) for text, width in zip(row, widths, strict=False)]
        yield "  " + "  ".join([*cells, row[-1]])


def _shortened(rows: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The first and the last rows of many."""
    if len(rows) <= STEPS:
        return rows
    left_out = len(rows) - STEPS
    gap = ("", "", "", "", f"… {left_out} more")
    return [*rows[: STEPS // 2], gap, *rows[-STEPS // 2 :]]


def _path(names: Sequence[str]) -> str:
    first, last = (elide(one_line(name), NAME) for name in (names[0], names[-1]))
    return first if len(names) == 1 else f"{first} … {last}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _time(seconds: float) -> str:
    return f"{seconds:.4g} s" if seconds < 10000 else f"{seconds:.0f} s"


def _share(part: float, whole: float) -> str:
    return f"{part / whole:.3f}" if whole else "-"
