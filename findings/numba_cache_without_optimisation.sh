#!/usr/bin/env bash
# numba 0.68.1: with NUMBA_OPT=0 a function that calls another one is not cached on disk.
# Expected: cache=True keeps the machine code at every level of optimisation.
# Seen: at the levels 1 to 3 caller and called one are each in __pycache__. At 0 the caller is not; a
#   NumbaWarning says that it "uses dynamic globals (such as ctypes pointers and large global
#   arrays)", of which it has none. So every start of the program compiles it anew.
# Why it matters: a project whose functions take minutes to compile sets NUMBA_OPT=0 in its tests to
#   save time, and pays for the compilation in each process.
# In this project: `make bounds` compiles with the usual optimisation.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile numba==0.68.1 numpy==2.4.6
cd "$work"
cat >functions.py <<'PYTHON'
import numba


@numba.njit(cache=True)
def called(values):
    total = 0.0
    for value in values:
        total += value
    return total


@numba.njit(cache=True)
def caller(values):
    return 2.0 * called(values)
PYTHON
cached() {
    rm -rf __pycache__
    NUMBA_OPT=$1 venv/bin/python -c 'import numpy, functions; functions.caller(numpy.ones(3))' 2>warnings
    find __pycache__ -name 'functions.call*.nbi' -printf '%f\n' | cut -d- -f1 | sort | tr '\n' ' '
}
for level in 0 1 2 3; do
    found=$(cached "$level")
    echo "NUMBA_OPT=$level: cached are $found"
    case $level in
        0) [ "$found" = 'functions.called ' ] && grep -q 'Cannot cache compiled function "caller"' warnings ;;
        *) [ "$found" = 'functions.called functions.caller ' ] && [ ! -s warnings ] ;;
    esac || { echo 'changed: other functions are cached'; exit 1; }
done
