"""Query plans: several at once on a cluster, as in analytical databases."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dagsched_env.generators.family import GraphFamily
from dagsched_env.kernels.arrays import Floats
from dagsched_env.problem.parameters import Range, as_range, check_range, checked, draw_range
from dagsched_env.problem.workflow import CORES, Workflow

SMALL_TABLE = 0.35
"""Share of the scans that read a small table, with the fewest cores."""
SCAN_S = (0.9, 4.0)
"""Shortest and longest duration of a scan (s)."""
STAGE_MEDIAN_S, STAGE_SIGMA = 0.15, 1.06
"""Of the log-normal duration of the other stages (s)."""


class _Plan(NamedTuple):
    runtimes: Floats
    """``[n]`` (s), whole milliseconds."""
    cores: Floats
    """``[n]``."""
    edges: list[tuple[int, int]]


@dataclass(frozen=True, kw_only=True)
class QueryPlansGenerator(GraphFamily):
    """Draws several query plans, to be run as soon as possible together.

    An imitation of recorded plans of the TPC-H queries: those that R. Wang et al. 2021, "A bi-level
    framework for learning to solve combinatorial optimization on graphs", NeurIPS, schedule. A plan
    is an in-tree of stages: scans of tables, joins of two stages, and steps behind one stage, in a
    random order; a step is the last. Scans are long and read tables of very different sizes; the
    other stages are mostly short, and heavy-tailed.

    | of a plan or a stage  | recorded: 10 %, median, 90 % | drawn by default   |
    |---|---|---|
    | stages of a plan      | 4, 8, 16                     | 4, 9, 14           |
    | time of a scan        | 1.0, 2.5, 3.6 s              | 1.2, 2.5, 3.7 s    |
    | time of another stage | 0.04, 0.16, 0.48 s           | 0.04, 0.15, 0.58 s |
    | cores of a scan       | 2, 9, 295                    | 2, 7, 246          |
    | cores of another      | 1, 200, 200                  | 1, 200, 200        |

    All 154 recorded plans were counted: 22 queries at 7 sizes, 1414 stages. Some of them also have
    a stage that two others need.

    The stages record how many cores they use, which count on processors that have some: the
    platform ``Shared``, or ``cores`` in a SPEC. The defaults are those of a large cluster; for a
    node of 64 cores take ``scan_cores=1..6&stage_cores=2``. The data of a stage is in proportion to
    its time and its cores.

    Args:
        platform: draws the processors.
        n_plans: number of plans, or an inclusive range (low, high) of it.
        scans: of a plan, or an inclusive range of it, drawn for each plan.
        steps: of a plan, or an inclusive range of it, drawn for each plan.
        scan_cores: of a scan, or an inclusive range of it: the fewest for about a third of them,
            drawn log-uniformly for the others.
        stage_cores: of any other stage, or an inclusive range of it, drawn for each plan; the last
            stage of a plan uses one.

    Raises:
        DAGSchedError: an argument is out of its range; the message names it.
    """

    n_plans: Range = checked((2, 8), check_range)
    scans: Range = checked((1, 6), check_range)
    steps: Range = checked((1, 5), check_range)
    scan_cores: Range = checked((2, 600), check_range)
    stage_cores: Range = checked(200, check_range)

    @property
    def max_tasks(self) -> int:
        """A plan of s scans has s − 1 joins."""
        return as_range(self.n_plans)[1] * (2 * as_range(self.scans)[1] - 1 + self._most_steps)

    @property
    def max_edges(self) -> int:
        """One for each stage but the last of a plan."""
        return as_range(self.n_plans)[1] * (2 * as_range(self.scans)[1] - 2 + self._most_steps)

    @property
    def _most_steps(self) -> int:
        return as_range(self.steps)[1]

    def workflow(self, rng: np.random.Generator) -> Workflow:
        """Draw the plans alone."""
        plans = [self._plan(rng) for _ in range(draw_range(self.n_plans, rng))]
        runtimes = np.concatenate([plan.runtimes for plan in plans])
        cores = np.concatenate([plan.cores for plan in plans])
        edges: list[tuple[int, int]] = []
        names: list[str] = []
        for number, plan in enumerate(plans):
            begin = len(names)
            edges += [(begin + i, begin + j) for i, j in plan.edges]
            names += [f"q{number}.{stage}" for stage in range(len(plan.runtimes))]
        return Workflow(
            tasks=tuple(names),
            runtimes=runtimes,
            edges=tuple(edges),
            data=np.array([runtimes[i] * cores[i] for i, _ in edges]),
            name=f"query-plans-{len(plans)}-n{len(names)}",
            demands=cores[:, None],
            resource_names=(CORES,),
        )

    def _plan(self, rng: np.random.Generator) -> _Plan:
        scans, steps = draw_range(self.scans, rng), draw_range(self.steps, rng)
        others = scans + steps - 1
        edges = _in_tree(scans, steps, rng)
        low, high = SCAN_S
        of_scans = low + (high - low) * rng.random(scans)
        of_others = STAGE_MEDIAN_S * np.exp(STAGE_SIGMA * rng.standard_normal(others))
        runtimes = np.maximum(np.concatenate([of_scans, of_others]).round(3), 0.001)
        used = [self._scan_cores(rng) for _ in range(scans)]
        used += [draw_range(self.stage_cores, rng)] * (others - 1) + [1]
        return _Plan(runtimes, np.array(used, dtype=np.float64), edges)

    def _scan_cores(self, rng: np.random.Generator) -> int:
        low, high = as_range(self.scan_cores)
        if rng.random() < SMALL_TABLE:
            return low
        return min(int(low * (high / low) ** rng.random()), high)


def _in_tree(scans: int, steps: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Edges of a plan: joins and steps in a random order, each behind random stages; scans first.

    Args:
        scans: ≥ 1; there is one join fewer.
        steps: ≥ 1; one of them is the last stage.
        rng: draws the order and the stages.
    """
    joins = rng.permutation(scans + steps - 2) < scans - 1
    roots = list(range(scans))
    edges: list[tuple[int, int]] = []
    for stage, join in enumerate([*joins.tolist(), False], start=scans):
        behind = [roots.pop(int(rng.integers(len(roots)))) for _ in range(2 if join else 1)]
        edges += [(root, stage) for root in behind]
        roots.append(stage)
    return edges
