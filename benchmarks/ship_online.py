"""Train the dispatcher that comes with the package, judge it on unseen runs, and put it there.

    python benchmarks/ship_online.py [--minutes 10] [--seed 0] [--draws 120] [--keep]

Trains as ``aerl train --online`` does and prints the mean ratios to list scheduling and to the
weights that come with the package so far, which the new ones then replace, with their card
``aerl_trainer/data/online.json``. ``--keep`` leaves the old ones. What is judged has seeds of its
own, and workflows, families, noise and machines with cores that the training does not draw.
"""

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from commits import last_change

from aerl_trainer.online import shipped
from aerl_trainer.online.files import load_online, save_online
from aerl_trainer.online.training import WEIGHTS_FILE, train_online
from dagsched_env import suites
from dagsched_env.cli.dispatchers import choose_dispatchers
from dagsched_env.comparison.compare import align, mean_error, mean_ratio
from dagsched_env.comparison.runs import compare_runs
from dagsched_env.io.atomic import write_text
from dagsched_env.online import Gamma, Lognormal, Poisson, Stragglers, Worlds

ROOT = Path(__file__).parent.parent
CODE = ("dagsched_env/*.py", "aerl_trainer/online")
RIVALS = ("heft", "peft", "shortest", "fifo")
NEW, OLD = "new", "so far"
MACHINES = "processors=8&ccr=1"
TRAINED = (
    *("topcuoglu_graph?tasks=80", "cholesky?tiles=6", "fft?points=16"),
    "layered?layers=8&width=8",
)
OTHERS = ("gaussian_elimination?size=9", "laplace?size=7", "series_parallel", "erdos_renyi")
SMALL = (
    ("topcuoglu_graph?tasks=20..30", "fft?points=8"),
    ("gaussian_elimination?size=6", "in_tree"),
)
GRAPHS, LOAD = 12, 0.8
SEED = 20_000
"""Of what is judged; training draws from names."""


def problems() -> dict[str, tuple[str, list[Worlds]]]:
    """The objective of each row, and its runs."""

    def drawn(families: Sequence[str], machines: str = MACHINES, **kinds: Any) -> list[Worlds]:
        specs = [f"family:{f}{'&' if '?' in f else '?'}{machines}" for f in families]
        return [Worlds(spec, **kinds) for spec in specs]

    found = {}
    for what, families in (("families of training", TRAINED), ("other families", OTHERS)):
        for cv in (0.1, 0.3, 0.6, 1.0):
            worlds = drawn(families, noise=Lognormal(cv))
            found[f"{what}, lognormal {cv:g}"] = "makespan", worlds
    for cv in (0.1, 0.6):
        recorded = [Worlds(x, noise=Lognormal(cv)) for x in suites.load("workflows")]
        found[f"recorded workflows, lognormal {cv:g}"] = "makespan", recorded
    found["other families, gamma 0.5"] = "makespan", drawn(OTHERS, noise=Gamma(0.5))
    found["other families, stragglers"] = "makespan", drawn(OTHERS, noise=Stragglers())
    cores = f"{MACHINES}&cores=4&demand=1..4"
    found["other families, cores"] = "makespan", drawn(OTHERS, cores, noise=Lognormal(0.3))
    for what, small in zip(("families of training", "other families"), SMALL, strict=True):
        worlds = drawn(small, arrivals=Poisson(GRAPHS, LOAD), noise=Lognormal(0.3))
        found[f"stream, {what}"] = "mean_completion", worlds
    return found


def judged(weights: Path, draws: int) -> dict[str, dict[str, list[float]]]:
    """By row and rival: the mean of the ratios, and its standard error."""
    names = {NEW: f"learned:{weights}", OLD: "learned"} | {name: name for name in RIVALS}
    table = {}
    for row, (objective, worlds) in problems().items():
        makers = choose_dispatchers(list(names.values()), {}, 0.01, objective)
        runs = [
            worlds[draw % len(worlds)](np.random.default_rng([SEED, draw])) for draw in range(draws)
        ]
        found = compare_runs(runs, makers, objective).makespans
        new = found[names[NEW]]
        table[row] = {
            rival: [round(mean_ratio(new, found[name]), 4), round(mean_error(new, found[name]), 4)]
            for rival, name in names.items()
            if rival != NEW
        }
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--draws", type=int, default=120, help="runs of each row")
    parser.add_argument("--keep", action="store_true", help="judge only; keep the old weights")
    arguments = parser.parse_args()
    commit = last_change(ROOT, CODE)
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        result = train_online(run, minutes=arguments.minutes, seed=arguments.seed)
        if result.interrupted:
            return
        table = judged(run / WEIGHTS_FILE, arguments.draws)
        weights = load_online(run / WEIGHTS_FILE).weights
    rivals = [OLD, *RIVALS]
    cells = [[row, *(f"{m:.3f}±{e:.3f}" for m, e in of.values())] for row, of in table.items()]
    print(align([["ratio to", *rivals], *cells]))
    if arguments.keep:
        return
    save_online(shipped.FILE, weights, {"name": "online"})
    card = {
        "command": f"python benchmarks/ship_online.py --minutes {arguments.minutes:g} "
        f"--seed {arguments.seed}",
        "commit": commit,
        "trained_on": "aerl_trainer.online.mixture.draw_world",
        "steps": result.steps,
        "results": {
            "what": "mean ratio of the objective to that of each dispatcher, and its standard "
            f"error, over {arguments.draws} unseen runs; {OLD!r}: the weights before",
            **table,
        },
    }
    write_text(shipped.FILE.with_suffix(".json"), json.dumps(card, indent=2) + "\n")


if __name__ == "__main__":
    main()
