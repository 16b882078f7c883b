"""Plans for several graphs, chosen by what the run is judged by."""

from collections.abc import Iterable, Iterator

import numpy as np

from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.kernels.lists.fixed_order import schedule_in_order
from dagsched_env.kernels.online.situation import ABSENT
from dagsched_env.online.dispatchers import work_left
from dagsched_env.online.objectives import rates
from dagsched_env.online.situation import Situation
from dagsched_env.online.world import World
from dagsched_env.problem.errors import DAGSchedError
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.schedule import Schedule

__all__ = ["Judge"]


class Judge:
    """Chooses the plan that is expected to be the best by an objective.

    Schedulers make the last task end early, which delays small graphs behind large ones. So they
    compete with list schedules that take graph after graph.

    Args:
        world: the run, of which arrivals, deadlines, weights and bounds are read, and of those
            graphs alone that have arrived.
        objective: a key of ``OBJECTIVES``, but ``makespan``, by which schedulers plan anyway.

    Raises:
        DAGSchedError: no such objective.
    """

    def __init__(self, world: World, objective: str) -> None:
        found = rates(objective, world)
        if objective == "makespan":
            raise DAGSchedError("objective='makespan' is that of any plan: leave the judge out")
        self._deadline = world.deadline
        self._quantile = found is None
        self._rate, self._since = found or (np.ones(world.n_graphs), world.arrival)

    def best(
        self, situation: Situation, left: Instance, tasks: Ints, plans: Iterable[Schedule]
    ) -> Schedule:
        """The best one of some plans and of list schedules.

        Args:
            situation: of the run.
            left: what is left of it (``Remaining.instance``).
            tasks: ``[r]`` what its first r tasks are called in the run.
            plans: of what is left.
        """
        s, u = situation.arrays, len(self._rate)
        arrived = np.zeros(u, dtype=np.bool_)
        arrived[situation.graph[s.status != ABSENT]] = True
        ends: Floats = np.where(situation.finished, s.finish, 0.0)
        for t in situation.running.tolist():
            ends[t] = situation.expected_finish(t)
        started = np.zeros(u)
        np.maximum.at(started, situation.graph, ends)

        def cost(plan: Schedule) -> tuple[float, float]:
            completion = started.copy()
            finish = situation.now + plan.finish[: len(tasks)]
            np.maximum.at(completion, situation.graph[tasks], finish)
            over = np.maximum(completion - self._since, 0.0)[arrived]
            if self._quantile:
                return float(np.quantile(over, 0.95)), float(over.sum())
            return float((self._rate[arrived] * over).sum()), plan.makespan

        return min([*plans, *self._lists(situation, left, tasks)], key=cost)

    def _lists(self, situation: Situation, left: Instance, tasks: Ints) -> Iterator[Schedule]:
        """By upward rank: of all graphs, of the first one first, of that with the least work left
        for what it costs, of that with the nearest deadline."""
        u = len(self._rate)
        with np.errstate(divide="ignore", invalid="ignore"):
            work = np.nan_to_num(work_left(situation) / self._rate, nan=np.inf)
        keys = [np.zeros(u), np.arange(float(u)), work]
        if np.isfinite(self._deadline).any():
            keys.append(self._deadline)
        rank, position = left.rank_u, left.arrays.topo_position
        running = np.full(left.n_tasks - len(tasks), -1.0)  # they hold room already
        for key in keys:
            of_task = np.concatenate([key[situation.graph[tasks]], running])
            order = np.lexsort((position, -rank, of_task))
            yield Schedule.adopt(*schedule_in_order(left.arrays, order, True))
