"""Steps through an XML tree, whatever namespace its elements are in."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dagsched_env.errors import FormatError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

__all__ = ["attribute", "children", "local_name"]


def local_name(element: "Element") -> str:
    """Tag without its namespace."""
    return str(element.tag).rpartition("}")[2]


def children(element: "Element", tag: str) -> Iterator["Element"]:
    """Direct children of that local name."""
    return (child for child in element if local_name(child) == tag)


def attribute(element: "Element", name: str, where: str) -> str:
    """An attribute that must be there and not be empty; raises FormatError."""
    value = element.get(name)
    if not value:
        raise FormatError(f"{where} has no attribute {name!r}")
    return value
