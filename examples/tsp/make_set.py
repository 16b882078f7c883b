"""Draws sets of points, solves them with LKH, and writes them in the text format.

    python examples/tsp/make_set.py data.txt [--count 1000] [--size 20] [--points uniform]

The committed test set was made by

    python examples/tsp/make_set.py examples/tsp/data/uniform20.txt.xz --seed 20
"""

import argparse
from pathlib import Path

import numpy as np

from aerl_trainer.config import seeding
from tsp.points import DISTRIBUTIONS
from tsp.references import lkh_tours, optimal_lengths
from tsp.text_format import TourSet, write_tours

DIGITS = 5
"""Of the coordinates: the file stays small, and reads back exactly."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("path", type=Path, help="file to write; .xz compresses it")
    parser.add_argument("--count", type=int, default=1000, help="sets of points")
    parser.add_argument("--size", type=int, default=20, help="points of a set")
    parser.add_argument("--points", choices=DISTRIBUTIONS, default="uniform")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = seeding.generator(arguments.seed, "tsp", arguments.points)
    draw = {"uniform": rng.random, "gaussian": rng.standard_normal}[arguments.points]
    points = np.round(draw((arguments.count, arguments.size, 2)), DIGITS)
    found = TourSet(points, lkh_tours(points))
    write_tours(arguments.path, found)
    print(f"{arguments.path}: {len(points)} sets, mean length {optimal_lengths(found).mean():.5f}")


if __name__ == "__main__":
    main()
