"""Real runs: what each tool does by itself, in HEFT's order, and by a plan of ``solve``.

    python benchmarks/real_runs.py [--parts montage epigenomics 1000genome array ninja snakemake]
                                   [--repeats 5] [--seconds 8] [--threads 1] [--side 6000]
                                   [--libsodium FOLDER]
                                   [--grapheonrl PYTHON]

Each part is real work on this machine. ``montage``, ``epigenomics`` and ``1000genome`` are recorded
workflows on two workers of Dask with one thread each, or ``--threads``: every task keeps a core
busy for a share of its recorded time and reads and writes its files. ``array`` is a computation of
``dask.array`` on the same workers. ``ninja`` builds libsodium (FOLDER is ``src/libsodium`` of the
sources of PyNaCl, as ``pip download --no-deps --no-binary :all: pynacl`` gets them). ``snakemake``
runs a pipeline of small tools on all cores, by its own scheduler, by our plugin, and by that of
GrapheonRL in an environment of its own (``pip install snakemake
snakemake-scheduler-plugin-grapheonrl``).

Two runs measure durations; then all ways take turns, ``--repeats`` times. The table shows wall time
over that of the tool alone (mean of the ratios of each turn, and its standard error), and how far
the measured time is from the planned one. The machine has to be idle otherwise.
"""

import argparse
import functools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from dagsched_env import io
from dagsched_env.execution import Job, JobGraph, execute
from dagsched_env.execution.dask import jobs_of, machines
from dagsched_env.history import History
from dagsched_env.io.ninja_order import in_order
from dagsched_env.online import Fifo
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms import Platform
from dagsched_env.problem.schedule import Schedule
from dagsched_env.schedulers import heft
from dagsched_env.solver import solve

LARGEST_FILE = 20e6
CALIBRATIONS = 2
Way = Callable[[], tuple[float, float]]
"""One run: its wall time, and the time that was planned (NaN where nothing was)."""


def busy(seconds: float, target: str, size: float, *_: object) -> str:
    """Keep a core busy, write a file."""
    content = os.urandom(int(size))
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(1000))
    Path(target).write_bytes(content)
    return target


def planned(instance: Instance, way: str) -> Schedule:
    return heft(instance) if way == "heft" else solve(instance, budget_s=1.0).schedule


# -- on Dask -------------------------------------------------------------------------------------


def recorded(name: str, folder: Path, seconds: float) -> JobGraph:
    """A recorded workflow, its tasks scaled to so many seconds of one core altogether."""
    workflow = io.read(name)
    scale = seconds / workflow.runtimes.sum()
    sent = np.zeros(len(workflow.tasks))
    for (u, _), amount in zip(workflow.edges, workflow.data, strict=True):
        sent[u] = max(sent[u], amount)
    sizes = np.minimum(LARGEST_FILE, sent * LARGEST_FILE / max(sent.max(), LARGEST_FILE))
    before: dict[int, list[str]] = {t: [] for t in range(len(workflow.tasks))}
    for u, v in workflow.edges:
        before[v].append(workflow.tasks[u])
    return JobGraph(
        [
            Job(
                task,
                functools.partial(
                    busy, workflow.runtimes[t] * scale, str(folder / f"{t}.dat"), sizes[t]
                ),
                before[t],
            )
            for t, task in enumerate(workflow.tasks)
        ]
    )


def by_dask(graph: JobGraph, client: object) -> float:
    """Dask alone."""
    began = time.perf_counter()
    futures: dict[str, object] = {}
    for job in in_topological_order(graph):
        inputs = [futures[name] for name in job.after]
        futures[job.name] = client.submit(job.action, *inputs, pure=False)  # type: ignore[attr-defined]
    used = {name for job in graph.jobs for name in job.after}
    client.gather([f for name, f in futures.items() if name not in used])  # type: ignore[attr-defined]
    return time.perf_counter() - began


def in_topological_order(graph: JobGraph) -> list[Job]:
    done: dict[str, Job] = {}
    while len(done) < len(graph.jobs):
        for job in graph.jobs:
            if job.name not in done and all(name in done for name in job.after):
                done[job.name] = job
    return list(done.values())


def ways_on_dask(graph: JobGraph, client: object, default: Callable[[], float]) -> dict[str, Way]:
    history = History(Path(tempfile.mkdtemp()) / "history.sqlite")
    cluster = machines(client)
    for _ in range(CALIBRATIONS):
        instance = graph.instance(cluster, history)
        history.add(execute(graph, instance, Fifo(), on="dask", client=client).run)
    instance = graph.instance(cluster, history)

    def by_plan(way: str) -> tuple[float, float]:
        plan = planned(instance, way)
        began = time.perf_counter()
        execute(graph, instance, plan, on="dask", client=client)
        return time.perf_counter() - began, plan.makespan

    return {
        "default": lambda: (default(), float("nan")),
        **{way: functools.partial(by_plan, way) for way in ("heft", "solve")},
    }


# -- ninja ---------------------------------------------------------------------------------------


def libsodium(sources: Path, build: Path) -> None:
    """A build.ninja for the C files of libsodium, in the order of their names."""
    top = sources / "src" / "libsodium"
    version = (top / "include" / "sodium" / "version.h.in").read_text()
    for name, value in {"VERSION": "1", "SODIUM_LIBRARY_VERSION_MAJOR": "1"}.items():
        version = version.replace(f"@{name}@", value)
    version = version.replace("@SODIUM_LIBRARY_VERSION_MINOR@", "1")
    (build / "version.h").write_text(version.replace("@SODIUM_LIBRARY_MINIMAL_DEF@", ""))
    include = f"-I{build} -I{top}/include/sodium -I{top}/include"
    flags = "-O2 -w -DCONFIGURED=1 -DNATIVE_LITTLE_ENDIAN=1 -DHAVE_WEAK_SYMBOLS=1"
    lines = [
        "rule cc",
        f"  command = cc {flags} {include} -MMD -MF $out.d -c $in -o $out",
        "  depfile = $out.d",
        "  deps = gcc",
        "rule ar",
        "  command = ar rcs $out $in",
    ]
    objects = []
    for i, file in enumerate(sorted(top.rglob("*.c"))):
        objects.append(f"{i:03}_{file.stem}.o")
        lines.append(f"build {objects[-1]}: cc {file}")
    lines.append(f"build libsodium.a: ar {' '.join(objects)}")
    (build / "build.ninja").write_text("\n".join(lines) + "\n")


def ways_of_ninja(sources: Path, folder: Path) -> dict[str, Way]:
    from ninja import BIN_DIR

    tool = [str(Path(BIN_DIR) / "ninja"), "-C", str(folder), f"-j{os.cpu_count()}"]
    libsodium(sources, folder)
    manifest = folder / "build.ninja"
    texts = {"default": manifest.read_text()}

    def build(way: str, makespan: float) -> tuple[float, float]:
        manifest.write_text(texts[way])
        subprocess.run([*tool, "-t", "clean"], check=True, capture_output=True)
        began = time.perf_counter()
        subprocess.run([*tool], check=True, capture_output=True)
        return time.perf_counter() - began, makespan

    history = History(folder / "history.sqlite")
    for _ in range(CALIBRATIONS):
        build("default", 0.0)
        history.add(io.read_run(folder))
    run = io.read_run(folder)
    node = Platform([1.0], [[1.0]], capacities={"cores": [os.cpu_count() or 1]})
    instance = node.equip(run.problem)
    ways: dict[str, Way] = {"default": lambda: build("default", float("nan"))}
    for way in ("heft", "solve"):
        plan = planned(instance, way)
        first = np.lexsort((-instance.rank_u, plan.start)).tolist()
        manifest.write_text(texts["default"])
        texts[way] = in_order(folder, {instance.task_names[t]: i for i, t in enumerate(first)})
        ways[way] = functools.partial(build, way, plan.makespan)
    return ways


# -- Snakemake -----------------------------------------------------------------------------------

PIPELINE = """
SAMPLES = range(8)
rule all:
    input: "report.txt", "audit.gz"
rule make:
    output: "raw/{i}.txt"
    benchmark: "times/make/{i}.tsv"
    shell: "seq 1 $((800000 + 100000 * {wildcards.i})) | shuf --random-source=<(yes) > {output}"
rule sort:
    input: "raw/{i}.txt"
    output: "sorted/{i}.txt"
    benchmark: "times/sort/{i}.tsv"
    shell: "sort --parallel=1 {input} > {output}"
rule count:
    input: "sorted/{i}.txt"
    output: "count/{i}.txt"
    benchmark: "times/count/{i}.tsv"
    shell: "cut -c1-3 {input} | uniq -c | sort --parallel=1 -rn > {output}"
rule digest:
    input: "raw/{i}.txt"
    output: "digest/{i}.txt"
    benchmark: "times/digest/{i}.tsv"
    shell: "for k in 1 2 3; do sha512sum {input}; done > {output}"
rule report:
    input: expand("count/{i}.txt", i=SAMPLES), expand("digest/{i}.txt", i=SAMPLES)
    output: "report.txt"
    benchmark: "times/report.tsv"
    shell: "cat {input} > {output}"
rule log:
    output: "log.txt"
    benchmark: "times/log.tsv"
    shell: "seq 1 12000000 > {output}"
rule audit:
    input: "log.txt"
    output: "audit.gz"
    benchmark: "times/audit.tsv"
    shell: "gzip -9 -c {input} > {output}"
"""


def ways_of_snakemake(folder: Path, grapheonrl: Path | None) -> dict[str, Way]:
    (folder / "Snakefile").write_text(PIPELINE)
    plugin = Path(__file__).parents[1] / "integrations" / "snakemake"
    path = os.pathsep.join(map(str, (plugin, Path(__file__).parents[1])))
    words = ["-m", "snakemake", "--cores", str(os.cpu_count()), "--forceall"]
    ours = ["--scheduler", "dagsched", "--scheduler-dagsched-history", str(folder / "history")]

    def run(*more: str, python: str = sys.executable) -> tuple[float, float]:
        for name in ("raw", "sorted", "count", "digest"):
            shutil.rmtree(folder / name, ignore_errors=True)
        began = time.perf_counter()
        subprocess.run(
            [python, *words, *more],
            cwd=folder,
            check=True,
            capture_output=True,
            env={**os.environ, "PYTHONPATH": path if python == sys.executable else ""},
        )
        return time.perf_counter() - began, float("nan")

    theirs = functools.partial(run, "--scheduler", "grapheonrl", python=str(grapheonrl))
    for _ in range(CALIBRATIONS):
        run(*ours)
        if grapheonrl is not None:
            theirs()
    ways: dict[str, Way] = {"default": run, "solve": lambda: run(*ours)}
    return ways if grapheonrl is None else {**ways, "grapheonrl": theirs}


# -- all -----------------------------------------------------------------------------------------


def measure(part: str, ways: dict[str, Way], repeats: int) -> None:
    ratios: dict[str, list[float]] = {way: [] for way in ways}
    off: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(repeats):
        seconds: dict[str, float] = {}
        for way in np.roll(list(ways), turn).tolist():
            seconds[way], plan = ways[way]()
            off[way].append(abs(seconds[way] - plan) / plan)
        for way in ways:
            ratios[way].append(seconds[way] / seconds["default"])
        found = ", ".join(f"{w} {s:.2f} s" for w, s in seconds.items())
        print(f"{part} {turn}: {found}", flush=True)
    for way in ways:
        error = statistics.stdev(ratios[way]) / repeats**0.5 if repeats > 1 else float("nan")
        print(
            f"| {part} | {way} | {statistics.mean(ratios[way]):.3f} ± {error:.3f} "
            f"| {statistics.mean(off[way]):.1%} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = ("montage", "epigenomics", "1000genome", "array", "ninja", "snakemake")
    parser.add_argument("--parts", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8.0, help="of two cores, of a workflow")
    parser.add_argument("--threads", type=int, default=1, help="of each worker of Dask")
    parser.add_argument("--side", type=int, default=6000, help="of the matrices of the part array")
    parser.add_argument("--libsodium", type=Path, help="for the part ninja")
    parser.add_argument("--grapheonrl", type=Path, help="a Python that has this plugin")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for part in arguments.parts:
            place = Path(folder) / part
            place.mkdir()
            if part == "ninja":
                if arguments.libsodium is None:
                    print("ninja: left out, --libsodium is missing")
                    continue
                measure(part, ways_of_ninja(arguments.libsodium, place), arguments.repeats)
            elif part == "snakemake":
                measure(part, ways_of_snakemake(place, arguments.grapheonrl), arguments.repeats)
            else:
                on_dask(part, place, arguments)


def on_dask(part: str, place: Path, arguments: argparse.Namespace) -> None:
    import dask.array
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=arguments.threads,
        dashboard_address="127.0.0.1:0",
        host="127.0.0.1",
    )
    with cluster, Client(cluster) as client:
        if part == "array":
            side = arguments.side
            x = dask.array.random.default_rng(0).random((side, side), chunks=side // 4)
            rows = x.rechunk((side // 8, side))
            spectrum = abs(dask.array.fft.fft(rows)).max()
            total = dask.array.linalg.norm(x @ x.T - x.T @ x) + spectrum
            graph = jobs_of(total)
            ways = ways_on_dask(graph, client, lambda: timed(total.compute))
        else:
            graph = recorded(part, place, 2 * arguments.seconds)
            ways = ways_on_dask(graph, client, lambda: by_dask(graph, client))
        measure(part, ways, arguments.repeats)


def timed(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
