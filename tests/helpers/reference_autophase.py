"""Autophase counted by LLVM's C API, instruction by instruction: slow, and sure of its parser."""

import ctypes
from collections import Counter

from llvm_phase.autophase import FEATURES
from llvm_phase.backends import LIBRARIES

OPCODES = dict(
    zip(
        (1, 2, 8, 10, 12, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 41, 42, 44, 45, 46),
        [
            "Ret",
            "Br",
            "Add",
            "Sub",
            "Mul",
            "Shl",
            "LShr",
            "AShr",
            "And",
            "Or",
            "Xor",
            "Alloca",
            "Load",
            "Store",
            "GetElementPtr",
            "Trunc",
            "ZExt",
            "SExt",
            "BitCast",
            "ICmp",
            "PHI",
            "Call",
            "Select",
        ],
        strict=True,
    )
)
"""LLVM-C's numbers of the instructions that a feature counts."""
CALL, PHI, INVOKE = 45, 44, 5
MEMORY = {CALL, INVOKE, 26, 27, 28, 29}
INTEGER_TYPE = 8
NUMBERS = frozenset(
    [
        "CountIncoming",
        "GetInstructionOpcode",
        "GetIntTypeWidth",
        "GetNumOperands",
        "GetNumSuccessors",
        "GetTypeKind",
        "IsConditional",
        "IsConstant",
    ]
)
POINTERS = frozenset(
    [
        "ContextCreate",
        "GetFirstFunction",
        "GetNextFunction",
        "GetFirstBasicBlock",
        "GetNextBasicBlock",
        "GetFirstInstruction",
        "GetNextInstruction",
        "GetBasicBlockTerminator",
        "IsAConstantInt",
        "TypeOf",
        "GetCalledValue",
        "IsAFunction",
        "GetReturnType",
        "GlobalGetValueType",
        "IsAUnaryInstruction",
        "IsABinaryOperator",
    ]
)


def load_library() -> ctypes.CDLL:
    """libLLVM-14; raises OSError."""
    lib = ctypes.CDLL(LIBRARIES[0][1][0])
    pointer = ctypes.c_void_p
    for name in NUMBERS | POINTERS:
        function = getattr(lib, f"LLVM{name}")
        function.restype = pointer if name in POINTERS else ctypes.c_int
        function.argtypes = [] if name == "ContextCreate" else [pointer]
    for name, result in (("GetOperand", pointer), ("GetSuccessor", pointer)):
        function = getattr(lib, f"LLVM{name}")
        function.restype, function.argtypes = result, [pointer, ctypes.c_uint]
    lib.LLVMConstIntGetZExtValue.restype = ctypes.c_ulonglong
    lib.LLVMConstIntGetZExtValue.argtypes = [pointer]
    lib.LLVMCreateMemoryBufferWithMemoryRangeCopy.restype = pointer
    lib.LLVMCreateMemoryBufferWithMemoryRangeCopy.argtypes = [
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_char_p,
    ]
    lib.LLVMParseIRInContext.argtypes = [pointer] * 4
    lib.LLVMDisposeModule.argtypes = [pointer]
    lib.LLVMContextDispose.argtypes = [pointer]
    return lib


class Walker:
    """Counts the features of one module."""

    def __init__(self, lib: ctypes.CDLL) -> None:
        self.lib = lib
        self.counts: Counter[str] = Counter()

    def features(self, ir: str) -> list[int]:
        lib, data = self.lib, ir.encode()
        context = lib.LLVMContextCreate()
        buffer = lib.LLVMCreateMemoryBufferWithMemoryRangeCopy(data, len(data), b"test")
        module, message = ctypes.c_void_p(), ctypes.c_void_p()
        assert not lib.LLVMParseIRInContext(
            context, buffer, ctypes.byref(module), ctypes.byref(message)
        )
        self.counts.clear()
        for function in self._all(lib.LLVMGetFirstFunction, lib.LLVMGetNextFunction, module):
            self.counts["TotalFuncs"] += 1
            self._function(function)
        lib.LLVMDisposeModule(module)
        lib.LLVMContextDispose(context)
        return [self.counts[name] for name in FEATURES]

    @staticmethod
    def _all(first, following, parent):
        item = first(parent)
        while item:
            yield item
            item = following(item)

    def _function(self, function):
        lib, counts = self.lib, self.counts
        blocks = [*self._all(lib.LLVMGetFirstBasicBlock, lib.LLVMGetNextBasicBlock, function)]
        successors = {}
        for block in blocks:
            end = lib.LLVMGetBasicBlockTerminator(block)
            number = lib.LLVMGetNumSuccessors(end)
            successors[block] = [lib.LLVMGetSuccessor(end, i) for i in range(number)]
        entering = Counter(to for block in blocks for to in successors[block])
        for block in blocks:
            before, after = entering[block], len(successors[block])
            counts["TotalBlocks"] += 1
            counts["NumEdges"] += after
            counts["CriticalCount"] += sum(
                after > 1 and entering[to] > 1 for to in successors[block]
            )
            for name, holds in (
                ("onePred", before == 1),
                ("twoPred", before == 2),
                ("morePreds", before > 2),
                ("oneSuccessor", after == 1),
                ("twoSuccessor", after == 2),
                ("onePredOneSuc", before == after == 1),
                ("onePredTwoSuc", before == 1 and after == 2),
                ("twoPredOneSuc", before == 2 and after == 1),
                ("twoEach", before == after == 2),
            ):
                counts[name] += holds
            self._block(block)

    def _block(self, block):
        lib, counts = self.lib, self.counts
        instructions = [*self._all(lib.LLVMGetFirstInstruction, lib.LLVMGetNextInstruction, block)]
        opcodes = [lib.LLVMGetInstructionOpcode(one) for one in instructions]
        phis = [one for one, code in zip(instructions, opcodes, strict=True) if code == PHI]
        arguments = sum(lib.LLVMCountIncoming(phi) for phi in phis)
        counts["ArgsPhi"] += arguments
        counts["BeginPhi"] += opcodes[0] == PHI
        counts["BBNoPhi" if not phis else "BB03Phi" if len(phis) <= 3 else "BBHiPhi"] += 1
        counts["BBNumArgsHi"] += arguments > 5
        counts["BBNumArgsLo"] += 1 <= arguments <= 5
        counts["BlockLow"] += len(opcodes) < 15
        counts["BlockMid"] += 15 <= len(opcodes) <= 500
        for one, code in zip(instructions, opcodes, strict=True):
            self._instruction(one, code)

    def _instruction(self, one, code):
        lib, counts = self.lib, self.counts
        counts["TotalInsts"] += 1
        counts["TotalMemInst"] += code in MEMORY
        counts["testUnary"] += bool(lib.LLVMIsAUnaryInstruction(one))
        counts[f"Num{OPCODES.get(code, '')}Inst"] += 1
        if OPCODES.get(code) == "Br":
            counts["BranchCount"] += 1
            counts["UncondBranches"] += not lib.LLVMIsConditional(one)
        operands = [lib.LLVMGetOperand(one, i) for i in range(lib.LLVMGetNumOperands(one))]
        if lib.LLVMIsABinaryOperator(one):
            counts["binaryConstArg"] += any(lib.LLVMIsConstant(value) for value in operands)
        for value in operands:
            if lib.LLVMIsAConstantInt(value):
                width = lib.LLVMGetIntTypeWidth(lib.LLVMTypeOf(value))
                number = lib.LLVMConstIntGetZExtValue(value)
                counts["const32Bit"] += width == 32
                counts["const64Bit"] += width == 64
                counts["numConstZeroes"] += number == 0
                counts["numConstOnes"] += number == 1
        if code == CALL:
            callee = lib.LLVMIsAFunction(lib.LLVMGetCalledValue(one))
            if callee:
                result = lib.LLVMGetReturnType(lib.LLVMGlobalGetValueType(callee))
                counts["returnInt"] += lib.LLVMGetTypeKind(result) == INTEGER_TYPE
