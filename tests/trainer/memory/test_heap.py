"""Free memory stays for the next step, or goes back to the operating system."""

import platform
import subprocess
import sys

import pytest

FRAGMENTED = """
import contextlib, ctypes, pathlib, sys, time
import numpy as np
from aerl_trainer.memory.heap import free_memory_returned

def resident_mib():
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20

M_MMAP_THRESHOLD = -3
ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 32 << 20)  # the arrays below come from the heap
before = resident_mib()
manager = free_memory_returned(0.05) if sys.argv[1] == "returned" else contextlib.nullcontext()
with manager:
    arrays = [np.ones(4 << 20, np.uint8) for _ in range(80)]
    del arrays[::2]  # each free block lies between blocks in use
    time.sleep(0.5)
    print(resident_mib() - before)
"""

STEPS = """
import resource, sys
import numpy as np
from aerl_trainer.memory.heap import keep_freed_memory

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


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="malloc_trim is of glibc")
def test_free_pages_between_blocks_in_use_are_given_back() -> None:
    grown = {
        name: float(subprocess.check_output([sys.executable, "-c", FRAGMENTED, name], text=True))
        for name in ("returned", "kept")
    }
    assert grown["kept"] > 300.0  # 160 of 320 MiB were freed, and stayed
    assert grown["returned"] < 190.0


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is of glibc")
def test_pages_that_are_kept_are_not_cleared_again() -> None:
    faults = {}
    for mode in ("kept", "given back"):
        command = [sys.executable, "-c", STEPS, mode]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        faults[mode] = int(done.stdout)
    assert faults["kept"] < 0.01 * faults["given back"]
