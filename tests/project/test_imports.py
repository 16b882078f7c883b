"""dagsched_env alone: without the optional packages, without compiling, without side effects."""

import importlib
import re
import subprocess
import sys

import pytest

from helpers.isolation import BLOCK, WITHOUT_TORCH, blocking


def run(code: str) -> str:
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_an_episode_without_the_optional_packages() -> None:
    output = run(
        BLOCK
        + """
import gymnasium, dagsched_env
env = gymnasium.make("DAGSched-v0")
_, info = env.reset(seed=0)
over, total = False, 0.0
while not over:
    action = env.action_space.sample(info["action_mask"])
    _, reward, over, _, info = env.step(action)
    total += reward
assert abs(total - (1 - info["slr"])) < 1e-9
try:
    info["schedule"].plot("gantt.png")
except dagsched_env.MissingExtraError as error:
    print(error)
"""
    )
    assert output == (
        "this feature needs 'matplotlib': install it with  pip install 'aerl-ds[plot]'\n"
    )


def test_gymnasium_imports_the_package_by_itself() -> None:
    output = run('import gymnasium; print(gymnasium.make("dagsched_env:DAGSched-v0").spec.id)')
    assert output == "DAGSched-v0\n"


def test_the_package_loads_its_parts_when_they_are_asked_for() -> None:
    output = run(
        """
import sys, dagsched_env
parts = [name for name in sys.modules if name.startswith("dagsched_env.")]
print(parts, "Instance" in dir(dagsched_env))
"""
    )
    early = ["kernels", "kernels.interrupts", "problem", "problem.drawing"]
    found = [f"dagsched_env.{name}" for name in early]
    assert output == f"{found} True\n", "who sees to Ctrl-C before all else, and who draws"


def test_importing_compiles_nothing_and_loads_no_optional_package() -> None:
    output = run(
        """
import sys, dagsched_env
for name in dagsched_env.__all__:
    getattr(dagsched_env, name)
for name in ("torch", "matplotlib", "ortools", "rich", "tyro"):
    assert name not in sys.modules, name
kernels = [
    function
    for name, module in sys.modules.items()
    if name.startswith("dagsched_env.kernels.")
    for function in vars(module).values()
    if hasattr(function, "signatures")
]
assert not any(kernel.signatures for kernel in kernels)
print(len(kernels) > 10)
"""
    )
    assert output == "True\n"


def test_solve_loads_no_torch() -> None:
    """It takes longer to load than all else together."""
    output = run(
        """
import sys
from aerl_trainer.cli import main
options = ["--platform", "identical", "--processors", "8", "--bandwidth", "1Gbit/s"]
for checkpoint in ("auto", "default"):
    code = main(["solve", "montage", *options, "--budget", "0.5", "--checkpoint", checkpoint])
    assert code == 0
assert main(["--version"]) == 0
print("torch" in sys.modules)
"""
    )
    assert output.endswith("False\n")


def test_the_version_is_unknown_where_the_package_is_not_installed() -> None:
    output = run(
        """
import importlib.metadata as metadata
known = metadata.version
def version(name):
    if name == "aerl-ds":
        raise metadata.PackageNotFoundError(name)
    return known(name)
metadata.version = version
import dagsched_env
print(dagsched_env.__version__)
"""
    )
    assert output == "0+unknown\n"


def test_registration_can_be_repeated() -> None:
    run("import importlib, dagsched_env; importlib.reload(dagsched_env)")


def test_pictures_leave_pyplot_alone() -> None:
    run(
        """
import sys, dagsched_env
from dagsched_env.pictures import rgb_array
rgb_array(dagsched_env.Schedule([0], [0.0], [1.0]))
assert "matplotlib.pyplot" not in sys.modules
"""
    )


@pytest.mark.parametrize("package", ["dagsched_env", "aerl_trainer"])
def test_what_the_docstring_names_is_an_attribute(package: str) -> None:
    """Each in a process of its own: what one of them imports must not help the next."""
    text = importlib.import_module(package).__doc__ or ""
    heads = re.findall(r"^- (.*?):", text.partition("In reading order")[2], re.MULTILINE)
    names = [name for head in heads for name in re.findall(r"``(\w+)``", head)]
    assert len(names) >= 12
    code = f"""
import os, gymnasium, networkx, numba, numpy, {package}
if {package!r} == "aerl_trainer":
    import matplotlib, sb3_contrib, tensorboard, torch, tyro
for name in {names!r}:
    child = os.fork()
    if child == 0:
        found = getattr({package}, name).__name__ == {package!r} + "." + name
        os._exit(0 if found else 1)
    if os.waitpid(child, 0)[1] != 0:
        print(name)
"""
    assert run(code) == ""


@pytest.mark.parametrize("package", ["dagsched_env", "aerl_trainer"])
def test_other_attributes_are_none(package: str) -> None:
    module = importlib.import_module(package)
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'ioo'"):
        module.ioo  # noqa: B018
    assert not hasattr(module, "__wrapped__")


def test_modules_wait_for_their_first_use() -> None:
    code = "assert 'dagsched_env.io' not in sys.modules; print(dagsched_env.io.load.__name__)"
    assert run(f"import sys, dagsched_env; {code}") == "load\n"


@pytest.mark.parametrize("name", ["solve", "train", "load_policy", "cli"])
def test_the_trainer_without_its_extra_says_what_to_install(name: str) -> None:
    code = (
        WITHOUT_TORCH
        + f"""
try:
    from aerl_trainer import {name}
except ImportError as error:
    print(type(error).__name__, error)
"""
    )
    found = run(code)
    assert found.startswith("MissingExtraError this feature needs '")
    assert found.endswith("install it with  pip install 'aerl-ds[trainer]'\n")


def test_the_search_needs_no_torch() -> None:
    assert run(WITHOUT_TORCH + "from aerl_trainer import policy, tree; print(tree.__name__)")


@pytest.mark.parametrize("arguments", [[], ["--help"], ["solve", "montage"], ["warm-up"]])
def test_aerl_without_its_extra_is_one_line(arguments: list[str]) -> None:
    code = WITHOUT_TORCH + "from aerl_trainer.__main__ import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("aerl: error: this feature needs '")
    assert line.endswith("install it with  pip install 'aerl-ds[trainer]'")


def test_a_command_that_lacks_one_package_of_the_extra_is_one_line() -> None:
    code = blocking("torch") + "from aerl_trainer.__main__ import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, "train"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == (
        "aerl: error: this feature needs 'torch': install it with  pip install 'aerl-ds[trainer]'\n"
    )


def test_public_names_exist_and_are_sorted() -> None:
    import dagsched_env

    assert dagsched_env.__all__ == sorted(dagsched_env.__all__)
    assert all(hasattr(dagsched_env, name) for name in dagsched_env.__all__)
