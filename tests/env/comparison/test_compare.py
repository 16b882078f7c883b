"""Comparison of schedulers: means, ratios, wins, ties and losses on hand-checkable numbers."""

import csv
import io

import numpy as np
import pytest

from dagsched_env import Instance, Schedule
from dagsched_env.comparison.compare import (
    Comparison,
    Row,
    compare,
    count_wins,
    format_pairwise,
    format_table,
    mean_ratio,
    ratios,
    relative,
    summarise,
    to_csv,
    wilcoxon_p,
)
from dagsched_env.problem.errors import DAGSchedError, InvalidScheduleError
from dagsched_env.schedulers import eft_greedy, heft


def chain(cost):
    """Two tasks in a row; CP_MIN = 2·cost."""
    return Instance([[cost, 2 * cost]] * 2, [(0, 1)], [1], name=f"chain-{cost}")


INSTANCES = [chain(1), chain(2), chain(5)]


def on_slow_processor(instance):
    cost = instance.comp[0, 1]
    return Schedule([1, 1], [0, cost], [cost, 2 * cost])


def test_compare_keeps_the_order_and_reports_progress():
    seen = []
    result = compare(
        INSTANCES,
        {"slow": on_slow_processor, "heft": heft},
        progress=lambda done, total: seen.append((done, total)),
    )
    assert result.makespans == {"slow": [4, 8, 20], "heft": [2, 4, 10]}
    assert list(result.makespans) == list(result.seconds) == ["slow", "heft"]
    assert all(second > 0 for seconds in result.seconds.values() for second in seconds)
    assert seen == [(i, 6) for i in range(1, 7)]
    assert result.schedules["heft"] == [heft(instance) for instance in INSTANCES]


def test_compare_refuses_an_invalid_schedule():
    def overlapping(instance):
        cost = instance.comp[0, 0]
        return Schedule([0, 0], [0, 0], [cost, cost])

    with pytest.raises(InvalidScheduleError, match="cheat on chain-1: tasks 0 and 1 overlap"):
        compare(INSTANCES, {"cheat": overlapping})


def test_summary_by_hand():
    makespans = {"heft": [2.0, 4.0, 10.0], "a": [1.0, 4.0 + 1e-12, 20.0], "b": [2.2, 4.4, 11.0]}
    rows = summarise(makespans, INSTANCES)
    assert [row.name for row in rows] == ["heft", "a", "b"]
    assert rows[0] == Row("heft", mean_slr=1.0, ratio_to_reference=1.0, wins=0, ties=3, losses=0)
    a, b = rows[1:]
    assert (a.wins, a.ties, a.losses) == (1, 1, 1)
    assert rows[0].p_value is None
    assert rows[2].p_value == pytest.approx(0.25)  # three of three on one side: 2 / 2**3
    assert a.mean_slr == pytest.approx((0.5 + 1 + 2) / 3)
    assert a.ratio_to_reference == pytest.approx((0.5 + 1 + 2) / 3)
    assert (b.wins, b.ties, b.losses) == (0, 0, 3)
    assert b.ratio_to_reference == pytest.approx(1.1)


def test_another_reference():
    makespans = {"x": [2.0, 4.0, 10.0], "y": [4.0, 8.0, 20.0]}
    x, y = summarise(makespans, INSTANCES, reference="y")
    assert (x.ratio_to_reference, x.wins) == (0.5, 3)
    assert (y.ratio_to_reference, y.ties) == (1.0, 3)


def test_ratio_is_the_mean_of_ratios_not_the_ratio_of_means():
    rows = summarise({"heft": [1.0, 100.0, 1.0], "a": [2.0, 100.0, 1.0]}, INSTANCES)
    assert rows[1].ratio_to_reference == pytest.approx(4 / 3)


def test_ratios_of_makespans_of_zero():
    assert ratios([3.0, 0.0, 2.0, 0.0], np.array([2.0, 0.0, 0.0, 4.0])) == [1.5, 1.0, np.inf, 0.0]
    assert mean_ratio(np.array([3.0, 0.0]), [2.0, 0.0]) == 1.25


def test_free_instances():
    free = [Instance([[0.0]], [], [])]
    rows = summarise({"heft": [0.0], "a": [0.0], "b": [1.0]}, free)
    assert [row.ratio_to_reference for row in rows] == [1.0, 1.0, np.inf]
    assert [row.ties for row in rows] == [1, 1, 0]


@pytest.mark.parametrize(
    ("makespans", "instances", "message"),
    [
        ({"heft": []}, [], "no instances"),
        ({"a": [1, 1, 1]}, INSTANCES, "reference 'heft'"),
        ({"heft": [1, 1]}, INSTANCES, "heft has 2 makespans for 3 instances"),
        ({"heft": [1, 1, 1], "a": [1, np.nan, 1]}, INSTANCES, "a has a makespan"),
    ],
)
def test_bad_tables_are_refused(makespans, instances, message):
    with pytest.raises(DAGSchedError, match=message):
        summarise(makespans, instances)


def test_table_text():
    rows = [Row("heft", 1.5, 1.0, 0, 40, 0), Row("a long name", 12.25, 0.87654, 38, 1, 1)]
    assert format_table(rows).splitlines() == [
        "scheduler    mean SLR  vs heft  wins  ties  losses",
        "--------------------------------------------------",
        "heft            1.500   1.0000     0    40       0",
        "a long name    12.250   0.8765    38     1       1",
    ]
    assert "vs eft_greedy" in format_table(rows, reference="eft_greedy")


def test_real_schedulers_end_to_end():
    makespans = compare(INSTANCES, {"heft": heft, "eft_greedy": eft_greedy})
    assert [row.ties for row in summarise(makespans.makespans, INSTANCES)] == [3, 3]


def test_seconds_are_averaged():
    rows = summarise({"heft": [1.0] * 3}, INSTANCES, seconds={"heft": [1.0, 2.0, 6.0]})
    assert rows[0].mean_seconds == 3.0
    table = format_table([*rows, Row("best known", 1.0, 1.0, 0, 3, 0)]).splitlines()
    assert table[0].split()[-1] == "ms"
    assert [line.split()[-1] for line in table[2:]] == ["3e+03", "-"]


def test_wilcoxon_on_many_pairs():
    rng = np.random.default_rng(0)
    ones = np.ones(200)
    assert wilcoxon_p(np.exp(rng.normal(0.0, 0.1, 200)), ones) > 0.05
    assert wilcoxon_p(np.exp(rng.normal(-0.05, 0.1, 200)), ones) < 1e-6
    assert wilcoxon_p(ones, ones) is None


def test_wilcoxon_is_of_differences_where_something_is_0():
    assert wilcoxon_p([3.0, 1.0, 2.0, 5.0, 4.0, 6.0], [0.0] * 6) == pytest.approx(2 / 2**6)
    assert wilcoxon_p([0.0, 3.0], [0.0, 3.0]) is None


def test_of_what_is_often_0_the_means_are_compared():
    bases = [0.0, 4.0, 0.0, 8.0]
    assert relative([3.0, 1.0, 2.0, 6.0], bases, "tardiness")[0] == 1.0
    assert relative(bases, bases, "tardiness") == (1.0, 0.0)
    found, error = relative([1.0, 0.0], [0.0, 0.0], "tardiness")
    assert (found, np.isnan(error)) == (np.inf, True)
    assert relative([2.0, 6.0], [1.0, 2.0]) == pytest.approx((2.5, 0.5))
    assert np.isnan(relative([2.0], [1.0])[1])
    rows = summarise({"heft": bases[:3], "a": [1.0, 1.0, 0.0]}, INSTANCES, measure="tardiness")
    assert rows[1].ratio_to_reference == 0.5


def test_the_error_of_a_ratio_of_means_is_about_its_spread():
    rng = np.random.default_rng(0)
    bases = np.maximum(rng.normal(1.0, 1.0, (2000, 50)), 0.0)
    values = 0.8 * bases + np.maximum(rng.normal(0.0, 0.3, bases.shape), 0.0)
    found = [relative(v, b, "tardiness") for v, b in zip(values, bases, strict=True)]
    spread = np.std([ratio for ratio, _ in found])
    assert np.mean([error for _, error in found]) == pytest.approx(spread, rel=0.05)


def test_pairwise_counts():
    makespans = {"a": [1.0, 2.0, 3.0], "b": [1.0, 3.0, 2.5]}
    assert count_wins(makespans["a"], makespans["b"]) == (1, 1, 1)
    assert format_pairwise(makespans).splitlines() == [
        "wins/ties/losses      a      b",
        "------------------------------",
        "a                     -  1/1/1",
        "b                 1/1/1      -",
    ]


def test_csv_has_every_schedule():
    makespans = {"heft": [2.0, 4.0, 10.0], "a,b": [2.0, 5.0, 10.5]}
    text = to_csv(Comparison(makespans, {"heft": [0.5] * 3, "a,b": [0.25] * 3}), INSTANCES)
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 6
    assert rows[3] == {
        "instance": "chain-2",
        "tasks": "2",
        "processors": "2",
        "edges": "1",
        "scheduler": "a,b",
        "makespan": "5.0",
        "slr": "1.25",
        "seconds": "0.25",
        "assumed": "",
    }
