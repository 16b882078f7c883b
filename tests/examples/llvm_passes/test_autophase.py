"""Autophase: each feature on hand-written IR, properties, and against LLVM's own objects."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.reference_autophase import Walker, load_library
from llvm_phase import programs
from llvm_phase.autophase import FEATURES, INSTRUCTIONS, autophase
from llvm_phase.compiler import Compiler
from llvm_phase.passes import STANDARD

DIAMOND = """
  br i1 %c, label %left, label %right
left:
  br label %join
right:
  br label %join
join:
  %m = phi i32 [ 0, %left ], [ %x, %right ]
"""
LOOP = """
  br label %head
head:
  %i = phi i32 [ 0, %0 ], [ %n, %head ]
  %n = add i32 %i, 1
  %go = icmp slt i32 %n, %x
  br i1 %go, label %head, label %end
end:
"""
SWITCH = """
  switch i32 %x, label %end [
    i32 0, label %end
    i32 1, label %end
    i32 7, label %other
  ]
other:
  br label %end
end:
"""
PHIS = "".join(f"  %m{i} = phi i32 [ 5, %left ], [ %x, %right ]\n" for i in range(4))
FOUR_PHIS = DIAMOND.replace("  %m = phi i32 [ 0, %left ], [ %x, %right ]\n", PHIS)
LONG_BLOCK = "".join(f"  %a{i} = fadd double %d, %d\n" for i in range(14))


def function(body: str, *, before: str = "") -> str:
    head = "define void @f(i32 %x, i64 %w, i32* %p, double %d, i1 %c, i32 (i32)* %g) {"
    return f"{before}\n{head}\n{body.strip(chr(10))}\n  ret void\n}}\n"


def count(feature: str, body: str, *, before: str = "") -> int:
    return autophase(function(body, before=before))[FEATURES.index(feature)]


DECLARED = "declare i32 @h(i32, i64)\ndeclare void @v(i32)\ndeclare i32 @printf(i8*, ...)"
CASES = {
    "BBNumArgsHi": [(FOUR_PHIS, 1), (DIAMOND, 0)],
    "BBNumArgsLo": [(DIAMOND, 1), (FOUR_PHIS, 0), (LOOP, 1), ("", 0)],
    "onePred": [(DIAMOND, 2), (LOOP, 1), ("", 0)],
    "onePredOneSuc": [(DIAMOND, 2), (SWITCH, 1)],
    "onePredTwoSuc": [
        ("  br label %a\na:\n  br i1 %c, label %b, label %e\nb:\n  br label %e\ne:", 1)
    ],
    "oneSuccessor": [(DIAMOND, 2), (LOOP, 1), (SWITCH, 1)],
    "twoPred": [(DIAMOND, 1), (LOOP, 1)],
    "twoPredOneSuc": [(DIAMOND + "  br label %more\nmore:\n", 1), (DIAMOND, 0)],
    "twoEach": [(LOOP, 1), (DIAMOND, 0)],
    "twoSuccessor": [(DIAMOND, 1), (LOOP, 1), (SWITCH, 0)],
    "morePreds": [(SWITCH, 1), (DIAMOND, 0)],
    "BB03Phi": [(DIAMOND, 1), (FOUR_PHIS, 0)],
    "BBHiPhi": [(FOUR_PHIS, 1), (DIAMOND, 0)],
    "BBNoPhi": [("", 1), (DIAMOND, 3), (LOOP, 2)],
    "BeginPhi": [(DIAMOND, 1), (FOUR_PHIS, 1), ("", 0)],
    "BranchCount": [(DIAMOND, 3), (LOOP, 2), (SWITCH, 1)],
    "returnInt": [
        ("  %r = call i32 @h(i32 3, i64 %w)", 1),
        ("  %r = tail call signext i32 (i8*, ...) @printf(i8* null, i32 5) #3", 1),
        ("  call void @v(i32 3)", 0),
        ("  %r = call i32 %g(i32 3)", 0),
    ],
    "CriticalCount": [(LOOP, 1), (DIAMOND, 0), (SWITCH, 3)],
    "NumEdges": [(DIAMOND, 4), (LOOP, 3), (SWITCH, 5)],
    "const32Bit": [
        ("  %a = add i32 %x, 4", 1),
        ("  %a = add i32 4, %x", 1),
        ("  %a = add i64 %w, 4", 0),
        ("  %a = alloca i32, align 4", 1),
        ("  %a = alloca [8 x i32]", 1),
        ("  %a = alloca i32, i64 %w", 0),
        ("  store i32 7, i32* %p, align 4, !tbaa !5", 1),
        ("  call void @v(i32 noundef 3)", 1),
        ("  call void @llvm.dbg.value(metadata i32 0, metadata !3, metadata !4)", 0),
        ("  %s = select i1 %c, i32 3, i32 4", 2),
        ("  store i32 ptrtoint (i8* getelementptr (i8, i8* null, i32 4) to i32), i32* %p", 0),
        ("  %v = add <2 x i32> %u, <i32 1, i32 2>", 0),
        ('  call void asm sideeffect "nop $$i32 5", "r"(i32 6)', 1),
        (SWITCH, 3),
        (LOOP, 2),
        ("  %a = icmp eq i32 %x, -1", 1),
        ("  %a = freeze i32 9", 1),
    ],
    "const64Bit": [
        ("  %q = getelementptr inbounds [4 x i32], [4 x i32]* null, i64 0, i64 %w", 1),
        ("  %q = alloca i8, i64 16", 1),
        ("  %r = call i32 @h(i32 3, i64 4)", 1),
    ],
    "numConstZeroes": [
        ("  store i32 0, i32* %p", 1),
        ("  br i1 false, label %e, label %e\ne:", 1),
        ("  store i32* null, i32** null", 0),
        (LOOP, 1),
        (SWITCH, 1),
    ],
    "numConstOnes": [
        ("  store i32 1, i32* %p", 1),
        ("  %a = alloca i32", 1),
        ("  br i1 true, label %e, label %e\ne:", 1),
        ("  %a = add i32 %x, -1", 0),
        (SWITCH, 1),
    ],
    "UncondBranches": [(DIAMOND, 2), (LOOP, 1)],
    "binaryConstArg": [
        ("  %a = add i32 %x, 4", 1),
        ("  %a = sub nsw i32 0, %x", 1),
        ("  %a = fmul double %d, 2.0e+00", 1),
        ("  %a = add i32 %x, %x", 0),
        ("  %a = add i32 %x, ptrtoint (i8* null to i32)", 1),
        ("  %a = add <2 x i32> <i32 1, i32 2>, %v", 1),
        ("  %a = add <2 x i32> %v, %v", 0),
        ("  %a = icmp eq i32 %x, 4", 0),
    ],
    "BlockMid": [(LONG_BLOCK, 1), (LONG_BLOCK.partition("\n")[2], 0)],
    "BlockLow": [(LONG_BLOCK.partition("\n")[2], 1), (LONG_BLOCK, 0), (DIAMOND, 4)],
    "TotalBlocks": [("", 1), (DIAMOND, 4), (LOOP, 3)],
    "TotalInsts": [("", 1), (DIAMOND, 5), (SWITCH, 3)],
    "TotalMemInst": [
        ("  %a = alloca i32\n  %b = load i32, i32* %a\n  store i32 %b, i32* %a", 3),
        ("  %q = getelementptr i32, i32* %p, i64 1\n  call void @v(i32 3)", 2),
        ("  fence seq_cst", 0),
    ],
    "ArgsPhi": [(DIAMOND, 2), (FOUR_PHIS, 8)],
    "testUnary": [
        ("  %a = load i32, i32* %p", 1),
        ("  %a = alloca i32", 1),
        ("  %a = fneg double %d", 1),
        ("  %a = sext i32 %x to i64", 1),
        ("  %a = extractvalue { i32, i1 } %s, 0", 1),
        ("  %a = freeze i32 %x", 0),
    ],
}
"""Feature → bodies of a function, with what it counts there."""

ONE_EACH = {
    "NumAShrInst": "%a = ashr i32 %x, 2",
    "NumAddInst": "%a = add nsw i32 %x, 2",
    "NumAllocaInst": "%a = alloca i32, align 4",
    "NumAndInst": "%a = and i32 %x, 2",
    "NumBitCastInst": "%a = bitcast i32* %p to i8*",
    "NumCallInst": "call void @v(i32 3)",
    "NumGetElementPtrInst": "%a = getelementptr i32, i32* %p, i64 1",
    "NumICmpInst": "%a = icmp ult i32 %x, 9",
    "NumLShrInst": "%a = lshr exact i32 %x, 2",
    "NumLoadInst": "%a = load volatile i32, i32* %p, align 4",
    "NumMulInst": "%a = mul i32 %x, 3",
    "NumOrInst": "%a = or i32 %x, 2",
    "NumSExtInst": "%a = sext i32 %x to i64",
    "NumSelectInst": "%a = select i1 %c, i32 %x, i32 2",
    "NumShlInst": "%a = shl nuw i32 %x, 2",
    "NumStoreInst": "store i32 %x, i32* %p, align 4",
    "NumSubInst": "%a = sub i32 %x, 2",
    "NumTruncInst": "%a = trunc i64 %w to i32",
    "NumXorInst": "%a = xor i32 %x, -1",
    "NumZExtInst": "%a = zext i32 %x to i64",
}
OTHERS = {"NumBrInst", "NumPHIInst", "NumRetInst", "TotalFuncs"}


def test_every_feature_is_tested_by_hand() -> None:
    assert len(FEATURES) == len(set(FEATURES)) == 56
    assert CASES.keys() | ONE_EACH.keys() | OTHERS == set(FEATURES)


@pytest.mark.parametrize(
    ("feature", "body", "expected"),
    [(feature, *case) for feature, cases in CASES.items() for case in cases],
)
def test_by_hand(feature: str, body: str, expected: int) -> None:
    assert count(feature, body, before=DECLARED) == expected


def test_branches_phis_and_returns() -> None:
    assert count("NumBrInst", DIAMOND) == count("BranchCount", DIAMOND) == 3
    assert count("NumPHIInst", FOUR_PHIS) == 4
    assert count("NumRetInst", DIAMOND) == 1


def test_declarations_are_functions() -> None:
    assert count("TotalFuncs", "", before=DECLARED) == 4
    assert count("TotalFuncs", "", before="declare void @llvm.assume(i1)\n@g = global i32 0") == 2
    assert autophase("declare void @f()\n")[INSTRUCTIONS] == 0
    assert autophase("") == [0] * 56


@pytest.mark.parametrize("marker", ["tail ", "musttail ", "notail "])
def test_marked_calls_are_calls(marker: str) -> None:
    assert count("NumCallInst", f"  %r = {marker}call i32 @h(i32 3, i64 4)", before=DECLARED) == 1


def test_quoted_names_and_texts_are_no_code() -> None:
    body = '  br label %"a ; b (\n"a ; b (":\n  call void @"f, i32 5 ("(i32 6)'
    body = body.replace("(\n", '("\n')
    features = autophase(function(body, before='declare void @"f, i32 5 ("(i32)'))
    named = dict(zip(FEATURES, features, strict=True))
    assert (named["TotalBlocks"], named["NumEdges"], named["const32Bit"]) == (2, 1, 1)


@given(st.dictionaries(st.sampled_from(sorted(ONE_EACH)), st.integers(1, 4), max_size=5))
def test_each_instruction_is_counted_as_often_as_it_stands(times: dict[str, int]) -> None:
    lines = [f"  {ONE_EACH[name]}" for name, n in times.items() for _ in range(n)]
    named = dict(zip(FEATURES, autophase(function("\n".join(lines))), strict=True))
    assert {name: named[name] for name in ONE_EACH} == dict.fromkeys(ONE_EACH, 0) | times
    assert named["TotalInsts"] == sum(times.values()) + 1


@given(st.lists(st.sampled_from([DIAMOND, LOOP, SWITCH, FOUR_PHIS, LONG_BLOCK]), max_size=4))
def test_the_features_of_a_module_are_the_sums_over_its_functions(bodies: list[str]) -> None:
    modules = [function(body).replace("@f(", f"@f{i}(") for i, body in enumerate(bodies)]
    together = autophase("\n".join(modules))
    assert together == np.sum([autophase(m) for m in modules] or [[0] * 56], axis=0).tolist()


@pytest.fixture(scope="module")
def walker() -> Walker:
    try:
        return Walker(load_library())
    except OSError as error:
        pytest.skip(f"no libLLVM-14: {error}")


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_as_llvm_counts_them(walker: Walker, compiler: Compiler, seed: int) -> None:
    rng = np.random.default_rng(seed)
    own = programs.load()
    program = own[rng.integers(len(own))]
    state = compiler.load(program.ir)
    assert state.features.tolist() == walker.features(program.ir)
    for name in rng.choice(STANDARD, 12):
        state = compiler.apply(state, str(name))
        assert state.features.tolist() == walker.features(state.ir), name
