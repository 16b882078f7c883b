"""The problems of a run that names none: families of graphs on random platforms, in two sizes."""

MACHINES = "processors=3..8&ccr=0.1,0.5,1,2,5,10&beta=0.25,0.5,1,1.5"
EVEN = (
    "topcuoglu",
    "topcuoglu",
    "topcuoglu",
    "daggen?fat=0.3,0.5",
    "erdos_renyi?probability=0.07,0.1,0.15,0.2",
    "series_parallel",
)
"""Families that are told how many tasks to have."""
SMALL = (
    "layered?layers=3..5&width=3..5",
    "stencil?width=3..5&steps=3..5",
    "fork_join?phases=1..2&width=6..9",
    "chains?chains=3..5&length=3..5",
    "in_tree?levels=4&degree=2",
    "out_tree?levels=4&degree=2",
    "cholesky?tiles=3..4",
    "gaussian_elimination?size=4..6",
    "fft?points=4",
    "laplace?size=3..5",
    "lu?tiles=3",
)
MEDIUM = (
    "layered?layers=4..8&width=5..7",
    "stencil?width=4..7&steps=5..8",
    "fork_join?phases=2..4&width=9..13",
    "chains?chains=4..8&length=5..7",
    "in_tree?levels=5&degree=2",
    "out_tree?levels=5&degree=2",
    "cholesky?tiles=4..6",
    "gaussian_elimination?size=6..10",
    "fft?points=8",
    "laplace?size=5..7",
    "lu?tiles=4..5",
)


def _specs(tasks: str, graphs: tuple[str, ...], tiles: str) -> tuple[str, ...]:
    even = (f"{name}{'&' if '?' in name else '?'}tasks={tasks}" for name in EVEN)
    return (
        *(f"family:{graph}&{MACHINES}" for graph in (*even, *graphs)),
        f"family:cholesky?tiles={tiles}&platform=cpu_gpu&processors=3..8&ccr=0.1,0.5,1,2,5,10",
    )


MIXTURE_SMALL = _specs("8..30", SMALL, "3..4")
"""8 to 30 tasks."""
MIXTURE = _specs("20..60", MEDIUM, "4..5")
"""20 to 60 tasks: of these one is drawn uniformly."""
