"""Compilation: said once, in one line, when a command waits for it; done beforehand by warm-up."""

import os
import subprocess
import sys
from pathlib import Path

from helpers.isolation import BLOCK

LINE = (
    "dagsched: compiling kernels, once: it may take minutes (dagsched warm-up compiles all of them)"
)
COMMAND = "import sys; from dagsched_env.cli import main; sys.exit(main(sys.argv[1:]))"


def run(
    code: str, *arguments: object, cache: Path | None = None
) -> subprocess.CompletedProcess[str]:
    environment = os.environ | ({} if cache is None else {"NUMBA_CACHE_DIR": str(cache)})
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_a_command_that_compiles_says_so_and_the_next_one_is_quiet(tmp_path: Path) -> None:
    graph, cache = tmp_path / "graph.dot", tmp_path / "cache"
    graph.write_text("digraph { a [Weight=1]; b [Weight=2]; a -> b [Weight=3] }")
    command = ["schedule", graph, "--platform", "identical", "--processors", 2, "--bandwidth", 1]
    assert run(COMMAND, *command, cache=cache).stderr.splitlines() == [LINE]
    assert run(COMMAND, *command, cache=cache).stderr == ""


def test_what_compiles_nothing_says_nothing(tmp_path: Path) -> None:
    done = run(COMMAND, "generate", "--list", cache=tmp_path)
    assert done.stderr == ""


def test_warm_up_without_the_trainer_leaves_nothing_to_compile(tmp_path: Path) -> None:
    code = f"""{BLOCK}
from dagsched_env.cli import main
assert main(["warm-up"]) == 0
print("warm", file=sys.stderr)
machines = ["--platform", "unrelated", "--processors", "4", "--beta", "1", "--ccr", "1"]
machines += ["--platform-seed", "1", "--scheduler", "all", "--time-limit", "0.01"]
assert main(["schedule", "epigenomics", *machines]) == 0
"""
    assert run(code).stderr.replace(f"{LINE}\n", "", 1) == "warm\n"
