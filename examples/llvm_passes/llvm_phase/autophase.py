"""Autophase: 56 counts that describe a module, from its textual IR.

Source: Huang et al. 2020, "AutoPhase: Juggling HLS Phase Orderings in Random Forests with Deep
Reinforcement Learning", in the order and with the conventions of CompilerGym. These are:

- a declaration counts as a function, those of intrinsics too;
- the size of an ``alloca`` is an operand, the hidden constant ``i32 1`` where none is written;
- ``freeze`` is no unary instruction, a load, a cast and an ``alloca`` are;
- constants inside constant expressions, vectors and metadata do not count, cases of a switch do;
- a call through a pointer does not count as one that returns an integer.
"""

import re
from collections import Counter
from dataclasses import dataclass, field

__all__ = ["FEATURES", "INSTRUCTIONS", "autophase"]

FEATURES = [
    "BBNumArgsHi",
    "BBNumArgsLo",
    "onePred",
    "onePredOneSuc",
    "onePredTwoSuc",
    "oneSuccessor",
    "twoPred",
    "twoPredOneSuc",
    "twoEach",
    "twoSuccessor",
    "morePreds",
    "BB03Phi",
    "BBHiPhi",
    "BBNoPhi",
    "BeginPhi",
    "BranchCount",
    "returnInt",
    "CriticalCount",
    "NumEdges",
    "const32Bit",
    "const64Bit",
    "numConstZeroes",
    "numConstOnes",
    "UncondBranches",
    "binaryConstArg",
    "NumAShrInst",
    "NumAddInst",
    "NumAllocaInst",
    "NumAndInst",
    "BlockMid",
    "BlockLow",
    "NumBitCastInst",
    "NumBrInst",
    "NumCallInst",
    "NumGetElementPtrInst",
    "NumICmpInst",
    "NumLShrInst",
    "NumLoadInst",
    "NumMulInst",
    "NumOrInst",
    "NumPHIInst",
    "NumRetInst",
    "NumSExtInst",
    "NumSelectInst",
    "NumShlInst",
    "NumStoreInst",
    "NumSubInst",
    "NumTruncInst",
    "NumXorInst",
    "NumZExtInst",
    "TotalBlocks",
    "TotalInsts",
    "TotalMemInst",
    "TotalFuncs",
    "ArgsPhi",
    "testUnary",
]
"""Names of the features in their order, as CompilerGym documents them."""

INSTRUCTIONS = FEATURES.index("TotalInsts")
"""The feature that is the size of a module."""

COUNTED = {
    name.removeprefix("Num").removesuffix("Inst").lower(): name
    for name in FEATURES
    if name.startswith("Num") and name.endswith("Inst")
}
"""Opcode → the feature that counts it."""

CASTS = frozenset(
    [
        "trunc",
        "zext",
        "sext",
        "fptoui",
        "fptosi",
        "uitofp",
        "sitofp",
        "fptrunc",
        "fpext",
        "ptrtoint",
        "inttoptr",
        "bitcast",
        "addrspacecast",
    ]
)
UNARY = CASTS | {"fneg", "alloca", "load", "va_arg", "extractvalue"}
BINARY = frozenset(
    [
        "add",
        "fadd",
        "sub",
        "fsub",
        "mul",
        "fmul",
        "udiv",
        "sdiv",
        "fdiv",
        "urem",
        "srem",
        "frem",
        "shl",
        "lshr",
        "ashr",
        "and",
        "or",
        "xor",
    ]
)
MEMORY = frozenset(["getelementptr", "load", "store", "call", "invoke", "alloca"])
CALLS = frozenset(("call", "invoke", "callbr"))
MARKERS = frozenset(("tail", "musttail", "notail"))
FEW_PHIS, FEW_ARGUMENTS, LOW_BLOCK, MID_BLOCK = 3, 5, 15, 500

STRING = re.compile(r'"[^"]*"')
FUNCTION = re.compile(r"^(?:define|declare)\b[^@]*@([^\s(]+)\(", re.MULTILINE)
INNERMOST = re.compile(r"\([^()\[\]{}<>]*\)|\[[^()\[\]{}<>]*\]|\{[^()\[\]{}<>]*\}|<[^()\[\]{}<>]*>")
ATTACHED = re.compile(r", ![A-Za-z].*$")
VALUE = r"(-?\d+|true|false)"
INTEGER = re.compile(rf"(?<![\w.%@])i(\d+) {VALUE}(?![\w.])")
SECOND = re.compile(rf"(?<![\w.%@])i(\d+) [^,]*, {VALUE}$")
ARGUMENT = re.compile(rf"i(\d+) (?:.* )?{VALUE}")
INCOMING_VALUE = re.compile(rf"\[ {VALUE}, %")
INCOMING = re.compile(r", %[^\s,\[\]]+ \]")
SIZE = re.compile(r", i\d+ [^\s,]+")
LABEL = re.compile(r"label %([^\s,\]]+)")
CALLEE = re.compile(r"([@%][\w.$-]+|\)|Q\d+)\(")
RETURNS_INTEGER = re.compile(r"\bi\d+\s*$")


@dataclass
class Block:
    """A basic block: what the features that count blocks ask of it."""

    successors: list[str] = field(default_factory=list)
    instructions: int = 0
    phis: int = 0
    arguments: int = 0
    """Incoming values of all its phis."""
    begins_with_phi: bool = False


def autophase(ir: str) -> list[int]:
    """The features of a module.

    Args:
        ir: textual IR as LLVM prints it: an instruction begins two columns in, what belongs to it
            on later lines begins further in.

    Returns:
        56 counts, in the order of ``FEATURES``.
    """
    ir = _without_strings(ir)
    functions = set(FUNCTION.findall(ir))
    counts: Counter[str] = Counter(TotalFuncs=len(functions))
    blocks: dict[str, Block] = {}
    text, label, inside = "", "", False
    for line in ir.split("\n"):
        if not inside:
            inside, label = line.startswith("define"), ""
            blocks = {}
            continue
        if line.startswith(("   ", "  ]")):
            text += "" if line.lstrip().startswith("#dbg") else " " + line.strip()
            continue
        if text:
            _instruction(text, blocks.setdefault(label, Block()), counts, functions)
            text = ""
        if line.startswith("  "):
            text = line[2:]
        elif line.startswith("}"):
            _blocks(blocks, counts)
            inside = False
        elif line and not line.startswith(";"):
            label = line.partition(":")[0]
    return [counts[name] for name in FEATURES]


def _without_strings(ir: str) -> str:
    """Each quoted text, which may hold anything, becomes a plain word; equal ones the same."""
    words: dict[str, str] = {}
    return STRING.sub(lambda m: words.setdefault(m[0], f"Q{len(words)}"), ir) if '"' in ir else ir


def _flat(text: str) -> str:
    """Without what is in brackets: types of aggregates, constant expressions."""
    while True:
        shorter = INNERMOST.sub("", text)
        if shorter == text:
            return text.rstrip()
        text = shorter


def _instruction(text: str, block: Block, counts: Counter[str], functions: set[str]) -> None:
    text = ATTACHED.sub("", text)
    if text.startswith("%"):
        text = text.partition(" = ")[2]
    opcode, _, rest = text.partition(" ")
    while opcode in MARKERS:
        opcode, _, rest = rest.partition(" ")
    counts["TotalInsts"] += 1
    counts["TotalMemInst"] += opcode in MEMORY
    counts["testUnary"] += opcode in UNARY
    if opcode in COUNTED:
        counts[COUNTED[opcode]] += 1
    if opcode == "br":
        counts["BranchCount"] += 1
        counts["UncondBranches"] += rest.startswith("label ")
    if opcode == "phi":
        arguments = len(INCOMING.findall(rest))
        block.begins_with_phi = block.begins_with_phi or block.instructions == 0
        block.phis += 1
        block.arguments += arguments
    block.instructions += 1
    if "label %" in rest:
        block.successors = LABEL.findall(rest)
    for width, value in _integers(opcode, rest, counts, functions):
        counts["const32Bit"] += width == "32"
        counts["const64Bit"] += width == "64"
        counts["numConstZeroes"] += value in ("0", "false")
        # In an i1, LLVM prints the one as true; elsewhere -1 is another value.
        counts["numConstOnes"] += value in ("1", "true")


def _integers(
    opcode: str, rest: str, counts: Counter[str], functions: set[str]
) -> list[tuple[str, str]]:
    """Integer constants among the operands, as width and value; calls and binaries are counted."""
    if opcode == "phi":
        kind = rest.partition(" ")[0]
        whole = kind.startswith("i") and kind[1:].isdigit()
        return [(kind[1:], value) for value in INCOMING_VALUE.findall(rest)] if whole else []
    if opcode == "switch":
        return INTEGER.findall(rest)
    if opcode in CALLS:
        return _call(opcode, rest, counts, functions)
    flat = _flat(rest)
    found = INTEGER.findall(flat)
    if opcode == "alloca" and not SIZE.search(flat):
        found.append(("32", "1"))
    if opcode == "icmp" or opcode in BINARY:
        found += SECOND.findall(flat)
    if opcode in BINARY:
        first, _, second = flat.rpartition(",")
        variables = first.rpartition(" ")[2].startswith("%") and second.lstrip().startswith("%")
        counts["binaryConstArg"] += not variables
    return found


def _call(
    opcode: str, rest: str, counts: Counter[str], functions: set[str]
) -> list[tuple[str, str]]:
    callee = CALLEE.search(rest)
    if callee is None:
        return []
    if opcode == "call" and callee[1][:1] == "@" and callee[1][1:] in functions:
        counts["returnInt"] += bool(RETURNS_INTEGER.search(_flat(rest[: callee.start()])))
    # What is left of the brackets is the end of the arguments.
    arguments = _flat(rest[callee.end() :]).partition(")")[0].split(",")
    matches = (ARGUMENT.fullmatch(argument.strip()) for argument in arguments)
    return [(m[1], m[2]) for m in matches if m]


def _blocks(blocks: dict[str, Block], counts: Counter[str]) -> None:
    """Count the blocks of one function and the edges between them."""
    entering = Counter(label for block in blocks.values() for label in block.successors)
    for label, block in blocks.items():
        before, after = entering[label], len(block.successors)
        counts["TotalBlocks"] += 1
        counts["NumEdges"] += after
        if after > 1:
            counts["CriticalCount"] += sum(entering[label] > 1 for label in block.successors)
        counts["onePred"] += before == 1
        counts["twoPred"] += before == 2
        counts["morePreds"] += before > 2
        counts["oneSuccessor"] += after == 1
        counts["twoSuccessor"] += after == 2
        counts["onePredOneSuc"] += (before, after) == (1, 1)
        counts["onePredTwoSuc"] += (before, after) == (1, 2)
        counts["twoPredOneSuc"] += (before, after) == (2, 1)
        counts["twoEach"] += (before, after) == (2, 2)
        counts["BBNoPhi"] += block.phis == 0
        counts["BB03Phi"] += 1 <= block.phis <= FEW_PHIS
        counts["BBHiPhi"] += block.phis > FEW_PHIS
        counts["BeginPhi"] += block.begins_with_phi
        counts["ArgsPhi"] += block.arguments
        counts["BBNumArgsLo"] += 1 <= block.arguments <= FEW_ARGUMENTS
        counts["BBNumArgsHi"] += block.arguments > FEW_ARGUMENTS
        counts["BlockLow"] += block.instructions < LOW_BLOCK
        counts["BlockMid"] += LOW_BLOCK <= block.instructions <= MID_BLOCK
