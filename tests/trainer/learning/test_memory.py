"""Freed memory that stays with the process."""

import platform
import subprocess
import sys

import pytest

STEPS = """
import resource, sys
import numpy as np
from aerl_trainer.learning.memory import keep_freed_memory

if sys.argv[1] == "kept":
    keep_freed_memory()

def step():
    arrays = [np.full(2**20, 1.0) for _ in range(6)]

for _ in range(3):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="of glibc alone")
def test_pages_that_are_kept_are_not_cleared_again():
    faults = {}
    for mode in ("kept", "given back"):
        command = [sys.executable, "-c", STEPS, mode]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        faults[mode] = int(done.stdout)
    assert faults["kept"] < 0.01 * faults["given back"]
