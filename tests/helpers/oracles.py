"""Published numbers: the graphs of eight papers, and ranks and schedules printed in two of them."""

import json
from typing import Any

from dagsched_env.problem.instance import Instance
from helpers import TESTS

GRAPHS: dict[str, dict[str, Any]] = json.loads(
    (TESTS / "data" / "paper_graphs.json").read_text(encoding="utf-8")
)

# Topcuoglu, Hariri, Wu 2002, tables 3 and fig. 4 (a); tasks and processors count from 0.
TOPCUOGLU_RANK_U = [108, 77, 80, 80, 69, 63.333, 42.667, 35.667, 44.333, 14.667]
TOPCUOGLU_RANK_D = [0, 31, 25, 22, 24, 27, 62.333, 66.667, 63.667, 93.333]
TOPCUOGLU_HEFT = {  # task: (processor, start, finish)
    0: (2, 0, 9),
    1: (0, 27, 40),
    2: (2, 9, 28),
    3: (1, 18, 26),
    4: (2, 28, 38),
    5: (1, 26, 42),
    6: (2, 38, 49),
    7: (0, 57, 62),
    8: (1, 56, 68),
    9: (1, 73, 80),
}

# Arabnejad, Barbosa 2014, table 1.
PEFT_RANK_U = [169, 114.333, 102.667, 110, 129.667, 119.333, 52.667, 92, 42.333, 20.667]
PEFT_OCT = [
    [64, 68, 86],
    [42, 39, 42],
    [27, 41, 43],
    [42, 39, 50],
    [28, 37, 28],
    [42, 39, 44],
    [13, 16, 22],
    [13, 16, 33],
    [13, 16, 20],
    [0, 0, 0],
]


def paper_instance(name: str) -> Instance:
    """One of the graphs in ``data/paper_graphs.json``."""
    graph = GRAPHS[name]
    edges = [(int(u), int(v)) for u, v, _ in graph["edges"]]
    return Instance(graph["comp"], edges, [data for _, _, data in graph["edges"]], name=name)
