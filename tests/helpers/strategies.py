"""Hypothesis strategies: small random problems, and names, with all that can go wrong in them."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dagsched_env.problem.instance import Instance

whole_costs = st.integers(0, 12).map(float)  # many ties and zeros
real_costs = st.just(0.0) | st.floats(1e-6, 100)  # makespan / CP_MIN stays finite

HOSTILE = (
    "",
    "_x",
    "/",
    "$",
    "$\\frac{",
    "</script><script>alert(1)</script>",
    "<b>&amp;",
    "two\nlines",
    "\x00\x1b[31m",
    "\ud800",
    "\u202eright to left",
    "\ufeff=1+1",
    "名前",
    "😀" * 3,
    "%s {0} @DATA@",
    "-->",
)
"""Names that pages, pictures and tables may take for something else."""


@st.composite
def instances(draw: st.DrawFn, max_tasks: int = 12, max_processors: int = 4) -> Instance:
    """Any DAG: ineligible pairs, zero costs, heterogeneous links, labels in any order."""
    n = draw(st.integers(1, max_tasks))
    p = draw(st.integers(1, max_processors))
    costs = draw(st.sampled_from([whole_costs, real_costs]))
    comp = draw(hnp.arrays(np.float64, (n, p), elements=costs))
    if draw(st.booleans()):
        blocked = draw(hnp.arrays(np.bool_, (n, p)))
        blocked[np.arange(n), draw(hnp.arrays(np.int64, n, elements=st.integers(0, p - 1)))] = False
        comp[blocked] = np.inf
    label = draw(st.permutations(range(n)))
    pairs = [(label[i], label[j]) for j in range(n) for i in range(j)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=24)) if pairs else []
    data = draw(hnp.arrays(np.float64, len(edges), elements=costs))
    links = {}
    if draw(st.booleans()):
        for name in ("inv_bandwidth", "latency"):
            links[name] = draw(hnp.arrays(np.float64, (p, p), elements=st.floats(0, 3, width=16)))
    return Instance(comp, edges, data, **links)


@st.composite
def episodes(draw: st.DrawFn, max_tasks: int = 12) -> tuple[Instance, int, bool]:
    """An instance, a seed for a random episode on it, and whether insertion is on."""
    return draw(instances(max_tasks)), draw(st.integers(0, 2**32 - 1)), draw(st.booleans())


@st.composite
def sharing_instances(draw: st.DrawFn, max_tasks: int = 8, max_processors: int = 3) -> Instance:
    """One to three resources: tasks that fit on some processors alone, or need nothing at all,
    and demands of tenths, whose binary numbers do not add up."""
    instance = draw(instances(max_tasks, max_processors))
    n, p, k = instance.n_tasks, instance.n_processors, draw(st.integers(1, 3))
    unit = draw(st.sampled_from([1.0, 10.0]))
    demands = draw(hnp.arrays(np.int64, (n, k), elements=st.integers(0, 4))) / unit
    capacities = draw(hnp.arrays(np.int64, (p, k), elements=st.integers(0, 8))) / unit
    capacities[draw(st.integers(0, p - 1))] = draw(st.sampled_from([4 / unit, 7 / unit, np.inf]))
    roomy = np.flatnonzero((capacities >= 4 / unit).all(axis=1))
    comp = instance.comp.copy()  # each task may run where everything fits
    comp[:, roomy[0]] = np.where(np.isinf(comp[:, roomy[0]]), 1.0, comp[:, roomy[0]])
    arguments = instance.arguments() | {"comp": comp}
    return Instance(**arguments, demands=demands, capacities=capacities)


@st.composite
def released(draw: st.DrawFn, problems: st.SearchStrategy[Instance]) -> Instance:
    """A problem with release dates: of tasks, by processor or not, or of processors, or both."""
    instance = draw(problems)
    n, p = instance.comp.shape
    times = draw(st.sampled_from([whole_costs, real_costs]))
    shapes = draw(st.sampled_from([("n", ""), ("np", ""), ("", "p"), ("n", "p"), ("np", "p")]))
    given = {}
    for name, shape in zip(("release", "available_from"), shapes, strict=True):
        if shape:
            sizes = tuple({"n": n, "p": p}[axis] for axis in shape)
            given[name] = draw(hnp.arrays(np.float64, sizes, elements=times))
    return Instance(**instance.arguments() | given)
