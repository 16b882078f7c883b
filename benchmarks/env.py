"""Speed of the environment and of HEFT, each beside a reference measured in the same run.

Prints ratios: the machine's own speed cancels out. Run it on an idle machine. The rows of another
package need it in the same Python environment (``pip install anrg-saga``, whose licence forbids
commercial use); without it, the ratios that were recorded with it are printed.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable

import gymnasium
import networkx as nx
import numpy as np
from gymnasium.vector import SyncVectorEnv, VectorEnv
from timing import best_of

from dagsched_env import DAGSchedEnv, Instance
from dagsched_env.environment.online.env import DAGSchedOnlineEnv
from dagsched_env.environment.online.vector import DAGSchedOnlineVectorEnv
from dagsched_env.environment.vector import DAGSchedVectorEnv
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.online import Lognormal
from dagsched_env.schedulers.heft import heft
from dagsched_env.schedulers.simulated_annealing import annealing

NUM_ENVS = 1024
SAGA_SIZES = (30, 100, 300)
SAGA_RECORD = {30: 280, 100: 780, 300: 1210}
"""anrg-saga 2.0.2 with Python 3.11, NumPy 2.4.6, networkx 3.6.1, measured by this script."""

LARGE = """
import re, time
from pathlib import Path
import numpy as np
from dagsched_env import Instance
from dagsched_env.schedulers.heft import heft

def peak():  # since the start of this program, unlike getrusage's
    status = Path("/proc/self/status").read_text()
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+) kB", status).group(1))

n, p = 100_000, 64
heft(Instance([[1.0, 2.0]] * 2, [(0, 1)], [1.0]))
before = peak()
rng = np.random.default_rng(0)
target = np.repeat(np.arange(1, n), 3)
source = target - 1 - rng.integers(np.minimum(target, 1000))
edges = np.unique(np.stack([source, target], axis=1), axis=0)
instance = Instance(rng.uniform(1, 10, (n, p)), edges, rng.uniform(0, 10, len(edges)))
held = peak()
started = time.perf_counter()
heft(instance)
print(time.perf_counter() - started, held - before, peak() - before, len(edges) + n * p)
"""

FIRST_CALL = """
import time
started = time.perf_counter()
import dagsched_env
imported = time.perf_counter()
from dagsched_env.schedulers.heft import heft
instance = dagsched_env.Instance([[1.0, 2.0]] * 2, [(0, 1)], [1.0])
called = time.perf_counter()
heft(instance)
print(imported - started, time.perf_counter() - imported)
"""


def problems(n_tasks: int, count: int) -> list[Instance]:
    """Random graphs with four processors."""
    draw = TopcuogluGenerator(n_tasks=n_tasks, n_processors=4, ccr=1.0, beta=1.0)
    return [draw(rng) for rng in np.random.default_rng(0).spawn(count)]


def step_rate(env: gymnasium.Env, steps: int = 3000) -> float:
    """Random legal steps a second; resets are not counted, actions are drawn beforehand."""
    rng = np.random.default_rng(0)
    _, info = env.reset(seed=0)
    elapsed = 0.0
    for _ in range(steps):
        mask = info.get("action_mask")
        action = int(rng.integers(2) if mask is None else rng.choice(np.flatnonzero(mask)))
        started = time.perf_counter()
        _, _, terminated, truncated, info = env.step(action)
        elapsed += time.perf_counter() - started
        if terminated or truncated:
            _, info = env.reset()
    return steps / elapsed


def vector_rate(envs: VectorEnv, steps: int = 62) -> float:
    """Random legal steps of one environment a second, resets included."""
    rng = np.random.default_rng(0)
    _, info = envs.reset(seed=0)
    elapsed = 0.0
    for step in range(steps + 1):
        mask = info["action_mask"]
        actions = (mask * rng.random(mask.shape, dtype=np.float32)).argmax(axis=1)
        started = time.perf_counter()
        info = envs.step(actions)[-1]
        if step > 0:  # the first one loads the machine code
            elapsed += time.perf_counter() - started
    return steps * envs.num_envs / elapsed


def call_rate(function: Callable[[], object], seconds: float = 0.3) -> float:
    """Calls a second."""
    function()
    calls, started = 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        function()
        calls += 1
    return calls / (time.perf_counter() - started)


def report_steps(instances: list[Instance]) -> None:
    cartpole = best_of(lambda: step_rate(gymnasium.make("CartPole-v1").unwrapped))
    dagsched = best_of(lambda: step_rate(DAGSchedEnv(instances)))
    print(f"one DAGSched-v0 step takes {cartpole / dagsched:.1f} CartPole-v1 steps (at most 4)")


def report_vector(instances: list[Instance]) -> None:
    for copy in (True, False):
        envs = DAGSchedVectorEnv(instances, num_envs=NUM_ENVS, copy=copy)
        sync = SyncVectorEnv([lambda: DAGSchedEnv(instances)] * NUM_ENVS, copy=copy)
        native = best_of(lambda envs=envs: vector_rate(envs))
        ratio = native / best_of(lambda sync=sync: vector_rate(sync), repeats=2)
        print(
            f"vector env of {NUM_ENVS}, copy={copy}: {ratio:.0f} x SyncVectorEnv (at least 50), "
            f"{native / 1e3:.0f} thousand env-steps/s"
        )


def report_online(instances: list[Instance]) -> None:
    """The environment in which time goes on, with durations that differ from the expected ones."""
    noise = Lognormal(0.3)
    single = best_of(lambda: step_rate(DAGSchedOnlineEnv(instances, noise=noise)))
    ratio = best_of(lambda: step_rate(DAGSchedEnv(instances))) / single
    print(f"one DAGSchedOnline-v0 step takes {ratio:.1f} DAGSched-v0 steps (at most 2)")
    envs = DAGSchedOnlineVectorEnv(instances, num_envs=NUM_ENVS, copy=False, noise=noise)
    ratio = best_of(lambda: vector_rate(envs)) / single
    several = SyncVectorEnv([lambda: DAGSchedOnlineEnv(instances, noise=noise)] * NUM_ENVS)
    to_sync = ratio * single / best_of(lambda: vector_rate(several), repeats=2)
    print(
        f"vector env of {NUM_ENVS}, copy=False: {ratio:.1f} x the steps of a single one, resets "
        f"included (at least 20), {to_sync:.0f} x SyncVectorEnv"
    )


def as_related(instance: Instance, rng: np.random.Generator) -> tuple[Instance, list, list]:
    """The same graph with processors of different speed, which both packages can express.

    Returns the instance, the work of its tasks and the speeds of its processors.
    """
    work = rng.uniform(1, 10, instance.n_tasks)
    speeds = rng.uniform(1, 4, instance.n_processors)
    related = Instance(work[:, None] / speeds, instance.edges, instance.data)
    return related, work.tolist(), speeds.tolist()


def saga_call(instance: Instance, work: list[float], speeds: list[float]) -> Callable[[], object]:
    """A call of the HEFT of anrg-saga on the same problem, through its public functions."""
    import saga
    from saga.schedulers import HeftScheduler

    network = nx.complete_graph([f"P{q}" for q in range(len(speeds))])
    nx.set_edge_attributes(network, 1.0, "weight")
    nx.set_node_attributes(network, dict(zip(network, speeds, strict=True)), "weight")
    graph = nx.DiGraph()
    graph.add_nodes_from((f"t{t}", {"weight": cost}) for t, cost in enumerate(work))
    for (u, v), data in zip(instance.edges.tolist(), instance.data.tolist(), strict=True):
        graph.add_edge(f"t{u}", f"t{v}", weight=data)
    arguments = saga.Network.from_nx(network), saga.TaskGraph.from_nx(graph)
    scheduler = HeftScheduler()
    return lambda: scheduler.schedule(*arguments)


def report_saga() -> None:
    rng = np.random.default_rng(0)
    for n in SAGA_SIZES:
        related, work, speeds = as_related(problems(n, 1)[0], rng)
        try:
            theirs = saga_call(related, work, speeds)
        except ImportError:
            print(f"HEFT, n = {n}: {SAGA_RECORD[n]:.0f} x anrg-saga 2.0.2 (recorded)")
            continue
        difference = theirs().makespan / heft(related).makespan - 1.0
        ratio = best_of(lambda related=related: call_rate(lambda: heft(related)))
        ratio /= best_of(lambda theirs=theirs: call_rate(theirs), repeats=2)
        print(
            f"HEFT, n = {n}: {ratio:.0f} x anrg-saga (at least 200); "
            f"its makespan differs by {difference:.2%}"
        )


def fresh_process(program: str) -> list[float]:
    """The numbers that a program prints in a new interpreter."""
    output = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    ).stdout
    return [float(number) for number in output.split()]


def report_annealing(instance: Instance, moves: int = 300_000) -> None:
    annealing(instance, max_evaluations=1)
    schedules = best_of(lambda: call_rate(lambda: heft(instance)))
    decodings = moves * best_of(
        lambda: call_rate(lambda: annealing(instance, max_evaluations=moves)), repeats=2
    )
    print(
        f"annealing: {decodings / 1e3:.0f} thousand decodings/s, "
        f"{decodings / schedules:.0f} in the time of one HEFT call"
    )


def report_large() -> None:
    seconds, held, peak, entries = fresh_process(LARGE)
    print(
        f"HEFT, n = 100000, p = 64: {seconds:.2f} s; edges + n p = {entries:.3g}; peak memory "
        f"{held / entries:.0f} bytes for each to make the instance, {peak / entries:.0f} in all"
    )


def report_start() -> None:
    imports, calls = zip(*(fresh_process(FIRST_CALL) for _ in range(5)), strict=True)
    print(f"import dagsched_env: {min(imports):.2f} s (less than 0.5)")
    print(f"first HEFT call of a process: {min(calls):.2f} s (less than 1)")


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    instances = problems(30, 16)
    print("n = 30 tasks, p = 4 processors, one core")
    report_steps(instances)
    report_vector(instances)
    report_online(instances)
    report_saga()
    report_annealing(instances[0])
    report_large()
    report_start()


if __name__ == "__main__":
    main()
