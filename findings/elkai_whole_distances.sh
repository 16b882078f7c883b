#!/usr/bin/env bash
# elkai 2.0.1: tours are found for distances rounded to whole numbers, also where floats go in.
# Expected: DistanceMatrix and Coordinates2D take floats, so their tours are short for these floats.
# Seen: eight points in the unit square have distances that round to 0 and 1, and the tour is a
#   quarter longer than the shortest one. The same points times 1000 get the shortest tour.
# Why it matters: points in the unit square are the usual test set of learned TSP solvers. Measured
#   against such tours, any rival looks good, and may seem to beat the optimum.
# In this project: examples/tsp/tsp/references.py stretches points before it calls elkai.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --no-compile elkai==2.0.1
cd "$work"
venv/bin/python - <<'PYTHON'
import itertools
import math
import random

import elkai

N = 8


def length(points, tour):
    return sum(math.dist(points[a], points[b]) for a, b in itertools.pairwise([*tour, tour[0]]))


def too_long(points):
    """Lengths of elkai's tours from a matrix and from coordinates, over the shortest."""
    shortest = min(length(points, (0, *rest)) for rest in itertools.permutations(range(1, N)))
    matrix = elkai.DistanceMatrix([[math.dist(a, b) for b in points] for a in points])
    coordinates = elkai.Coordinates2D(dict(enumerate(points)))
    return [length(points, one.solve_tsp()[:-1]) / shortest for one in (matrix, coordinates)]


rng = random.Random(0)
unit = [(rng.random(), rng.random()) for _ in range(N)]
small, large = too_long(unit), too_long([(1000 * x, 1000 * y) for x, y in unit])
print("tour / shortest tour, matrix and coordinates:")
print("  unit square     ", *(f"{ratio:.3f}" for ratio in small))
print("  the same x 1000 ", *(f"{ratio:.3f}" for ratio in large))
assert min(small) > 1.05, "changed: short tours in the unit square"
assert max(large) < 1.001, "changed: long tours of large coordinates"
PYTHON
