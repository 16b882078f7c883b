"""The part of the grammar of DOT that describes one directed graph.

graphviz.org/doc/info/lang.html. Nothing recurses, so nesting cannot overflow the stack. Time and
memory are linear in the file length and in the edges of groups, whose number is limited.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import NoReturn

from dagsched_env.io.attributes import WEIGHTS, Attributes
from dagsched_env.problem.errors import FormatError

TOKEN = re.compile(
    r"""
    (?P<space>   \s+ | //[^\n]* | /\*.*?\*/ | ^\#[^\n]* )
  | (?P<word>    [^\W\d]\w* | -?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][+-]?[0-9]+)? )
  | (?P<quoted>  "(?:[^"\\]++|\\.)*+" )
  | (?P<mark>    -> | -- | [{}\[\];,=:+] )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
KEYWORDS = ("node", "edge", "graph", "digraph", "subgraph", "strict")
MOST_GROUP_EDGES = 1_000_000
"""Most edges that groups of nodes make: a short file can describe any number of them."""

Group = tuple[str, ...]
"""Distinct nodes at one end of an edge, most often a single one."""


@dataclass
class Digraph:
    """The content of a DOT file; names of attributes are in lower case."""

    name: str | None = None
    attributes: Attributes = field(default_factory=dict)
    nodes: dict[str, Attributes] = field(default_factory=dict)
    edges: list[tuple[str, str, Attributes]] = field(default_factory=list)


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    line: int


@dataclass(frozen=True)
class Scope:
    """What holds within the same braces: attributes of the nodes and edges that follow.

    Only those with a meaning for scheduling are kept, because every node copies them.

    Args:
        node: attributes of nodes.
        edge: attributes of edges.
        first: how many nodes were mentioned within braces before these were opened.
        chain: ends of the edges that lead to these braces; empty where none does.
        reopened: whether a subgraph of this name has been opened before.
    """

    node: Attributes = field(default_factory=dict)
    edge: Attributes = field(default_factory=dict)
    first: int = 0
    chain: list[Group] = field(default_factory=list)
    reopened: bool = False

    def plus(self, kind: str, attributes: Attributes) -> "Scope":
        kept = {key: attributes[key] for key in WEIGHTS if key in attributes}
        return (
            replace(self, node=self.node | kept)
            if kind == "node"
            else replace(self, edge=self.edge | kept)
        )


def parse_digraph(text: str) -> Digraph:
    """Read the only graph of a DOT file.

    Raises:
        FormatError: not DOT or not the part that is read; the message names the line.
    """
    return _Parser(text).graph()


def starts_like_dot(text: str) -> bool:
    """Whether the first word can start a graph."""
    try:
        first = next(_tokens(text), None)
    except FormatError:
        return False
    return first is not None and first.text.lower() in ("strict", "graph", "digraph")


def _tokens(text: str) -> Iterator[Token]:
    at, line = 0, 1
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is not None and match["space"] is None:
            yield Token(match.lastgroup or "", match.group(), line)
        end = match.end() if match else at
        if match is None and text[at] == "<":
            end = _end_of_html(text, at, line)
            yield Token("quoted", '"' + text[at + 1 : end - 1] + '"', line)
        elif match is None:
            raise FormatError(f"line {line}: {text[at : at + 20]!r} is not DOT")
        line += text.count("\n", at, end)
        at = end


def _end_of_html(text: str, start: int, line: int) -> int:
    depth = 0
    for bracket in re.compile("[<>]").finditer(text, start):
        depth += 1 if bracket.group() == "<" else -1
        if depth == 0:
            return bracket.end()
    raise FormatError(f"line {line}: the HTML text that starts here does not end")


class _Parser:
    """Statements of one graph, token by token."""

    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.lines = text.count("\n") + 1
        self.token = self._next()
        self.digraph = Digraph()
        self.subgraphs: set[str] = set()
        self.mentioned: list[str] = []  # nodes within braces, in the order of the file
        self.group_edges = 0
        self.strict = False
        self.places: dict[tuple[str, str], int] = {}  # of the edges of a strict graph

    def graph(self) -> Digraph:
        self.strict = self._accept_word("strict")
        if not self._accept_word("digraph"):
            self._fail("expected 'digraph'; undirected graphs are not read")
        if self.token.text != "{":
            self.digraph.name = self._identifier()
        self._expect("{")
        scopes = [Scope()]
        while scopes:
            self._statement(scopes)
        if self.token.kind != "end":
            self._fail("expected the end of the file, one graph in each")
        return self.digraph

    def _statement(self, scopes: list[Scope]) -> None:
        if self._accept(";") or self._opens_subgraph(scopes, []):
            return
        if self._accept("}"):
            closed = scopes.pop()
            if scopes and (closed.chain or self.token.text in ("->", "--")):
                closed.chain.append(self._group(closed))
                self._chain(scopes, closed.chain)
        elif self._is_word("graph"):
            self._advance()
            attributes = self._attribute_list()
            if len(scopes) == 1:
                self.digraph.attributes |= attributes
        elif self._is_word("node") or self._is_word("edge"):
            kind = self.token.text.lower()
            self._advance()
            scopes[-1] = scopes[-1].plus(kind, self._attribute_list())
        else:
            self._named(scopes)

    def _opens_subgraph(self, scopes: list[Scope], chain: list[Group]) -> bool:
        """Whether a subgraph begins here; its braces are entered, as the next end of the chain."""
        name = None
        if self._accept_word("subgraph"):
            if self.token.text != "{":
                name = self._identifier()
            self._expect("{")
        elif not self._accept("{"):
            return False
        reopened = name in self.subgraphs
        if name is not None:
            self.subgraphs.add(name)
        first = len(self.mentioned)
        scopes.append(replace(scopes[-1], first=first, chain=chain, reopened=reopened))
        return True

    def _named(self, scopes: list[Scope]) -> None:
        """A node, a chain of edges, or ``key = value`` of the graph."""
        first = self._identifier()
        if self._accept("="):
            value = self._identifier()
            if len(scopes) == 1:
                self.digraph.attributes[first.lower()] = value
            return
        self._chain(scopes, [self._node(first, scopes)])

    def _node(self, name: str, scopes: list[Scope]) -> Group:
        """A node and its port, which is passed over, as one end of an edge."""
        for _ in range(2):
            if self._accept(":"):
                self._identifier()
        self.digraph.nodes.setdefault(name, dict(scopes[-1].node))
        if len(scopes) > 1:
            self.mentioned.append(name)
        return (name,)

    def _group(self, closed: Scope) -> Group:
        """The nodes within braces that have just been closed."""
        if closed.reopened:
            self._fail("a subgraph opened twice cannot be the end of an edge: name its nodes")
        nodes = tuple(dict.fromkeys(self.mentioned[closed.first :]))
        self.mentioned[closed.first :] = nodes
        return nodes

    def _chain(self, scopes: list[Scope], chain: list[Group]) -> None:
        """The rest of a statement that begins with these nodes: more ends, then attributes."""
        while self._accept("->"):
            if self._opens_subgraph(scopes, chain):
                return  # the chain goes on where the braces are closed
            chain.append(self._node(self._identifier(), scopes))
        if self.token.text == "--":
            self._fail("undirected edges are not read")
        attributes = self._attribute_list()
        if len(chain) == 1:
            self.digraph.nodes[chain[0][0]] |= attributes
        created = scopes[-1].edge | attributes
        for sources, targets in itertools.pairwise(chain):
            # An empty group counts as one node, as it takes time, too.
            self.group_edges += (len(sources) or 1) * (len(targets) or 1) - 1
            if self.group_edges > MOST_GROUP_EDGES:
                raise FormatError(
                    f"line {self.token.line}: groups of nodes make more than {MOST_GROUP_EDGES} "
                    "edges: make the groups smaller"
                )
            if self.strict:
                for u, v in itertools.product(sources, targets):
                    self._strict_edge(u, v, created, attributes)
            else:
                self.digraph.edges.extend(itertools.product(sources, targets, [created]))

    def _strict_edge(self, u: str, v: str, created: Attributes, updated: Attributes) -> None:
        """A new edge, or what a statement says of the one that is there already."""
        edges = self.digraph.edges
        place = self.places.setdefault((u, v), len(edges))
        if place < len(edges):
            edges[place] = (u, v, edges[place][2] | updated)
        else:
            edges.append((u, v, created))

    def _attribute_list(self) -> Attributes:
        attributes: Attributes = {}
        written: dict[str, str] = {}
        while self._accept("["):
            while not self._accept("]"):
                name = self._identifier()
                key = name.lower()
                if written.setdefault(key, name) != name and key in WEIGHTS:
                    raise FormatError(
                        f"line {self.token.line}: {written[key]!r} and {name!r} stand together: "
                        "remove one"
                    )
                self._expect("=")
                attributes[key] = self._identifier()
                if not self._accept(","):
                    self._accept(";")
        return attributes

    def _identifier(self) -> str:
        token = self.token
        if token.kind == "word" and token.text.lower() not in KEYWORDS:
            self._advance()
            return token.text
        if token.kind != "quoted":
            self._fail("expected a name or a value")
        parts = [_unquoted(token.text)]
        self._advance()
        while self._accept("+"):
            if self.token.kind != "quoted":
                self._fail("expected quoted text after '+'")
            parts.append(_unquoted(self.token.text))
            self._advance()
        return "".join(parts)

    # -- tokens ----------------------------------------------------------------------------------

    def _next(self) -> Token:
        return next(self.tokens, Token("end", "", self.lines))

    def _advance(self) -> None:
        self.token = self._next()

    def _accept(self, mark: str) -> bool:
        accepted = self.token.kind == "mark" and self.token.text == mark
        if accepted:
            self._advance()
        return accepted

    def _expect(self, mark: str) -> None:
        if not self._accept(mark):
            self._fail(f"expected {mark!r}")

    def _is_word(self, word: str) -> bool:
        return self.token.kind == "word" and self.token.text.lower() == word

    def _accept_word(self, word: str) -> bool:
        accepted = self._is_word(word)
        if accepted:
            self._advance()
        return accepted

    def _fail(self, problem: str) -> NoReturn:
        found = repr(self.token.text[:30]) if self.token.text else "the end of the file"
        raise FormatError(f"line {self.token.line}: {problem}, found {found}")


def _unquoted(text: str) -> str:
    r"""Text between quotes; only ``\"`` and a backslash before a line break are escapes."""
    plain = {"\n": "", '"': '"', "\\": "\\\\"}
    return re.sub(r'\\(\n|["\\])', lambda match: plain[match[1]], text[1:-1])
