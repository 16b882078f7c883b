"""Compilation: what borrows leaves nothing behind, and every edit of a kernel compiles it anew."""

import inspect
import os
import re
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba.core.cpu import CPUTargetOptions

from dagsched_env.kernels.jit import DEFAULTS, borrowing, embedded, kernel
from helpers import ROOT

TWICE = """
import numpy as np
from numba.core.runtime import rtsys
from helpers.small_runs import problem
from aerl_trainer.config import Config
from aerl_trainer.tree.records import SearchJob
from aerl_trainer.tree.alone import search_alone
from aerl_trainer.policy.encoding.evaluator import PriorEvaluator
from aerl_trainer.policy.fast import FastPolicy
from dagsched_env.environment.vector import DAGSchedVectorEnv
from dagsched_env.schedulers import CONSTRUCTIVE, annealing, genetic

instance = problem(12, 3, seed=1)
envs = DAGSchedVectorEnv(instance, num_envs=4)

def use():
    for scheduler in CONSTRUCTIVE.values():
        scheduler(instance)
    genetic(instance, max_evaluations=200)
    options = dict(pair_share=0.3, cluster_share=0.2, best_place=True, load_weight=8.0)
    annealing(instance, max_evaluations=4000, **options)
    settings = Config().search.for_solving(300)
    for weights in (None, FastPolicy().weights):
        job = SearchJob(0, instance, 0, weights)
        search_alone(job, PriorEvaluator(), settings, rollout_weight=1.0, explore=False)
    FastPolicy().sample(instance, 3, np.random.default_rng(0), gradients=True)
    _, info = envs.reset(seed=0)
    for _ in range(20):
        _, _, _, _, info = envs.step(info["action_mask"].argmax(axis=-1))

def held():
    stats = rtsys.get_allocation_stats()
    return stats.alloc - stats.free, stats.mi_alloc - stats.mi_free

use()
before = held()
use()
print(before, held())
"""


def test_borrowed_arrays_and_memory_are_given_back() -> None:
    """A second use of what searches or steps holds no more memory than the first."""
    path = os.pathsep.join((str(ROOT / "tests"), str(ROOT)))
    environment = os.environ | {"PYTHONPATH": path, "NUMBA_NRT_STATS": "1"}
    command = [sys.executable, "-c", TWICE]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    before, after = re.findall(r"\(\d+, \d+\)", done.stdout)
    assert before == after


def test_what_borrows_cannot_allocate() -> None:
    @borrowing
    def allocate(n):  # type: ignore[no-untyped-def]
        return np.empty(n)

    with pytest.raises(numba.core.errors.NumbaError, match="in nopython mode"):
        allocate(3)


def test_no_option_is_taken_over_from_the_kernel_that_calls_first() -> None:
    """Numba would compile a callee without reference counts, or embed it, as its first caller."""
    finalize = inspect.getsource(CPUTargetOptions.finalize)
    taken_over = set(re.findall(r"inherit_if_not_set\(\s*\"(\w+)\"", finalize))
    assert taken_over == {option.removeprefix("_") for option in DEFAULTS}
    for decorator in (kernel, borrowing, embedded):
        compiled = decorator(lambda x: x)
        assert set(DEFAULTS) <= set(compiled.targetoptions)


def test_make_compiles_again_after_an_edit_of_any_kernel() -> None:
    """Numba looks at the file of the kernel that is called alone, so the Makefile looks at all."""
    rules = (ROOT / "Makefile").read_text()
    (pattern,) = re.findall(r"grep -rlE '([^']+)'", rules)
    packages = (ROOT / "dagsched_env", ROOT / "aerl_trainer")
    files = {path: path.read_text() for package in packages for path in package.rglob("*.py")}
    compiled = {path for path, text in files.items() if "dagsched_env.kernels.jit import" in text}
    assert len(compiled) > 20
    watched = {path for path, text in files.items() if re.search(pattern, text, re.MULTILINE)}
    assert compiled <= watched
