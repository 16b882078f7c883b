"""``aerl evaluate``: a policy against classic schedulers, and search and solve without it."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import tyro
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from aerl_trainer.cli.options import UNSAID, Machines, Specs, as_json, check_limits, described
from aerl_trainer.run.launch import with_machines
from aerl_trainer.run.problems import listed
from aerl_trainer.run.reporting import print_table
from aerl_trainer.solving.evaluation import Evaluation
from aerl_trainer.solving.evaluation import evaluate as evaluate_policy
from aerl_trainer.solving.learned import Trained
from aerl_trainer.solving.loading import load_trained
from dagsched_env.cli.machines import assumed_lines
from dagsched_env.cli.outputs import JSON, check_output
from dagsched_env.io.atomic import write_text
from dagsched_env.pictures.labels import one_line
from dagsched_env.problem.instance import Instance
from dagsched_env.sources import specs

HELDOUT = "suite:heldout"


class Settings(NamedTuple):
    """Of an evaluation."""

    simulations: int
    budget_s: float
    seed: int


@described
def evaluate(
    checkpoint: Path,
    instances: Specs = (HELDOUT,),
    count: int = 40,
    simulations: int = 1000,
    budget: float = 0.1,
    seed: int = 0,
    out: Annotated[Path | None, tyro.conf.arg(name="json")] = None,
    machines: Machines = UNSAID,
) -> None:
    """Compare a trained policy with classic schedulers and with search and solve without it.

    Args:
        checkpoint: a run directory, a checkpoint in it, a .safetensors file, or the name of a
            shipped policy, such as default or cholesky.
        instances: the problems, all in one table: files of any format that dagsched reads, folders
            of them, names of bundled traces (montage, ...) or classic job shops (ta21, ...),
            suite:NAME, family:NAME?parameter=value&..., or module:function, a generator of yours;
            "aerl train --instances list" prints the families.
        count: problems to draw of each family and generator.
        simulations: of each search for a schedule.
        budget: seconds of each solve, with the policy and without.
        seed: of families, samples and searches.
        out: write the table to this file, as JSON.
        machines: for files that describe no processors.
    """
    check_limits(count=count, simulations=simulations, budget=budget)
    inputs = [file for spec in instances for file in specs.files_of(spec)]
    check_output("--json", out, JSON, (*inputs, machines.machines, machines.times))
    policy = load_trained(checkpoint)
    (chosen_specs,) = with_machines([instances], machines)
    problems = listed(chosen_specs, count=count, seed=seed)
    chosen = Settings(simulations, budget, seed)
    evaluation = compare(" ".join(instances), problems, policy, chosen, Console(markup=False))
    if out is not None:
        write_text(out, as_json(record(evaluation)))


def compare(
    name: str,
    instances: Sequence[Instance],
    policy: Trained,
    chosen: Settings,
    console: Console,
) -> Evaluation:
    """Evaluate with a progress bar, and print the table.

    Args:
        name: of the problems, for the bar and the title.
        instances: the problems.
        policy: to evaluate.
        chosen: limits and seed.
        console: where both appear.
    """
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task(escape(f"evaluating on {one_line(name)}"))
        evaluation = evaluate_policy(
            instances,
            policy,
            **chosen._asdict(),
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    print_table(evaluation.rows, title(name, instances, chosen), console=console)
    for line in assumed_lines(instances):
        console.print(line, highlight=False, soft_wrap=True)
    return evaluation


def title(name: str, instances: Sequence[Instance], chosen: Settings) -> str:
    """Of a table.

    Args:
        name: of the problems.
        instances: the problems.
        chosen: limits and seed.
    """
    return (
        f"{name}: {len(instances)} instances; search {chosen.simulations} simulations, "
        f"solve {chosen.budget_s:g} s each"
    )


def record(evaluation: Evaluation) -> dict[str, Any]:
    """As it is written to files."""
    return {
        "rows": [dataclasses.asdict(row) for row in evaluation.rows],
        "assumptions": evaluation.assumptions,
    }
