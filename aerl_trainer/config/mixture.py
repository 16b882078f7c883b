"""The problems of a run that names none: families of graphs on random platforms."""

MACHINES = "processors=3..8&ccr=0.1,0.5,1,2,5,10&beta=0.25,0.5,1,1.5"
TOPCUOGLU = "topcuoglu?tasks=20..60"
GRAPHS = (
    *(TOPCUOGLU, TOPCUOGLU, TOPCUOGLU),
    "daggen?tasks=20..60&fat=0.3,0.5",
    "erdos_renyi?tasks=20..60&probability=0.07,0.1,0.15,0.2",
    "layered?layers=4..8&width=5..7",
    "series_parallel?tasks=20..60",
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
MIXTURE = (
    *(f"family:{graph}&{MACHINES}" for graph in GRAPHS),
    "family:cholesky?tiles=4..5&platform=cpu_gpu&processors=3..8&ccr=0.1,0.5,1,2,5,10",
)
"""What is trained on where nothing else is said: one of these is drawn uniformly. All have 20 to 60
tasks."""
