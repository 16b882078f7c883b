"""dagsched_env alone: without the optional packages, without compiling, without side effects."""

import subprocess
import sys

from helpers.isolation import BLOCK


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


def test_importing_compiles_nothing_and_loads_no_optional_package() -> None:
    output = run(
        """
import sys, dagsched_env
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
from dagsched_env.render import rgb_array
rgb_array(dagsched_env.Schedule([0], [0.0], [1.0]))
assert "matplotlib.pyplot" not in sys.modules
"""
    )


def test_public_names_exist_and_are_sorted() -> None:
    import dagsched_env

    assert dagsched_env.__all__ == sorted(dagsched_env.__all__)
    assert all(hasattr(dagsched_env, name) for name in dagsched_env.__all__)
