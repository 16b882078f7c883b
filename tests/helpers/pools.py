"""A process pool whose inside tests may see and disturb."""

from pathlib import Path
from typing import Any

from aerl_trainer.config import Config
from aerl_trainer.runtime.process_pool import ProcessPool
from aerl_trainer.runtime.supervisor import Supervisor
from aerl_trainer.solving.joint_search import _halt
from aerl_trainer.tree.records import SearchJob
from aerl_trainer.tree.shared_tree import SharedTree
from dagsched_env.problem.schedule import Schedule


class OpenPool(ProcessPool):
    """A ``ProcessPool`` with the abilities of its ``Supervisor``, guests among them."""

    def __init__(
        self,
        config: Config,
        max_tasks: int,
        *,
        backend: Any,
        explore: bool,
        guests: int = 0,
        log_dir: Path | None = None,
    ) -> None:
        self._supervisor = Supervisor(
            config, max_tasks, backend=backend, explore=explore, guests=guests, log_dir=log_dir
        )
        self.config = config
        self.slots, self.crew = self._supervisor.slots, self._supervisor.crew
        self.tend = self._supervisor.tend

    def submit(
        self, job: SearchJob, rollout_weight: float, incumbent: Schedule | None = None
    ) -> None:
        self._supervisor.start(job, rollout_weight, incumbent)

    def tree(self, slot: int) -> SharedTree:
        return self.slots[slot].tree

    def halt(self) -> None:
        _halt(self._supervisor)

    def actor_pids(self) -> list[int]:
        return [int(child.process.pid or 0) for child in self.crew._actors]

    def worker_pids(self) -> list[int]:
        """Of the inference workers; none unless the backend is ``"server"``."""
        return [int(child.process.pid or 0) for child in self.crew._workers]
