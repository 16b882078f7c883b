"""Judges a trained policy on sets of points in the text format, and writes its tours.

    python examples/tsp/evaluate.py runs/tsp/multi-start/policy.safetensors [--test FILE]

Sets without tours are compared with those of LKH.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import tyro

from dagsched_env.problem.errors import DAGSchedError
from tsp.evaluation import TestSet, gaps, greedy_tours
from tsp.references import TEST_SET
from tsp.text_format import TourSet, read_tours, write_tours
from tsp.weights import load_policy

EXIT_ERROR = 2


def run(
    policy: tyro.conf.Positional[Path],
    test: Path = TEST_SET,
    augment: bool = True,
    out: Path | None = None,
) -> None:
    """Print the gaps of a policy.

    Args:
        policy: a file policy.safetensors of train.py.
        test: sets of points, with or without tours.
        augment: also take the best over the 8 symmetries of the square.
        out: write the best tours there, in the text format.
    """
    found, trained = read_tours(test), load_policy(policy)
    judged = TestSet.of(found)
    for images in (False, True)[: 1 + augment]:
        print(f"{8 if images else 1} image(s) of each set:")
        for name, gap in gaps(trained, judged, augment=images)._asdict().items():
            print(f"  {'one greedy tour' if name == 'one' else 'best start':16} {gap:7.3%}")
    if out is not None:
        tours = greedy_tours(trained, judged.points, augment=augment)
        write_tours(out, TourSet(found.points, tours.numpy()))
        print(f"tours: {out}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns 0, or 2 after a one-line error on stderr."""
    try:
        tyro.cli(run, prog="evaluate.py", args=argv)
    except (DAGSchedError, OSError) as error:
        print(f"evaluate.py: error: {' '.join(str(error).split())}", file=sys.stderr)
        return EXIT_ERROR
    return 0


if __name__ == "__main__":
    sys.exit(main())
