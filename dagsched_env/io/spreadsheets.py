"""Names that a spreadsheet would take for formulas, with an apostrophe before them.

A spreadsheet computes a cell that begins with ``=``, ``+``, ``-`` or ``@``, and a formula can send
data away or start programs. In some countries a semicolon ends a cell, too. A byte order mark is
not seen, and may be dropped by who reads the cell.
"""

import re

from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms.altered import altered

FORMULA = re.compile(r"(?:^|(?<=;))(?=[=+\-@＝＋－＠'\ufeff])")
"""Where an apostrophe is put; also before another one, so that names stay distinct."""


def quoted(name: str) -> str:
    """The name as a text that no spreadsheet takes for a formula."""
    return FORMULA.sub("'", name)


def with_quoted_names(instance: Instance) -> Instance:
    """The same problem with all names ``quoted``."""
    renamed = instance.renamed(
        None if instance.name is None else quoted(instance.name),
        task_names=[quoted(name) for name in instance.task_names],
        processor_names=[quoted(name) for name in instance.processor_names],
    )
    if not instance.n_resources:
        return renamed
    return altered(renamed, resource_names=[quoted(name) for name in instance.resource_names])
