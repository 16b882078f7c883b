"""Parts of HTML pages: shell, tables, performance profiles."""

import json
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from dagsched_env.pictures.page import Cell, document, embed, plain, sortable_table, sorting
from dagsched_env.pictures.profile import COLOURS, DASHES, GREY, LEFT, RIGHT, WIDTH, profile_figure


def table(*arguments: object, **options: object) -> ElementTree.Element:
    return ElementTree.fromstring("\n".join(sortable_table(*arguments, **options)))


def test_tables_can_be_sorted_from_the_keyboard_and_without_colours() -> None:
    root = table(["name", "<ratio>"], [["b<", Cell("1.5", 1.5)], ["a", Cell("<i>x</i>")]], best=[1])
    heads = root.findall(".//thead/tr/th")
    assert [head.attrib["scope"] for head in heads] == ["col", "col"]
    assert [head.find("button").text for head in heads] == ["name", "<ratio>"]
    rows = root.findall(".//tbody/tr")
    assert [row.attrib.get("class") for row in rows] == [None, "best"]
    assert rows[0][0].text == "b<"
    assert rows[0][1].attrib == {"data-value": "1.5"}
    assert rows[1][1].find("i").text == "x"
    assert "aria-sort" in sorting()


def test_values_for_sorting_are_numbers_of_javascript() -> None:
    root = table(["v"], [[Cell("∞", float("inf"), best=True)], [Cell("0", 0.0)]])
    cells = root.findall(".//td")
    assert [cell.attrib["data-value"] for cell in cells] == ["Infinity", "0.0"]
    assert [cell.attrib.get("class") for cell in cells] == ["best", None]


def test_document_and_data() -> None:
    data = {"</script>": ["<!--", "\ud800"]}
    page = document("<title>", [embed("d", data)], styles=["b {}"], scripts=["f();"])
    assert page.startswith("<!DOCTYPE html>")
    assert "<title>&lt;title&gt;</title>" in page
    assert page.count("</script>") == 2
    assert json.loads(re.search(r'id="d">(.*)</script>', page).group(1)) == data
    assert "<script>" not in document("t", [], styles=[])
    assert plain("a\n<\ud800\x00") == "a &lt;\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}"
    with pytest.raises(ValueError, match="JSON"):
        embed("d", [float("nan")])


def steps(path: str) -> list[tuple[float, float]]:
    """Corners of a path of M, H and V."""
    x, y = map(float, re.match(r"M([\d.]+) ([\d.]+)", path).groups())
    corners = [(x, y)]
    for letter, number in re.findall(r"([HV])([\d.]+)", path):
        x, y = (float(number), y) if letter == "H" else (x, float(number))
        corners.append((x, y))
    return corners


def test_profiles_are_shares_of_instances() -> None:
    """a: 1, 1, 1.2, 2 and b: 1.1, 1.5, never, never; the axis ends at the 0.9 quantile, 1.75."""
    ratios = {"b<": [1.1, np.inf, 1.5, np.inf], "a": [1.0, 2.0, 1.2, 1.0]}
    root = ElementTree.fromstring(profile_figure(ratios))
    assert [item[0].tail for item in root.find("ul")] == ["a", "b<"]
    paths = {
        path.find("title").text: steps(path.attrib["d"]) for path in root.findall("svg/g/path")
    }
    end = float(np.quantile([1.0, 1.0, 1.1, 1.2, 1.5, 2.0], 0.9))
    bottom, top = paths["a"][0][1], 8.0
    for name, expected in (("a", [(1.0, 0.5), (1.2, 0.75)]), ("b<", [(1.1, 0.25), (1.5, 0.5)])):
        corners = paths[name][2:-1:2]
        factors = [1 + (x - LEFT) / (WIDTH - LEFT - RIGHT) * (end - 1) for x, _ in corners]
        shares = [(bottom - y) / (bottom - top) for _, y in corners]
        assert list(zip(factors, shares, strict=True)) == [
            pytest.approx(point, abs=1e-3) for point in expected
        ]
        assert paths[name][-1][0] == WIDTH - RIGHT


def test_lines_of_many_schedulers_differ_until_they_are_grey() -> None:
    styles = len(COLOURS) * len(DASHES)
    ratios = {f"s{i}": [1.0 + i / 100] for i in range(styles + 4)}
    root = ElementTree.fromstring(profile_figure(ratios))
    looks = [(p.attrib["stroke"], p.attrib["stroke-dasharray"]) for p in root.findall("svg/g/path")]
    assert len(set(looks)) == styles + 1
    assert [colour for colour, _ in looks[:4]] == [GREY] * 4  # drawn first, below the others


@pytest.mark.parametrize(
    "ratios", [{"a": [1.0]}, {"a": [np.inf]}, {"a": [1.0, 1.0], "b": [1e9, 3.0]}]
)
def test_profiles_of_few_or_extreme_ratios(ratios: dict[str, list[float]]) -> None:
    root = ElementTree.fromstring(profile_figure(ratios))
    assert len(root.findall("svg/g/path")) == len(ratios)
    assert 2 <= len(root.findall("svg/text")) < 25
