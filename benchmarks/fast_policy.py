"""What the fast policy learns in a given time, and what one pass of it costs.

    python benchmarks/fast_policy.py [--instances SPEC …] [--judge SPEC …] [--anneal 0]
        [--seconds 300] [--seeds 1] [--rank-temperature 1] [--schedules 32] [--checkpoint NAME …]

Trains from rank groups of the policy's own schedules, by default on a mixture of families of mostly
15 to 60 tasks, and judges on instances that training has not seen: mean ratios of makespans to
HEFT's and to the best of the 23 constructive schedulers' ("portfolio"). Of a family that
``--judge`` names, 40 instances are drawn; by default these are suites and larger graphs. Seconds
are CPU time of one thread. With ``--anneal`` the last column is the schedule of so many moves of
simulated annealing over the portfolio's. With ``--checkpoint`` nothing is trained: these policies
are judged and timed.
"""

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np
from lockstep import trained
from problems import spread

from aerl_trainer.config import MIXTURE, Config, LearnerConfig, PolicyConfig
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.solving.loading import load_policy
from dagsched_env import Instance, Schedule, suites
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.kernels.lists import fixed_order
from dagsched_env.schedulers import annealing, best_of_portfolio, heft
from dagsched_env.sources import InstanceList, resolve_source

JUDGED = 40
SAMPLES = 32
SIZES = (30, 100, 300, 1000)
GRAPHS_TIMED, REPEATS = 20, 12


class Unseen:
    """Instances with the makespans of their references."""

    def __init__(self, name: str, instances: list[Instance], moves: int = 0) -> None:
        self.name, self.instances = name, instances
        self.heft = np.array([heft(instance).makespan for instance in instances])
        self.portfolio = np.array([best_of_portfolio(instance).makespan for instance in instances])
        self._annealed = ""
        if moves:
            known = [annealed(instance, moves).makespan for instance in instances]
            self._annealed = f"{np.mean(known / self.portfolio):12.4f}"

    def measure(self, policy: FastPolicy) -> None:
        """One line."""
        rng = np.random.default_rng(0)
        greedy = np.array([policy.schedule(i).makespan for i in self.instances])
        samples = np.array([policy.sample(i, SAMPLES, rng).makespans for i in self.instances])
        best = np.array([policy.best_of(i, SAMPLES, rng).makespan for i in self.instances])
        print(
            f"{self.name:18.18} {np.mean(greedy / self.heft):8.4f} "
            f"{np.mean(samples.mean(axis=1) / self.heft):10.4f} "
            f"{np.mean(best / self.heft):10.4f} {np.mean(greedy / self.portfolio):12.4f} "
            f"{np.mean(best / self.portfolio):12.4f}{self._annealed}",
            flush=True,
        )


def annealed(instance: Instance, moves: int, start: Schedule | None = None) -> Schedule:
    """What so many moves find, judged as ``solve`` does.

    Args:
        instance: the problem.
        moves: how many, ≥ 1.
        start: a schedule to begin with, if it is shorter than HEFT's and PEFT's.
    """
    return annealing(
        instance,
        max_evaluations=moves,
        start_temperature=1.5,
        pair_share=0.2,
        cost_bias=4.0,
        best_place=True,
        load_weight=8.0,
        start=start,
    )


def default_sets() -> list[Unseen]:
    """Graphs of the training's size, and larger ones."""
    test = list(suites.load("test"))
    large = TopcuogluGenerator(n_tasks=1000, n_processors=16, ccr=(0.1, 0.5, 1.0, 5.0))
    widest = [large(np.random.default_rng([1000, i])) for i in range(5)]
    widest += [i for i in test if i.n_tasks == 1000 and i.n_processors == 16]
    return [
        Unseen("heldout", list(suites.load("heldout"))),
        Unseen("test, n = 30, 50", [i for i in test if i.n_tasks in (30, 50)]),
        Unseen("test, n = 100, 200", [i for i in test if i.n_tasks in (100, 200)]),
        Unseen("test, n = 500", [i for i in test if i.n_tasks == 500]),
        Unseen("n = 1000, p = 16", widest),
        Unseen("Topcuoglu, n = 100", spread(100, 20)),
        Unseen("Topcuoglu, n = 300", spread(300, 10)),
    ]


def named_set(spec: str, moves: int) -> Unseen:
    """All instances of a list, or some of a family."""
    source = resolve_source(spec)
    if isinstance(source, InstanceList):
        return Unseen(spec, list(source.instances), moves)
    drawn = [source(np.random.default_rng([20261122, i])) for i in range(JUDGED)]
    return Unseen(spec.removeprefix("family:"), drawn, moves)


def train(arguments: argparse.Namespace, seed: int) -> tuple[FastPolicy, int]:
    """The policy after its seconds, and its gradient steps."""
    config = Config(
        learner=LearnerConfig(groups=arguments.groups, rank_temperature=arguments.rank_temperature),
        policy=PolicyConfig(schedules=arguments.schedules),
    )
    return trained(resolve_source(arguments.instances), config, seed, arguments.seconds)


def best_time(scheduler: Callable[[Instance], object], rounds: list[list[Instance]]) -> float:
    """Seconds for the graphs of a round, of the fastest round."""
    times = []
    for graphs in rounds:
        started = time.perf_counter()
        for graph in graphs:
            scheduler(graph)
        times.append(time.perf_counter() - started)
    return min(times)


def measure_cost(policy: FastPolicy) -> None:
    """Time of one schedule over that of HEFT, each over different graphs in turn.

    The first column is over HEFT's kernel alone, the others over its call. The same graph again and
    again would teach its branches to the processor: each round has graphs of its own. What both
    keep for a graph, ranks among it, is made before, but for the last ratio, of graphs in their
    first pass over graphs in their first call of HEFT.
    """
    print("    n   p   one pass / kernel   one pass / call   sample / call   pass, new graphs   µs")
    for n in SIZES:
        p = {30: 4, 1000: 16}.get(n, 8)
        *costs, seconds = relative_costs(policy, TopcuogluGenerator(n_tasks=n, n_processors=p))
        columns = zip(costs, (19, 17, 15, 18), strict=True)
        ratios = " ".join(f"{x:{width}.1f}" for x, width in columns)
        print(f"{n:5d} {p:3d} {ratios} {1e6 * seconds:4.0f}", flush=True)


def heft_kernel(graph: Instance) -> object:
    """Ranks and placements as arrays."""
    return fixed_order.schedule_by_rank(graph.arrays, graph.arrays.mean_comp, True)


def relative_costs(policy: FastPolicy, draw: TopcuogluGenerator) -> list[float]:
    """The ratios of ``measure_cost``, and the seconds of one pass."""
    rng = np.random.default_rng(0)

    def new(*seed: int) -> list[list[Instance]]:
        return [
            [draw(np.random.default_rng([draw.n_tasks, *seed, k, i])) for i in range(GRAPHS_TIMED)]
            for k in range(REPEATS)
        ]

    known = new()
    for scheduler in (heft, policy.schedule):
        best_time(scheduler, known)
    kernel, call = best_time(heft_kernel, known), best_time(heft, known)
    one_pass = best_time(policy.schedule, known)
    sample = best_time(lambda graph: policy.sample(graph, 1, rng), known)
    first = best_time(policy.schedule, new(1)) / best_time(heft, new(2))
    return [one_pass / kernel, one_pass / call, sample / call, first, one_pass / GRAPHS_TIMED]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", nargs="+", metavar="SPEC", default=MIXTURE)
    parser.add_argument("--judge", nargs="+", metavar="SPEC", default=[])
    parser.add_argument("--anneal", type=int, default=0, metavar="MOVES")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rank-temperature", type=float, default=1.0)
    parser.add_argument("--groups", choices=("tree", "rollouts"), default="tree")
    parser.add_argument("--schedules", type=int, default=32)
    parser.add_argument("--checkpoint", nargs="+", default=[], metavar="NAME")
    arguments = parser.parse_args()
    unseen = [named_set(spec, arguments.anneal) for spec in arguments.judge] or default_sets()
    annealed = "    annealed" if arguments.anneal else ""
    print("                   / HEFT                           / portfolio")
    print(f"                   one pass    samples best of 32     one pass   best of 32{annealed}")
    for name, policy in policies(arguments):
        print(name)
        for instances in unseen:
            instances.measure(policy)
        measure_cost(policy)


def policies(arguments: argparse.Namespace) -> Iterator[tuple[str, FastPolicy]]:
    """What is judged, with a title: those that are named, or one without training and some with."""
    for name in arguments.checkpoint:
        yield name, load_policy(name).fast
    if not arguments.checkpoint:
        yield "untrained", FastPolicy()
        for seed in range(arguments.seeds):
            policy, steps = train(arguments, seed)
            yield f"seed {seed}: {steps} steps in {arguments.seconds:g} s", policy


if __name__ == "__main__":
    main()
