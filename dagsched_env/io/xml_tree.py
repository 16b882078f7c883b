"""Elements and attributes of a parsed XML tree; the namespaces of elements are ignored."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dagsched_env.problem.errors import FormatError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def local_name(element: "Element") -> str:
    """Tag without its namespace."""
    return str(element.tag).rpartition("}")[2]


def children(element: "Element", tag: str) -> Iterator["Element"]:
    """Direct children whose local name is ``tag``."""
    return (child for child in element if local_name(child) == tag)


def attribute(element: "Element", name: str, where: str) -> str:
    """An attribute; a FormatError names the place ``where`` if it is missing or empty."""
    value = element.get(name)
    if not value:
        raise FormatError(f"{where} has no attribute {name!r}")
    return value
