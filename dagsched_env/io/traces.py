"""Problems by name: the real workflow traces that come with the package, classic job shops."""

from importlib.resources import files
from pathlib import Path

from dagsched_env.generators.job_shop import CLASSIC
from dagsched_env.problem.errors import DAGSchedError

FILES = {
    "1000genome": "1000genome-chameleon-2ch-100k-001.json",
    "blast": "blast-chameleon-small-001.json",
    "bwa": "bwa-chameleon-small-001.json",
    "cycles": "cycles-chameleon-1l-1c-9p-001.json",
    "epigenomics": "epigenomics-chameleon-hep-1seq-100k-001.json",
    "montage": "montage-chameleon-2mass-005d-001.json",
    "sarek": "sarek-dirt02-001.json",
    "seismology": "seismology-chameleon-100p-001.json",
    "soykb": "soykb-chameleon-10fastq-10ch-001.json",
    "srasearch": "srasearch-chameleon-10a-001.json",
    "viralrecon": "viralrecon-dirt02-001.json",
}

SHIPPED = FILES | {"ft06": "ft06.txt"}
"""Name of each problem that is a file of the package → this file."""

BUNDLED = tuple(FILES)
"""Names of the workflow traces, sorted."""

NAMES = (*BUNDLED, *CLASSIC)
"""Names that stand for files: but for ``ft06``, the job shops need the extra ``jobshop``."""


def bundled(name: str) -> Path:
    """Path of a trace or of the job shop ``ft06``, for ``load``.

    The README of the data folder names their sources.

    Raises:
        DAGSchedError: there is no trace of that name.
    """
    if name not in SHIPPED:
        raise DAGSchedError(f"no bundled trace {name!r}: there are {', '.join(SHIPPED)}")
    return Path(str(files("dagsched_env"))) / "data" / SHIPPED[name]
