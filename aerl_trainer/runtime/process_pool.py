"""The pool that training uses: searches by processes of this machine."""

import time
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from aerl_trainer.config import Config
from aerl_trainer.runtime.pool import Finished, PoolStats
from aerl_trainer.runtime.processes import Backend
from aerl_trainer.runtime.supervisor import Supervisor
from aerl_trainer.tree.records import SearchJob


class ProcessPool:
    """Implements ``SearchPool`` with ``config.run.actors`` spawned processes.

    Args:
        config: sizes of everything.
        max_tasks: largest problem that will be submitted.
        backend: who evaluates leaves; ``"auto"`` measures which is faster here and now.
        explore: as of ``Supervisor``.
        log_dir: where the children write their output; None leaves it on the terminal.
    """

    def __init__(
        self,
        config: Config,
        max_tasks: int,
        *,
        backend: Backend | Literal["auto"],
        explore: bool,
        log_dir: Path | None = None,
    ) -> None:
        self._supervisor = Supervisor(
            config, max_tasks, backend=backend, explore=explore, log_dir=log_dir
        )

    @property
    def free(self) -> int:
        return self._supervisor.slots.free

    def submit(self, job: SearchJob, rollout_weight: float) -> None:
        """Start a search with λ = ``rollout_weight``.

        Raises:
            DAGSchedError: the problem is larger than ``max_tasks``.
        """
        self._supervisor.start(job, rollout_weight)

    def wait(self, timeout: float) -> Finished | None:
        """The next finished job, or None after ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        while True:
            finished = self._supervisor.next_finished()
            left = deadline - time.monotonic()
            if finished is not None or left < 0:
                return finished
            self._supervisor.tend(left)

    def release(self, finished: Finished) -> None:
        self._supervisor.release(finished)

    def publish(self, weights: npt.NDArray[np.float32]) -> None:
        self._supervisor.crew.publish(weights)

    def stats(self) -> PoolStats:
        crew = self._supervisor.crew
        return PoolStats(self._supervisor.restarts, self._supervisor.reason, crew.requests.totals())

    def close(self) -> None:
        """End the children, by force where one hangs, and free the memory; may be called again."""
        self._supervisor.close()
