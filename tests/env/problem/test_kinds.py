"""Kinds of tasks: names without numbers."""

import pytest

from dagsched_env import suites
from dagsched_env.problem.kinds import task_kinds


@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        (["mAdd_ID001", "mAdd_ID002", "mViewer_ID003"], ["mAdd", "mAdd", "mViewer"]),
        (["a_00000001", "a_00000002", "b_00000001"], ["a", "a", "b"]),
        (["POTRF(0)", "TRSM(1,0)", "POTRF(1)"], ["POTRF", "TRSM", "POTRF"]),
        (["J0.0", "J0.1", "J1.0", "J1.1"], ["J0", "J0", "J1", "J1"]),
        (["map_s_1_part_2_ID3", "map_s_4_part_5_ID6", "c_ID7"], ["map_s_part", "map_s_part", "c"]),
        (["source", "1", "2", "3"], ["source", "", "", ""]),
        (["map1", "map2", "reduce1"], ["map", "map", "reduce"]),
        (["bowtie2-build_1", "bowtie2_2", "bowtie2_3"], ["bowtie2-build", "bowtie2", "bowtie2"]),
        (["0", "1", "2"], None),
        (["T(1,1)", "T(1,2)"], None),
        (["boil", "peel", "cut"], None),
        ([f"J{j}.{k}" for j in range(20) for k in range(5)], None),  # more jobs than colours
        ([""], None),
    ],
)
def test_kinds_are_names_without_numbers(names: list[str], kinds: list[str] | None) -> None:
    found = task_kinds(names)
    assert found == (None if kinds is None else tuple(kinds))


def test_kinds_of_the_bundled_problems() -> None:
    found = {
        instance.name: set(task_kinds(instance.task_names) or ())
        for suite in ("workflows", "structured", "jobshop", "paper", "heldout")
        for instance in suites.load(suite)
    }
    assert found["blast"] == {"split_fasta", "blastall", "cat_blast", "cat"}
    assert len(found["montage"]) == 8
    assert len(found["epigenomics"]) == 9
    assert found["cholesky-4-p3-ccr0.1"] == {"POTRF", "TRSM", "SYRK", "GEMM"}
    assert found["ft06"] == {f"J{j}" for j in range(6)}
    for without in ("Topcuoglu2002", "heldout-00", "gaussian-5-p8-ccr1", "sarek"):
        assert found[without] == set()
