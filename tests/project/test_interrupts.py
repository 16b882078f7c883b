"""Ctrl-C at any moment of ``aerl`` and ``dagsched``: exit code 130, and no traceback."""

import subprocess
import sys

import pytest

IN_AN_IMPORT = """
import importlib, os, signal, sys
sys.argv[0] = "dagsched"
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[2]:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
sys.exit(importlib.import_module(f"{sys.argv[1]}.__main__").main())
"""
IN_THE_END = """
import atexit, importlib, os, signal, sys
package = importlib.import_module(sys.argv[1])
class Command:
    @staticmethod
    def main():
        atexit.register(os.kill, os.getpid(), signal.SIGINT)
        raise KeyboardInterrupt  # while a first one is being dealt with
package.cli = Command
sys.exit(importlib.import_module(f"{sys.argv[1]}.__main__").main())
"""
IGNORING = """
import importlib, os, signal, sys
package = importlib.import_module(sys.argv[1])
class Command:
    @staticmethod
    def main():
        os.kill(os.getpid(), signal.SIGINT)
        return 7
package.cli = Command
sys.exit(importlib.import_module(f"{sys.argv[1]}.__main__").main())
"""


@pytest.mark.parametrize(
    "arguments",
    [
        (IN_AN_IMPORT, "aerl_trainer", "gymnasium"),
        (IN_AN_IMPORT, "aerl_trainer", "numba"),
        (IN_AN_IMPORT, "aerl_trainer", "torch"),
        (IN_AN_IMPORT, "aerl_trainer", "aerl_trainer.run.training"),
        (IN_AN_IMPORT, "dagsched_env", "gymnasium"),
        (IN_AN_IMPORT, "dagsched_env", "numba"),
        (IN_AN_IMPORT, "dagsched_env", "dagsched_env.environment.env"),
        (IN_AN_IMPORT, "dagsched_env", "dagsched_env.cli.compilation"),
        (IN_THE_END, "aerl_trainer"),
        (IN_THE_END, "dagsched_env"),
    ],
)
def test_ctrl_c_says_nothing(arguments: tuple[str, ...]) -> None:
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code, *names = arguments
    done = subprocess.run(
        [sys.executable, "-c", start + code, *names], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.parametrize("package", ["aerl_trainer", "dagsched_env"])
def test_a_command_in_the_background_goes_on(package: str) -> None:
    """A shell has it ignore Ctrl-C, which is meant for another one."""
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + IGNORING
    command = [sys.executable, "-c", code, package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (7, "")
