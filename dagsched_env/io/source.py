"""A file that is read: its path, and its content, which is read once."""

import contextlib
import json
from collections.abc import Iterator
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagsched_env.problem.errors import DAGSchedError, FormatError, MissingExtraError

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

DEEPEST = 100
"""Levels of YAML that are read; the parser in C has no limit of its own."""


class Source:
    """The source of all readers. Its content is read once, so that it can be a pipe.

    Args:
        path: the file; a directory where the format is one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def suffix(self) -> str:
        """Last suffix of the path in lower case, with its dot; empty without one."""
        return self.path.suffix.lower()

    @property
    def stem(self) -> str | None:
        """Name of the file without its suffixes, for formats without a label."""
        return self.path.name.partition(".")[0] or None

    @cached_property
    def content(self) -> bytes:
        return self.path.read_bytes()

    @cached_property
    def text(self) -> str:
        """Content as UTF-8, without a byte order mark; raises FormatError."""
        return decoded(self.content)

    @cached_property
    def json(self) -> Any:
        """Content as JSON; raises FormatError.

        The end of a list may be missing: tracers are allowed to leave it out.
        """
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError) as error:
            open_list = self.text.strip().removesuffix(",") + "]"
            with contextlib.suppress(ValueError, RecursionError):
                if open_list.startswith("["):
                    return json.loads(open_list)
            raise FormatError(f"not JSON: {error}") from None

    @cached_property
    def xml(self) -> "Element":
        """Root element of the content; raises FormatError."""
        return parse_xml(self.content)

    @cached_property
    def yaml(self) -> Any:
        """Content as YAML, all values as text; raises FormatError."""
        return parse_yaml(self.text)


def decoded(content: bytes) -> str:
    """UTF-8 text without a byte order mark.

    Raises:
        FormatError: it is not UTF-8; the message names the first wrong byte.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 text: {error}") from None


def parse_xml(content: bytes) -> "Element":
    """Parse XML that may be hostile: document types, and so entities, are refused.

    Raises:
        FormatError: not well-formed (the message names line and column), an unknown
            encoding, or a document type declaration.
        MissingExtraError: defusedxml is not installed.
    """
    try:
        from defusedxml import DefusedXmlException
        from defusedxml.ElementTree import ParseError, fromstring
    except ModuleNotFoundError:
        raise MissingExtraError("defusedxml", "formats") from None
    try:
        return fromstring(content, forbid_dtd=True)
    except DefusedXmlException:
        raise FormatError(
            "the XML declares a document type or entities, which are refused: remove <!DOCTYPE"
        ) from None
    except (ParseError, ValueError, LookupError) as error:
        raise FormatError(f"not XML: {error}") from None


def parse_yaml(text: str) -> Any:
    """Parse YAML that may be hostile, into dicts, lists and texts: no tag makes anything else.

    Raises:
        FormatError: not YAML, an alias (``*name``), or more than 100 levels; the message names the
            line.
        MissingExtraError: PyYAML is not installed.
    """
    try:
        import yaml
    except ModuleNotFoundError:
        raise MissingExtraError("pyyaml", "formats") from None
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        depth = 0
        for event in yaml.parse(text, Loader=loader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST or isinstance(event, yaml.AliasEvent):
                what = f"more than {DEEPEST} levels" if depth > DEEPEST else "aliases"
                line = event.start_mark.line + 1
                raise FormatError(f"line {line}: YAML with {what} is refused: write it out")
        return yaml.load(text, Loader=loader)
    except yaml.YAMLError as error:
        raise FormatError(f"not YAML: {' '.join(str(error).split())}") from None


@contextlib.contextmanager
def named(path: str | PathLike[str]) -> Iterator[None]:
    """Errors within name the file."""
    try:
        yield
    except MissingExtraError:
        raise
    except DAGSchedError as error:
        raise type(error)(f"{path}: {_shortened(str(error))}") from None


def _shortened(message: str) -> str:
    """The message; its middle is left out if names from a file make it long."""
    return message if len(message) <= 280 else f"{message[:180]} … {message[-90:]}"
