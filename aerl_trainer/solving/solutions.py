"""What ``aerl solve`` shows of what it has found."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from aerl_trainer.solving.solver import SolveResult
from dagsched_env.cli.machines import assumed_lines
from dagsched_env.pictures.labels import one_line
from dagsched_env.problem.instance import Instance
from dagsched_env.schedulers import CONSTRUCTIVE


class Solution(NamedTuple):
    """One solved problem."""

    name: str
    instance: Instance
    result: SolveResult

    @property
    def heft(self) -> float:
        """Makespan of HEFT (time), which every solve begins with."""
        return self.result.trace[0].makespan

    @property
    def portfolio(self) -> float:
        """Shortest makespan of the list schedulers for which there was time."""
        lists = [x.makespan for x in self.result.trace if x.found_by in CONSTRUCTIVE]
        return min(lists)


def print_solution(solution: Solution) -> None:
    """Labels and values, one pair in a line."""
    result = solution.result
    proved = "  (optimal: proved)" if result.optimal else f"  (gap {result.gap:.1%})"
    print(
        f"makespan      {result.makespan:.6g}  (SLR {result.schedule.slr(solution.instance):.4f})"
    )
    print(f"lower bound   {result.lower_bound:.6g}{proved}")
    print(f"found by      {result.found_by}")
    print(f"HEFT          {solution.heft:.6g}  ({_ratio(result.makespan, solution.heft)})")
    print(
        f"portfolio     {solution.portfolio:.6g}  ({_ratio(result.makespan, solution.portfolio)})"
    )
    print(f"policy        {result.policy or 'none'}")
    print(f"simulations   {result.simulations} in {result.elapsed_s:.2f} s")
    print(f"stopped by    {result.stopped_by}")
    for text in solution.instance.assumptions:
        print(f"assumed       {one_line(text)}")


def print_solutions(solutions: Sequence[Solution]) -> None:
    """A table, one problem in a row, and a line of the policies that guided the searches."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    headings = ("problem", "tasks", "makespan", "vs heft", "vs portfolio", "gap", "found by", "s")
    for heading in headings:
        name = heading in ("problem", "found by")
        table.add_column(heading, justify="left" if name else "right", no_wrap=not name)
    for solution in solutions:
        result = solution.result
        table.add_row(
            one_line(solution.name),
            str(solution.instance.n_tasks),
            f"{result.makespan:.6g}",
            _ratio(result.makespan, solution.heft),
            _ratio(result.makespan, solution.portfolio),
            "optimal" if result.optimal else f"{result.gap:.1%}",
            result.found_by,
            f"{result.elapsed_s:.2f}",
        )
    console = Console(markup=False)
    console.print(table)
    policies = Counter(solution.result.policy or "none" for solution in solutions)
    console.print("policy: " + ", ".join(f"{name} on {n}" for name, n in policies.most_common()))
    for line in assumed_lines([solution.instance for solution in solutions]):
        console.print(line, highlight=False, soft_wrap=True)


def record_of(solution: Solution) -> dict[str, Any]:
    """As it is written to JSON."""
    result = solution.result
    return {
        "problem": solution.name,
        "tasks": solution.instance.n_tasks,
        "processors": solution.instance.n_processors,
        "assumptions": list(solution.instance.assumptions),
        "makespan": result.makespan,
        "lower_bound": result.lower_bound,
        "gap": result.gap,
        "optimal": result.optimal,
        "found_by": result.found_by,
        "heft": solution.heft,
        "portfolio": solution.portfolio,
        "policy": result.policy,
        "simulations": result.simulations,
        "elapsed_s": result.elapsed_s,
        "stopped_by": result.stopped_by,
        "trace": [[x.elapsed_s, x.makespan, x.found_by] for x in result.trace],
    }


def _ratio(makespan: float, base: float) -> str:
    return f"{makespan / base:.4f}" if base > 0 else "1.0000"
