"""The real workflow traces that come with the package."""

from importlib.resources import files
from pathlib import Path

from dagsched_env.errors import DAGSchedError

__all__ = ["BUNDLED", "bundled"]

FILES = {
    "1000genome": "1000genome-chameleon-2ch-100k-001.json",
    "epigenomics": "epigenomics-chameleon-hep-1seq-100k-001.json",
    "montage": "montage-chameleon-2mass-005d-001.json",
}

BUNDLED = tuple(FILES)
"""Names of the traces, sorted."""


def bundled(name: str) -> Path:
    """Path of a trace, for ``load``; the data folder's README says where they come from.

    Raises:
        DAGSchedError: there is no trace of that name.
    """
    if name not in FILES:
        raise DAGSchedError(f"no bundled trace {name!r}: there are {', '.join(BUNDLED)}")
    return Path(str(files("dagsched_env"))) / "data" / FILES[name]
