"""What the documents say of the repository: folders, links, paths, metrics."""

import dataclasses
import re
from collections import Counter
from pathlib import Path

import pytest

from aerl_trainer.learning.records import PolicyReport, TrainReport
from aerl_trainer.network.inference.metrics import InferenceRates
from aerl_trainer.run.records import EvalReport, EvaluationRow
from aerl_trainer.run.reporting.progress import Status, _quality, _work
from aerl_trainer.tree.records import SearchReport
from dagsched_env.comparison.compare import Row
from helpers import ROOT

DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("examples/**/*.md"),
    ]
)
HISTORY = {"CHANGELOG.md"}
"""It also names what is gone."""


REPORTS = [
    PolicyReport,
    TrainReport,
    SearchReport,
    EvalReport,
    EvaluationRow,
    InferenceRates,
    Row,
]


def text_of(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def anchors_of(path: Path) -> set[str]:
    """Anchors of a document's titles, as they are made on the web."""
    titles = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_the_architecture_describes_every_folder() -> None:
    text = text_of("ARCHITECTURE.md")
    folders = [
        path.parent.relative_to(ROOT).as_posix()
        for package in ("dagsched_env", "aerl_trainer")
        for path in (ROOT / package).rglob("__init__.py")
    ]
    roots = {"dagsched_env", "aerl_trainer"}
    rooms = [f for f in folders if f.count("/") == 1]
    missing = [f for f in rooms if not re.search(rf"`{f}/`.*: [\w`]", text)]
    within = {f.rpartition("/")[2] for f in folders if f.count("/") > 1}
    missing += [name for name in within if not re.search(rf"`(?:[\w/]*/)?{name}/`", text)]
    assert not missing
    assert all(f"\n## {root}\n" in text for root in roots)


def test_the_architecture_can_be_read_in_one_go() -> None:
    assert text_of("ARCHITECTURE.md").count("\n") <= 130


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    prose = re.sub(
        r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if "://" in link:
            continue
        file, _, anchor = link.partition("#")
        target = (path.parent / file) if file else path
        assert target.exists(), link
        assert not anchor or anchor in anchors_of(target), link


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_files_that_are_named_exist(path: Path) -> None:
    """Names with a folder of the repository in front, but for what the reader is to make."""
    if path.name in HISTORY:
        return
    named = re.findall(
        r"`((?:dagsched_env|aerl_trainer|tests|benchmarks|configs|examples|docs)/[\w./-]+)`",
        path.read_text(encoding="utf-8"),
    )
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_promise_has_its_test() -> None:
    """By its name, which no other test has."""
    defined = Counter(
        name
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    )
    table_row = re.compile(r"^\| [^|]+ \| [^|]+ \| (.+) \|$", re.MULTILINE)
    lines = [line for line in table_row.findall(text_of("docs/reliability.md")) if line != "test"]
    assert len(lines) > 20
    for line in lines:
        tests = re.findall(r"`(\w+)`", line)
        assert tests, line
        assert [name for name in tests if defined[name] != 1] == []


@pytest.mark.parametrize("report", REPORTS)
def test_the_glossary_explains_every_metric(report: type) -> None:
    text = text_of("docs/glossary.md")
    names = [field.name for field in dataclasses.fields(report)]
    assert [name for name in names if not re.search(rf"`([\w/]+/)?{name}`", text)] == []


def test_the_glossary_explains_the_status_line() -> None:
    text = text_of("docs/glossary.md")
    status = Status(jobs=1, mean_batch=1.0, loss=1.0)
    cells = [*_work(status), *_quality(status)]
    assert [name for name, _ in cells if f"`{name}`" not in text] == []
