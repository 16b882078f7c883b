"""A comparison of schedulers as one HTML page: tables, profiles, and a chart of each schedule."""

import math
from collections.abc import Iterator, Mapping, Sequence

from dagsched_env.comparison.compare import (
    OFTEN_ZERO,
    TIE_TOLERANCE,
    Comparison,
    Row,
    ratio,
    ratios,
    relative,
    summarise,
)
from dagsched_env.pictures.interactive import problem_data, schedule_data
from dagsched_env.pictures.labels import elide, one_line, short_labels
from dagsched_env.pictures.page import Cell, asset, document, embed, plain, sortable_table, sorting
from dagsched_env.pictures.profile import profile_figure
from dagsched_env.problem.instance import Instance

__all__ = ["MAX_CHART_SIZE", "comparison_page"]

MAX_CHART_SIZE = 100_000
"""Tasks of all schedules and edges of all graphs that a page holds for its charts; some 5 MB."""
MAX_HORIZON = 1.5
"""Charts of an instance have one scale of time, but for those that last so much longer."""
NAME_LENGTH = 40
HEADING_LENGTH = 28

SUMMARY_NOTE = (
    "vs: {versus}; less is better. wins, ties, losses: against {reference}. p: Wilcoxon’s "
    "signed-rank test against {reference}. ms: mean wall time of a call."
)
MEAN_OF_RATIOS = "mean of {measure} / that of {reference}, or / the best of each instance"
RATIO_OF_MEANS = "mean {measure} / that of {reference}, or / that of the best of each instance"
PROFILE_NOTE = (
    "For each factor on the horizontal axis: the share of the instances on which the {measure} is "
    "at most so many times the best one of all schedulers here. Higher and further left is better. "
    "The axis ends where nine of ten ratios lie."
)
RATIOS_NOTE = (
    '{measure} / the best of the instance; the best ones are <span class="key">marked</span>. '
)


def comparison_page(
    comparison: Comparison,
    instances: Sequence[Instance],
    reference: str = "heft",
    *,
    title: str = "Schedulers side by side",
    facts: Mapping[str, str] | None = None,
) -> str:
    """The page as text; scripts, style and data are inside, nothing is fetched.

    A click on a ratio opens the interactive chart of that schedule, which is the one of the
    comparison: nothing is computed again. A page holds charts of the first instances that fit into
    ``MAX_CHART_SIZE``, and says so.

    Args:
        comparison: of ``compare``; more makespans, such as the best known ones, may be added. They
            have no schedules.
        instances: the problems, in the same order.
        reference: the scheduler with which the others are compared.
        title: what was compared, plain text.
        facts: how it was compared: name → plain text.

    Raises:
        DAGSchedError: as of ``summarise``.
    """
    rows = summarise(
        comparison.makespans, instances, reference, comparison.seconds, comparison.measure
    )
    best = [min(column) for column in zip(*comparison.makespans.values(), strict=True)]
    names = short_labels(
        [instance.name or f"instance {i}" for i, instance in enumerate(instances)], NAME_LENGTH
    )
    shown = _instances_with_charts(comparison, instances)
    what = comparison.measure.replace("_", " ")
    to_best = {name: ratios(values, best) for name, values in comparison.makespans.items()}
    body = [
        f"<h1>{plain(one_line(title))}</h1>",
        *_facts(facts or {}),
        "<h2>Summary</h2>",
        *_summary(rows, comparison, best, reference),
        "<h2>Performance profiles</h2>",
        f'<p class="quiet">{plain(PROFILE_NOTE.format(measure=what))}</p>',
        profile_figure(to_best, what),
        "<h2>Instances</h2>",
        f'<p class="quiet">{RATIOS_NOTE.format(measure=what.capitalize())}'
        f"{_chart_note(len(shown), len(instances))}</p>",
        *_instances(comparison, instances, best, names, shown),
    ]
    if shown:
        body += [
            '<dialog class="gantt"><form method="dialog"><label>schedule '
            "<select></select></label><button>Close</button></form>",
            asset("gantt.html"),
            "</dialog>",
            *(
                embed(f"instance-{i}", _charts(comparison, instances[i], i, names[i]))
                for i in sorted(shown)
            ),
        ]
    return document(
        one_line(title),
        body,
        styles=[asset("page.css"), asset("gantt.css"), asset("comparison.css")],
        scripts=[sorting(), asset("gantt.js"), asset("comparison.js")],
    )


def _facts(facts: Mapping[str, str]) -> Iterator[str]:
    if facts:
        entries = (f"<dt>{plain(name)}</dt><dd>{plain(text)}</dd>" for name, text in facts.items())
        yield f'<dl class="facts">{"".join(entries)}</dl>'


def _summary(
    rows: Sequence[Row], comparison: Comparison, best: Sequence[float], reference: str
) -> Iterator[str]:
    """A row per scheduler, least mean ratio to the best first."""
    to_best = {
        row.name: relative(comparison.makespans[row.name], best, comparison.measure)[0]
        for row in rows
    }
    ordered = sorted(rows, key=lambda row: to_best[row.name])
    slr = comparison.measure == "makespan"
    headings = ["scheduler", "vs best", f"vs {elide(reference, HEADING_LENGTH)}"]
    headings += ["mean SLR"] if slr else []
    headings += ["wins", "ties", "losses", "p", "ms"]
    cells: list[list[Cell | str]] = [
        [
            elide(row.name, NAME_LENGTH),
            _number(to_best[row.name], ".4f"),
            _number(row.ratio_to_reference, ".4f"),
            *([_number(row.mean_slr, ".3f")] if slr else []),
            *(str(count) for count in (row.wins, row.ties, row.losses)),
            _number(row.p_value, ".2g"),
            _number(None if row.mean_seconds is None else 1000 * row.mean_seconds, ".3g"),
        ]
        for row in ordered
    ]
    least = to_best[ordered[0].name]
    what = comparison.measure.replace("_", " ")
    versus = RATIO_OF_MEANS if comparison.measure in OFTEN_ZERO else MEAN_OF_RATIOS
    named = {"reference": elide(reference, NAME_LENGTH), "measure": what}
    note = SUMMARY_NOTE.format(versus=versus.format(**named), **named)
    yield f'<p class="quiet">{plain(note)}</p>'
    yield from sortable_table(
        headings, cells, best=[i for i, row in enumerate(ordered) if to_best[row.name] == least]
    )


def _number(value: float | None, form: str) -> Cell:
    return Cell("-") if value is None else Cell(format(value, form), value)


def _instances_with_charts(comparison: Comparison, instances: Sequence[Instance]) -> set[int]:
    """Positions of the instances whose schedules are kept on the page."""
    room = MAX_CHART_SIZE
    shown = set()
    for i, instance in enumerate(instances):
        schedules = sum(i < len(kept) for kept in comparison.schedules.values())
        size = instance.n_edges + instance.n_tasks * schedules
        if schedules and size <= room:
            room -= size
            shown.add(i)
    return shown


def _chart_note(shown: int, total: int) -> str:
    if not shown:
        return "The page holds no charts."
    if shown == total:
        return "A click on a ratio opens the Gantt chart of the schedule."
    return (
        "A click on an underlined ratio opens the Gantt chart of the schedule. The page holds the "
        f"charts of {shown} of {total} instances: at most {MAX_CHART_SIZE} tasks and edges in all."
    )


def _instances(
    comparison: Comparison,
    instances: Sequence[Instance],
    best: Sequence[float],
    names: Sequence[str],
    shown: set[int],
) -> Iterator[str]:
    """A row per instance with the ratio of each scheduler."""
    schedulers = list(comparison.makespans)
    headings = ["instance", "tasks", "processors", "best"]
    headings += [elide(name, HEADING_LENGTH) for name in schedulers]
    rows = []
    for i, instance in enumerate(instances):
        full = plain(one_line(instance.name or names[i]))
        row = [
            Cell(f'<span title="{full}">{plain(names[i])}</span>'),
            Cell(str(instance.n_tasks)),
            Cell(str(instance.n_processors)),
            Cell(f"{best[i]:.6g}", best[i]),
        ]
        row += [_ratio(comparison, i, j, best[i], i in shown) for j in range(len(schedulers))]
        rows.append(row)
    yield from sortable_table(headings, rows, kind="numbers ratios")


def _ratio(comparison: Comparison, i: int, j: int, best: float, chart: bool) -> Cell:
    """Of scheduler j on instance i, with a button if its chart is on the page."""
    name, makespans = list(comparison.makespans.items())[j]
    to_best = ratio(makespans[i], best)
    hint = f"{elide(name, NAME_LENGTH)}: {comparison.measure} {makespans[i]:.6g}"
    if name in comparison.seconds:
        hint += f", {1000 * comparison.seconds[name][i]:.3g} ms"
    text = f"{to_best:.4f}"
    if chart and name in comparison.schedules:
        html = (
            f'<button type="button" data-instance="{i}" data-scheduler="{j}" '
            f'title="{plain(hint)}">{text}</button>'
        )
    else:
        html = f'<span title="{plain(hint)}">{text}</span>'
    is_best = math.isclose(makespans[i], best, rel_tol=TIE_TOLERANCE)
    return Cell(html, to_best, best=is_best)


def _charts(comparison: Comparison, instance: Instance, i: int, name: str) -> dict[str, object]:
    """What the charts of instance i show."""
    data = problem_data(instance)
    schedules = {
        j: (scheduler, comparison.schedules[scheduler][i])
        for j, scheduler in enumerate(comparison.makespans)
        if scheduler in comparison.schedules
    }
    makespans = [schedule.makespan for _, schedule in schedules.values()]
    data["horizon"] = min(max(makespans), MAX_HORIZON * min(makespans))
    data["schedules"] = {
        j: {
            **schedule_data(schedule, instance),
            "title": f"{name} · {elide(scheduler, NAME_LENGTH)}",
            "scheduler": elide(scheduler, NAME_LENGTH),
        }
        for j, (scheduler, schedule) in schedules.items()
    }
    return data
