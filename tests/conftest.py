"""Settings and fixtures that all tests share."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from dagsched_env.cli import compilation
from dagsched_env.instance import Instance
from helpers.oracles import paper_instance

SOURCES = Path(__file__).parents[1]


def drop_stale_machine_code() -> None:
    """Numba looks at a kernel's own file alone, not at those of the kernels that it calls."""
    for package in ("dagsched_env", "aerl_trainer"):
        cached = list((SOURCES / package).rglob("*.nb[ic]"))
        newest = max(path.stat().st_mtime for path in (SOURCES / package).rglob("*.py"))
        if cached and min(path.stat().st_mtime for path in cached) < newest:
            for path in cached:
                path.unlink(missing_ok=True)


drop_stale_machine_code()
os.environ.setdefault("OMP_NUM_THREADS", "1")  # torch's threads wait for each other on busy cores

settings.register_profile("reproducible", deadline=None, derandomize=True, max_examples=60)
settings.register_profile("thorough", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "reproducible"))


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
