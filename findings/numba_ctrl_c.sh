#!/usr/bin/env bash
# numba 0.68.1: Ctrl-C during a compiled function can arrive as SystemError.
# Expected: KeyboardInterrupt as soon as the compiled function is over, whatever it returns.
# Seen: of a function that returns a tuple with an array it is a SystemError whose cause is the
#   KeyboardInterrupt, because numba builds such a result by calls of Python, where the signal is
#   handled first. Of one that returns a number it is a KeyboardInterrupt.
# Why it matters: a solver that ends with its best schedule at Ctrl-C catches KeyboardInterrupt. It
#   loses that schedule if the signal comes within a kernel that returns arrays.
# In this project: dagsched_env/kernels/interrupts.py turns the one into the other.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile numba==0.68.1 numpy==2.4.6
cd "$work"
venv/bin/python - <<'PYTHON'
import ctypes
import signal

import numba
import numpy as np

signal_now = ctypes.CDLL(None)["raise"]  # as if the user pressed Ctrl-C at this moment
signal_now.argtypes, signal_now.restype = [ctypes.c_int], ctypes.c_int
SIGINT = int(signal.SIGINT)


@numba.njit
def number(n):
    signal_now(SIGINT)
    return n


@numba.njit
def array_and_number(n):
    signal_now(SIGINT)
    return np.zeros(n), n


kinds = []
for function in (number, array_and_number):
    function.compile("(int64,)")
    try:
        function(3)
    except (KeyboardInterrupt, SystemError) as error:
        kinds.append((type(error), type(error.__cause__)))
        print(f"{function.__name__}: {error!r}, caused by {error.__cause__!r}")
expected = [(KeyboardInterrupt, type(None)), (SystemError, KeyboardInterrupt)]
assert kinds == expected, "changed: other exceptions"
PYTHON
