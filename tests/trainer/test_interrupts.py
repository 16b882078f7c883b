"""Ctrl-C at any moment of ``aerl``: exit code 130, and no traceback."""

import subprocess
import sys

import pytest

IN_AN_IMPORT = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
from aerl_trainer.__main__ import main
sys.exit(main())
"""
IN_THE_END = """
import atexit, os, signal, sys
import aerl_trainer
class Command:
    @staticmethod
    def main():
        atexit.register(os.kill, os.getpid(), signal.SIGINT)
        raise KeyboardInterrupt  # while a first one is being dealt with
aerl_trainer.cli = Command
from aerl_trainer.__main__ import main
sys.exit(main())
"""
IGNORING = """
import os, signal, sys
import aerl_trainer
class Command:
    @staticmethod
    def main():
        os.kill(os.getpid(), signal.SIGINT)
        return 7
aerl_trainer.cli = Command
from aerl_trainer.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    "arguments",
    [
        (IN_AN_IMPORT, "dagsched_env"),
        (IN_AN_IMPORT, "numba"),
        (IN_AN_IMPORT, "torch"),
        (IN_AN_IMPORT, "aerl_trainer.training"),
        (IN_THE_END,),
    ],
)
def test_ctrl_c_says_nothing(arguments: tuple[str, ...]) -> None:
    start = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code, *names = arguments
    done = subprocess.run(
        [sys.executable, "-c", start + code, *names], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_command_in_the_background_goes_on() -> None:
    """A shell has it ignore Ctrl-C, which is meant for another one."""
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + IGNORING
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (7, "")
