"""What a policy that is trained on one family of problems closes of the gap to the best known.

    python benchmarks/families.py [--families NAME …] [--groups rollouts] [--seconds 300]
        [--seeds 3] [--count 12] [--best-s 10] [--json FILE]

Trains by the default settings on one family at a time, or on rollouts, and compares on problems
that training has not seen, with the rows of ``aerl evaluate``. Of a problem the best known
schedule is the shortest that anything found. The gap is that between the portfolio of the 23
constructive schedulers and the best known: "closed" is 1 - (makespan - best) / (portfolio - best),
of the sums of ratios to the portfolio. Seconds are CPU time of one thread. All policies are trained
first. With ``--json`` each finished part is kept, and a second call goes on where the first one
stopped.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from lockstep import trained
from numpy.typing import NDArray

from aerl_trainer.config import Config, LearnerConfig, PolicyConfig
from aerl_trainer.policy.fast import FastPolicy
from aerl_trainer.run.records import SAMPLES
from aerl_trainer.solving.evaluation import contestants
from aerl_trainer.solving.learned import Policy
from dagsched_env import Instance
from dagsched_env.io.atomic import write_text
from dagsched_env.schedulers import best_of_portfolio
from dagsched_env.sources import resolve_source

FAMILIES = {
    "in_tree": "family:in_tree?levels=5&degree=2&processors=4&ccr=2,5,10",
    "gaussian_elimination": "family:gaussian_elimination?size=10&processors=8&ccr=2,5",
    "fft": "family:fft?points=16&processors=8&ccr=2,5",
    "cholesky": "family:cholesky?tiles=6&platform=cpu_gpu&cpus=3&gpus=1&ccr=0.5,1,2",
    "montage": "family:wfcommons?application=montage&tasks=74&processors=4&ccr=0.5,1,2",
    "epigenomics": "family:wfcommons?application=epigenomics&tasks=77&processors=4&ccr=0.5,1,2",
}
"""Those of 31 to 95 tasks that shipped policies were trained on."""
LARGE = {
    "laplace_144": "family:laplace?size=12&processors=8&ccr=2,5",
    "stencil_144": "family:stencil?width=12&steps=12&processors=8&ccr=2,5",
    "gaussian_209": "family:gaussian_elimination?size=20&processors=8&ccr=2,5",
    "out_tree_127": "family:out_tree?levels=7&degree=2&processors=8&ccr=2,5,10",
    "in_tree_127": "family:in_tree?levels=7&degree=2&processors=8&ccr=2,5,10",
    "fft_223": "family:fft?points=32&processors=8&ccr=2,5",
    "lu_204": "family:lu?tiles=8&platform=cpu_gpu&cpus=6&gpus=2&ccr=0.5,1,2",
}
"""Larger ones, with their number of tasks; by default left out."""
ALL = {**FAMILIES, **LARGE}
GROUPS = {
    "tree": Config(),
    "rollouts": Config(learner=LearnerConfig(groups="rollouts"), policy=PolicyConfig(instances=16)),
}
UNSEEN = 20261123
BUDGETS = (0.1, 1.0)
SIMULATIONS = 1000


def judge(
    policy: Policy, problems: Sequence[Instance], best_s: float, seed: int
) -> dict[str, list[float]]:
    """Name → makespan of each problem.

    Args:
        policy: what was trained.
        problems: that it has not seen.
        best_s: further time for the best known (s); 0 leaves it out.
        seed: of samples, searches and annealing.
    """
    found: dict[str, list[float]] = {
        "portfolio": [best_of_portfolio(problem).makespan for problem in problems]
    }
    for budget_s in (*BUDGETS, *([best_s / 2] if best_s else [])):
        rivals = contestants(policy, simulations=SIMULATIONS, budget_s=budget_s, seed=seed)
        for name, scheduler in rivals.items():
            scheduler(problems[0])  # loads the kernels, which is not to be timed
            solves = name.startswith("solve")
            if solves or name not in found:
                label = f"{name}, {budget_s:g} s" if solves else name
                found[label] = [scheduler(problem).makespan for problem in problems]
    found["best"] = np.min(list(found.values()), axis=0).tolist()
    return found


def summary(found: dict[str, list[float]], best: NDArray[np.float64]) -> dict[str, float]:
    """The columns of the table; ``best`` holds the best known makespans."""
    makespans = {name: np.array(values) for name, values in found.items()}
    portfolio = makespans["portfolio"]

    def to_portfolio(values: NDArray[np.float64]) -> float:
        return float(np.mean(values / portfolio))

    def closed(name: str) -> float:
        return (1.0 - to_portfolio(makespans[name])) / (1.0 - to_portfolio(best))

    def gain(trained: str, untrained: str) -> float:
        return float(np.mean(makespans[trained] / makespans[untrained]))

    sampled = f"policy_sampled_{SAMPLES}"
    return {
        "policy": to_portfolio(makespans["policy"]),
        f"best of {SAMPLES}": to_portfolio(makespans[sampled]),
        "best known": to_portfolio(best),
        "policy closes": closed("policy"),
        f"best of {SAMPLES} closes": closed(sampled),
        "search": gain("search_trained", "search_untrained"),
        **{
            f"solve, {s:g} s": gain(f"solve_trained, {s:g} s", f"solve_untrained, {s:g} s")
            for s in BUDGETS
        },
    }


def judged(runs: dict[str, dict[str, Any]], family: str) -> list[dict[str, list[float]]]:
    """The makespans of a family, for each seed that has them."""
    of_family = [run for run in runs.values() if run["family"] == family]
    return [run["makespans"] for run in of_family if "makespans" in run]


def best_known(makespans: list[dict[str, list[float]]]) -> NDArray[np.float64]:
    """The shortest of each problem, over all seeds."""
    best: NDArray[np.float64] = np.min([found["best"] for found in makespans], axis=0)
    return best


def errors_over_problems(
    makespans: list[dict[str, list[float]]], best: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Standard errors of the columns of the table, by the jackknife: some are ratios of sums."""

    def without(i: int) -> NDArray[np.float64]:
        rest = [{k: np.delete(v, i).tolist() for k, v in found.items()} for found in makespans]
        rows = [list(summary(found, np.delete(best, i)).values()) for found in rest]
        means: NDArray[np.float64] = np.mean(rows, axis=0)
        return means

    left_out = np.array([without(i) for i in range(len(best))])
    errors: NDArray[np.float64] = np.sqrt(len(best) - 1) * left_out.std(axis=0)
    return errors


def show(runs: dict[str, dict[str, Any]]) -> None:
    """A table in Markdown: mean ± standard error over the seeds ± that over the problems."""
    header: list[str] = []
    for family in ALL:
        makespans = [
            run["makespans"] for name, run in runs.items() if name.startswith(f"{family},")
        ]
        if not makespans:
            continue
        best = np.min([found["best"] for found in makespans], axis=0)
        rows = [summary(found, best) for found in makespans]
        if not header:
            header = list(rows[0])
            print("| family | seeds | " + " | ".join(header) + " |")
            print("|---|---:|" + "---:|" * len(header))
        values = np.array([list(row.values()) for row in rows])
        over_seeds = values.std(axis=0, ddof=1) / len(rows) ** 0.5 if len(rows) > 1 else None
        over_problems = errors_over_problems(makespans, best)
        cells = [
            f"{mean:.3f} ± {'-' if over_seeds is None else f'{over_seeds[i]:.3f}'}"
            f" ± {over_problems[i]:.3f}"
            for i, mean in enumerate(values.mean(axis=0))
        ]
        print(f"| {family} | {len(rows)} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=ALL)
    parser.add_argument("--groups", default="tree", choices=GROUPS, help="what is learned from")
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--best-s", type=float, default=10.0)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    runs: dict[str, dict[str, Any]] = {}
    if arguments.json is not None and arguments.json.exists():
        runs = json.loads(arguments.json.read_text())
    settings = {name: getattr(arguments, name) for name in ("groups", "seconds", "count")}
    if any({key: run[key] for key in settings} != settings for run in runs.values()):
        parser.error(f"{arguments.json} holds runs of other settings: take another file")

    def keep(name: str, **values: Any) -> None:
        runs.setdefault(name, {}).update(values)
        if arguments.json is not None:
            write_text(arguments.json, json.dumps(runs))

    chosen = [(seed, family) for seed in range(arguments.seeds) for family in arguments.families]
    for seed, family in chosen:
        if (name := f"{family}, seed {seed}") not in runs:
            config, draw = GROUPS[arguments.groups], resolve_source(ALL[family])
            fast, steps = trained(draw, config, seed, arguments.seconds)
            weights = fast.weights.tolist()
            keep(name, family=family, **settings, steps=steps, weights=weights)
            print(f"{name}: {steps} steps in {arguments.seconds:g} s", flush=True)
    for seed, family in chosen:
        if "makespans" not in (run := runs[name := f"{family}, seed {seed}"]):
            draw = resolve_source(ALL[family])
            problems = [draw(np.random.default_rng([UNSEEN, i])) for i in range(arguments.count)]
            policy = Policy(FastPolicy(run["weights"]))
            makespans = judge(policy, problems, 0.0 if seed else arguments.best_s, seed)
            keep(name, makespans=makespans)
            line = summary(makespans, best_known(judged(runs, family)))
            print(name, {key: round(value, 3) for key, value in line.items()}, flush=True)
    show(runs)


if __name__ == "__main__":
    main()
