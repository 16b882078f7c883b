"""Trains the attention model on the travelling salesman problem, and judges it on the test set.

    python examples/tsp/train.py [--minutes 10] [--mode rollout|multi-start|both]

The last line is JSON: ``{"gap": …, "gap_multi_start": …}``; see README.md. Ctrl-C ends it with a
checkpoint, and without the evaluation.
"""

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import torch
import tyro

from aerl_trainer.run.interruption import stop_on_signals
from aerl_trainer.run.reporting import RunDirectory
from dagsched_env.io.atomic import write_text
from dagsched_env.problem.errors import DAGSchedError
from tsp.evaluation import TestSet, gaps, greedy_tours
from tsp.pictures import draw_curves, draw_tours
from tsp.references import TEST_SET, lkh_tours
from tsp.settings import MODES, settings_of
from tsp.text_format import read_tours
from tsp.training import train

EXIT_ERROR, EXIT_INTERRUPTED = 2, 130
PICTURES = 8
"""Tours that are drawn."""


def run(
    minutes: float = 10.0,
    mode: Literal["rollout", "multi-start", "both"] = "both",
    run_dir: Path = Path("runs/tsp"),
    seed: int = 0,
    points: Literal["uniform", "gaussian"] = "uniform",
    test: Path = TEST_SET,
    resume: bool = False,
) -> dict[str, float | None] | None:
    """Train the attention model on random points, and compare its tours with optimal ones.

    Args:
        minutes: CPU time of training, in one thread; with both modes each gets a half.
        mode: the baseline of REINFORCE: a greedy rollout, tours from all points, or one after
            the other.
        run_dir: gets a run for each mode, results.json and pictures.
        seed: of all randomness.
        points: distribution of the points to train on.
        test: sets of points in the text format; where they have no tours, LKH makes them.
        resume: go on with the runs that are there, with the same options but for minutes.

    Returns:
        What the last line says; None where a signal has ended the training.
    """
    modes = MODES if mode == "both" else (mode,)
    found = read_tours(test)
    judged = TestSet.of(found)
    results: dict[str, dict[str, Any]] = {}
    for name in modes:
        settings = settings_of(
            name,
            size=found.points.shape[1],
            minutes=minutes / len(modes),
            seed=seed,
            points=points,
        )
        directory = RunDirectory(run_dir / name)
        again = resume and directory.holds_run
        with stop_on_signals() as stop:
            trained = train(settings, directory, judged, stop, resume=again)
        if trained.interrupted:
            print("stopped; go on with the same options and  --resume", flush=True)
            return None
        plain = gaps(trained.policy, judged)
        turned = gaps(trained.policy, judged, augment=True)
        results[name] = {
            "gap": plain.one,
            "gap_best_start": plain.best,
            "gap_augmented": turned.best,
            "steps": trained.steps,
            "cpu_s": trained.cpu_s,
            "settings": dataclasses.asdict(settings),
        }
        print(_summary(name, results[name]), flush=True)
    write_text(run_dir / "results.json", json.dumps(results, indent=2) + "\n")
    draw_curves(run_dir / "gap_over_time.png", {m: run_dir / m / "metrics.jsonl" for m in results})
    few = judged.points[:PICTURES]
    optimal = lkh_tours(found.points[:PICTURES]) if found.tours is None else found.tours
    draw_tours(
        run_dir / "tours.png",
        few,
        greedy_tours(trained.policy, few),
        torch.from_numpy(optimal[:PICTURES]),
    )
    return {
        "gap": results.get("rollout", {}).get("gap"),
        "gap_multi_start": results.get("multi-start", {}).get("gap_best_start"),
    }


def _summary(name: str, result: dict[str, Any]) -> str:
    best = f"  best start {result['gap_best_start']:.2%}" if name == "multi-start" else ""
    return (
        f"{name}: {result['steps']} steps in {result['cpu_s']:.0f} CPU seconds, "
        f"gap {result['gap']:.2%}{best}  with 8 images {result['gap_augmented']:.2%}"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns 0, or 2 after a one-line error on stderr, or 130 (Ctrl-C)."""
    try:
        answer = tyro.cli(run, prog="train.py", args=argv)
    except (DAGSchedError, OSError) as error:
        print(f"train.py: error: {' '.join(str(error).split())}", file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    if answer is None:
        return EXIT_INTERRUPTED
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
