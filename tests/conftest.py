"""Settings and fixtures that all tests share."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

from dagsched_env.cli import compilation
from dagsched_env.problem.instance import Instance
from helpers.oracles import paper_instance

os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's threads wait for each other on busy cores

_data = tempfile.TemporaryDirectory()
os.environ["XDG_DATA_HOME"] = _data.name  # no test changes the history of who runs it

settings.register_profile("reproducible", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("brief", deadline=None, derandomize=True, max_examples=10)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "reproducible"))


SLOWEST = (
    *("trainer/runtime/test_ray.py", "trainer/run/test_training.py"),
    *("project/test_benchmarks.py", "trainer/runtime/test_faults.py"),
    *("trainer/runtime/test_runtime.py", "trainer/cli/test_aerl_cli.py"),
    *("project/test_site.py", "project/test_examples.py"),
)
"""Files of a minute and more, the longest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slowest files come first: begun at the end, one of them would keep one process busy."""
    ranks = {Path(__file__).parent / name: rank for rank, name in enumerate(SLOWEST)}
    items.sort(key=lambda item: ranks.get(item.path, len(SLOWEST)))


@pytest.fixture(autouse=True)
def quiet_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a command has to compile depends on the tests before it."""
    monkeypatch.setattr(compilation, "announce", lambda program: None)


@pytest.fixture(scope="session", autouse=True)
def logs_of_stable_baselines(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Otherwise each model that learns leaves a folder among the temporary files."""
    os.environ["SB3_LOGDIR"] = str(tmp_path_factory.mktemp("sb3"))


@pytest.fixture(scope="session")
def topcuoglu() -> Instance:
    """The 10-task graph of Topcuoglu, Hariri, Wu 2002, fig. 2: three processors."""
    return paper_instance("Topcuoglu2002")


@pytest.fixture(scope="session")
def gap_instance() -> Instance:
    """Task 1 waits on P1 for 10 units of data until 12; task 2 fits into the gap before it.

    HEFT places 0, 1, 2 (ranks 17, 5, 3): makespan 17 with insertion, 20 without.
    """
    inf = float("inf")
    return Instance([[2, inf], [inf, 5], [inf, 3]], [(0, 1)], [10])
