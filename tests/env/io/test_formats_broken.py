"""A thousand broken files: one clear line each, no traceback, hang or file half written."""

import tracemalloc

import pytest

from dagsched_env import Instance, io
from dagsched_env.problem.errors import DAGSchedError
from helpers.broken_files import COUNT, Broken, broken_files

pytestmark = pytest.mark.filterwarnings(
    "ignore::dagsched_env.AssumptionWarning"  # here it does not matter what is assumed
)

CORPUS = broken_files()


def convert(path, out):
    """Load one file and save it as another; the error, or None."""
    try:
        io.save(io.load(path), out)
    except DAGSchedError as error:
        return error
    return None


@pytest.mark.timeout(10)
@pytest.mark.parametrize("broken", CORPUS, ids=lambda broken: broken.name)
def test_broken_file(tmp_path, broken: Broken, capfd):
    path = broken.write(tmp_path)
    out = tmp_path / "converted.json"
    error = convert(path, out)
    if error is None:
        assert isinstance(io.load(out), Instance)
    else:
        message = str(error)
        assert message.startswith(f"{path}: ")
        assert "\n" not in message
        assert len(message) < len(str(path)) + 300
        assert not out.exists()
    assert {p.name for p in tmp_path.iterdir()} <= {broken.name, out.name}
    assert capfd.readouterr() == ("", "")


def test_the_corpus_is_a_thousand_different_files_and_nearly_all_are_broken(tmp_path):
    assert len({broken.name for broken in CORPUS}) == len(CORPUS) == COUNT
    assert broken_files() == CORPUS
    rejected = sum(
        convert(broken.write(tmp_path), tmp_path / "out.json") is not None for broken in CORPUS
    )
    assert rejected > 0.75 * COUNT


def test_enormous_counts_allocate_nothing(tmp_path):
    tracemalloc.start()
    try:
        for broken in CORPUS:
            if broken.name.startswith(("enormous", "tables6", "wide", "own0", "own1", "embedded6")):
                convert(broken.write(tmp_path), tmp_path / "out.json")
        assert tracemalloc.get_traced_memory()[1] < 30e6
    finally:
        tracemalloc.stop()
