"""The one table of what the network sees. Counts, order and kernel indices follow from it.

R is the largest rank_u of the instance (``EncodingContext.rank_scale``). Features in units of R
make all instances look alike, whatever their unit of time. The fast policy divides by S instead,
``policy.context.PATH`` mean steps of the longest path: a decision looks alike in long and in short
graphs. A feature is a row of this table and the line that computes it, in ``static`` or
``dynamic``; in ``dynamic`` also a constant for its column.
"""

from typing import Literal, NamedTuple

Group = Literal["policy", "pair", "state", "status", "task", "processor", "static_pair", "edge"]


class Feature(NamedTuple):
    """One row of the table: one float32 input of the network."""

    name: str
    group: Group
    """``policy``: of a legal (task, processor) pair, for the fast policy. For the network:
    ``pair``: of a candidate (task, processor) in a state; ``state``: of the state as a whole;
    ``status``: of every task in a state; all three change with every placement. ``task``,
    ``processor``, ``static_pair``, ``edge``: of the instance, encoded once."""
    unit: Literal["R", "S", "ratio", "log", "flag"]
    meaning: str


FEATURES: tuple[Feature, ...] = (
    Feature("eft_delay", "policy", "S", "EFT - least EFT of the task"),
    Feature("path_delay", "policy", "S", "EFT + OCT - least (EFT + OCT) of the task"),
    Feature("comp_excess", "policy", "S", "execution time - the task's least one"),
    Feature("est_delay", "policy", "S", "EST - least EST of the task"),
    Feature("rank_lag", "policy", "S", "highest rank_u of the ready tasks - rank_u of the task"),
    Feature("growth", "policy", "S", "least EFT of the task - makespan so far"),
    Feature("gap", "policy", "S", "idle time left directly before the task"),
    Feature("load_excess", "policy", "S", "load (time × share of it) - mean load"),
    Feature("local_inputs", "policy", "ratio", "share of the input data already on the processor"),
    Feature("local_siblings", "policy", "ratio", "the same for the other inputs of its successors"),
    Feature("output", "policy", "S", "mean communication of all outputs together"),
    Feature("comp", "policy", "S", "execution time"),
    Feature("oct_excess", "policy", "S", "OCT + execution time - rank_u"),
    Feature("log_ccr", "policy", "log", "ln of mean communication / mean execution time"),
    Feature("log_spread", "policy", "log", "ln of the relative spread of execution times"),
    Feature(
        "parallelism",
        "policy",
        "ratio",
        "total mean execution time × share of the processor / R / p",
    ),
    Feature("placed", "policy", "ratio", "tasks placed / n"),
    Feature("urgency", "policy", "S", "least EFT of the task - least EFT of all ready tasks"),
    Feature("advantage", "policy", "S", "least EFT of the task elsewhere - EFT; at most 1"),
    Feature("path_advantage", "policy", "S", "least EFT + OCT elsewhere - (EFT + OCT); at most 1"),
    Feature(
        "rival", "policy", "S", "highest path_advantage of other tasks listed for the processor"
    ),
    Feature("child_delay", "policy", "S", "EFT + OCT of its critical successors then - EFT - OCT"),
    Feature("child_wait", "policy", "S", "other inputs of its most critical successor - EFT, or 0"),
    Feature("opens", "policy", "log", "ln(1 + successors that miss no other predecessor)"),
    Feature("crowd", "policy", "log", "ln(sum over ready tasks of share of the processor / p)"),
    Feature("busy", "policy", "S", "available time of the processor - the earliest one"),
    Feature("inserted", "policy", "S", "available time of the processor - EST, or 0"),
    Feature("log_out", "policy", "log", "ln(1 + successors)"),
    Feature("relative_comp", "policy", "ratio", "execution / mean execution time of the task"),
    Feature("slowness", "policy", "ratio", "the same, mean over the tasks of the processor"),
    # From here on 0 where tasks do not share processors: see ``weights.N_UNSHARED``.
    Feature("spare", "policy", "ratio", "1 - largest share of a capacity that the task takes"),
    Feature("beside", "policy", "ratio", "largest share of a capacity in use when it starts"),
    # Of the network. "Least" and "highest" are over the candidates of the state; "completion" is
    # the makespan of its list completion.
    Feature("prior", "pair", "R", "hand-made prior logit / PRIOR_SHARPNESS: 0 is the best pair"),
    Feature("est_delay", "pair", "R", "EST - least EST"),
    Feature("eft_delay", "pair", "R", "EFT - least EFT"),
    Feature("path_delay", "pair", "R", "EFT + OCT - least (EFT + OCT)"),
    Feature("rank_lag", "pair", "R", "highest rank_u - rank_u of the task"),
    Feature("gap", "pair", "R", "idle time left directly before the task"),
    Feature("comp", "pair", "R", "execution time"),
    Feature("comp_excess", "pair", "R", "execution time - the task's least one"),
    Feature("bound_excess", "pair", "R", "EFT - lower bound on the finish of the task"),
    Feature("path_excess", "pair", "R", "EFT + rank_u - mean execution time - completion"),
    Feature("growth", "pair", "R", "by how much the makespan so far would grow"),
    Feature("queue", "pair", "ratio", "tasks on the processor / n"),
    Feature("spare", "pair", "ratio", "1 - largest share of a capacity that the task takes"),
    Feature("beside", "pair", "ratio", "largest share of a capacity in use when it starts"),
    Feature("placed", "state", "ratio", "tasks placed / n"),
    Feature("ready", "state", "ratio", "ready tasks / n"),
    Feature("over_bound", "state", "R", "completion - lower bound on the makespan"),
    Feature("over_makespan", "state", "R", "completion - makespan so far"),
    Feature("over_path", "state", "R", "completion - least (EFT + OCT)"),
    Feature("imbalance", "state", "R", "latest - earliest time at which a processor is available"),
    Feature("utilisation", "state", "ratio", "busy time / (p * latest available time); 1 if empty"),
    Feature("log_p", "state", "log", "ln p"),
    Feature("uncompleted", "status", "flag", "the task is not placed, nor are all predecessors"),
    Feature("ready", "status", "flag", "it is not placed, but all its predecessors are"),
    Feature("completed", "status", "flag", "it is placed"),
    Feature("mean_comp", "task", "R", "mean execution time, eligible processors"),
    Feature("min_comp", "task", "R", "least execution time"),
    Feature("comp_spread", "task", "R", "standard deviation of the execution times"),
    Feature("rank_u", "task", "R", "upward rank (HEFT)"),
    Feature("rank_d", "task", "R", "downward rank (HEFT)"),
    Feature("path", "task", "R", "rank_u + rank_d: the longest mean path through the task"),
    Feature("comm_in", "task", "R", "mean communication of an input"),
    Feature("comm_out", "task", "R", "mean communication of an output"),
    Feature("log_in", "task", "log", "ln(1 + inputs)"),
    Feature("log_out", "task", "log", "ln(1 + outputs)"),
    Feature("log_n", "task", "log", "ln n"),
    Feature("slowness", "processor", "ratio", "execution / mean execution time, mean over tasks"),
    Feature("eligible_share", "processor", "ratio", "tasks that it can run / n"),
    Feature("log_p", "processor", "log", "ln p"),
    Feature("comp", "static_pair", "R", "execution time; 0 where not eligible"),
    Feature("relative_comp", "static_pair", "ratio", "execution / mean execution time of the task"),
    Feature("oct", "static_pair", "R", "optimistic cost to the end (PEFT)"),
    Feature("eligible", "static_pair", "flag", "the processor can run the task"),
    Feature("communication", "edge", "R", "mean communication time"),
    Feature("log_relative", "edge", "log", "ln(1 + communication / mean_comp of the source)"),
)


def names_of(group: Group) -> tuple[str, ...]:
    """Names of a group's features, in the order of their columns."""
    return tuple(feature.name for feature in FEATURES if feature.group == group)


def group_size(group: Group) -> int:
    """How many features a group has."""
    return len(names_of(group))


def index_of(group: Group, name: str) -> int:
    """Column of a feature in the rows of its group; ``ValueError`` for an unknown name."""
    return names_of(group).index(name)
