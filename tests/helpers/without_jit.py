"""The tests of a file of kernels, once more in plain Python: where a debugger can follow them."""

import os
import subprocess
import sys

WITHOUT_JIT = os.environ.get("NUMBA_DISABLE_JIT") == "1"
"""Whether this process is that run."""


def check_without_jit(file: str) -> None:
    """All tests of a file but the caller pass; hypothesis draws fewer examples than with the JIT.

    Args:
        file: of the tests; only the caller is skipped in that run.
    """
    profile = os.environ.get("HYPOTHESIS_PROFILE", "brief")
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "HYPOTHESIS_PROFILE": profile}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", file]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-2000:]
    assert "1 skipped" in result.stdout
