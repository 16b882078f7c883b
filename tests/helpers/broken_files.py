"""A thousand files that are nearly of some format, made from the samples with a fixed seed."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from helpers import TESTS

SAMPLES = TESTS / "data" / "formats"
COUNT = 1000

JUNK = [
    "nan", "inf", "-1", "-0.0", "1e999", "-1e999", "1e308", "0x1f", "1_000", "١٢", "½", "1,5",
    "9" * 400, "9" * 5000, "999999999", "null", "true", "[]", "{}", '""', '"', "'", "<", "&", ">",
    ";", "\\", "\x00", "\x1b[31m", "NaN", "Infinity", "../../etc/passwd", "a" * 100_000, "\ufeff",
]  # fmt: skip
SUFFIXES = [
    "csv", "dag", "dax", "dot", "fjs", "graphml", "gv", "jsp", "json", "rcp", "saga.json", "sm",
    "stg", "trace.json", "txt", "wfformat.json", "xml", "yml", "unknown",
]  # fmt: skip

LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY e0 "ha">'
    + "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 10))
    + ']><{root} name="&e9;"/>'
)
EXTERNAL = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><{root}><job id="&e;"/></{root}>'
PARAMETER = '<!DOCTYPE x [<!ENTITY % p SYSTEM "http://127.0.0.1:1/x">%p;]><{root}/>'
DTD = '<!DOCTYPE {root} SYSTEM "http://127.0.0.1:1/x.dtd"><{root}/>'
QUADRATIC = '<!DOCTYPE x [<!ENTITY a "' + "a" * 50_000 + '">]><{root}>' + "&a;" * 5000 + "</{root}>"


@dataclass(frozen=True)
class Broken:
    """A file, or a directory of files."""

    name: str
    content: bytes | dict[str, bytes]

    def write(self, folder: Path) -> Path:
        path = folder / self.name
        if isinstance(self.content, bytes):
            path.write_bytes(self.content)
        else:
            path.mkdir()
            for name, content in self.content.items():
                (path / name).write_bytes(content)
        return path


def broken_files(seed: int = 0) -> list[Broken]:
    """The corpus: special files first, then random damage to each sample in turn."""
    rng = random.Random(seed)
    files = [*_special(), *_disguised()]
    samples = [path for path in sorted(SAMPLES.iterdir()) if path.suffix != ".md"]
    damages: list[Callable[[str, random.Random], bytes]] = [
        _truncated, _word_replaced, _word_replaced, _line_deleted, _line_repeated, _lines_swapped,
        _words_swapped, _encoded, _bytes_damaged,
    ]  # fmt: skip
    i = 0
    while len(files) < COUNT:
        sample, damage = samples[i % len(samples)], damages[i // len(samples) % len(damages)]
        files.append(_damaged(sample, damage, f"{i}{damage.__name__}", rng))
        i += 1
    return files


def _damaged(
    sample: Path, damage: Callable[[str, random.Random], bytes], label: str, rng: random.Random
) -> Broken:
    if sample.is_file():
        name = f"{label}-{sample.name}"
        return Broken(name, damage(sample.read_text(encoding="utf-8"), rng))
    tables = {path.name: path.read_bytes() for path in sorted(sample.iterdir())}
    chosen = rng.choice(sorted(tables))
    tables[chosen] = damage(tables[chosen].decode(), rng)
    return Broken(f"{label}-{sample.name}", tables)


# -- random damage -----------------------------------------------------------------------------


def _truncated(text: str, rng: random.Random) -> bytes:
    return text[: rng.randrange(len(text))].encode()


def _word_replaced(text: str, rng: random.Random) -> bytes:
    start, end = rng.choice(_words(text))
    return (text[:start] + rng.choice(JUNK) + text[end:]).encode()


def _words_swapped(text: str, rng: random.Random) -> bytes:
    (a, b), (c, d) = sorted(rng.sample(_words(text), 2))
    return (text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]).encode()


def _line_deleted(text: str, rng: random.Random) -> bytes:
    lines = text.splitlines(keepends=True)
    del lines[rng.randrange(len(lines))]
    return "".join(lines).encode()


def _line_repeated(text: str, rng: random.Random) -> bytes:
    lines = text.splitlines(keepends=True)
    lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    return "".join(lines).encode()


def _lines_swapped(text: str, rng: random.Random) -> bytes:
    lines = text.splitlines(keepends=True)
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return "".join(lines).encode()


def _encoded(text: str, rng: random.Random) -> bytes:
    marked = text + "é\n"
    return marked.encode(rng.choice(["utf-16", "utf-16-le", "utf-32", "latin-1", "utf-8-sig"]))


def _bytes_damaged(text: str, rng: random.Random) -> bytes:
    content = bytearray(text.encode())
    for _ in range(rng.choice([1, 3, 30])):
        content[rng.randrange(len(content))] = rng.randrange(256)
    return bytes(content)


def _words(text: str) -> list[tuple[int, int]]:
    """Start and end of each run of letters and digits."""
    words, start = [], None
    for i, character in enumerate(text + " "):
        inside = character.isalnum() or character in "._"
        if inside and start is None:
            start = i
        elif not inside and start is not None:
            words.append((start, i))
            start = None
    return words


# -- made by hand ------------------------------------------------------------------------------


def _special() -> Iterator[Broken]:
    garbage = random.Random(1).randbytes(2000)
    for suffix in SUFFIXES:
        for label, content in (
            ("empty", b""),
            ("blank", b" \n\t\r\n " * 10_000),
            ("indented", b" " * 50_000 + b"x"),
            ("remarks", b"# \n/* */ // \n" * 5_000 + b"x"),
            ("garbage", garbage),
            ("nul", b"\x00" * 1000),
            ("braces", b"{" * 100_000),
            ("brackets", b"[" * 100_000),
            ("digits", b"1" * 100_000),
            ("numbers", b"1 " * 50_000),
        ):
            yield Broken(f"{label}.{suffix}", content)
    for root, suffix in (("adag", "dax"), ("graphml", "graphml"), ("adag", "xml")):
        for label, text in _hostile_xml():
            yield Broken(f"{label}-{root}.{suffix}", text.replace("{root}", root).encode())
    for label, text in _hostile_dot():
        yield Broken(f"{label}.dot", text.encode())
    for i, text in enumerate(_enormous()):
        for suffix in ("jsp", "fjs", "stg", "txt"):
            yield Broken(f"enormous{i}.{suffix}", text.encode())
    for label, text in _wrong_json():
        yield Broken(f"{label}.json", text.encode())
    yield from _wrong_tables()


def _hostile_xml() -> list[tuple[str, str]]:
    return [
        ("laughs", LAUGHS),
        ("external", EXTERNAL),
        ("parameter", PARAMETER),
        ("dtd", DTD),
        ("quadratic", QUADRATIC),
        ("deep", "<{root}>" + "<graph>" * 50_000 + "</graph>" * 50_000 + "</{root}>"),
        ("open", "<{root}>" * 50_000),
        ("encoding", '<?xml version="1.0" encoding="no-such"?><{root}/>'),
        ("multibyte", '<?xml version="1.0" encoding="shift-jis"?><{root}/>'),
        ("utf16", '<?xml version="1.0" encoding="utf-16"?><{root}/>'),
        ("root", "<html><body/></html>"),
        ("bare", "<{root}/>"),
        ("undeclared", "<{root}>&nbsp;</{root}>"),
        ("namespace", "<x:{root}/>"),
        ("control", "<{root} name='&#1;'/>"),
    ]


def _hostile_dot() -> list[tuple[str, str]]:
    return [
        ("deep", "digraph {" + "{" * 50_000 + "}" * 50_000 + "}"),
        ("open", "digraph " + "{" * 50_000),
        ("html", "digraph { a [comp=<" + "<b>" * 50_000 + "] }"),
        ("quote", 'digraph { a [comp="' + '\\"' * 50_000),
        ("comment", "digraph { a /*" + "*" * 50_000),
        ("comments", "/*" * 50_000),
        ("slashes", "/" * 50_000),
        ("joined", "digraph { a [comp=" + '"1"+' * 20_000 + "] }"),
        ("chain", "digraph { node [runtime=1] a" + "-> b" * 20_000 + "}"),
        ("defaults", "digraph {" + "".join(f"node [k{i}=1] n{i} " for i in range(10_000)) + "}"),
        ("undirected", "graph { a -- b }"),
        ("port", "digraph { a:n -> b }"),
        ("cycle", "digraph { node [runtime=1] a -> b -> c -> a }"),
        ("loop", "digraph { node [runtime=1] a -> a }"),
        ("twice", "digraph { node [runtime=1] a -> b a -> b }"),
        ("two", "digraph { a [runtime=1] } digraph { b [runtime=1] }"),
        ("mixed", 'digraph { a [comp="1 2"] b [runtime=1] }'),
        ("ragged", 'digraph { a [comp="1 2"] b [comp="1"] }'),
        ("wide", 'digraph { a [comp="' + "1 " * 100_000 + '"] }'),
        ("names", 'digraph { processors="[[[[" a [comp="1"] }'),
        ("deepnames", 'digraph { processors="' + "[" * 50_000 + '" a [comp="1"] }'),
        ("nowhere", 'digraph { a [comp="inf inf"] }'),
    ]


def _enormous() -> list[str]:
    return [
        "999999999 999999999\n",
        "999999999 999999999\n0 1 1 2\n",
        "1 999999999\n0 1\n",
        "1 999999999\n1 1 999999999 5\n",
        "1 4096\n1 1 4097 5\n",
        "999999999\n0 0 0\n",
        "1\n0 1 999999999\n",
        "1\n0 1 1 999999999\n",
        "2\n0 1 1 1\n1 1 1 0\n",
        "2 2\n999999999 1 1 5\n1 1 1 5\n",
        "1 1\n1 999999999 1 5\n",
        "9" * 5000 + " 3\n0 1\n",
        "-3 -3\n0 1\n",
        "0 0\n",
        "1 0\n1 1\n",
        "2 2 1e999\n1 1 1 5\n1 1 1 5\n",
    ]


def _wrong_json() -> list[tuple[str, str]]:
    own = json.loads((SAMPLES / "own.json").read_text(encoding="utf-8"))
    changes: list[tuple[str, object]] = [
        ("comp", [[1] * 100_000]),
        ("comp", [[1] * 5000] * 2),
        ("edges", [[0, 1], [1, 2], [2, 0]]),
        ("edges", [[0, 10**30], [0, 2], [1, 3]]),
        ("edges", [[0, 1], [0, 1], [1, 3]]),
        ("edges", {"0": 1}),
        ("data", [1e308, 1e308, 1e308]),
        ("data", [True, "1", None]),
        ("task_names", ["a", "a", "b", "c"]),
        ("task_names", [["a"], {}, 0, None]),
        ("inv_bandwidth", [[0, 1e308], [1e308, 0]]),
        ("version", [1]),
        ("name", {"a": 1}),
    ]
    files = [(f"own{i}", json.dumps({**own, key: v})) for i, (key, v) in enumerate(changes)]
    trace = json.loads((SAMPLES / "trace_15.json").read_text(encoding="utf-8"))
    for i, extra in enumerate(
        (
            {},
            [],
            "x",
            own,
            {**own, "comp": 1},
            {**own, "edges": []},
            {**own, "comp": [[1] * 100_000]},
        )
    ):
        files.append((f"embedded{i}", json.dumps({**trace, "dagsched": extra})))
    nested = '{"workflow": ' * 400 + "1" + "}" * 400
    return [*files, ("nested", nested), ("repeated", '{"format": "dagsched-instance", ' * 2)]


def _wrong_tables() -> Iterator[Broken]:
    tables = {path.name: path.read_bytes() for path in sorted((SAMPLES / "trio").iterdir())}
    for i, (name, content) in enumerate(
        [
            ("computation.csv", b"x" * 200_000),
            ("computation.csv", b'a,b\n"open,1\n'),
            ("computation.csv", b'a,b\n"x"y,1\n'),
            ("computation.csv", b"\n\n"),
            ("computation.csv", b"only\n"),
            ("computation.csv", b",p\n" + b"a,1\n" * 2),
            ("computation.csv", ("," + ",".join(map(str, range(100_000)))).encode()),
            ("communication.csv", b"from,to\na,b\n"),
            ("communication.csv", b"from,to,data\na,z,1\n"),
            ("communication.csv", b"from,to,data\na,b,1\nb,a,1\n"),
            ("communication.csv", b"from,to,data\na,b,inf\n"),
            ("bandwidth.csv", b",slow,fast\nslow,0,0\nfast,1,0\n"),
            ("bandwidth.csv", b",slow,fast\nfast,0,1\nslow,1,0\n"),
            ("inverse_bandwidth.csv", b",slow,fast\nslow,0,1\nfast,1,0\n"),
            ("latency.csv", b",slow,fast\nslow,0,inf\nfast,1,0\n"),
        ]
    ):
        yield Broken(f"tables{i}", {**tables, name: content})
    yield Broken("tables-none", {})
    yield Broken("tables-alone", {"computation.csv": tables["computation.csv"]})


def _disguised() -> Iterator[Broken]:
    """Whole samples under the suffix of another format."""
    for sample in sorted(SAMPLES.iterdir()):
        if sample.is_file() and sample.suffix != ".md":
            for suffix in SUFFIXES:
                yield Broken(f"{sample.name}.{suffix}", sample.read_bytes())
