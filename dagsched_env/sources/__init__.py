"""Where problems come from: SPECs, what users add, and the sources of an environment.

In reading order:

- ``plugins``: schedulers, families and generators of users;
- ``parameters``: what families and platforms take, as text;
- ``specs``: problems as text, ``family:NAME?…`` and files with their machines;
- ``instances``: a function that draws, from any of these, and the padded sizes.
"""

from dagsched_env.sources.instances import (
    SUITE_PREFIX,
    Draw,
    InstanceList,
    Instances,
    Padding,
    as_instance,
    names_function,
    resolve_source,
)

__all__ = [
    "SUITE_PREFIX",
    "Draw",
    "InstanceList",
    "Instances",
    "Padding",
    "as_instance",
    "names_function",
    "resolve_source",
]
